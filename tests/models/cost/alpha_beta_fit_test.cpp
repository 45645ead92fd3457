// Lines through measured times: known ones are found again, and closed forms hold.
#include "models/cost/alpha_beta_fit.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

using doctest::Approx;

// What a fit minimises, of a line over some points.
double squares(std::span<const CurvePoint> points, double alpha, double beta) {
  return std::accumulate(points.begin(), points.end(), 0.0, [&](double sum, const CurvePoint& point) {
    const double error = (alpha + beta * point.size) / point.value - 1;
    return sum + error * error;
  });
}
double squares(std::span<const CurvePoint> points, const std::vector<FittedSegment>& segments) {
  double sum = 0;
  for (const CurvePoint& point : points) {
    const FittedSegment& segment = point.size <= segments.front().hi ? segments.front() : segments.back();
    const double error = segment.at(point.size) / point.value - 1;
    sum += error * error;
  }
  return sum;
}

// The least that a line comes to, found by going down along alpha and beta in turn: slow, and sure for a
// convex function.
double descended_squares(std::span<const CurvePoint> points) {
  double alpha = 0;
  double beta = 0;
  for (int step = 0; step < 20000; ++step) {
    double aa = 0;
    double bb = 0;
    double a = 0;
    double b = 0;
    for (const CurvePoint& point : points) {
      aa += 1 / (point.value * point.value);
      a += (1 - beta * point.size / point.value) / point.value;
    }
    alpha = std::max(0.0, a / aa);
    for (const CurvePoint& point : points) {
      const double share = point.size / point.value;
      bb += share * share;
      b += share * (1 - alpha / point.value);
    }
    beta = std::max(0.0, b / bb);
  }
  return squares(points, alpha, beta);
}

// Powers of two from 512 to 256 MiB; 5 us at 10 GB/s up to 1 MiB, 80 us at 40 GB/s above.
std::vector<CurvePoint> two_lines() {
  std::vector<CurvePoint> points;
  for (double size = 512; size <= 1 << 28; size *= 2)
    points.push_back({size, size <= 1 << 20 ? 5 + size / 1e4 : 80 + size / 4e4});
  return points;
}

// Times off by up to `spread`, either way.
std::vector<CurvePoint> noisy(std::vector<CurvePoint> points, double spread, std::string_view name) {
  RandomStream random(1, name);
  for (CurvePoint& point : points) point.value *= 1 + spread * (2 * random.uniform() - 1);
  return points;
}

}  // namespace

TEST_CASE("alpha-beta fit: two lines without noise are found exactly, and where one ends") {
  const std::vector<FittedSegment> segments = fit_alpha_beta(two_lines());
  REQUIRE(segments.size() == 2);
  CHECK(segments[0].lo == 512);
  CHECK(segments[0].hi == 1 << 20);
  CHECK(segments[0].alpha == Approx(5));
  CHECK(segments[0].beta == Approx(1e-4));
  CHECK(segments[0].max_error < 1e-9);
  CHECK(segments[1].lo == 1 << 21);
  CHECK(segments[1].hi == 1 << 28);
  CHECK(segments[1].alpha == Approx(80));
  CHECK(segments[1].beta == Approx(0.25e-4));
}

TEST_CASE("alpha-beta fit: with noise of 2 % both numbers come back within 4 %") {
  // A segment has 9 or more points: of the mean of errors that are uniform within 2 % (1.2 % each) 99.99 %
  // lie within 4 x 1.2 % / 3 = 1.6 %, and a line through them moves by little more at its ends.
  for (int trial = 0; trial < 100; ++trial) {
    const auto points = noisy(two_lines(), 0.02, "fit " + std::to_string(trial));
    const std::vector<FittedSegment> segments = fit_alpha_beta(points);
    REQUIRE(segments.size() == 2);
    CHECK(segments[0].alpha == Approx(5).epsilon(0.04));
    CHECK(segments[0].beta == Approx(1e-4).epsilon(0.04));
    CHECK(segments[1].beta == Approx(0.25e-4).epsilon(0.04));
    CHECK(std::max(segments[0].max_error, segments[1].max_error) < 0.05);
  }
}

TEST_CASE("alpha-beta fit: one line is found in both segments") {
  std::vector<CurvePoint> points;
  for (double size = 1; size <= 64; size *= 2) points.push_back({size, 3 + 2 * size});
  for (const FittedSegment& segment : fit_alpha_beta(points)) {
    CHECK(segment.alpha == Approx(3));
    CHECK(segment.beta == Approx(2));
  }
}

TEST_CASE("alpha-beta fit: times that do not change have no slope, those in proportion no start") {
  std::vector<CurvePoint> flat;
  std::vector<CurvePoint> steady;
  for (double size = 3; size <= 3e6; size *= 10) {
    flat.push_back({size, 0.7});
    steady.push_back({size, 0.7 * size});
  }
  for (const FittedSegment& segment : fit_alpha_beta(flat)) {
    CHECK(segment.alpha == Approx(0.7));
    CHECK(segment.beta == 0);
  }
  for (const FittedSegment& segment : fit_alpha_beta(steady)) {
    CHECK(segment.alpha == 0);
    CHECK(segment.beta == Approx(0.7));
  }
}

