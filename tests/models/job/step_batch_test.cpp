#include "models/job/step_batch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "models/schedule/schedule.h"
#include "sim/base/random.h"

namespace goodput::testing {
namespace {

ParallelPlan data_parallel(std::int32_t dp, std::int32_t micro_batch, std::int64_t global_batch) {
  ParallelPlan plan;
  plan.dp = dp;
  plan.micro_batch = micro_batch;
  plan.global_batch = global_batch;
  return plan;
}

ParallelPlan pipelined(const char* schedule, std::int32_t pp, std::int32_t vpp, std::int32_t dp,
                       std::int64_t global_batch) {
  ParallelPlan plan = data_parallel(dp, 1, global_batch);
  plan.schedule = schedule;
  plan.pp = pp;
  plan.vpp = vpp;
  return plan;
}

}  // namespace

TEST_CASE("step batch: a fixed one is shared out in as few micro-batches as that many replicas allow") {
  const StepBatch batch(data_parallel(10, 4, 40), BatchRule::kFixed);
  CHECK(batch.micro_batches(10) == 1);
  CHECK(batch.micro_batches(9) == 2);  // 40 / 36, rounded up
  CHECK(batch.micro_batches(5) == 2);
  CHECK(batch.micro_batches(4) == 3);  // 40 / 16 = 2.5
  CHECK(batch.micro_batches(1) == 10);
  CHECK(batch.micro_batches(2048) == 1);
  for (const std::int64_t replicas : {1, 4, 5, 9, 10, 2048}) CHECK(batch.samples(replicas) == 40);
}

TEST_CASE("step batch: replicas that make no step shorter are too many") {
  const StepBatch batch(data_parallel(10, 4, 40), BatchRule::kFixed);
  CHECK(batch.fewest_replicas(10) == 10);
  CHECK(batch.fewest_replicas(9) == 5);  // two micro-batches each, with 5 as with 9
  CHECK(batch.fewest_replicas(4) == 4);  // three each: 3 replicas would train 36
  CHECK(batch.fewest_replicas(2048) == 10);
}

TEST_CASE("step batch: a schedule gets a number of micro-batches that it can run") {
  const StepBatch interleaved(pipelined("interleaved", 4, 2, 4, 32), BatchRule::kFixed);
  CHECK(interleaved.micro_batches(4) == 8);
  CHECK(interleaved.micro_batches(3) == 12);  // 11, up to a multiple of the 4 stages
  CHECK(interleaved.micro_batches(16) == 4);  // 2
  CHECK(interleaved.fewest_replicas(16) == 8);
  const StepBatch dualpipe(pipelined("dualpipe", 4, 1, 4, 36), BatchRule::kFixed);
  CHECK(dualpipe.micro_batches(4) == 10);  // 9: even
  CHECK(dualpipe.micro_batches(12) == 8);  // 3: twice the stages at least
  CHECK(dualpipe.fewest_replicas(12) == 5);
  CHECK_FALSE(dualpipe.has_one_chunk());
  CHECK_FALSE(interleaved.has_one_chunk());
  const StepBatch in_v(pipelined("zb-v", 4, 1, 4, 36), BatchRule::kFixed);
  CHECK(in_v.runs_any_number());
  CHECK_FALSE(in_v.has_one_chunk());
  CHECK(StepBatch(pipelined("1f1b", 4, 1, 4, 36), BatchRule::kFixed).has_one_chunk());
  const StepBatch dualpipev(pipelined("dualpipev", 4, 1, 4, 36), BatchRule::kFixed);
  CHECK(dualpipev.micro_batches(4) == 9);
  CHECK(dualpipev.micro_batches(12) == 8);  // 3: twice the stages at least
}

TEST_CASE("step batch: per replica it grows and shrinks with them") {
  const StepBatch batch(data_parallel(10, 4, 80), BatchRule::kPerReplica);
  for (const std::int64_t replicas : {1, 9, 10, 2048}) {
    CHECK(batch.samples(replicas) == replicas * 8);
    CHECK(batch.micro_batches(replicas) == 2);
    CHECK(batch.fewest_replicas(replicas) == replicas);
  }
}

TEST_CASE("step batch: the fewest replicas need no more micro-batches, and one fewer would") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "step batch");
    const auto below = [&random](std::uint64_t most) {
      return static_cast<std::int32_t>(random.below(most));
    };
    const std::int32_t pp = 2 * (1 + below(4));
    const char* const schedule = seed % 3 == 0 ? "interleaved" : seed % 3 == 1 ? "dualpipe" : "1f1b";
    ParallelPlan plan = pipelined(schedule, pp, seed % 3 == 0 ? 2 : 1, 1 + below(40), 0);
    plan.micro_batch = 1 + below(8);
    plan.global_batch = std::int64_t{plan.dp} * plan.micro_batch * 2 * pp * (1 + below(10));
    const StepBatch batch(plan, BatchRule::kFixed);
    CHECK(batch.micro_batches(plan.dp) == plan.micro_batches());
    const std::int64_t replicas = 1 + below(100);
    const std::int64_t each = batch.micro_batches(replicas);
    const std::int64_t fewest = batch.fewest_replicas(replicas);
    CHECK((*find_schedule(plan.schedule))->check({pp, plan.vpp, static_cast<std::int32_t>(each)}));
    CHECK(fewest <= replicas);
    CHECK(batch.micro_batches(fewest) == each);
    CHECK(fewest * each * plan.micro_batch >= plan.global_batch);
    CHECK((fewest - 1) * each * plan.micro_batch < plan.global_batch);
  }
}

}  // namespace goodput::testing
