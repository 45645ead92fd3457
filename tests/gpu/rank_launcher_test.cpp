#include "gpu/nccl/rank_launcher.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gpu/nccl/shared_page.h"
#include "tests/gpu/launched_case.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput::gpu {
namespace {

using namespace std::chrono_literals;

UniqueId numbered_id() {
  UniqueId id;
  std::iota(id.begin(), id.end(), '\0');
  return id;
}

TEST_CASE("rank_launcher: every rank knows who it is, and what rank 0 shared") {
  for (const std::int32_t ranks : {1, 2, 8}) {
    CAPTURE(ranks);
    const LaunchCase launch;
    launch.check_well(options_of(ranks), [&](RankProcess& rank) {
      must(rank.ranks() == ranks && rank.local_rank() == rank.rank());
      must(rank.share([&] {
        must(rank.rank() == 0);
        return numbered_id();
      }) == numbered_id());
      must(rank.lost().empty());
      rank.joined();
    });
  }
}

volatile std::sig_atomic_t signals_here = 0;

TEST_CASE("rank_launcher: a signal is passed on to every rank, once, when there is one") {
  const LaunchCase launch;
  SharedPage<std::array<std::atomic<int>, 1>> ready;
  std::atomic<int>& count = ready->front();
  LaunchOptions options = options_of(3);
  options.passed_on = [&] { return count == 3 ? SIGTERM : 0; };
  launch.check_well(options, [&](RankProcess&) {
    std::signal(SIGTERM, [](int) { signals_here = signals_here + 1; });
    ++count;
    const auto began = std::chrono::steady_clock::now();
    while (signals_here == 0) must(std::chrono::steady_clock::now() - began < 5s);
    std::this_thread::sleep_for(200ms);  // several looks of the launcher
    must(signals_here == 1);
  });
}

TEST_CASE("rank_launcher: ranks are processes of their own, numbered from 0, and told apart") {
  const LaunchCase launch;
  int of_this_process = 0;
  const std::vector<RankEnd> ends = run_ranks(options_of(3), [&](RankProcess& rank) {
    ++of_this_process;
    throw std::runtime_error("I am " + std::to_string(rank.rank()) + ", the " +
                             std::to_string(of_this_process) + "st here\nand a second line");
  });
  CHECK(of_this_process == 0);
  REQUIRE(ends.size() == 3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(ends[rank].rank == static_cast<std::int32_t>(rank));
    CHECK(ends[rank].error == "I am " + std::to_string(rank) + ", the 1st here and a second line");
    CHECK_FALSE(ends[rank].consequence);
  }
}

TEST_CASE("rank_launcher: a rank is prepared before its body, and only it") {
  const LaunchCase launch;
  LaunchOptions options = options_of(2);
  options.prepare = [](std::int32_t rank) {
    setenv("GOODPUT_TEST_RANK", std::to_string(rank).c_str(), 1);
    if (rank == 1) throw std::runtime_error("not prepared");
  };
  CHECK(launch.run(options, [](RankProcess& rank) {
    must(rank.rank() == 0 && std::getenv("GOODPUT_TEST_RANK") == std::string("0"));
  }) == "rank 1: not prepared");
  CHECK(std::getenv("GOODPUT_TEST_RANK") == nullptr);
}

TEST_CASE("rank_launcher: a rank that is killed is known to all others at once") {
  const LaunchCase launch;
  const auto began = std::chrono::steady_clock::now();
  CHECK(launch.run(options_of(4), [](RankProcess& rank) {
    if (rank.rank() == 2) kill(getpid(), SIGKILL);
    const std::string lost = wait_for_loss(rank);
    must(lost == "rank 2 was killed by signal 9 (SIGKILL)");
    must(rank.lost() == lost);  // and remains so
    throw LostRank(lost);
  }) == "rank 2: killed by signal 9 (SIGKILL); ranks 0, 1, 3 ended as a consequence");
  CHECK(std::chrono::steady_clock::now() - began < 1s);
}

TEST_CASE("rank_launcher: who ends because of another one is no cause") {
  const LaunchCase launch;
  const std::vector<RankEnd> ends = run_ranks(options_of(2), [](RankProcess& rank) {
    if (rank.rank() == 0) throw std::runtime_error("no memory");
    throw LostRank(wait_for_loss(rank));
  });
  CHECK(ends[0].error == "no memory");
  CHECK_FALSE(ends[0].consequence);
  CHECK(ends[1].error == "rank 0 failed: no memory");
  CHECK(ends[1].consequence);
  CHECK(message_of(ends) == "rank 0: no memory; rank 1 ended as a consequence");
}

TEST_CASE("rank_launcher: whoever waits for the id of a rank that fails is told") {
  const LaunchCase launch;
  CHECK(launch.run(options_of(3), [](RankProcess& rank) {
    rank.share([]() -> UniqueId { throw std::runtime_error("no id"); });
  }) == "rank 0: no id; ranks 1, 2 ended as a consequence");
}

TEST_CASE("rank_launcher: rank 0 hears of a failure as it shares, and others that come later do") {
  const LaunchCase launch;
  CHECK(launch.run(options_of(3), [](RankProcess& rank) {
    if (rank.rank() == 1) throw std::runtime_error("no");
    must(wait_for_loss(rank) == "rank 1 failed: no");
    rank.share(numbered_id);
  }) == "rank 1: no; ranks 0, 2 ended as a consequence");
}

TEST_CASE("rank_launcher: a rank that never shares is told by those that would wait for ever") {
  for (const std::int32_t silent : {0, 1}) {
    CAPTURE(silent);
    const LaunchCase launch;
    const std::string name = std::to_string(silent);
    CHECK(launch.run(options_of(2),
                     [&](RankProcess& rank) {
                       if (rank.rank() == silent) return;
                       rank.share(numbered_id);
                       throw LostRank(wait_for_loss(rank));  // as it would, were it to join a communicator
                     }) == "rank " + name + ": ended without calling share(); rank " +
                               std::to_string(1 - silent) + " ended as a consequence");
  }
}

TEST_CASE("rank_launcher: a rank that is done is missed by nobody who has joined, or never shares") {
  const LaunchCase launch;
  launch.check_well(options_of(2), [](RankProcess& rank) {
    if (rank.rank() == 1) return;
    std::this_thread::sleep_for(100ms);  // rank 1 has long been reaped
    must(rank.lost().empty());
  });
  launch.check_well(options_of(2), [](RankProcess& rank) {
    rank.share(numbered_id);
    rank.joined();
    if (rank.rank() == 1) return;
    std::this_thread::sleep_for(100ms);
    must(rank.lost().empty());
  });
}

TEST_CASE("rank_launcher: exit codes, calls of exit() and signals are told") {
  const LaunchCase launch;
  const auto message = [&](const std::function<void()>& end) {
    return launch.run(options_of(1), [&](RankProcess&) { end(); });
  };
  CHECK(message([] { _exit(3); }) == "rank 0: exit code 3");
  CHECK(message([] { _exit(0); }) == "rank 0: exit code 0 before it finished");
  CHECK(message([] { std::abort(); }) == "rank 0: killed by signal 6 (SIGABRT)");
  CHECK(message([] { raise(SIGTERM); }) == "rank 0: killed by signal 15 (SIGTERM)");
  CHECK(message([] { raise(SIGRTMIN); }) ==
        "rank 0: killed by signal " + std::to_string(SIGRTMIN));  // it has no name
  CHECK(message([] { throw 1; }) == "rank 0: an exception that is not a std::exception");
  CHECK(message([] { throw std::runtime_error(std::string(1'000'000, 'x')); }) ==
        "rank 0: " + std::string(8192, 'x'));  // cut, not lost
}

TEST_CASE("rank_launcher: a rank that hangs is killed after the grace") {
  const LaunchCase launch;
  LaunchOptions options = options_of(3);
  options.grace = 200ms;
  const auto began = std::chrono::steady_clock::now();
  const std::vector<RankEnd> ends = run_ranks(options, [](RankProcess& rank) {
    if (rank.rank() == 1) throw std::runtime_error("no");
    if (rank.rank() == 2) throw LostRank(wait_for_loss(rank));
    ignore_everything();
  });
  CHECK(std::chrono::steady_clock::now() - began >= 200ms);
  CHECK(ends[0].error == "killed 200 ms after another rank failed");
  CHECK(ends[0].consequence);
  CHECK(message_of(ends) == "rank 1: no; ranks 0, 2 ended as a consequence");
}

TEST_CASE("rank_launcher: the wait for an id that rank 0 does not make ends at the deadline") {
  const LaunchCase launch;
  LaunchOptions options = options_of(3);
  options.share_deadline = 100ms;
  options.grace = 100ms;
  const std::string message = launch.run(options, [](RankProcess& rank) {
    if (rank.rank() == 0) ignore_everything();
    static_cast<void>(rank.share([] { return UniqueId{}; }));
  });
  // Both of the others, or the second because of the first.
  CHECK(message.find(": rank 0 did not create an id within 100 ms; it may hang") != std::string::npos);
}

TEST_CASE("rank_launcher: ranks that all hang are killed at the limit") {
  const LaunchCase launch;
  LaunchOptions options = options_of(3);
  options.limit = 200ms;
  CHECK(launch.run(options, [](RankProcess& rank) {
    if (rank.rank() != 1) ignore_everything();
  }) == "ranks 0, 2: killed after 200 ms, the time limit for all ranks");
}

TEST_CASE("rank_launcher: a rank that leaves its socket to another process has ended all the same") {
  const LaunchCase launch;
  const AdoptedOrphans orphans;
  CHECK(launch.run(options_of(2), [](RankProcess& rank) {
    if (rank.rank() == 1) throw LostRank(wait_for_loss(rank));
    if (fork() == 0) ignore_everything_until(200ms);
    _exit(3);
  }) == "rank 0: exit code 3; rank 1 ended as a consequence");
}

TEST_CASE("rank_launcher: what a rank says last is heard, though it left what it was told unread") {
  const LaunchCase launch;
  for (int round = 0; round < 20; ++round) {
    CHECK(launch.run(options_of(3), [](RankProcess& rank) {
      throw std::runtime_error("I am " + std::to_string(rank.rank()));
    }) == "rank 0: I am 0; rank 1: I am 1; rank 2: I am 2");
  }
}

TEST_CASE("rank_launcher: neither ignored nor handled child signals hide how a rank ended") {
  const LaunchCase launch;
  const auto handler = [](int) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  };
  for (void (*const action)(int) : {SIG_IGN, static_cast<void (*)(int)>(handler)}) {
    void (*const before)(int) = std::signal(SIGCHLD, action);
    CHECK(launch.run(options_of(2), [](RankProcess&) { _exit(3); }) == "ranks 0, 1: exit code 3");
    CHECK((std::signal(SIGCHLD, before) == action));
  }
}

