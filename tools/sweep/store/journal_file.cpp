#include "tools/sweep/store/journal_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/sweep/store/journal_line.h"

namespace goodput {
namespace {

constexpr std::size_t kLeastRead = std::size_t{1} << 18;

}  // namespace

Error damaged_line(const std::string& path, std::uint64_t number) {
  return Error{fmt::format("is damaged; remove the {} and run the shard of this file again with --resume",
                           number == 1 ? "file" : "line"),
               {.file = path, .position = Position::line(number)}};
}

Error foreign_journal(const std::string& path) {
  return Error{
      "is the journal of another sweep or shard; remove this file and run the shard again with --resume",
      {.file = path}};
}

Result<JournalFile> JournalFile::open(const std::string& path) {
  GOODPUT_TRY(FileDescriptor file, open_file(path, O_RDONLY));
  return JournalFile(path, std::move(file));
}

// Behind what is in the buffer; how much: 0 at the end of the file.
Result<std::size_t> JournalFile::read_more() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
    filled_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - filled_ < kLeastRead) buffer_.resize(std::max(2 * buffer_.size(), 2 * kLeastRead));
  for (;;) {
    const ssize_t count = ::pread(file_.number(), buffer_.data() + filled_, buffer_.size() - filled_,
                                  static_cast<off_t>(offset_ + filled_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("read", path_);
    filled_ += static_cast<std::size_t>(count);
    return static_cast<std::size_t>(count);
  }
}

Result<std::optional<JournalLine>> JournalFile::next() {
  std::size_t scanned = begin_;
  for (;;) {
    const std::string_view rest(buffer_.data() + begin_, filled_ - begin_);
    const std::size_t end = rest.find('\n', scanned - begin_);
    const bool has_end = end != std::string_view::npos;
    if (!has_end) {
      scanned = filled_ - begin_;
      GOODPUT_TRY(const std::size_t count, read_more());
      if (count > 0) continue;
      if (filled_ == 0) return std::optional<JournalLine>();
    }
    const std::string_view text(buffer_.data() + begin_, has_end ? end : filled_ - begin_);
    const JournalLine line{text, offset_, ++number_, has_end && is_intact(text)};
    const std::size_t bytes = text.size() + (has_end ? 1 : 0);
    begin_ += bytes;
    offset_ += bytes;
    return std::optional(line);
  }
}

}  // namespace goodput
