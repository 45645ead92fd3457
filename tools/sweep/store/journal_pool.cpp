#include "tools/sweep/store/journal_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace goodput {
namespace {

// A process may have 1024 open unless it is told otherwise.
constexpr std::size_t kMostOpenJournals = 256;

}  // namespace

std::uint32_t JournalPool::add(const std::string& path) {
  files_.push_back({.path = path});
  return static_cast<std::uint32_t>(files_.size() - 1);
}

Status JournalPool::ensure_open(std::uint32_t file) {
  if (files_[file].descriptor.is_open()) return Ok{};
  if (open_.size() == kMostOpenJournals) {
    files_[open_.front()].descriptor = FileDescriptor();
    open_.pop_front();
  }
  GOODPUT_TRY(files_[file].descriptor, open_file(files_[file].path, O_RDONLY));
  open_.push_back(file);
  return Ok{};
}

Result<std::string_view> JournalPool::read(std::uint32_t file, std::uint64_t offset, std::size_t bytes) {
  GOODPUT_TRY_STATUS(ensure_open(file));
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  for (std::size_t filled = 0; filled < bytes;) {
    const ssize_t count = ::pread(files_[file].descriptor.number(), buffer_.data() + filled, bytes - filled,
                                  static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("read", path(file));
    if (count == 0) return Error{"became shorter while it was being read; merge again", {.file = path(file)}};
    filled += static_cast<std::size_t>(count);
  }
  return std::string_view(buffer_.data(), bytes);
}

}  // namespace goodput