TEST_CASE("rank_launcher: nothing of the launcher runs a second time") {
  const LaunchCase launch;
  const TemporaryFile printed("printed");
  std::cout.flush();
  // A program that has text to print, something to do at its exit, and a handler of signals.
  const pid_t program = fork();
  if (program == 0) {
    alarm(10);
    const int file = open(printed.path().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(file, STDOUT_FILENO);
    std::signal(SIGTERM, [](int) { static_cast<void>(!write(STDOUT_FILENO, "handled.", 8)); });
    std::cout << "before.";
    const std::string message = message_of(run_ranks(options_of(2), [](RankProcess& rank) {
      std::cout << rank.rank() << ".";
      if (rank.rank() == 1) throw std::runtime_error("no");
      wait_for_loss(rank);
      std::cout.flush();
      raise(SIGTERM);
    }));
    std::cout << message;
    std::cout.flush();
    _exit(0);
  }
  CHECK(waitpid(program, nullptr, 0) == program);
  const std::string content = printed.content();
  // Rank 1 prints before its failure is known or after it.
  CHECK_MESSAGE((content == "before.1.0.rank 0: killed by signal 15 (SIGTERM); rank 1: no" ||
                 content == "before.0.1.rank 0: killed by signal 15 (SIGTERM); rank 1: no"),
                content);
}

TEST_CASE("rank_launcher: ranks end with their launcher, even if that is killed") {
  for (const int signal : {SIGKILL, SIGTERM}) {
    CAPTURE(signal);
    const LaunchCase launch;
    const AdoptedOrphans orphans;
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t launcher = fork();
    if (launcher == 0) {
      std::signal(SIGTERM, SIG_DFL);
      static_cast<void>(run_ranks(options_of(3), [&](RankProcess&) {
        static_cast<void>(!write(ends[1], "r", 1));
        ignore_everything();
      }));
      _exit(0);
    }
    close(ends[1]);
    std::array<char, 1> running{};
    for (int rank = 0; rank < 3; ++rank) CHECK(read(ends[0], running.data(), 1) == 1);
    kill(launcher, signal);
    CHECK(read(ends[0], running.data(), 1) == 0);  // nobody has the other end any more
    close(ends[0]);
  }
}

TEST_CASE("rank_launcher: a rank that survives its launcher hears of it") {
  const LaunchCase launch;
  const AdoptedOrphans orphans;
  const TemporaryFile heard("heard");
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    LaunchOptions options = options_of(2);
    options.prepare = [](std::int32_t) { prctl(PR_SET_PDEATHSIG, 0); };
    static_cast<void>(run_ranks(options, [&](RankProcess& rank) {
      std::array<char, 1> running{'r'};
      if (rank.rank() == 1) must(write(ends[1], running.data(), 1) == 1);
      if (rank.rank() == 0) {
        must(read(ends[0], running.data(), 1) == 1);
        kill(getppid(), SIGKILL);
      }
      std::ofstream(heard.path() + std::to_string(rank.rank())) << wait_for_loss(rank);
      try {
        rank.share(numbered_id);
      } catch (const LostRank& error) {
        std::ofstream(heard.path() + std::to_string(rank.rank()), std::ios::app) << "; " << error.what();
      }
    }));
    _exit(0);
  }
  close(ends[0]);
  close(ends[1]);
  orphans.wait_for_all();
  for (const char* const rank : {"0", "1"}) {
    std::ifstream file(heard.path() + rank);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    CHECK(text == "the launcher has ended; the launcher has ended");
  }
}

