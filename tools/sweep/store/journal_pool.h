// Journals of which lines are read here and there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/io/file_descriptor.h"

namespace goodput {

// There may be more of them than a process can have open: those opened first are closed for others.
class JournalPool {
 public:
  // The number that read() knows it by, from 0.
  std::uint32_t add(const std::string& path);
  [[nodiscard]] const std::string& path(std::uint32_t file) const { return files_[file].path; }

  // `bytes` from `offset`; valid until the next call. Fails where the file ends before.
  Result<std::string_view> read(std::uint32_t file, std::uint64_t offset, std::size_t bytes);

 private:
  struct File {
    std::string path;
    FileDescriptor descriptor{};
  };
  Status ensure_open(std::uint32_t file);

  std::vector<File> files_;
  std::deque<std::uint32_t> open_;  // in the order in which they were opened
  std::string buffer_;
};

}  // namespace goodput
