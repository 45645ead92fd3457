#include "sim/process/watched_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

namespace goodput {
namespace {

// How long a program that closed its output may take to come to its end.
constexpr int kGraceMs = 500;
constexpr char kFinish = 'f';

// What the command gets as its descriptors 0, 1 and 2, and what we keep.
struct Pipes {
  FileHandle input, output, errors, control;
};

// A program as exec() wants it, made before fork(): a null at the end of each list.
class ExecLists {
 public:
  ExecLists(std::vector<std::string> arguments, std::vector<std::string> environment)
      : texts_(std::move(arguments)), more_(std::move(environment)) {
    for (std::string& argument : texts_) arguments_.push_back(argument.data());
    for (char** inherited = environ; *inherited != nullptr; ++inherited) environment_.push_back(*inherited);
    for (std::string& one : more_) environment_.push_back(one.data());
    arguments_.push_back(nullptr);
    environment_.push_back(nullptr);
  }
  ExecLists(const ExecLists&) = delete;
  ExecLists& operator=(const ExecLists&) = delete;

  [[nodiscard]] char* const* arguments() const { return arguments_.data(); }
  [[nodiscard]] char* const* environment() const { return environment_.data(); }

 private:
  std::vector<std::string> texts_, more_;
  std::vector<char*> arguments_, environment_;
};

// ---- Between fork() and exec() of a program with threads: calls that are safe in a signal handler only.

void close_all_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  constexpr int kMostDescriptors = 65536;  // kernels before 5.9
  for (int descriptor = first; descriptor < kMostDescriptors; ++descriptor) close(descriptor);
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void run_command(const Pipes& pipes, const ExecLists& program) {
  setpgid(0, 0);
  const bool is_ready =
      dup2(pipes.input.get(), 0) == 0 && dup2(pipes.output.get(), 1) == 1 && dup2(pipes.errors.get(), 2) == 2;
  close_all_from(3);
  if (is_ready) execvpe(program.arguments()[0], program.arguments(), program.environment());
  constexpr std::string_view kSorry = "cannot be run\n";
  static_cast<void>(!write(2, kSorry.data(), kSorry.size()));
  _exit(127);
}

ProcessEnd wait_a_moment(pid_t command) {
  for (int waited_ms = 0; waited_ms <= kGraceMs; ++waited_ms) {
    int status = 0;
    if (waitpid(command, &status, WNOHANG) == command) return {false, status};
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return {};
}

// With all that it has started and that stays in its group; nobody else has to wait for them.
void end_group(pid_t command) {
  kill(-command, SIGKILL);
  for (int waited_ms = 0; waited_ms <= kGraceMs; ++waited_ms) {
    pid_t ended = 0;
    do {
      ended = waitpid(-1, nullptr, WNOHANG);
    } while (ended > 0);
    if (ended < 0) return;  // nobody is left
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

// Reads the one word that there is, or the end of those who may say it.
[[noreturn]] void watch(int control, pid_t command) {
  char word = 0;
  ssize_t got = -1;
  do {
    got = read(control, &word, 1);
  } while (got < 0 && errno == EINTR);
  ProcessEnd end;
  if (got == 1) end = wait_a_moment(command);
  if (got == 1) static_cast<void>(send(control, &end, sizeof end, MSG_NOSIGNAL));
  end_group(command);
  _exit(0);
}

[[noreturn]] void run_watcher(const Pipes& pipes, const ExecLists& program) {
  reset_signals();
  setpgid(0, 0);  // an interrupt from the terminal is not meant for the watcher, and not for the command
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = fork();
  if (child == 0) run_command(pipes, program);
  setpgid(child, child);  // the command says so, too: whoever comes first
  dup2(pipes.control.get(), 0);
  close_all_from(1);
  if (child < 0) _exit(127);
  watch(0, child);
}

// ---- On our side.

Result<std::array<FileHandle, 2>> failed(const char* call) {
  return Error{fmt::format("cannot be started: {}: {}", call, std::strerror(errno))};
}

Result<std::array<FileHandle, 2>> make_socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
  return std::array<FileHandle, 2>{FileHandle(ends[0]), FileHandle(ends[1])};
}

// To read from, to write to.
Result<std::array<FileHandle, 2>> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed("pipe2");
  return std::array<FileHandle, 2>{FileHandle(ends[0]), FileHandle(ends[1])};
}

// No handler of ours may run in the watcher.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::string ProcessEnd::text() const {
  if (was_running) return "closed its standard output";
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

Result<WatchedProcess> WatchedProcess::start(const std::string& command) {
  return start({"/bin/sh", "-c", command}, {});
}

Result<WatchedProcess> WatchedProcess::start(const std::vector<std::string>& program_and_arguments,
                                             const std::vector<std::string>& environment) {
  const ExecLists program(program_and_arguments, environment);
  GOODPUT_TRY(auto input, make_socket_pair());
  GOODPUT_TRY(auto output, make_pipe());
  GOODPUT_TRY(auto errors, make_pipe());
  GOODPUT_TRY(auto control, make_socket_pair());
  const Pipes theirs{std::move(input[1]), std::move(output[1]), std::move(errors[1]), std::move(control[1])};
  WatchedProcess process;
  {
    const HeldSignals held;
    process.watcher_ = fork();
    if (process.watcher_ == 0) run_watcher(theirs, program);
  }
  if (process.watcher_ < 0) return Error{fmt::format("cannot be started: fork: {}", std::strerror(errno))};
  process.input_ = std::move(input[0]);
  process.output_ = std::move(output[0]);
  process.errors_ = std::move(errors[0]);
  process.control_ = std::move(control[0]);
  return process;
}

WatchedProcess::WatchedProcess(WatchedProcess&& other) noexcept
    : input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      control_(std::move(other.control_)),
      watcher_(std::exchange(other.watcher_, -1)) {}

WatchedProcess::~WatchedProcess() {
  control_.reset();
  if (watcher_ < 0) return;
  while (waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ProcessEnd WatchedProcess::finish() {
  ProcessEnd end;
  if (send(control_.get(), &kFinish, 1, MSG_NOSIGNAL) == 1) {
    ssize_t got = -1;
    do {
      got = read(control_.get(), &end, sizeof end);
    } while (got < 0 && errno == EINTR);
    if (got != sizeof end) end = {};
  }
  return end;
}

}  // namespace goodput
