#include "tools/check/child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/base/text.h"

extern char** environ;  // NOLINT: POSIX declares it so

namespace goodput {
namespace {

// A file in memory that a child writes into: no pipe that fills up.
class Spool {
 public:
  Spool() : descriptor_(memfd_create("goodput", MFD_CLOEXEC)) {}
  ~Spool() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::string text() const {
    std::string all;
    std::array<char, 1 << 16> block{};
    for (off_t at = 0;;) {
      const ssize_t got = pread(descriptor_, block.data(), block.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return all;
      all.append(block.data(), static_cast<std::size_t>(got));
      at += got;
    }
  }

 private:
  int descriptor_;
};

// What the child's stdin, stdout and stderr are.
class Redirections {
 public:
  Redirections(const Spool& out, const Spool& messages) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, out.descriptor(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, messages.descriptor(), STDERR_FILENO);
  }
  ~Redirections() { posix_spawn_file_actions_destroy(&actions_); }
  Redirections(const Redirections&) = delete;
  Redirections& operator=(const Redirections&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// Until the child ends, or, too late, is ended.
bool ends_in_time(pid_t child, std::chrono::milliseconds limit) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (descriptor < 0) return true;  // nothing to wait on: waitpid() does
  pollfd ends{descriptor, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&ends, 1, static_cast<int>(limit.count()));
  } while (ready < 0 && errno == EINTR);
  close(descriptor);
  if (ready == 0) kill(child, SIGKILL);
  return ready != 0;
}

int exit_code_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ChildResult> run_child(const std::string& program, const std::vector<std::string>& arguments,
                              std::chrono::milliseconds limit) {
  const Spool out;
  const Spool messages;
  const Redirections redirections(out, messages);
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto began = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), redirections.get(), nullptr, argv.data(), environ);
  if (failed != 0) return Error{fmt::format("cannot run {}: {}", in_quotes(program), std::strerror(failed))};
  ChildResult result;
  const bool is_in_time = ends_in_time(child, limit);
  result.exit_code = exit_code_of(child);
  if (!is_in_time)
    return Error{fmt::format("{} did not finish within {} s", in_quotes(program),
                             0.001 * static_cast<double>(limit.count()))};
  result.took = std::chrono::steady_clock::now() - began;
  result.out = out.text();
  result.messages = messages.text();
  return result;
}

}  // namespace goodput
