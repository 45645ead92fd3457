// Jobs by hand, small enough to follow.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/kineto_job.h"
#include "tests/support/rank_activity_case.h"

namespace goodput {
namespace {

using testing::RankCase;

const ProcessGroup kWorld{"0", "default_pg", {0, 1}};

// Steps of 20 ms: work, an all-reduce of 2 ms that both wait for, 4 ms of optimizer. Rank 1 works 8 ms before
// it, rank 0 `work_ms`, and waits.
//   rank 0   [work][spin     ][2 ms][4 ms]
//   rank 1   [8 ms          ][2 ms][4 ms]
RankActivity data_parallel_rank(std::int32_t rank, double work_ms, int steps = 4) {
  RankCase one(rank, 2, {kWorld});
  for (int step = 0; step < steps; ++step) {
    one.step(14.0 * step).work(0, work_ms);
    one.collective(0, work_ms, 10).work(10, 14).end(14);
  }
  return one.take();
}

std::string error_of(std::vector<RankActivity> activities) {
  const auto analysed = testing::analyse_ranks(std::move(activities));
  return analysed ? "" : analysed.error().what;
}

TEST_CASE("arrange collectives: a job of two ranks costs what a closed form says") {
  const auto analysed = testing::analyse_ranks({data_parallel_rank(0, 4), data_parallel_rank(1, 8)});
  REQUIRE(analysed);
  const WhatIf& whatif = analysed->analysis.whatif;
  // Recorded: 8 + 2 + 4. Ideal: the mean of 4 and 8, 2, 4.
  CHECK(whatif.base_s.front() == doctest::Approx(14e-3));
  CHECK(whatif.nodelay.span_s.front() == doctest::Approx(14e-3));
  CHECK(whatif.ideal_span_s == doctest::Approx(12e-3));
  CHECK(whatif.slowdown == doctest::Approx(14.0 / 12));
  // Rank 1 alone: 8 + 2 + 4. Rank 0 alone is faster than the ideal, and waits for rank 1.
  CHECK(analysed->slowdown_of(1) == doctest::Approx(14.0 / 12));
  CHECK(analysed->slowdown_of(0) == doctest::Approx(1));
  CHECK(analysed->analysis.rank_work->extra_s[1] == doctest::Approx(4e-3));
  CHECK(analysed->analysis.rank_work->extra_s[0] == doctest::Approx(-4e-3));
  CHECK(analysed->subject() == "rank:1");
  CHECK(analysed->analysis.grid.naming == WorkerGrid::Naming::kByRank);
}

TEST_CASE("arrange collectives: an all-reduce that overlaps work is not waited for") {
  // The all-reduce runs from 4 to 9 ms beside work that goes on until 12: only the end of the step waits.
  const auto rank = [](std::int32_t number) {
    RankCase one(number, 2, {kWorld});
    for (int step = 0; step < 4; ++step)
      one.step(14.0 * step).work(0, 4).collective(0, 4, 9).work(4, 12).end(12);
    return one.take();
  };
  const auto analysed = testing::analyse_ranks({rank(0), rank(1)});
  REQUIRE(analysed);
  CHECK(analysed->analysis.whatif.nodelay.span_s.front() == doctest::Approx(12e-3));
  CHECK(analysed->analysis.whatif.slowdown == doctest::Approx(1));
}

TEST_CASE("arrange collectives: a recorded wait counts, unless the next work begins before the end") {
  // The work behind the wait begins at 9 ms, when the all-reduce ends, or at 5 ms, beside it.
  const auto rank = [](std::int32_t number, double begin_ms) {
    RankCase one(number, 2, {kWorld});
    for (int step = 0; step < 2; ++step)
      one.step(20.0 * step).work(0, 4).collective(0, 4, 9).wait().work(begin_ms, begin_ms + 6).end(15);
    return one.take();
  };
  const auto waits = testing::analyse_ranks({rank(0, 9), rank(1, 9)});
  REQUIRE(waits);
  CHECK(waits->analysis.whatif.nodelay.span_s.front() == doctest::Approx(15e-3));
  CHECK_FALSE(waits->job.trace.has_inferred_waits);
  const auto overlaps = testing::analyse_ranks({rank(0, 5), rank(1, 5)});
  REQUIRE(overlaps);
  CHECK(overlaps->analysis.whatif.nodelay.span_s.front() == doctest::Approx(11e-3));
}

TEST_CASE("arrange collectives: work on the stream of a collective waits for it, whatever was recorded") {
  const auto rank = [](std::int32_t number, double work_ms) {
    RankCase one(number, 2, {kWorld});
    one.on_stream(0);
    for (int step = 0; step < 2; ++step)
      one.step(20.0 * step).work(0, work_ms).collective(0, work_ms, 9).work(9, 12).end(12);
    return one.take();
  };
  const auto analysed = testing::analyse_ranks({rank(0, 3), rank(1, 7)});
  REQUIRE(analysed);
  CHECK_FALSE(analysed->job.trace.has_inferred_waits);
  CHECK(analysed->analysis.whatif.nodelay.span_s.front() == doctest::Approx(12e-3));
  CHECK(analysed->analysis.whatif.ideal_span_s == doctest::Approx(10e-3));  // 5 + 2 + 3
}

TEST_CASE("arrange collectives: fewer than four observations infer nothing, and a note says so") {
  const auto analysed = testing::analyse_ranks({data_parallel_rank(0, 4, 1), data_parallel_rank(1, 8, 1)});
  REQUIRE(analysed);
  CHECK_FALSE(analysed->job.trace.has_inferred_waits);
  CHECK(analysed->notes.back() ==
        "too few observations (2; 4 are needed) to infer which work waits for which collective; profile more "
        "steps");
}

TEST_CASE("arrange collectives: a device that idles until a late launch counts as host time") {
  // Rank 1 launches its all-reduce 5 ms after its work has ended; nobody else waits for anything before.
  const auto rank = [](std::int32_t number, double begin_ms) {
    RankCase one(number, 2, {kWorld});
    for (int step = 0; step < 4; ++step)
      one.step(20.0 * step).work(0, 4).collective(0, begin_ms, 11).work(11, 14).end(14);
    return one.take();
  };
  const auto analysed = testing::analyse_ranks({rank(0, 4), rank(1, 9)});
  REQUIRE(analysed);
  CHECK(analysed->analysis.whatif.nodelay.span_s.front() == doctest::Approx(14e-3));
  CHECK(analysed->analysis.rank_work->extra_s[1] == doctest::Approx(5e-3));
  CHECK(analysed->analysis.rank_work->slow.front().op_type == "host");
}

TEST_CASE("arrange collectives: an eager send waits for nobody, and its receive waits for it") {
  // Rank 0 sends at 2 ms for 1 ms; rank 1 begins to receive between 4 and 7 ms, which takes 1 ms.
  const ProcessGroup pipeline{"0", "mesh_pp", {0, 1}};
  RankCase sender(0, 2, {pipeline});
  RankCase receiver(1, 2, {pipeline});
  for (int step = 0; step < 4; ++step) {
    const double late = 4 + step;
    sender.step(20.0 * step).work(0, 2).send(1, 2, 3).work(3, 10).end(10);
    receiver.step(20.0 * step).work(0, late).receive(0, late, late + 1).work(late + 1, 12).end(12);
  }
  const auto analysed = testing::analyse_ranks({sender.take(), receiver.take()});
  REQUIRE(analysed);
  CHECK(analysed->analysis.grid.pp_size == 2);
  CHECK(analysed->analysis.whatif.nodelay.span_s.front() == doctest::Approx(12e-3));
}

TEST_CASE("arrange collectives: an incomplete job is refused with a remedy") {
  const RankActivity first = data_parallel_rank(0, 4);
  const RankActivity second = data_parallel_rank(1, 8);
  CHECK(error_of({first}) ==
        "only 1 of 2 ranks have traces (missing: 1); all are needed because ranks wait for each other; "
        "profile all ranks (Megatron-LM: --profile-ranks)");
  RankActivity later = second;
  for (auto& step : later.steps) step.number += 10;
  CHECK(error_of({first, later}) ==
        "no step is in all traces: rank 0 has 1-4, rank 1 has 11-14; start the profiler at the same step on "
        "all ranks");
  RankActivity other_job = second;
  other_job.world_size = 3;
  CHECK(error_of({first, other_job}) ==
        "world_size is 3 here but 2 in rank0.json: these traces are from different jobs; give the files of "
        "one job");
  RankActivity on_cpu = second;
  on_cpu.on_device = false;
  CHECK(error_of({first, on_cpu}) ==
        "has no GPU kernels, but rank0.json has some; use the same profiler activities on all ranks");
  CHECK(error_of({first, second, second}) ==
        "step 1 of rank 1 is also in rank1.json: these files are from two runs; give the files of one run");
}

TEST_CASE("arrange collectives: ranks that do not run one program are named with what each launches") {
  const RankActivity first = data_parallel_rank(0, 4);
  RankActivity other = data_parallel_rank(1, 8);
  for (auto& part : other.parts) part.elements = 2000;
  CHECK(error_of({first, other}) ==
        "step 4: rank 1 launches allreduce of 2000 Float in group 0 (ranks 0-1), but rank 0 launches "
        "allreduce of 1000 Float in group 0 (ranks 0-1): the ranks do not run the same program");

  RankActivity numbered = first;
  RankActivity shifted = data_parallel_rank(1, 8);
  for (std::size_t i = 0; i < numbered.parts.size(); ++i) {
    numbered.parts[i].sequence = static_cast<std::int64_t>(i) + 7;
    shifted.parts[i].sequence = static_cast<std::int64_t>(i) + 8;
  }
  CHECK(error_of({numbered, shifted}) ==
        "step 1: rank 1 launches allreduce of 1000 Float in group 0 (ranks 0-1) with Seq 8, but rank 0 "
        "launches allreduce of 1000 Float in group 0 (ranks 0-1) with Seq 7: the ranks do not run the same "
        "program");
}

TEST_CASE("arrange collectives: steps with other communication than usual are left out") {
  RankActivity first = data_parallel_rank(0, 4, 5);
  RankActivity second = data_parallel_rank(1, 8, 5);
  first.parts.front().elements = second.parts.front().elements = 5;
  const auto analysed = testing::analyse_ranks({first, second});
  REQUIRE(analysed);
  CHECK(analysed->analysis.whatif.steps == std::vector<std::int64_t>{2, 3, 4, 5});
  REQUIRE(analysed->analysis.cleaning.size() == 1);
  CHECK(analysed->analysis.cleaning.front().detail ==
        "in step 1, rank 0 launches different communication than in other steps");
  CollectiveOptions strict;
  strict.strict = true;
  CHECK_FALSE(testing::analyse_ranks({first, second}, strict));
}

TEST_CASE("arrange collectives: two groups of one name are told apart by their ranks") {
  const auto rank = [](std::int32_t number, const ProcessGroup& group, double work_ms) {
    RankCase one(number, 4, {group});
    for (int step = 0; step < 4; ++step)
      one.step(20.0 * step).work(0, work_ms).collective(0, work_ms, 10).work(10, 14).end(14);
    return one.take();
  };
  const ProcessGroup low{"1", "mesh_tp", {0, 1}};
  const ProcessGroup high{"1", "mesh_tp", {2, 3}};
  const auto analysed =
      testing::analyse_ranks({rank(0, low, 4), rank(1, low, 8), rank(2, high, 4), rank(3, high, 4)});
  REQUIRE(analysed);
  // Rank 1 slows rank 0, and nobody else: its all-reduce takes 2 ms, that of ranks 2 and 3 took 6.
  CHECK(analysed->slowest_rank() == 1);
  CHECK(analysed->job.graph.partitions().size() == 3);
}

TEST_CASE("arrange collectives: a job of one rank has no stragglers") {
  RankCase lone(0, 1, {});
  for (int step = 0; step < 3; ++step) lone.step(20.0 * step).work(0, 14).end(14);
  const auto analysed = testing::analyse_ranks({lone.take()});
  REQUIRE(analysed);
  CHECK(analysed->analysis.whatif.slowdown == doctest::Approx(1));
  CHECK(analysed->subject().empty());
}

TEST_CASE(
    "arrange collectives: kernels outside NCCL that wait cast doubt, and pipelines of different lengths are "
    "refused") {
  RankActivity first = data_parallel_rank(0, 4);
  first.spinning = {"deep_ep::intranode::dispatch"};
  const auto analysed = testing::analyse_ranks({first, data_parallel_rank(1, 8)});
  REQUIRE(analysed);
  REQUIRE(analysed->analysis.doubt);
  CHECK(analysed->analysis.doubt->why ==
        "these kernels wait for other ranks outside NCCL, so their waiting looks like work: "
        "deep_ep::intranode::dispatch");
  CHECK(analysed->subject() == "job");

  const ProcessGroup pipeline{"0", "mesh_pp", {0, 1, 2}};
  RankCase sender(0, 3, {pipeline});
  RankCase receiver(1, 3, {pipeline});
  RankCase lone(2, 3, {pipeline});
  for (int step = 0; step < 4; ++step) {
    sender.step(20.0 * step).work(0, 2).send(1, 2, 3).end(3);
    receiver.step(20.0 * step).receive(0, 0, 3).end(3);
    lone.step(20.0 * step).work(0, 3).end(3);
  }
  CHECK(error_of({sender.take(), receiver.take(), lone.take()}) ==
        "pipelines of different lengths (ranks 0-1 and ranks 2) are not supported");
}

}  // namespace
}  // namespace goodput
