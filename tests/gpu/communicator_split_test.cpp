// Communicators split off another one, and reductions on them: what arrives, and how they end when a rank in
// them, or one outside of them, is gone, hangs, fails or does something else.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "gpu/cuda_call.h"
#include "gpu/device_memory.h"
#include "gpu/nccl/communicator.h"
#include "gpu/nccl/nccl_call.h"
#include "tests/gpu/nccl_ranks.h"
#include "tests/simt/nccl_faults.h"

namespace goodput::gpu::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The sum of what all ranks of a communicator say.
std::int32_t sum_over(Communicator& communicator, std::int32_t own) {
  const Stream stream;
  DeviceBuffer<std::int32_t> number = upload(std::vector<std::int32_t>{own});
  communicator.group("the sum", [&](ncclComm_t comm) {
    GOODPUT_NCCL_CALL(ncclAllReduce(number.data(), number.data(), 1, ncclInt32, ncclSum, comm, stream.get()));
  });
  communicator.synchronize(stream.get());
  return download(number.data(), 1).front();
}

// A digit a rank, so that the sum says whose it is: 1 for rank 0, 10 for rank 1, ...
std::int32_t digit_of(const Communicator& of_all) {
  std::int32_t digit = 1;
  for (std::int32_t rank = 0; rank < of_all.rank(); ++rank) digit *= 10;
  return digit;
}

void check_text(const std::string& text, const std::string& expected) {
  if (text != expected) throw std::runtime_error(text + " instead of " + expected);
}

bool took_less(steady_clock::time_point began, milliseconds most) {
  return steady_clock::now() - began < most;
}

