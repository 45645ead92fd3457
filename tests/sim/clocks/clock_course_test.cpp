// Constants, lines and jumps in the offsets of one clock.
#include "sim/clocks/clock_course.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

constexpr double kNoiseS = 1e-4;
constexpr CourseLimits kAny = {};

struct Steps {
  std::vector<ClockDifference> series;
  std::vector<double> x;
};

// 40 steps, 30 s apart, with noise of 0.1 ms.
template <typename Offset>
Steps steps_of(const Offset& offset) {
  RandomStream random(1, "course");
  Steps steps;
  for (int step = 0; step < 40; ++step) {
    steps.x.push_back(30.0 * step);
    steps.series.push_back({offset(step) + random.normal(0, kNoiseS), kNoiseS});
  }
  return steps;
}

ClockCourse fit(const Steps& steps) {
  std::vector<double> seconds;
  for (const ClockDifference& at : steps.series) seconds.push_back(at.seconds);
  return fit_course(steps.series, steps.x, steady_slope(seconds, steps.x, kAny), kAny);
}

}  // namespace

TEST_CASE("clock course: a constant is one piece without a slope") {
  const ClockCourse course = fit(steps_of([](int) { return 0.05; }));
  CHECK(course.pieces.size() == 1);
  CHECK(course.slope == 0);
  CHECK(std::abs(course.offset_s(7, 210) - 0.05) < kNoiseS);
}

TEST_CASE("clock course: 50 ppm over 20 minutes are a line") {
  // The line's slope is known to noise / sqrt(sum (x - mean)^2) = 1e-4 / (30 * sqrt(40 * 39 * 41 / 12)) =
  // 0.046 ppm.
  const ClockCourse course = fit(steps_of([](int step) { return 0.01 + 50e-6 * 30 * step; }));
  CHECK(course.pieces.size() == 1);
  CHECK(std::abs(course.slope - 50e-6) < 5 * 0.046e-6);
}

TEST_CASE("clock course: jumps are found at their steps, also on a line") {
  for (const double slope : {0.0, 50e-6}) {
    const ClockCourse course = fit(steps_of([slope](int step) {
      return slope * 30 * step + (step < 13 ? 0.0 : step < 30 ? 0.05 : -0.002);
    }));
    REQUIRE(course.pieces.size() == 3);
    CHECK(course.pieces[1].first_step == 13);
    CHECK(course.pieces[2].first_step == 30);
    CHECK(std::abs(course.pieces[1].offset_s - course.pieces[0].offset_s - 0.05) < 3 * kNoiseS);
    CHECK(std::abs(course.pieces[2].offset_s - course.pieces[1].offset_s + 0.052) < 3 * kNoiseS);
    CHECK(std::abs(course.slope - slope) < 1e-6);
  }
}

TEST_CASE("clock course: a step that is only noisier is no jump, one that is sure is two") {
  Steps steps = steps_of([](int) { return 0.0; });
  steps.series[20].seconds = 0.04;
  steps.series[20].noise_s = 0.02;  // a transfer of half a second: its ends say little
  CHECK(fit(steps).pieces.size() == 1);
  steps.series[20].noise_s = kNoiseS;
  CHECK(fit(steps).pieces.size() == 3);
}

TEST_CASE("clock course: a slope is no surer than what its line leaves of the steps") {
  // 8 steps, 5 s apart, in turns 2 ms too low and too high; said to have noise of 0.5 ms.
  Steps steps;
  for (int step = 0; step < 8; ++step) {
    steps.x.push_back(5.0 * step);
    steps.series.push_back({step % 2 == 0 ? -2e-3 : 2e-3, 5e-4});
  }
  // The line's slope is sum (x - mean) y / sum (x - mean)^2 = (4 * 5 * 2e-3) / (25 * 42) = 38 ppm; the noise
  // of the steps alone would make its noise 5e-4 / sqrt(25 * 42) = 15 ppm, but of 2 ms a step the line leaves
  // most.
  const ClockCourse course = fit_course(steps.series, steps.x, 0, kAny);
  CHECK(course.slope == 0);
  CHECK(course.slope_noise > 3 * 5e-4 / std::sqrt(25.0 * 42));
}

TEST_CASE("clock course: a slope of three steps must change the offset by what is worth aligning") {
  // 1 ms a step of 5 s are 200 ppm, over 10 s 2 ms; steps of 30 s at 100 ppm make 6 ms.
  const CourseLimits limits = {.least_steps = 2, .steepest = 3e-4};
  const auto slope = [&](double step_s, double by_s) {
    const std::vector<ClockDifference> series = {{0.0, kNoiseS}, {by_s, kNoiseS}, {2 * by_s, kNoiseS}};
    const std::vector<double> x = {0, step_s, 2 * step_s};
    return fit_course(series, x, by_s / step_s, limits).slope;
  };
  CHECK(slope(5, 1e-3) == 0);
  CHECK(slope(30, 3e-3) == doctest::Approx(1e-4));
}

TEST_CASE("clock course: what is steeper than clocks drift is a jump") {
  // 50 ms in 30 s are 1667 ppm.
  const std::vector<ClockDifference> series = {{0.0, kNoiseS}, {0.05, kNoiseS}};
  const std::vector<double> x = {0, 30};
  const CourseLimits limits = {.least_steps = 2, .steepest = 3e-4};
  CHECK(steady_slope(std::vector<double>{0, 0.05}, x, limits) == 0);
  const ClockCourse course = fit_course(series, x, 0, limits);
  CHECK(course.pieces.size() == 2);
  CHECK(course.slope == 0);
  // 3 ms in 30 s are 100 ppm
  CHECK(steady_slope(std::vector<double>{0, 0.003}, x, limits) == doctest::Approx(1e-4));
}

}  // namespace goodput
