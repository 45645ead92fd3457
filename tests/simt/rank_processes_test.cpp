// Processes as ranks.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>

#include "tests/simt/rank_processes.h"

namespace simt {
namespace {

TEST_CASE("simt: ranks run at the same time, and how each ended comes back") {
  const RankAnswers answers = run_ranks(5, [](int rank) -> std::string {
    if (rank == 1) return std::string(100000, 'x');  // more than a pipe holds
    if (rank == 2) raise(SIGKILL);
    if (rank == 3) throw std::runtime_error("no");
    if (rank == 4) _exit(7);
    return "";
  });
  CHECK(answers ==
        RankAnswers{{"", std::string(100000, 'x'), "killed by signal 9", "threw: no", "exited with 7"}});
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("simt: a rank that does not end is killed, and what the others answered is kept") {
  const auto rank_main = [](int rank) -> std::string {
    while (rank == 0) pause();
    return "done";
  };
  CHECK(run_ranks(2, rank_main, std::chrono::milliseconds(300)) ==
        RankAnswers{{"killed by signal 9", "done"}});
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

}  // namespace
}  // namespace simt
