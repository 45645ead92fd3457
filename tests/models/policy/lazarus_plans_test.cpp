#include "models/policy/lazarus_plans.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

LazarusPlans plans_of(const JobModel& job, std::int32_t slots = 6,
                      const MigrationTiming& timing = {.node = BytesPerSecond{1e9}}) {
  LazarusPlacement placement;
  placement.slots_per_gpu = slots;
  placement.min_replicas = 1;
  return {job, placement, {}, timing, Bytes{1'000'000'000}};
}

}  // namespace

TEST_CASE("lazarus plans: as many nodes as hold every expert, in whole replicas") {
  const JobPointer job = gpt_s();
  const LazarusPlans six = plans_of(*job);
  CHECK(six.least_nodes() == 2);  // 8 experts, 6 slots
  CHECK(six.usable(1) == 0);
  CHECK(six.usable(7) == 7);
  CHECK(six.usable(30) == 10);
  CHECK(plans_of(*job, 3).least_nodes() == 3);
  TrainingPlan wide = gpt_s_plan(8);
  wide.parallel.tp = 2;
  wide.parallel.dp = 4;
  wide.parallel.ep = 1;
  wide.parallel.sequence_parallel = true;
  const JobPointer pairs = job_of(wide);
  CHECK(plans_of(*pairs).usable(7) == 6);
  CHECK(plans_of(*pairs).usable(3) == 2);
  CHECK(plans_of(*pairs).check(6).has_value());
  CHECK_FALSE(plans_of(*pairs).check(7).has_value());
}

TEST_CASE("lazarus plans: a plan is made once for a number of nodes and a window") {
  const JobPointer job = gpt_s();
  LazarusPlans plans = plans_of(*job);
  const auto ten = plans.plan(10, 0);
  const auto nine = plans.plan(9, 0);
  CHECK(ten != nine);
  CHECK(plans.plan(10, 0) == ten);
  CHECK(plans.nodes(nine) == 9);
  CHECK(plans.window(nine) == 0);
  const StepTime healthy = plans.step(ten, 0, 1);
  CHECK(plans.step(ten, 0, 0.5).step > healthy.step);
  CHECK(plans.step(nine, 0, 0.5).samples == 36);
  CHECK(plans.step(ten, 0, 1) == healthy);
  CHECK(plans.check(10)->step == healthy.step);
}

TEST_CASE("lazarus plans: from a plan to itself nothing moves and everybody stays") {
  const JobPointer job = gpt_s();
  LazarusPlans plans = plans_of(*job);
  const auto ten = plans.plan(10, 0);
  const LazarusPlans::Move& move = plans.move(ten, std::vector<bool>(10, true), 0, ten);
  CHECK(move.is_possible);
  CHECK(move.experts == 0);
  std::vector<std::int32_t> same(10);
  std::iota(same.begin(), same.end(), 0);
  CHECK(move.node_of_place == same);
  CHECK(move.time.transfer == SimDuration{});
}

TEST_CASE("lazarus plans: newcomers fetch what their place holds, the dead are nobody") {
  const JobPointer job = gpt_s();
  LazarusPlans plans = plans_of(*job);
  const auto ten = plans.plan(10, 0);
  std::vector<bool> is_left(10, true);
  is_left[4] = false;
  const LazarusPlans::Move& move = plans.move(ten, is_left, 1, ten);
  CHECK(move.is_possible);
  const auto takes_part = [](const LazarusPlans::Move& one, std::int32_t node) {
    return std::count(one.node_of_place.begin(), one.node_of_place.end(), node) == 1;
  };
  CHECK(takes_part(move, 10));
  CHECK_FALSE(takes_part(move, 4));
  CHECK(move.experts > 0);
  CHECK(move.experts <= 12 * 6);
  CHECK(move.time.transfer > seconds{2});
  const auto nine = plans.plan(9, 0);
  const LazarusPlans::Move& without = plans.move(ten, is_left, 0, nine);
  CHECK(without.node_of_place.size() == 9);
  CHECK_FALSE(takes_part(without, 4));
}

TEST_CASE("lazarus plans: an expert that nobody holds any more cannot be moved") {
  const JobPointer job = gpt_s(8);
  LazarusPlans plans = plans_of(*job, 1);
  const auto eight = plans.plan(8, 0);
  std::vector<bool> is_left(8, true);
  is_left[0] = false;
  CHECK_FALSE(plans.move(eight, is_left, 1, eight).is_possible);
  CHECK_THROWS_AS((void)plans.move(eight, std::vector<bool>(7, true), 1, eight), InternalError);
}

}  // namespace goodput::testing
