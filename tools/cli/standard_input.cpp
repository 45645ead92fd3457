#include "tools/cli/standard_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "sim/config/library.h"

namespace goodput {
namespace {

constexpr std::string_view kMark = "-";

Error failed(std::string_view what) {
  return Error{fmt::format("stdin cannot be {}: {}", what, std::strerror(errno)), {}};
}

// A file can be opened anew; what is no file, was read in part or may not be opened, cannot.
bool is_whole_file() {
  struct stat status {};
  if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 && access(config::kStdinFile, R_OK) == 0;
}

Status copy_stdin(int to) {
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got == 0) return Ok{};
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {  // a pipe that somebody else made non-blocking
      pollfd ready{STDIN_FILENO, POLLIN, 0};
      poll(&ready, 1, -1);
      continue;
    }
    if (got < 0) return failed("read");
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return failed("kept");
      done += put;
    }
  }
}

// From then on stdin is a file in memory.
Status keep_stdin() {
  const int memory = memfd_create("stdin", MFD_CLOEXEC);
  if (memory < 0) return failed("kept");
  Status copied = copy_stdin(memory);
  if (copied && dup2(memory, STDIN_FILENO) < 0) return failed("kept");
  close(memory);
  return copied;
}

// Puts the path for the mark; how often.
int replace_marks(DeclaredOption& option) {
  int marks = 0;
  const auto replace = [&marks](std::string& text) {
    if (text != kMark) return;
    text = config::kStdinFile;
    ++marks;
  };
  if (option.text != nullptr) replace(*option.text);
  if (option.texts == nullptr) return marks;
  const std::size_t inputs = option.texts->size() - (option.is_last_output && !option.texts->empty() ? 1 : 0);
  for (std::size_t i = 0; i < inputs; ++i) replace((*option.texts)[i]);
  return marks;
}

}  // namespace

Status take_stdin(DeclaredOptions& declared) {
  int marks = 0;
  for (DeclaredOption& option : declared) {
    if (option.is_input) marks += replace_marks(option);
  }
  if (marks > 1) return Error{"- (stdin) is given for two inputs; stdin can be only one", {}};
  if (marks == 0) return Ok{};
  if (fcntl(STDIN_FILENO, F_GETFD) < 0) return Error{"- (stdin) is given, but stdin is closed", {}};
  if (is_whole_file()) return Ok{};
  return keep_stdin();
}

}  // namespace goodput