TEST_CASE("rank_launcher: a number of ranks that cannot be") {
  const auto message = [](std::int32_t ranks) {
    return error_of([&] { static_cast<void>(run_ranks(options_of(ranks), [](RankProcess&) {})); });
  };
  CHECK(message(0) == "the number of ranks must be from 1 to 1024, not 0");
  CHECK(message(-1) == "the number of ranks must be from 1 to 1024, not -1");
  CHECK(message(1025) == "the number of ranks must be from 1 to 1024, not 1025");
}

TEST_CASE("rank_launcher: ranks without a socket or a process are an error, and none is left behind") {
  const LaunchCase launch;
  // In a process of its own, for the limits stay.
  const auto message_under = [](int resource, rlim_t limit) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t program = fork();
    if (program == 0) {
      const rlimit limits{limit, limit};
      setrlimit(static_cast<__rlimit_resource_t>(resource), &limits);
      if (getuid() == 0) static_cast<void>(!setuid(65534));  // root may have any number of processes
      std::string text = error_of(
          [] { static_cast<void>(run_ranks(options_of(16), [](RankProcess&) { ignore_everything(); })); });
      if (waitpid(-1, nullptr, WNOHANG) != -1) text += "; a rank is left";
      static_cast<void>(!write(ends[1], text.data(), text.size()));
      _exit(0);
    }
    close(ends[1]);
    std::array<char, 1000> buffer{};
    const ssize_t bytes = read(ends[0], buffer.data(), buffer.size());
    close(ends[0]);
    CHECK(waitpid(program, nullptr, 0) == program);
    return std::string(buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  };
  // A rank takes two, of which one is closed again: with n free ones rank n - 1 has none.
  const int highest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(highest);
  const std::string no_socket = message_under(RLIMIT_NOFILE, static_cast<rlim_t>(highest) + 6);
  CAPTURE(no_socket);
  CHECK(no_socket.rfind("cannot start rank ", 0) == 0);
  CHECK(no_socket.find(" of 16: cannot create a socket for it: Too many open files; allow more open files "
                       "(ulimit -n), or start fewer ranks") != std::string::npos);
  CHECK(no_socket.find("left") == std::string::npos);
  CHECK(message_under(RLIMIT_NPROC, 1) ==
        "cannot start rank 0 of 16: cannot fork: Resource temporarily unavailable; allow more processes "
        "(ulimit "
        "-u), or start fewer ranks");
}

