// Programs that answer lines, and what they may do instead.
#include "sim/process/child_process.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace goodput::testing {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<LineChannel> started(const std::string& command, LineLimits limits = {}) {
  auto channel = ChildProcess::start(command, limits);
  REQUIRE(channel);
  return *std::move(channel);
}

std::string error_of(const std::string& command, const LineLimits& limits = {}) {
  const auto channel = started(command, limits);
  const auto answer = channel->exchange("hello");
  return answer ? "" : answer.error().message();
}

// Gone, or waited for by nobody but the first process: who is killed takes a moment to end.
bool has_ended(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::string text;
  return !std::getline(stat, text) || text.find(") Z ") != std::string::npos;
}
bool ends(pid_t process) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (!has_ended(process) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return has_ended(process);
}

}  // namespace

TEST_CASE("child process: lines go there and back, short and long, as often as one likes") {
  const auto channel = started("cat");
  for (const std::size_t size : std::vector<std::size_t>{0, 1, 70'000, 3'000'000}) {
    const std::string line(size, 'x');
    const auto answer = channel->exchange(line);
    REQUIRE(answer);
    CHECK(*answer == line);
  }
  CHECK(channel->last_complaint() == "");
}

TEST_CASE("child process: the command is the shell's: quotes, variables, pipes") {
  CHECK(*started("A='b c'; read x; echo \"$A $x\" | tr a-z A-Z")->exchange("it") == "B C IT");
}

TEST_CASE("child process: how it ended is told, with the last it said on stderr") {
  CHECK(error_of("exit 3") == "exited with code 3");
  CHECK(error_of("kill -9 $$") == "was killed by signal 9 (Killed)");
  CHECK(error_of("/nowhere/none") == "exited with code 127");
  CHECK(error_of("printf half; exit 0") == "exited with code 0 in the middle of a line");
  CHECK(error_of("exec >&-; sleep 100") == "closed its standard output");
  const auto channel = started("read x; echo first >&2; printf 'why it ended\\n\\n' >&2; exit 1");
  CHECK_FALSE(channel->exchange(""));
  CHECK(channel->last_complaint() == "why it ended");
}

TEST_CASE("child process: a great deal on stderr stops nobody") {
  const auto channel =
      started("read x; head -c 500000 /dev/zero | tr '\\0' e >&2; echo >&2; echo end >&2; echo ok");
  CHECK(*channel->exchange("") == "ok");
  CHECK(channel->last_complaint() == "end");
}

TEST_CASE("child process: one that closes its input, or reads nothing, is no trouble") {
  CHECK(error_of("exec <&-; exit 4") == "exited with code 4");
  const auto channel = started("exec sleep 100", {.answer = milliseconds{20}});
  CHECK(channel->exchange(std::string(1'000'000, 'x')).error().message() == "did not answer within 0.02 s");
}

TEST_CASE("child process: no answer, a line without end, two lines at once") {
  CHECK(error_of("cat >/dev/null", {.answer = milliseconds{10}}) == "did not answer within 0.01 s");
  CHECK(error_of("printf part; cat >/dev/null", {.answer = milliseconds{10}}) ==
        "did not answer within 0.01 s");
  CHECK(error_of("yes | tr -d '\\n'", {.line_bytes = 1000}) == "wrote a line longer than 1000 bytes");
  const auto channel = started("read x; printf 'a\\nb\\n'; read x");
  CHECK(*channel->exchange("") == "a");
  CHECK(channel->exchange("").error().message() == "wrote more than the one line that was requested");
}

TEST_CASE("child process: with its owner its input ends, and it may finish what it does") {
  const std::string file = fmt::format("/tmp/goodput_child_{}", getpid());
  auto channel = started(fmt::format("read x; echo; read x || echo done > {}", file));
  CHECK(channel->exchange(""));
  channel = nullptr;
  std::string text;
  CHECK(std::getline(std::ifstream(file), text));
  CHECK(text == "done");
  CHECK(unlink(file.c_str()) == 0);
}

TEST_CASE("child process: it ends with its owner, whatever it has started") {
  auto channel = started("sleep 1000 & read x; echo $!; read x; echo $$; cat");
  const pid_t grandchild = std::stoi(*channel->exchange(""));
  const pid_t child = std::stoi(*channel->exchange(""));
  CHECK(kill(grandchild, 0) == 0);
  channel = nullptr;
  CHECK(ends(child));
  CHECK(ends(grandchild));
}

TEST_CASE("child process: it ends when we do, also by SIGKILL, and leaves nobody to wait for") {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t us = fork();
  if (us == 0) {
    auto channel = ChildProcess::start("echo $$; trap '' TERM INT HUP; cat", {});
    const std::string pid = *(*channel)->exchange("");
    if (write(pipe_ends[1], pid.data(), pid.size()) < 0) _exit(1);
    close(pipe_ends[1]);
    kill(getpid(), SIGKILL);
  }
  close(pipe_ends[1]);
  char digits[16] = {};
  REQUIRE(read(pipe_ends[0], digits, sizeof digits - 1) > 0);
  waitpid(us, nullptr, 0);
  CHECK(ends(std::stoi(digits)));
  close(pipe_ends[0]);
}

TEST_CASE("child process: threads have one each") {
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (std::size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([&right, i] {
      const auto channel = ChildProcess::start("cat", {});
      for (int k = 0; k < 20; ++k) {
        const std::string line = std::to_string(i * 100 + static_cast<std::size_t>(k));
        const auto answer = (*channel)->exchange(line);
        right[i] += answer && *answer == line ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : right) CHECK(count == 20);
}

}  // namespace goodput::testing
