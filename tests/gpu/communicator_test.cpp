// The communicator: a rank that is gone, hangs, fails or does something else is an error on all, never a
// hang.
#include "gpu/nccl/communicator.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "gpu/device_memory.h"
#include "gpu/graph.h"
#include "gpu/nccl/nccl_call.h"
#include "gpu/nccl/nccl_transport.h"
#include "tests/gpu/nccl_ranks.h"
#include "tests/simt/nccl_faults.h"

namespace goodput::gpu::testing {
namespace {

using std::chrono::milliseconds;

// Rows of one number, `rows` to every rank; returns what was received.
std::vector<std::int32_t> exchange(Communicator& communicator, std::int32_t rows = 3) {
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  const std::vector<std::int32_t> all(ranks, rows);
  const auto count = ranks * static_cast<std::size_t>(rows);
  const DeviceBuffer<std::int32_t> send = upload(std::vector<std::int32_t>(count, communicator.rank()));
  DeviceBuffer<std::int32_t> received(count);
  NcclTransport transport(communicator);
  const Stream stream;
  transport.all_to_all({{send.data(), received.data(), all.data(), all.data()}}, 4, stream.get());
  transport.synchronize(stream.get());
  return download(received.data(), received.size());
}

bool is_one_line(const std::string& text) {
  return !text.empty() && !has(text, "\n");
}

class Stopwatch {
 public:
  [[nodiscard]] milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began_);
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

TEST_CASE(
    "communicator: a rank that is killed while others wait for it ends them within 2 s, with its name") {
  for (const std::int32_t ranks : {2, 3, 8}) {
    CAPTURE(ranks);
    const Stopwatch stopwatch;
    const auto ends = run_nccl_ranks({.ranks = ranks}, [](Communicator& communicator) {
      static_cast<void>(exchange(communicator));
      if (communicator.rank() == 1) raise(SIGKILL);
      static_cast<void>(exchange(communicator));
    });
    CHECK(stopwatch.elapsed() < milliseconds(2000));
    CHECK(error_of(ends, 1) == "killed by signal 9 (SIGKILL)");
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
      if (rank == 1) continue;
      CHECK(has(error_of(ends, rank), "rank 1 was killed by signal 9 (SIGKILL)"));
      CHECK(ends[rank].consequence);
    }
  }
}

TEST_CASE(
    "communicator: a rank that is killed while a graph is replayed ends the others, which still have the "
    "graph") {
  const Stopwatch stopwatch;
  const auto ends = run_nccl_ranks({.ranks = 3}, [](Communicator& communicator) {
    const DeviceBuffer<std::int32_t> own = upload(std::vector<std::int32_t>{communicator.rank()});
    DeviceBuffer<std::int32_t> all(3);
    NcclTransport transport(communicator);
    const Stream stream;
    const Graph graph(stream.get(), [&] {
      transport.all_gather({{own.data(), all.data()}}, 1, stream.get());
    });
    for (int replay = 0; replay < 5; ++replay) {
      if (replay == 3 && communicator.rank() == 1) raise(SIGKILL);
      graph.launch(stream.get());
      transport.synchronize(stream.get());
    }
  });
  CHECK(stopwatch.elapsed() < milliseconds(2000));
  for (const std::size_t rank : {0U, 2U}) CHECK(has(error_of(ends, rank), "rank 1 was killed by signal 9"));
}

TEST_CASE("communicator: what throws between a group and the wait for it aborts") {
  const auto ends = run_nccl_ranks({.ranks = 2}, [](Communicator& communicator) {
    static_cast<void>(exchange(communicator));
    const auto fail = [] { throw std::runtime_error("a launch failed"); };
    CHECK_THROWS_AS(communicator.or_abort(fail), std::runtime_error);
    static_cast<void>(exchange(communicator));
  });
  CHECK(error_of(ends, 0) == "the communicator of rank 0 of 2 can no longer be used: a launch failed");
}

// A rank of which the launcher can say nothing: as under a scheduler.
class Unwatched final : public RankProcess {
 public:
  explicit Unwatched(RankProcess& process) : process_(process) {}
  [[nodiscard]] std::int32_t rank() const override { return process_.rank(); }
  [[nodiscard]] std::int32_t ranks() const override { return process_.ranks(); }
  [[nodiscard]] std::int32_t local_rank() const override { return process_.local_rank(); }
  UniqueId share(const std::function<UniqueId()>& make) override { return process_.share(make); }
  void joined() override { process_.joined(); }
  [[nodiscard]] std::string lost() override { return ""; }

