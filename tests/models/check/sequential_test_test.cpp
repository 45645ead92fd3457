#include "models/check/sequential_test.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

using Values = std::vector<double>;

Values first(const Values& values, std::int64_t count) {
  return {values.begin(), values.begin() + count};
}

// Looks until it is decided, or there are no more pairs.
SequentialTest decided(const char* tolerance, const Values& baseline, const Values& values,
                       std::int64_t questions = 1) {
  SequentialTest test(Tolerance::parse(tolerance).value(), std::ssize(baseline), questions);
  while (const auto pairs = test.next_look()) test.look(first(baseline, *pairs), first(values, *pairs));
  return test;
}

// Around 100, by 1 (not normal: the sum of four uniform numbers).
Values scattered(std::int64_t count, std::uint64_t stream) {
  RandomStream random(7, "sequential", stream);
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = -2;
    for (int k = 0; k < 4; ++k) sum += random.uniform();
    values.push_back(100 + sum * std::sqrt(3.0));
  }
  return values;
}

Values each(const Values& values, const std::function<double(std::size_t, double)>& change) {
  Values changed;
  for (std::size_t i = 0; i < values.size(); ++i) changed.push_back(change(i, values[i]));
  return changed;
}

TEST_CASE("sequential test: trials that are alike are the same, once there are 64 of them") {
  const Values values = scattered(256, 0);
  const SequentialTest test = decided("1 % at 95 %", values, values);
  CHECK(test.movement() == Movement::kSame);
  CHECK(test.change().trials == 64);
  CHECK(test.change().are_alike);
  CHECK(test.change().p_value == 1);
  CHECK(decided("1 % at 95 %", scattered(40, 0), scattered(40, 0)).change().trials == 40);  // all there are
}

TEST_CASE("sequential test: the same shift of all trials is found at the first look, without scatter") {
  const Values before = scattered(256, 0);
  const SequentialTest test =
      decided("1 % at 95 %", before, each(before, [](auto, double x) { return 1.02 * x; }));
  CHECK(test.movement() == Movement::kMoved);
  CHECK(test.change().trials == 16);
  CHECK(test.change().change == doctest::Approx(0.02));
  // Each trial's is 2 % of itself, over the mean of all: they scatter by 2 % of 1 %.
  CHECK(test.change().interval[1] - test.change().interval[0] < 0.001);
}

TEST_CASE("sequential test: a shift within the tolerance is the same") {
  const Values before = scattered(256, 0);
  const SequentialTest test =
      decided("1 % at 95 %", before, each(before, [](auto, double x) { return 1.009 * x; }));
  CHECK(test.movement() == Movement::kSame);
  CHECK(test.change().change == doctest::Approx(0.009));
}

TEST_CASE(
    "sequential test: pairs that have nothing in common take more trials, for a change of twice the "
    "tolerance") {
  // Each mean of n values is off by 1 % / sqrt(n), the change by sqrt(2) times that: 2 % against 1.4 % /
  // sqrt(n) is beyond the noise early, 1 % of tolerance is within reach of no first look.
  const Values before = scattered(4096, 1);
  const Values after = each(scattered(4096, 2), [](auto, double x) { return 0.98 * x; });
  const SequentialTest test = decided("1 % at 95 %", before, after);
  CHECK(test.movement() == Movement::kMoved);
  CHECK(test.change().trials <= 64);
  CHECK(test.change().change == doctest::Approx(-0.02).epsilon(0.3));
}

TEST_CASE("sequential test: the interval is Student's at a K-th of alpha, K the looks there are") {
  // 32 pairs: looks at 16 and 32, so 97.5 % each; Student's t with 31 degrees of freedom is 2.3562 there.
  const Values before(32, 0.0);
  const Values after = each(before, [](std::size_t i, double) { return i % 2 == 0 ? 1.0 : -1.0; });
  const SequentialTest test = decided("0.01 at 95 %", before, after);
  CHECK(test.movement() == Movement::kUndecided);
  CHECK(test.looks() == 2);
  const double error = std::sqrt(32.0 / 31 / 32);
  CHECK(test.change().change == 0);
  CHECK(test.change().interval[1] == doctest::Approx(2.3562 * error).epsilon(1e-4));
  CHECK(test.change().interval[0] == -test.change().interval[1]);
}

