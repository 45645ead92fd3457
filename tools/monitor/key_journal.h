// The keys of pushes whose rows are in stored results: a file of lines `KEY JOB`, to which lines are added
// until it has far more than PushKeys keep. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "tools/web/push_keys.h"
#include "traces/io/file_descriptor.h"

namespace goodput {

class KeyJournal {
 public:
  // Makes the file if it is not there. Half a line at its end, as a crash leaves it, is cut off.
  static Result<KeyJournal> open(std::string path);

  // Damaged lines are left out.
  [[nodiscard]] Result<PushKeys> read() const;
  // Returns once they would survive a power cut. If it fails, none of them may be counted on.
  Status add(const std::vector<PushedKey>& keys);

  // Lines beyond twice as many as are kept, before the file is written anew.
  static constexpr std::size_t kSlackLines = 1024;

 private:
  KeyJournal(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  Status find_end();
  Status write_anew();

  std::string path_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;  // of whole lines
  std::size_t lines_ = 0;
  std::size_t most_lines_ = 0;  // more: it is written anew
};

}  // namespace goodput
