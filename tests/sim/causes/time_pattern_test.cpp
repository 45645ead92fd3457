// When something is slow: in all steps, from one to another, more and more.
#include "sim/causes/time_pattern.h"

#include <doctest/doctest.h>

#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

using Kind = TimePattern::Kind;
constexpr double kNoise = 0.01;
constexpr double kLeast = 0.01;

// 1 with noise in every step.
std::vector<double> quiet(std::size_t steps, std::uint64_t seed) {
  RandomStream random(seed, "time pattern");
  std::vector<double> values;
  for (std::size_t i = 0; i < steps; ++i) values.push_back(random.normal(1, kNoise));
  return values;
}

TimePattern pattern_of(const std::vector<double>& values) {
  return find_time_pattern(values, kNoise, kLeast);
}

}  // namespace

TEST_CASE("time pattern: noise is steady, in 1000 cases of 1 to 60 steps at most twice not") {
  int others = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed)
    others += pattern_of(quiet(1 + seed % 60, seed)).kind != Kind::kSteady;
  CHECK(others <= 2);
}

TEST_CASE("time pattern: a window is found to the step, with what is inside and outside") {
  std::vector<double> values = quiet(40, 7);
  for (std::size_t i = 12; i <= 14; ++i) values[i] += 0.5;
  const TimePattern pattern = pattern_of(values);
  CHECK(pattern.kind == Kind::kWindow);
  CHECK(pattern.first == 12);
  CHECK(pattern.last == 14);
  CHECK(pattern.low == doctest::Approx(1).epsilon(0.01));
  CHECK(pattern.high == doctest::Approx(1.5).epsilon(0.02));
  // 50 deviations: no other step comes into question.
  CHECK(pattern.onset_low == 12);
  CHECK(pattern.onset_high == 12);
}

TEST_CASE(
    "time pattern: the onset's range holds the true one in 95 of 100 cases where it is not plain to see") {
  int held = 0;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    std::vector<double> values = quiet(40, seed);
    for (std::size_t i = 20; i < values.size(); ++i) values[i] += 3 * kNoise;
    const TimePattern pattern = pattern_of(values);
    if (pattern.kind != Kind::kWindow || pattern.last != 39) continue;
    ++found;
    held += pattern.onset_low <= 20 && 20 <= pattern.onset_high;
  }
  CHECK(found > 250);           // of others a line fits better
  CHECK(held >= 0.93 * found);  // 95 % but for the chance of 400 cases
}

TEST_CASE("time pattern: what grows from step to step is growth") {
  std::vector<double> values = quiet(20, 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.49 * static_cast<double>(i) / 19;
  const TimePattern pattern = pattern_of(values);
  CHECK(pattern.kind == Kind::kGrowth);
  CHECK(pattern.low == doctest::Approx(1).epsilon(0.02));
  CHECK(pattern.high == doctest::Approx(1.49).epsilon(0.02));
}

TEST_CASE("time pattern: of thousands of steps a window is found to the group of steps") {
  std::vector<double> values = quiet(10000, 5);  // groups of 5
  for (std::size_t i = 7000; i < 7100; ++i) values[i] += 0.3;
  const TimePattern pattern = pattern_of(values);
  CHECK(pattern.kind == Kind::kWindow);
  CHECK(pattern.first == 7000);
  CHECK(pattern.last == 7099);
}

TEST_CASE("time pattern: told in words, by the numbers of the steps") {
  const std::vector<std::int64_t> steps = {10, 12, 14, 16, 18};
  CHECK(describe({Kind::kSteady}, steps).empty());
  CHECK(describe({Kind::kWindow, 1, 3, 1, 1, 1, 1.6}, steps) == "1.60 from step 12 to 16, otherwise 1.00");
  CHECK(describe({Kind::kWindow, 2, 2, 2, 2, 1, 1.6}, steps) == "1.60 in step 14, otherwise 1.00");
  CHECK(describe({Kind::kWindow, 2, 4, 1, 3, 1, 1.6}, steps) ==
        "1.60 from step 14 on, 1.00 before (onset in steps 12 to 16 at 95 % confidence)");
  CHECK(describe({Kind::kGrowth, 0, 4, 0, 0, 1.01, 1.49}, steps) == "grows from 1.01 to 1.49 over 5 steps");
}

TEST_CASE("time pattern: its level at each step, and factors for people") {
  TimePattern pattern;
  pattern.low = pattern.high = 1.5;
  CHECK(pattern.at(3) == 1.5);
  pattern = {TimePattern::Kind::kWindow, 2, 3, 2, 2, 1, 2};
  CHECK(pattern.at(1) == 1);
  CHECK(pattern.at(2) == 2);
  CHECK(pattern.at(3) == 2);
  CHECK(pattern.at(4) == 1);
  pattern = {TimePattern::Kind::kGrowth, 0, 4, 0, 0, 1, 2};
  CHECK(pattern.at(0) == 1);
  CHECK(pattern.at(1) == 1.25);
  CHECK(pattern.at(4) == 2);
  CHECK(times_text(1.5) == "1.50x");
  CHECK(times_text(39.7) == "40x");
}

}  // namespace goodput
