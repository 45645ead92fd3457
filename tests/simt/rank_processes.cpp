#include "tests/simt/rank_processes.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <stdexcept>

#include "tests/simt/nccl_channel.h"

namespace simt {

namespace {

using Deadline = std::chrono::steady_clock::time_point;

struct RankProcess {
  pid_t process = -1;
  Descriptor answers;
  std::string answer;
};

[[noreturn]] void run_child(const std::function<std::string(int)>& rank_main, int rank, int to) {
  std::string answer;
  try {
    answer = rank_main(rank);
  } catch (const std::exception& error) {
    answer = std::string("threw: ") + error.what();
  }
  std::size_t written = 0;
  while (written < answer.size()) {
    const ssize_t piece = write(to, answer.data() + written, answer.size() - written);
    if (piece <= 0) _exit(2);
    written += static_cast<std::size_t>(piece);
  }
  _exit(0);
}

RankProcess start_rank(const std::function<std::string(int)>& rank_main, int rank) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("simt: no pipe for a rank");
  RankProcess started;
  started.answers = Descriptor(ends[0]);
  const Descriptor write_end(ends[1]);
  started.process = fork();
  if (started.process < 0) throw std::runtime_error("simt: no process for a rank");
  if (started.process == 0) run_child(rank_main, rank, ends[1]);
  return started;
}

// False: the deadline came first.
bool read_answer(RankProcess& rank, Deadline deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd readable{rank.answers.number(), POLLIN, 0};
    if (poll(&readable, 1, std::max(0, static_cast<int>(left.count()))) == 0) return false;
    std::array<char, 4096> piece{};
    const ssize_t bytes = read(rank.answers.number(), piece.data(), piece.size());
    if (bytes == 0) return true;
    if (bytes > 0) rank.answer.append(piece.data(), static_cast<std::size_t>(bytes));
  }
}

void await_end(RankProcess& rank) {
  int status = 0;
  while (waitpid(rank.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) rank.answer += "killed by signal " + std::to_string(WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    rank.answer += "exited with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

bool operator==(const RankAnswers& left, const RankAnswers& right) {
  return left.by_rank == right.by_rank;
}

std::ostream& operator<<(std::ostream& out, const RankAnswers& answers) {
  for (const std::string& answer : answers.by_rank) out << '"' << answer << "\" ";
  return out;
}

RankAnswers all_well(int ranks) {
  return {std::vector<std::string>(static_cast<std::size_t>(ranks))};
}

RankAnswers run_ranks(int ranks, const std::function<std::string(int)>& rank_main,
                      std::chrono::milliseconds limit) {
  const Deadline deadline = std::chrono::steady_clock::now() + limit;
  std::vector<RankProcess> processes;
  for (int rank = 0; rank < ranks; ++rank) processes.push_back(start_rank(rank_main, rank));
  RankAnswers answers;
  for (RankProcess& rank : processes) {
    if (!read_answer(rank, deadline)) kill(rank.process, SIGKILL);
    await_end(rank);
    answers.by_rank.push_back(rank.answer);
  }
  return answers;
}

}  // namespace simt
