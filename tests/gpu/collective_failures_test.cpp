// Collectives that go wrong: values, ranks, and what only one rank knows of.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "gpu/calibrate/collective_nccl_case.h"
#include "gpu/calibrate/collective_nccl_timer.h"
#include "gpu/calibrate/stopping_rule.h"
#include "tests/gpu/collective_ranks.h"
#include "tests/simt/nccl_faults.h"

namespace goodput::gpu::calibrate {
namespace {

using goodput::gpu::testing::error_of;
using goodput::gpu::testing::has;
using goodput::gpu::testing::run_nccl_ranks;
using std::chrono::milliseconds;

milliseconds since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
}

std::uint64_t wrong_of(CollectiveOp op, std::int64_t bytes, Communicator& all, bool corrupt) {
  const Stream stream;
  CollectiveCase one({op, {all.ranks(), {}}, bytes}, all, stream);
  if (corrupt) simt::set_nccl_faults({.corrupt_at_call = 1});
  one.queue(stream.get());
  all.synchronize(stream.get());
  return one.count_wrong(stream);
}

TEST_CASE("collectives: every value of every rank is checked") {
  for (const CollectiveOp op : kCollectiveOps) {
    for (const std::int32_t ranks : {2, 3}) {
      CAPTURE(name_of(op));
      CAPTURE(ranks);
      const auto ends = run_nccl_ranks({.ranks = ranks}, [op](Communicator& all) {
        expect_that(wrong_of(op, 1200, all, false) == 0, "wrong where all is right");
        // Rank 1 sends one wrong value, to the next rank, or to rank 0 in a group of sends.
        const std::uint64_t wrong = wrong_of(op, 1200, all, all.rank() == 1);
        const bool in_group_for_all = op == CollectiveOp::kAllToAll;
        const std::int32_t receiver = in_group_for_all ? 0 : 2 % all.ranks();
        expect_that(wrong == (all.rank() == receiver ? 1U : 0U), std::to_string(wrong) + " wrong");
      });
      CHECK(message_of(ends) == "");
    }
  }
}

TEST_CASE("collectives: what did not come is wrong, all of it") {
  const auto ends = run_nccl_ranks({.ranks = 2}, [](Communicator& all) {
    for (const CollectiveOp op : kCollectiveOps) {
      const Stream stream;
      CollectiveCase one({op, {2, {}}, 800}, all, stream);
      const std::uint64_t all_values = op == CollectiveOp::kReduceScatter ? 100 : 200;
      expect_that(one.count_wrong(stream) == all_values, name_of(op));
    }
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("collectives: a sample is the slowest rank's time, on all ranks") {
  CollectiveAnswers least_us;
  const auto ends = run_collective_ranks(3, [&](CollectiveRank& rank) {
    Communicator all(rank.process);
    SharedTime time{bench::steady_clock(), 0};
    CollectiveTimer timer(all, rule_for(Sizes::kQuick), {[&] { return time.now; }, 1e18}, time);
    // Rank 1 fills memory; the others have nothing to do.
    constexpr std::size_t kBytes = std::size_t{64} << 20U;
    DeviceBuffer<unsigned char> memory(all.rank() == 1 ? kBytes : 1);
    const Visit visit = timer.measure(
        [&](cudaStream_t stream) { GOODPUT_CUDA(cudaMemsetAsync(memory.data(), 0, memory.size(), stream)); });
    all.close();
    least_us.put(rank.process, std::to_string(visit.us.min));
  });
  CHECK(message_of(ends) == "");
  CHECK(std::stod(least_us.of(0)) > 500);  // at 128 GB/s
  CHECK(least_us.of(1) == least_us.of(0));
  CHECK(least_us.of(2) == least_us.of(0));
}

TEST_CASE("collectives: whenever a rank dies, in a group or outside of it, all end within 2 s") {
  for (const std::int32_t dying : {1, 2, 3}) {
    for (const int call : {2, 5, 9, 20, 50, 100}) {
      CAPTURE(dying);
      CAPTURE(call);
      const auto began = std::chrono::steady_clock::now();
      const auto die = [=](std::int32_t rank) {
        if (rank == dying) simt::set_nccl_faults({.die_at_call = call});
      };
      const auto ends = run_collective_ranks(
          4, [](CollectiveRank& rank) { static_cast<void>(rank.measure()); }, die);
      CHECK(since(began) < milliseconds(2000));
      for (const RankEnd& end : ends) {
        const bool is_dead = end.rank == dying;
        CHECK(end.error == (is_dead ? "killed by signal 9 (SIGKILL)"
                                    : "rank " + std::to_string(dying) + " was killed by signal 9 (SIGKILL)"));
      }
    }
  }
}

TEST_CASE("collectives: behind the loss of a rank what was measured is saved, and a note says why it ended") {
  const auto ends = run_collective_ranks(
      2,
      [](CollectiveRank& rank) {
        rank.run.only = "all_gather";
        try {
          static_cast<void>(rank.measure());
        } catch (const LostRank&) {
          const auto* const note = std::get_if<NoteRecord>(&rank.journal.back());
          expect_that(note != nullptr, "no note");
          throw std::runtime_error(note->text + ", saved " + std::to_string(rank.saved) + " times");
        }
      },
      [](std::int32_t rank) {
        if (rank == 1) simt::set_nccl_faults({.die_at_call = 20});
      });
  // At the beginning, with the sentinels, and then.
  CHECK(error_of(ends, 0) ==
        "collectives were aborted: rank 1 was killed by signal 9 (SIGKILL), saved 2 times");
}

TEST_CASE("collectives: a call of NCCL that fails on one rank ends all of them") {
  for (const int call : {3, 10, 30}) {
    CAPTURE(call);
    const auto began = std::chrono::steady_clock::now();
    const auto ends = run_collective_ranks(
        3, [](CollectiveRank& rank) { static_cast<void>(rank.measure()); },
        [call](std::int32_t rank) {
          if (rank == 1) simt::set_nccl_faults({.fail_call = call});
        });
    CHECK(since(began) < milliseconds(2000));
    CHECK(has(error_of(ends, 1), "unhandled system error"));
    for (const std::size_t rank : {0U, 2U}) CHECK(has(error_of(ends, rank), "rank 1 failed: "));
  }
}

TEST_CASE("collectives: a journal that cannot be written ends all ranks") {
  const auto ends = run_collective_ranks(3, [](CollectiveRank& rank) {
    const CalibrationHooks full_disk{{},
                                     {},
                                     [](const Record&) { throw std::invalid_argument("no space left"); },
                                     [] {},
                                     [](const std::string&) {}};
    static_cast<void>(measure_collectives(rank.process, rank.place, rank.run, full_disk, rank.points));
  });
  CHECK(error_of(ends, 0) == "no space left");
  for (const std::size_t rank : {1U, 2U}) CHECK(error_of(ends, rank) == "rank 0 failed: no space left");
}

TEST_CASE("collectives: a rank is where its device is, and NCCL is found") {
  const auto ends = run_collective_ranks(2, [](CollectiveRank& rank) {
    simt::set_driver_answers({cudaSuccess, 2, CUDART_VERSION});
    GOODPUT_CUDA(cudaSetDevice(rank.process.local_rank()));
    const RankPlace place = place_of_this_rank();
    expect_that(!place.host.empty(), "no host");
    expect_that(place.gpu == "00000000:0" + std::to_string(rank.process.rank()) + ":00.0", place.gpu);
    const CollectiveSearch search = find_collectives();
    expect_that(search.version == "2.28.9" && search.why_none.empty(), search.version);
  });
  CHECK(message_of(ends) == "");
}

}  // namespace
}  // namespace goodput::gpu::calibrate
