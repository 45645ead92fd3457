// What was pushed, as files of a folder that is watched like all others, until every row of it is in a stored
// result: a push that was acknowledged survives whatever happens to the monitor.
//
//   SPOOL/JOB/NUMBER.log or .csv   a push
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "sim/base/errors.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/web/push_queue.h"

namespace goodput {

class PushSpool {
 public:
  // Makes the folder where it is not there.
  static Result<PushSpool> open(std::string folder);

  // Writes what waits in the queue. Fails where a file cannot be written: nothing of that push is kept.
  Status take(PushQueue& queue);

  // Removes the files that are used up by what `store` says, and what it knows of them. Of one thread, that
  // of the store.
  Status remove_used(MonitorStore& store) const;

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  PushSpool(std::string folder, std::uint64_t next) : folder_(std::move(folder)), next_(next) {}

  Status write(CheckedPush& push);

  std::string folder_;
  std::uint64_t next_;  // number of a file
};

}  // namespace goodput