TEST_CASE("rank_launcher: the message has every cause once, and names ranks as people do") {
  const auto failed = [](std::int32_t rank, const char* error) { return RankEnd{rank, error, false}; };
  const auto followed = [](std::int32_t rank) { return RankEnd{rank, "rank 9 failed: x", true}; };
  CHECK(message_of(std::vector<RankEnd>{}).empty());
  CHECK(message_of({failed(0, ""), failed(1, "")}).empty());
  CHECK(message_of({failed(0, "4 ranks, but 1 GPU"), failed(1, "4 ranks, but 1 GPU"),
                    failed(2, "4 ranks, but 1 GPU"), failed(3, "4 ranks, but 1 GPU")}) ==
        "ranks 0 to 3: 4 ranks, but 1 GPU");
  CHECK(message_of({failed(0, "x"), failed(1, "x"), failed(2, "y"), failed(3, "x"), followed(4), followed(5),
                    followed(6), followed(8), failed(9, "z")}) ==
        "ranks 0, 1, 3: x; rank 2: y; rank 9: z; ranks 4 to 6, 8 ended as a consequence");
  CHECK(message_of({failed(0, "a"), failed(1, "b"), failed(2, "c"), failed(3, "d"), failed(4, "e"),
                    failed(5, "f")}) ==
        "rank 0: a; rank 1: b; rank 2: c; rank 3: d; 2 more errors on other ranks");
  CHECK(message_of({followed(0), followed(1)}) == "ranks 0, 1: rank 9 failed: x");  // nothing else is known
}

}  // namespace
}  // namespace goodput::gpu