 private:
  RankProcess& process_;
};

TEST_CASE("communicator: without a launcher that watches, NCCL finds the dead peer within 2 s") {
  LaunchOptions options;
  options.ranks = 3;
  const Stopwatch stopwatch;
  const auto ends = run_ranks(options, [](RankProcess& process) {
    Unwatched unwatched(process);
    Communicator communicator(unwatched);
    static_cast<void>(exchange(communicator));
    if (communicator.rank() == 1) raise(SIGKILL);
    static_cast<void>(exchange(communicator));
  });
  CHECK(stopwatch.elapsed() < milliseconds(2000 + 1000));  // what a launcher is given to say which it was
  for (const std::size_t rank : {0U, 2U}) {
    CHECK(has(error_of(ends, rank),
              "the communicator of rank " + std::to_string(rank) + " of 3: the all-to-all of rows: "));
    CHECK(is_one_line(error_of(ends, rank)));
  }
}

TEST_CASE("communicator: a rank that hangs is an error on the others after the deadline") {
  LaunchOptions options;
  options.ranks = 3;
  options.grace = milliseconds(200);
  const Stopwatch stopwatch;
  const auto ends = run_ranks(options, [](RankProcess& process) {
    Communicator communicator(process, milliseconds(300));
    if (communicator.rank() == 2) std::this_thread::sleep_for(std::chrono::seconds(30));
    static_cast<void>(exchange(communicator));
  });
  CHECK(stopwatch.elapsed() < milliseconds(3000));
  const std::string expected =
      " of 3: the all-to-all of rows did not end within 300 ms: another rank hangs or does something else; "
      "the operation was aborted";
  CHECK((has(error_of(ends, 0), expected) || has(error_of(ends, 1), expected)));
  CHECK(error_of(ends, 2) == "killed 200 ms after another rank failed");
}

TEST_CASE("communicator: whichever call of NCCL fails on a rank, all ranks end with one line that names it") {
  int failing = 0;
  for (int call = 1;; ++call) {
    CAPTURE(call);
    const auto fail_on_rank_1 = [call](std::int32_t rank) {
      if (rank == 1) simt::set_nccl_faults({.fail_call = call});
    };
    const auto ends = run_nccl_ranks({.ranks = 3, .prepare = fail_on_rank_1}, [](Communicator& communicator) {
      static_cast<void>(exchange(communicator));
      static_cast<void>(exchange(communicator));
    });
    if (message_of(ends).empty()) break;
    ++failing;
    CHECK(has(error_of(ends, 1), ": nccl"));
    CHECK(has(error_of(ends, 1), "unhandled system error"));
    for (const RankEnd& end : ends) CHECK(is_one_line(end.error));
    for (const std::size_t rank : {0U, 2U}) CHECK(ends[rank].consequence);
  }
  // Joining, twice a group of two sends, two receives and its end, closing.
  CHECK(failing == 1 + 2 * 5 + 1);
}

TEST_CASE("communicator: whenever a rank dies within NCCL, all others end within 2 s") {
  for (int call = 1; call <= 12; ++call) {
    CAPTURE(call);
    const Stopwatch stopwatch;
    const auto die_on_rank_0 = [call](std::int32_t rank) {
      if (rank == 0) simt::set_nccl_faults({.die_at_call = call});
    };
    const auto ends = run_nccl_ranks({.ranks = 3, .prepare = die_on_rank_0}, [](Communicator& communicator) {
      static_cast<void>(exchange(communicator));
      static_cast<void>(exchange(communicator));
    });
    CHECK(stopwatch.elapsed() < milliseconds(2000));
    CHECK(error_of(ends, 0) == "killed by signal 9 (SIGKILL)");
    for (const std::size_t rank : {1U, 2U}) CHECK(has(error_of(ends, rank), "rank 0 was killed"));
  }
}

TEST_CASE("communicator: a rank that is late is waited for") {
  const auto delay_rank_1 = [](std::int32_t rank) {
    if (rank == 1) simt::set_nccl_faults({.delay_at_call = 2, .delay = milliseconds(300)});
  };
  const auto ends = run_nccl_ranks({.ranks = 3, .prepare = delay_rank_1}, [](Communicator& communicator) {
    if (exchange(communicator) != std::vector<std::int32_t>{0, 0, 0, 1, 1, 1, 2, 2, 2}) {
      throw std::runtime_error("wrong rows");
    }
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("communicator: ranks that disagree about a message are told both sizes, at once") {
  const Stopwatch stopwatch;
  const auto ends = run_nccl_ranks({.ranks = 2}, [](Communicator& communicator) {
    static_cast<void>(exchange(communicator, communicator.rank() == 0 ? 3 : 4));
  });
  CHECK(stopwatch.elapsed() < milliseconds(1000));  // nobody is gone: no launcher is asked who
  const std::string message = message_of(ends);
  CHECK((has(message, "rank 1 sends 16 bytes to rank 0, which expects 12") ||
         has(message, "rank 0 sends 12 bytes to rank 1, which expects 16")));
  for (const RankEnd& end : ends) CHECK(is_one_line(end.error));
}

TEST_CASE("communicator: a rank that gathers while others exchange is told, and so are they") {
  const auto ends = run_nccl_ranks({.ranks = 3}, [](Communicator& communicator) {
    if (communicator.rank() != 2) {
      static_cast<void>(exchange(communicator));
      return;
    }
    const DeviceBuffer<std::int32_t> own(1);
    DeviceBuffer<std::int32_t> all(3);
    NcclTransport transport(communicator);
    const Stream stream;
    transport.all_gather({{own.data(), all.data()}}, 1, stream.get());
    transport.synchronize(stream.get());
  });
  for (const RankEnd& end : ends) CHECK(is_one_line(end.error));
}

TEST_CASE("communicator: after its first error it says what that was") {
  const auto ends = run_nccl_ranks({.ranks = 1}, [](Communicator& communicator) {
    try {
      communicator.group("a group", [](ncclComm_t) { throw std::runtime_error("of the caller"); });
    } catch (const std::runtime_error&) {
    }
    communicator.group("another", [](ncclComm_t) {});
  });
  CHECK(error_of(ends, 0) == "the communicator of rank 0 of 1 can no longer be used: of the caller");
}

TEST_CASE("communicator: it is closed once") {
  // One rank: of two the first that fails would end the other within its close().
  const auto ends = run_nccl_ranks({.ranks = 1}, [](Communicator& communicator) {
    static_cast<void>(exchange(communicator));
    communicator.close();
  });
  CHECK(error_of(ends, 0) == "the communicator of rank 0 of 1 can no longer be used: it was closed");
}

TEST_CASE("nccl transport: ranks without rows for each other do not call each other") {
  // Joining, the end of a group without messages; closing is the third call.
  const auto fail_third = [](std::int32_t) { simt::set_nccl_faults({.fail_call = 3}); };
  const auto ends = run_nccl_ranks({.ranks = 2, .prepare = fail_third}, [](Communicator& communicator) {
    static_cast<void>(exchange(communicator, 0));
  });
  CHECK(has(message_of(ends), "ncclCommFinalize"));
}

TEST_CASE("nccl transport: parts and rows that cannot be are refused before anything is queued") {
  const auto problem_of = [](const std::function<void(NcclTransport&)>& queue) {
    const auto ends = run_nccl_ranks({.ranks = 1}, [&](Communicator& communicator) {
      NcclTransport transport(communicator);
      queue(transport);
    });
    return error_of(ends, 0);
  };
  CHECK(problem_of([](NcclTransport& transport) { transport.all_gather({}, 1, nullptr); }) ==
        "NCCL transport: 0 parts, but only one local rank, 0");
  CHECK(problem_of([](NcclTransport& transport) {
          transport.all_gather({{}, {}}, 1, nullptr);
        }) == "NCCL transport: 2 parts, but only one local rank, 0");
  CHECK(problem_of([](NcclTransport& transport) { transport.all_to_all({}, 4, nullptr); }) ==
        "NCCL transport: 0 parts, but only one local rank, 0");
  static const std::int32_t minus_one = -1;
  static const std::int32_t one = 1;
  static const std::int32_t two = 2;
  CHECK(problem_of([](NcclTransport& transport) {
          transport.all_to_all({{nullptr, nullptr, &minus_one, &one}}, 4, nullptr);
        }) == "NCCL transport: rank 0 exchanges a negative number of rows with rank 0");
  CHECK(problem_of([](NcclTransport& transport) {
          transport.all_to_all({{nullptr, nullptr, &one, &minus_one}}, 4, nullptr);
        }) == "NCCL transport: rank 0 exchanges a negative number of rows with rank 0");
  CHECK(problem_of([](NcclTransport& transport) {
          transport.all_to_all({{nullptr, nullptr, &one, &two}}, 4, nullptr);
        }) == "NCCL transport: rank 0 sends 1 rows to itself but expects 2");
}

}  // namespace
}  // namespace goodput::gpu::testing
