// The journal of a shard as a file, read front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/errors.h"
#include "traces/io/file_descriptor.h"

namespace goodput {

struct JournalLine {
  std::string_view text{};   // without its end; valid until the next call
  std::uint64_t offset = 0;  // of its first byte
  std::uint64_t number = 0;  // from 1
  bool is_intact = false;    // it has its end, and its checksum is right
};

// About a line that is not intact or says something else, and about a file of another sweep or shard.
[[nodiscard]] Error damaged_line(const std::string& path, std::uint64_t number);
[[nodiscard]] Error foreign_journal(const std::string& path);

// A line at a time: a journal may be of any size, only its lines must fit into memory.
class JournalFile {
 public:
  static Result<JournalFile> open(const std::string& path);

  // The next line; nothing at the end.
  Result<std::optional<JournalLine>> next();

 private:
  JournalFile(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Result<std::size_t> read_more();

  std::string path_;
  FileDescriptor file_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line, in the buffer
  std::size_t filled_ = 0;    // of the buffer
  std::uint64_t offset_ = 0;  // of begin_ in the file
  std::uint64_t number_ = 0;  // of the last line
};

}  // namespace goodput
