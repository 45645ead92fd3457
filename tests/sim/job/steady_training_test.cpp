#include "sim/job/steady_training.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "sim/base/random.h"

namespace goodput {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

constexpr CheckpointLevel kMemory = CheckpointLevel::kMemory;
constexpr CheckpointLevel kStorage = CheckpointLevel::kStorage;

// Steps one at a time, each with what is saved after it.
class Walk {
 public:
  explicit Walk(const SteadyTraining& training) : training_(training) {}

  SimDuration time{};
  SimDuration without_last_save{};
  std::array<std::int64_t, kCheckpointLevels> saves{};

  void step() {
    ++number_;
    time += training_.step;
    without_last_save = time;
    for (std::size_t level = 0; level < kCheckpointLevels; ++level) {
      const CheckpointRule& rule = training_.rules[level];
      if (rule.interval == 0 || (training_.first_step + number_) % rule.interval != 0) continue;
      ++saves[level];
      time += rule.stall;
    }
  }

 private:
  SteadyTraining training_;
  std::int64_t number_ = 0;
};

SteadyTraining random_training(std::uint64_t seed) {
  RandomStream random(seed, "training");
  const auto below = [&random](std::uint64_t bound) {
    return static_cast<std::int64_t>(random.below(bound));
  };
  SteadyTraining training;
  training.first_step = below(2) == 0 ? below(100) : below(1'000'000'000'000);
  training.step = nanoseconds{1 + below(7)};
  if (below(3) > 0) training.rules[0].interval = 1 + below(6);
  if (below(3) > 0)
    training.rules[1].interval = std::max<std::int64_t>(1, training.rules[0].interval) * (1 + below(5));
  for (CheckpointRule& rule : training.rules) {
    if (below(3) > 0) rule.stall = nanoseconds{below(20)};
  }
  return training;
}

// A storage checkpoint every 4 steps, one in memory every 2.
SteadyTraining two_levels() {
  SteadyTraining training;
  training.step = nanoseconds{10};
  training.rules[0] = {2, nanoseconds{3}, {}};
  training.rules[1] = {4, nanoseconds{5}, {}};
  return training;
}

}  // namespace

TEST_CASE("training clock: a step at a multiple of both intervals saves at both levels") {
  const SteadyTraining training = two_levels();
  CHECK(training.time_of(0) == nanoseconds{0});
  CHECK(training.time_of(1) == nanoseconds{10});
  CHECK(training.time_of(2) == nanoseconds{23});
  CHECK(training.time_of(3) == nanoseconds{33});
  CHECK(training.time_of(4) == nanoseconds{51});
  CHECK(training.time_of_last_step(4) == nanoseconds{43});
  CHECK(training.time_of_last_step(0) == nanoseconds{0});
  CHECK(training.saves(kMemory, 4) == 2);
  CHECK(training.saves(kStorage, 4) == 1);
}

TEST_CASE("training clock: a step counts once its checkpoints are saved, and not a nanosecond before") {
  const SteadyTraining training = two_levels();
  CHECK(training.steps_in(nanoseconds{9}) == 0);
  CHECK(training.steps_in(nanoseconds{10}) == 1);
  CHECK(training.steps_in(nanoseconds{22}) == 1);  // the second is trained since 20
  CHECK(training.steps_in(nanoseconds{23}) == 2);
  CHECK(training.steps_in(nanoseconds{50}) == 3);
  CHECK(training.steps_in(nanoseconds{51}) == 4);
}

TEST_CASE("training clock: intervals are counted from the beginning of the job") {
  SteadyTraining training = two_levels();
  training.first_step = 7;  // step 8 is a multiple of 4
  CHECK(training.time_of(1) == nanoseconds{18});
  CHECK(training.time_of(2) == nanoseconds{28});
  CHECK(training.time_of(3) == nanoseconds{41});
  CHECK(training.saves(kStorage, 4) == 1);
  CHECK(training.saves(kStorage, 5) == 2);
}

TEST_CASE("training clock: without checkpoints time is steps times their length") {
  const SteadyTraining training{3, nanoseconds{7}, {}};
  CHECK(training.time_of(6) == nanoseconds{42});
  CHECK(training.steps_in(nanoseconds{41}) == 5);
  CHECK(training.saves(kMemory, 1000) == 0);
}

TEST_CASE("training clock: closed forms agree with a walk from step to step") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    const SteadyTraining training = random_training(seed);
    Walk walk(training);
    SimDuration elapsed{};
    for (std::int64_t steps = 0; steps < 60; ++steps) {
      REQUIRE(training.time_of(steps) == walk.time);
      REQUIRE(training.saves(kMemory, steps) == walk.saves[0]);
      REQUIRE(training.saves(kStorage, steps) == walk.saves[1]);
      REQUIRE(training.time_of_last_step(steps) == walk.without_last_save);
      walk.step();
      for (; elapsed < walk.time; ++elapsed) REQUIRE(training.steps_in(elapsed) == steps);
    }
  }
}

TEST_CASE(
    "training clock: a billion steps between checkpoints of an hour's step fit no clock, and do no harm") {
  SteadyTraining training;
  training.step = hours{1};
  training.rules[0] = {500'000'000, hours{2}, {}};
  training.rules[1] = {1'000'000'000, hours{3}, {}};
  CHECK(training.steps_in(hours{1'000'000}) == 1'000'000);  // 114 years
  CHECK(training.steps_in(SimDuration::max()) == 2'562'047);
  training.first_step = 999'999'998;
  CHECK(training.time_of(2) == hours{7});
  CHECK(training.steps_in(hours{7} - nanoseconds{1}) == 1);
  CHECK(training.steps_in(hours{8}) == 3);
}

TEST_CASE("training clock: saves that would take longer than the clock can count are not added up") {
  SteadyTraining training;
  training.step = nanoseconds{1};
  training.rules[0] = {1, hours{1}, {}};
  training.rules[1] = {1'000'000'000, hours{1}, {}};  // a billion hours from here
  CHECK(training.steps_in(hours{1'000'000}) == 999'999);
  CHECK(training.steps_in(hours{1} + nanoseconds{1}) == 1);
}

TEST_CASE("training clock: counts trillions of steps exactly") {
  SteadyTraining training;
  training.step = nanoseconds{1000};
  training.rules[0] = {1000, nanoseconds{1}, {}};
  training.rules[1] = {1'000'000, nanoseconds{1}, {}};
  // 10^12 steps: 10^15 ns of them, 10^9 saves in memory and 10^6 in storage.
  const SimDuration time{1'000'001'001'000'000};
  CHECK(training.time_of(1'000'000'000'000) == time);
  CHECK(training.steps_in(time) == 1'000'000'000'000);
  CHECK(training.steps_in(time - nanoseconds{1}) == 999'999'999'999);
}

}  // namespace goodput