TEST_CASE("communicator: split, every rank is in the one of its color, and the first goes on") {
  const auto ends = run_nccl_ranks({.ranks = 5}, [](Communicator& all) {
    const std::int32_t color = all.rank() % 2;
    const std::unique_ptr<Communicator> part = all.split(color);
    const auto seen = std::to_string(part->rank()) + " of " + std::to_string(part->ranks()) + ": " +
                      std::to_string(sum_over(*part, digit_of(all)));
    check_text(seen, std::to_string(all.rank() / 2) + (color == 0 ? " of 3: 10101" : " of 2: 1010"));
    check_text(std::to_string(sum_over(all, digit_of(all))), "11111");
    part->close();
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("communicator: several that were split off are there at once, and outlive the first") {
  const auto ends = run_nccl_ranks({.ranks = 4}, [](Communicator& all) {
    const auto own = digit_of(all);
    const auto pair = all.split(all.rank() < 2 ? 0 : 1);
    const auto triple = all.split(all.rank() < 3 ? 0 : 1);
    std::unique_ptr<Communicator> whole = all.split(0);
    const auto again = whole->split(all.rank() < 1 ? 7 : 8);
    whole.reset();
    check_text(std::to_string(sum_over(*pair, own)), all.rank() < 2 ? "11" : "1100");
    check_text(std::to_string(sum_over(*triple, own)), all.rank() < 3 ? "111" : "1000");
    check_text(std::to_string(sum_over(*again, own)), all.rank() < 1 ? "1" : "1110");
  });
  CHECK(message_of(ends) == "");
}

// Ranks 0 and 1 of four are one communicator, 2 and 3 the other; `body` gets that of all and the own one.
std::vector<RankEnd> run_halves(const NcclRanks& of,
                                const std::function<void(Communicator&, Communicator&)>& body) {
  return run_nccl_ranks(of, [&](Communicator& all) {
    const auto half = all.split(all.rank() / 2);
    body(all, *half);
  });
}

TEST_CASE("communicator: a rank that is killed ends who waits in another part, or for all, within 2 s") {
  const auto began = steady_clock::now();
  const auto ends = run_halves({.ranks = 4}, [](Communicator& all, Communicator& half) {
    static_cast<void>(sum_over(half, 1));
    if (all.rank() == 3) raise(SIGKILL);
    if (all.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(1));  // rank 0 waits in its part
    static_cast<void>(all.rank() == 2 ? sum_over(all, 1) : sum_over(half, 1));
    static_cast<void>(sum_over(all, 1));
  });
  CHECK(took_less(began, milliseconds(2000)));
  CHECK(error_of(ends, 3) == "killed by signal 9 (SIGKILL)");
  for (const std::size_t rank : {0U, 1U, 2U}) {
    CHECK(error_of(ends, rank) == "rank 3 was killed by signal 9 (SIGKILL)");
    CHECK(ends[rank].consequence);
  }
}

TEST_CASE("communicator: whenever a rank dies, in a split or an all-reduce, all others end within 2 s") {
  // Of rank 2: joining, the split and its end, a sum and its end in either, closing both.
  for (int call = 1; call <= 8; ++call) {
    CAPTURE(call);
    const auto began = steady_clock::now();
    const auto die_on_rank_2 = [call](std::int32_t rank) {
      if (rank == 2) simt::set_nccl_faults({.die_at_call = call});
    };
    const auto ends =
        run_halves({.ranks = 4, .prepare = die_on_rank_2}, [](Communicator& all, Communicator& half) {
          static_cast<void>(sum_over(half, 1));
          static_cast<void>(sum_over(all, 1));
          half.close();
        });
    CHECK(took_less(began, milliseconds(2000)));
    CHECK(error_of(ends, 2) == "killed by signal 9 (SIGKILL)");
    for (const std::size_t rank : {0U, 1U, 3U}) CHECK(has(error_of(ends, rank), "rank 2 was killed"));
  }
}

TEST_CASE("communicator: whichever call of a split or a sum fails on a rank, all end with one line") {
  int failing = 0;
  for (int call = 1;; ++call) {
    CAPTURE(call);
    const auto fail_on_rank_1 = [call](std::int32_t rank) {
      if (rank == 1) simt::set_nccl_faults({.fail_call = call});
    };
    const auto ends =
        run_halves({.ranks = 4, .prepare = fail_on_rank_1}, [](Communicator& all, Communicator& half) {
          static_cast<void>(sum_over(half, 1));
          half.close();
          static_cast<void>(sum_over(all, 1));
        });
    if (message_of(ends).empty()) break;
    ++failing;
    CHECK(has(error_of(ends, 1), ": nccl"));
    for (const std::size_t rank : {0U, 2U, 3U}) CHECK(has(error_of(ends, rank), "rank 1 failed: "));
  }
  // Joining, splitting, twice a sum and the end of its group, closing two.
  CHECK(failing == 1 + 1 + 2 * 2 + 2);
}

TEST_CASE("communicator: a rank that does not split is an error on the others after the deadline") {
  LaunchOptions options;
  options.ranks = 3;
  options.grace = milliseconds(200);
  const auto ends = run_ranks(options, [](RankProcess& process) {
    Communicator all(process, milliseconds(300));
    if (process.rank() == 2) std::this_thread::sleep_for(std::chrono::seconds(30));
    static_cast<void>(all.split(0));
  });
  const std::string expected =
      " of 3: splitting did not end within 300 ms: another rank hangs or does something else; the operation "
      "was aborted";
  CHECK((has(error_of(ends, 0), expected) || has(error_of(ends, 1), expected)));
  CHECK(error_of(ends, 2) == "killed 200 ms after another rank failed");
}

TEST_CASE("communicator: a rank that adds where others split is told, and so are they") {
  const auto ends = run_nccl_ranks({.ranks = 3}, [](Communicator& all) {
    if (all.rank() == 2) {
      static_cast<void>(sum_over(all, 1));
    } else {
      static_cast<void>(all.split(0));
    }
  });
  CHECK(has(message_of(ends), "a collective that not all ranks call"));
  for (const RankEnd& end : ends) CHECK(end.error != "");
}

TEST_CASE("communicator: one that was split off says in errors which rank of all it is") {
  const auto ends = run_halves({.ranks = 4}, [](Communicator& all, Communicator& half) {
    half.close();
    if (all.rank() == 3) static_cast<void>(sum_over(half, 1));
    static_cast<void>(sum_over(all, 1));
  });
  CHECK(error_of(ends, 3) ==
        "the communicator of rank 1 of 2 (rank 3 of 4 in all) can no longer be used: it was closed");
}

TEST_CASE("communicator: one that failed, and the one it was split off, end each for itself") {
  const auto ends = run_halves({.ranks = 4}, [](Communicator& all, Communicator& half) {
    try {
      half.or_abort([] { throw std::runtime_error("a launch failed"); });
    } catch (const std::runtime_error&) {
    }
    check_text(std::to_string(sum_over(all, digit_of(all))), "1111");
  });
  CHECK(message_of(ends) == "");
}

}  // namespace
}  // namespace goodput::gpu::testing
