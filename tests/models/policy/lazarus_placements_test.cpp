#include "models/policy/lazarus_placements.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

LazarusPlacements placements_of(const JobModel& job, std::int32_t slots = 6,
                                const MigrationTiming& timing = {.node = BytesPerSecond{1e9}},
                                Bytes dense = {}) {
  LazarusRules rules;
  rules.slots_per_gpu = slots;
  rules.min_replicas = 1;
  return {job, rules, {}, timing, Bytes{1'000'000'000}, dense};
}

}  // namespace

TEST_CASE("lazarus placements: as many nodes as hold every expert, in whole replicas") {
  const JobPointer job = gpt_s();
  const LazarusPlacements six = placements_of(*job);
  CHECK(six.least_nodes() == 2);  // 8 experts, 6 slots
  CHECK(six.usable(1) == 0);
  CHECK(six.usable(7) == 7);
  CHECK(six.usable(30) == 10);
  CHECK(placements_of(*job, 3).least_nodes() == 3);
  TrainingPlan wide = gpt_s_plan(8);
  wide.parallel.tp = 2;
  wide.parallel.dp = 4;
  wide.parallel.ep = 1;
  wide.parallel.sequence_parallel = true;
  const JobPointer pairs = job_of(wide);
  CHECK(placements_of(*pairs).usable(7) == 6);
  CHECK(placements_of(*pairs).usable(3) == 2);
  CHECK(placements_of(*pairs).check(6).has_value());
}

TEST_CASE("lazarus placements: a plan is made once for a number of nodes and a window") {
  const JobPointer job = gpt_s();
  const LazarusPlacements placements = placements_of(*job);
  const auto ten = placements.placement(10, 0);
  const auto nine = placements.placement(9, 0);
  CHECK(ten != nine);
  CHECK(placements.placement(10, 0) == ten);
  CHECK(placements.nodes_of_stage(nine) == 9);
  CHECK(placements.window(nine) == 0);
  const StepTime healthy = placements.step(ten, 0, 1);
  CHECK(placements.step(ten, 0, 0.5).step > healthy.step);
  CHECK(placements.step(nine, 0, 0.5).samples == 36);
  CHECK(placements.step(ten, 0, 1) == healthy);
  CHECK(placements.check(10)->step == healthy.step);
}

TEST_CASE("lazarus placements: from a placement to itself nothing moves and everybody stays") {
  const JobPointer job = gpt_s();
  const LazarusPlacements placements = placements_of(*job);
  const auto ten = placements.placement(10, 0);
  const LazarusPlacements::Move move = placements.move(0, ten, std::vector<bool>(10, true), 0, ten);
  CHECK(move.is_possible);
  CHECK(move.experts == 0);
  std::vector<std::int32_t> same(10);
  std::iota(same.begin(), same.end(), 0);
  CHECK(move.node_of_place == same);
  CHECK(move.time.transfer == SimDuration{});
}

TEST_CASE("lazarus placements: newcomers fetch what their place holds, the dead are nobody") {
  const JobPointer job = gpt_s();
  const LazarusPlacements placements = placements_of(*job);
  const auto ten = placements.placement(10, 0);
  std::vector<bool> is_left(10, true);
  is_left[4] = false;
  const LazarusPlacements::Move move = placements.move(0, ten, is_left, 1, ten);
  CHECK(move.is_possible);
  const auto takes_part = [](const LazarusPlacements::Move& one, std::int32_t node) {
    return std::count(one.node_of_place.begin(), one.node_of_place.end(), node) == 1;
  };
  CHECK(takes_part(move, 10));
  CHECK_FALSE(takes_part(move, 4));
  CHECK(move.experts > 0);
  CHECK(move.experts <= 12 * 6);
  CHECK(move.time.transfer > seconds{2});
  const auto nine = placements.placement(9, 0);
  const LazarusPlacements::Move without = placements.move(0, ten, is_left, 0, nine);
  CHECK(without.node_of_place.size() == 9);
  CHECK_FALSE(takes_part(without, 4));
}

TEST_CASE("lazarus placements: a newcomer fetches the rest of the model after its experts") {
  const JobPointer job = gpt_s();
  const MigrationTiming timing{.node = BytesPerSecond{1e9}};
  const LazarusPlacements experts = placements_of(*job, 6, timing);
  const LazarusPlacements all = placements_of(*job, 6, timing, Bytes{5'000'000'000});
  const auto ten = all.placement(10, 0);
  std::vector<bool> is_left(10, true);
  is_left[4] = false;
  // The newcomer receives more than any node sends: 5 GB more at 1 GB/s.
  CHECK(all.move(0, ten, is_left, 1, ten).time.transfer ==
        experts.move(0, ten, is_left, 1, ten).time.transfer + seconds{5});
  // Nobody joins.
  const auto nine = all.placement(9, 0);
  CHECK(all.move(0, ten, is_left, 0, nine).time.transfer ==
        experts.move(0, ten, is_left, 0, nine).time.transfer);
}

TEST_CASE("lazarus placements: an expert that nobody holds any more cannot be moved") {
  const JobPointer job = gpt_s(8);
  const LazarusPlacements placements = placements_of(*job, 1);
  const auto eight = placements.placement(8, 0);
  std::vector<bool> is_left(8, true);
  is_left[0] = false;
  CHECK_FALSE(placements.move(0, eight, is_left, 1, eight).is_possible);
  CHECK_THROWS_AS((void)placements.move(0, eight, std::vector<bool>(7, true), 1, eight), InternalError);
}

}  // namespace goodput::testing