TEST_CASE("alpha-beta fit: fewer than four points are one line, fewer than two none") {
  CHECK(fit_alpha_beta({}).empty());
  const std::vector<CurvePoint> one = {{4, 2}};
  CHECK(fit_alpha_beta(one).empty());
  const std::vector<CurvePoint> two = {{1, 5}, {3, 9}};  // 3 + 2 size
  const auto through_two = fit_alpha_beta(two);
  REQUIRE(through_two.size() == 1);
  CHECK(through_two[0].alpha == Approx(3));
  CHECK(through_two[0].beta == Approx(2));
  const std::vector<CurvePoint> three = {{1, 5}, {3, 9}, {5, 13}};
  CHECK(fit_alpha_beta(three).size() == 1);
  const std::vector<CurvePoint> four = {{1, 5}, {3, 9}, {5, 13}, {7, 17}};
  CHECK(fit_alpha_beta(four).size() == 2);
}

TEST_CASE("alpha-beta fit: errors count relative to each time") {
  // Equal sizes cannot be, so nearly: alpha alone (beta is 0, for times fall). Times 10 and 5:
  // (a/10 - 1)^2 + (a/5 - 1)^2 is least at a = (1/10 + 1/5) / (1/100 + 1/25) = 6.
  const std::vector<CurvePoint> falling = {{1, 10}, {2, 5}};
  const auto flat = fit_alpha_beta(falling);
  REQUIRE(flat.size() == 1);
  CHECK(flat[0].alpha == Approx(6));
  CHECK(flat[0].beta == 0);
  CHECK(flat[0].max_error == Approx(0.4));  // 6 of 10
}

TEST_CASE("alpha-beta fit: where a line would start below 0, it starts at 0") {
  // 1 at 1 and 4 at 2 lie on 3 size - 2; through 0: (b - 1)^2 + (b/2 - 1)^2 is least at b = 1.5 / 1.25 = 1.2.
  const std::vector<CurvePoint> steep = {{1, 1}, {2, 4}};
  const auto through_zero = fit_alpha_beta(steep);
  CHECK(through_zero[0].alpha == 0);
  CHECK(through_zero[0].beta == Approx(1.2));
}

TEST_CASE("alpha-beta fit: no other lines and no other cut are better") {
  // Against the plain way: every cut, and around each optimum lines that are a little different.
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<CurvePoint> points;
    RandomStream random(1, "cut " + std::to_string(trial));
    double size = 1;
    for (int point = 0; point < 8; ++point) {
      size *= 1 + random.uniform() * 4;
      points.push_back({size, 1 + 10 * random.uniform()});
    }
    const std::vector<FittedSegment> segments = fit_alpha_beta(points);
    REQUIRE(segments.size() == 2);
    const double found = squares(points, segments);
    for (const FittedSegment& segment : segments) {
      std::vector<CurvePoint> own;
      std::copy_if(points.begin(), points.end(), std::back_inserter(own),
                   [&segment](const CurvePoint& point) {
                     return point.size >= segment.lo && point.size <= segment.hi;
                   });
      const double least = squares(own, segment.alpha, segment.beta);
      for (const double by : {-1e-3, 1e-3}) {
        CHECK(squares(own, std::max(0.0, segment.alpha + by), segment.beta) >= least - 1e-12);
        CHECK(squares(own, segment.alpha, std::max(0.0, segment.beta + by)) >= least - 1e-12);
      }
    }
    for (std::size_t first = 2; first + 2 <= points.size(); ++first) {
      const std::span<const CurvePoint> all(points);
      CHECK(found <= descended_squares(all.first(first)) + descended_squares(all.subspan(first)) + 1e-6);
    }
  }
}

TEST_CASE("alpha-beta fit: times that scale by a factor scale the line, sizes that do scale its slope") {
  const auto points = noisy(two_lines(), 0.1, "scaled");
  std::vector<CurvePoint> slower = points;
  std::vector<CurvePoint> larger = points;
  for (CurvePoint& point : slower) point.value *= 1024;
  for (CurvePoint& point : larger) point.size *= 1024;
  const auto base = fit_alpha_beta(points);
  const auto in_time = fit_alpha_beta(slower);
  const auto in_size = fit_alpha_beta(larger);
  for (std::size_t segment = 0; segment < 2; ++segment) {
    CHECK(in_time[segment].hi == base[segment].hi);
    CHECK(in_time[segment].alpha == Approx(1024 * base[segment].alpha));
    CHECK(in_time[segment].beta == Approx(1024 * base[segment].beta));
    CHECK(in_size[segment].hi == 1024 * base[segment].hi);
    CHECK(in_size[segment].alpha == Approx(base[segment].alpha));
    CHECK(in_size[segment].beta == Approx(base[segment].beta / 1024));
  }
}

TEST_CASE("alpha-beta fit: sizes next to each other, and extreme ones, give numbers") {
  const std::vector<CurvePoint> near = {{1e15 - 1, 7}, {1e15, 7}};
  for (const auto& points : {near, std::vector<CurvePoint>{{1, 1e-6}, {1e15, 1e9}}}) {
    for (const FittedSegment& segment : fit_alpha_beta(points)) {
      CHECK(std::isfinite(segment.alpha));
      CHECK(std::isfinite(segment.beta));
      CHECK(segment.max_error < 1e-6);
    }
  }
}

}  // namespace goodput
