#include "sim/causes/rank_work.h"

#include <doctest/doctest.h>

#include <vector>

namespace goodput {
namespace {

// Ranks that compute and meet once, with so many seconds of work a step: work_s[rank][step].
Recording recording_of(const std::vector<std::vector<double>>& work_s, std::int32_t stages = 1) {
  Recording recording;
  recording.naming = WorkerGrid::Naming::kByRank;
  recording.pp_size = stages;
  recording.dp_size = static_cast<std::int32_t>(work_s.size()) / stages;
  const std::size_t steps = work_s.front().size();
  for (std::size_t step = 0; step < steps; ++step) recording.steps.push_back(static_cast<std::int64_t>(step));
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    TraceOp op;
    op.type = OpType::kBackwardCompute;
    op.stage = static_cast<std::int16_t>(stage);
    recording.ops.push_back(op);
    recording.pools.push_back(0);
  }
  for (std::size_t rank = 0; rank < work_s.size(); ++rank)
    recording.ranks.push_back(static_cast<std::int32_t>(rank));
  make_blocks(recording);
  StepBlock& block = recording.blocks.front();
  for (std::size_t rank = 0; rank < work_s.size(); ++rank) {
    const auto [dp, stage] = recording.worker(rank);
    for (std::size_t step = 0; step < steps; ++step)
      block.value_s[stage * block.shape.stride() + block.shape.lane(step, dp)] = work_s[rank][step];
  }
  recording.step_base_s.assign(steps, 1.0);
  return recording;
}

TEST_CASE("rank work: extra work compares with the median of the peers and is a mean over the steps") {
  const RankWork work = measure_rank_work(recording_of({{.5, .5}, {.6, .5}, {.4, .5}, {.7, .9}}));
  // Of rank 3 the peers' medians are .5 and .5: .2 and .4 more.
  CHECK(work.extra_s[3] == doctest::Approx(0.3));
  // Of rank 0 the peers are .6 .4 .7 and .5 .5 .9: -.1 and 0.
  CHECK(work.extra_s[0] == doctest::Approx(-0.05));
}

TEST_CASE("rank work: a rank is slow if it works 5 % of the step longer and beyond twice the scatter") {
  const auto slow_with = [](double extra) {
    return measure_rank_work(
               recording_of({{.5, .5, .5}, {.5, .5, .5}, {.5, .5, .5}, {.5 + extra, .5 + extra, .5 + extra}}))
        .slow.size();
  };
  CHECK(slow_with(.049) == 0);
  CHECK(slow_with(.051) == 1);
  // The same, but its peers differ among themselves: deviations 0 and .04 of each step's median, twice 1.4826
  // * .04 is more than .06.
  CHECK(measure_rank_work(recording_of({{.46, .46, .46}, {.5, .5, .5}, {.54, .54, .54}, {.56, .56, .56}}))
            .slow.empty());
  // And if it is slow in one step only.
  CHECK(measure_rank_work(recording_of({{.5, .5, .5}, {.5, .5, .5}, {.5, .5, .9}})).slow.empty());
}

TEST_CASE("rank work: peers are the ranks of a stage, or all ranks if stages are alike") {
  Recording pipeline = recording_of({{.5}, {.9}}, 2);
  CHECK_FALSE(measure_rank_work(pipeline).extra_s[0]);
  pipeline.stages_are_alike = true;
  const RankWork ring = measure_rank_work(pipeline);
  CHECK(ring.extra_s[1] == doctest::Approx(0.4));
  REQUIRE(ring.slow.size() == 1);
  CHECK(ring.slow.front().worker == 1);
  CHECK(ring.slow.front().op_type == "backward-compute");
  CHECK(ring.slow.front().op_type_share == doctest::Approx(1));
}

TEST_CASE("rank work: two slow ranks of eight do not hide each other") {
  std::vector<std::vector<double>> work(8, {.5, .5, .5});
  work[2] = {.6, .6, .6};
  work[5] = {.7, .7, .7};
  const RankWork found = measure_rank_work(recording_of(work));
  REQUIRE(found.slow.size() == 2);
  CHECK(found.slow[0].worker == 5);
  CHECK(found.slow[1].worker == 2);
}

}  // namespace
}  // namespace goodput