TEST_CASE("sequential test: something rare has Bernstein's interval, wide enough for what was hardly seen") {
  // One trial of 64 loses a fifth: Student's interval would end at -0.94 %, within 1 %.
  const Values before(64, 100.0);
  const Values after = each(before, [](std::size_t i, double x) { return i == 3 ? x - 20 : x; });
  const SequentialTest test = decided("1 % at 95 %", before, after);
  CHECK(test.change().is_skewed);
  CHECK(test.movement() == Movement::kUndecided);
  // V = 0.2^2 / 64, R = 0.2, three looks: L = ln(4 / (0.05 / 3)).
  const double l = std::log(240.0);
  const double half = std::sqrt(2 * 0.04 / 64 * l / 64) + 7 * 0.2 * l / (3 * 63);
  CHECK(test.change().interval[0] == doctest::Approx(-0.2 / 64 - half));
}

TEST_CASE("sequential test: what happens in one trial, and not again, is no certainty") {
  // Steps lost in the first trial alone, before; none after. In proportion to itself everything has changed.
  Values before(64, 0.0);
  before[0] = 10;
  const SequentialTest test = decided("5 % at 95 %", before, Values(64, 0.0));
  CHECK(test.movement() == Movement::kUndecided);
  CHECK(test.change().change == -1);
  CHECK(test.change().p_value == 1);
}

TEST_CASE("sequential test: changes in proportion to a mean that is hardly one are absolute") {
  const SequentialTest test = decided("1 % at 95 %", Values(64, 5e-324), Values(64, 1.0));
  CHECK(test.movement() == Movement::kMoved);
  CHECK_FALSE(test.change().is_relative);
}

// How many of 400 pairs of independent samples, drawn by `draw` from a stream each, are said to have moved.
int false_alarms(const std::function<double(RandomStream&)>& draw) {
  int alarms = 0;
  for (std::uint64_t pair = 0; pair < 400; ++pair) {
    RandomStream one(pair, "false alarms", 0);
    RandomStream other(pair, "false alarms", 1);
    Values a;
    Values b;
    for (int trial = 0; trial < 256; ++trial) {
      a.push_back(draw(one));
      b.push_back(draw(other));
    }
    alarms += decided("1 % at 95 %", a, b).movement() == Movement::kMoved ? 1 : 0;
  }
  return alarms;
}

TEST_CASE("sequential test: false alarms are as many as are stated, or fewer, whatever the values") {
  // 5 % of 400 are 20; 33 or more happen by chance in 3 of 1,000 (binomial).
  CHECK(false_alarms([](RandomStream& random) { return random.normal(100, 10); }) < 33);
  CHECK(false_alarms([](RandomStream& random) { return std::exp(random.normal(0, 1.5)); }) < 33);
  for (const double often : {0.02, 0.05, 0.2})
    CHECK(false_alarms([often](RandomStream& random) { return random.uniform() < often ? 10.0 : 0.0; }) < 33);
  CHECK(false_alarms([](RandomStream& random) { return random.uniform() < 0.03 ? 50.0 : 100.0; }) < 33);
}

TEST_CASE("sequential test: many questions are asked more of each") {
  // A shift of 3 standard errors: p about 0.005 at the only look; too much of a coincidence for one question,
  // not for a hundred.
  const Values before(16, 100.0);
  const Values after = each(before, [](std::size_t i, double x) { return x + (i % 2 == 0 ? 7.0 : -1.0); });
  CHECK(decided("1 % at 95 %", before, after, 1).movement() == Movement::kMoved);
  const SequentialTest of_many = decided("1 % at 95 %", before, after, 100);
  CHECK(of_many.movement() == Movement::kUndecided);
  CHECK(of_many.change().p_value ==
        doctest::Approx(0.0105).epsilon(0.02));  // t = 3 / (4.131 / 4) = 2.905, 15 df
}

TEST_CASE("sequential test: what was 0 and is not has moved, by no share of it") {
  const Values before(64, 0.0);
  const SequentialTest moved = decided("1 % at 95 %", before, Values(64, 2.0));
  CHECK(moved.movement() == Movement::kMoved);
  CHECK_FALSE(moved.change().is_relative);
  CHECK(moved.change().change == 2);
  CHECK(decided("1 % at 95 %", before, before).movement() == Movement::kSame);
}

TEST_CASE("sequential test: a change of negative values has the sign of the difference") {
  const SequentialTest test = decided("1 % at 95 %", Values(16, -100.0), Values(16, -90.0));
  CHECK(test.change().change == doctest::Approx(0.1));
}

}  // namespace
}  // namespace goodput
