// What was pushed, as files of a folder that is watched like all others, until every row of it is in a stored
// result: a push that was acknowledged survives whatever happens to the monitor, and so does its key.
//
//   SPOOL/JOB/NUMBER.log or .csv         a push
//   SPOOL/JOB/NUMBER-KEY.log or .csv     a push with an Idempotency-Key (push_key())
//   SPOOL/.keys                          keys of pushes whose files are gone (KeyJournal)
//
// The name of a file appears at once, so rows and key are kept together or not at all. Its key is written to
// .keys before it is removed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "sim/base/errors.h"
#include "tools/monitor/key_journal.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/web/push_keys.h"
#include "tools/web/push_queue.h"

namespace goodput {

class PushSpool {
 public:
  // Fails if open() would, as far as can be told without making anything.
  static Status check(const std::string& folder);
  // Makes the folder where it is not there, and removes what a process that was killed left half-written.
  static Result<PushSpool> open(std::string folder);

  // Of all pushes that were taken in, by former processes too.
  [[nodiscard]] Result<PushKeys> keys() const;
  // Writes what waits in the queue, and returns once it would survive a power cut. Fails where a file cannot
  // be written: nothing of that push is kept.
  Status take(PushQueue& queue);

  // Removes the files that are used up by what `store` says, and then what it knows of them. This and the
  // next one: of one thread, that of the store.
  Status remove_used(MonitorStore& store);
  // What `store` knows of files that a process removed before it was killed.
  Status forget_removed(MonitorStore& store) const;

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  PushSpool(std::string folder, std::uint64_t next, KeyJournal journal)
      : folder_(std::move(folder)), next_(next), journal_(std::move(journal)) {}

  Status write(CheckedPush& push);

  std::string folder_;
  std::uint64_t next_;  // number of a file
  KeyJournal journal_;
};

}  // namespace goodput
