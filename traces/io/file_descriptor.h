// An open file of the system, closed when this goes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    FileDescriptor taken(std::move(other));
    std::swap(number_, taken.number_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_ = -1;
};

// "cannot write: No space left on device", from errno.
[[nodiscard]] Error cannot(std::string_view verb, const std::string& path);

// open(2) with O_CLOEXEC and what new files usually may be used for.
Result<FileDescriptor> open_file(const std::string& path, int flags);

// All of it where the file stands, in one call unless that is cut short.
Status write_all(const FileDescriptor& file, const std::string& path, std::string_view text);

// Takes the lock of this name for as long as the file is open; it goes with the process too. Nothing: someone
// else has it, and there was to be no waiting.
enum class Lock { kWait, kTry };
Result<std::optional<FileDescriptor>> lock_file(const std::string& path, Lock how);

}  // namespace goodput
