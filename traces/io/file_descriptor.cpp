#include "traces/io/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace goodput {

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) close(number_);
}

Error cannot(std::string_view verb, const std::string& path) {
  return Error{fmt::format("cannot {}: {}", verb, std::strerror(errno)), {.file = path}};
}

Result<FileDescriptor> open_file(const std::string& path, int flags) {
  FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file.number() < 0) return cannot((flags & O_ACCMODE) == O_RDONLY ? "read" : "write", path);
  return file;
}

Status write_all(const FileDescriptor& file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file.number(), text.data(), text.size());
    if (count < 0 && errno != EINTR) return cannot("write", path);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return Ok{};
}

Result<std::optional<FileDescriptor>> lock_file(const std::string& path, Lock how) {
  GOODPUT_TRY(FileDescriptor file, open_file(path, O_RDWR | O_CREAT));
  while (flock(file.number(), LOCK_EX | (how == Lock::kTry ? LOCK_NB : 0)) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<FileDescriptor>();
    if (errno != EINTR) return cannot("lock", path);
  }
  return std::optional(std::move(file));
}

}  // namespace goodput
