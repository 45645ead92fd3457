// Points predicted by their neighbours, against the whole table without them.
#include "models/cost/left_out.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/cost/measured_curve.h"
#include "sim/base/random.h"
#include "tests/models/cost/cost_case.h"

namespace goodput {
namespace {

using doctest::Approx;
using testing::shipped_calibration;

constexpr GpuRatings kH200{989.4e12, 4800e9};

// The slow way: the table's time, predicted by a table that lacks this very point.
double without_point(const Measurement& table, std::size_t index) {
  const MeasuredPoint& left_out = table.points[index];
  Measurement others = table;
  others.points.erase(others.points.begin() + static_cast<std::ptrdiff_t>(index));
  if (table.op == MeasuredOp::kGemm) {
    const Kernel kernel = testing::gemm(left_out.m, table.params.n, table.params.k);
    return 1e6 * GemmTable(std::span(&others, 1), kH200).cost(kernel, kH200).value().seconds;
  }
  std::vector<CurvePoint> points;
  for (const MeasuredPoint& point : others.points)
    points.push_back({static_cast<double>(point.size()), point.median_us});
  const auto curve = left_out.bytes > 0 ? MeasuredCurve::rising(points) : MeasuredCurve(points);
  return curve.extended_at(static_cast<double>(left_out.size()));
}

void check_against_slow_way(const Measurement& table) {
  double sum = 0;
  double largest = 0;
  for (std::size_t index = 1; index + 1 < table.points.size(); ++index) {
    const double error = std::abs(without_point(table, index) / table.points[index].median_us - 1);
    sum += error;
    largest = std::max(largest, error);
  }
  const auto found = left_out_error(table, kH200);
  REQUIRE(found.has_value());
  CHECK(found->points == table.points.size() - 2);
  CHECK(found->mean == Approx(sum / static_cast<double>(found->points)).epsilon(1e-12));
  CHECK(found->largest == Approx(largest).epsilon(1e-12));
}

Measurement table_of(MeasuredOp op, std::vector<MeasuredPoint> points) {
  return {.op = op, .points = std::move(points)};
}

}  // namespace

TEST_CASE("left out: half way between two sizes in logarithms their geometric mean is expected") {
  // 4 is half way from 1 to 16; sqrt(10 x 40) = 20, measured 25: off by 5 of 25.
  const auto table = table_of(
      MeasuredOp::kCopy,
      {{.bytes = 1, .median_us = 10}, {.bytes = 4, .median_us = 25}, {.bytes = 16, .median_us = 40}});
  const auto error = left_out_error(table, {});
  REQUIRE(error.has_value());
  CHECK(error->points == 1);
  CHECK(error->mean == Approx(0.2));
  CHECK(error->largest == Approx(0.2));
}

TEST_CASE(
    "left out: a later, shorter time counts where times rise with bytes, not where they are of tokens") {
  // Without the 30 of size 4, bytes expect at most the 5 of size 64: sqrt(5 x 5). Tokens sqrt(10 x 40).
  const auto error_with = [](auto size) {
    std::vector<MeasuredPoint> points = {
        {.median_us = 10}, {.median_us = 30}, {.median_us = 40}, {.median_us = 5}};
    std::int64_t next = 1;
    for (MeasuredPoint& point : points) {
      point.*size = next;
      next *= 4;
    }
    return left_out_error(
               table_of(size == &MeasuredPoint::bytes ? MeasuredOp::kCopy : MeasuredOp::kPermute, points), {})
        .value();
  };
  CHECK(error_with(&MeasuredPoint::bytes).largest == Approx(1 - 5.0 / 40));
  CHECK(error_with(&MeasuredPoint::tokens).largest == Approx(1 - std::sqrt(30.0 * 5) / 40));
}

TEST_CASE("left out: fewer than three points leave nothing out") {
  CHECK_FALSE(left_out_error(table_of(MeasuredOp::kLaunchGap, {{.median_us = 2}}), {}).has_value());
  CHECK_FALSE(
      left_out_error(
          table_of(MeasuredOp::kCopy, {{.bytes = 1, .median_us = 2}, {.bytes = 2, .median_us = 2}}), kH200)
          .has_value());
}

TEST_CASE("left out: of every shipped table what the slow way gives") {
  for (const Measurement& table : shipped_calibration().ops) check_against_slow_way(table);
}

TEST_CASE("left out: of random tables what the slow way gives") {
  for (int trial = 0; trial < 200; ++trial) {
    RandomStream random(1, "left out " + std::to_string(trial));
    const bool is_by_bytes = trial % 2 == 0;
    Measurement table = table_of(is_by_bytes ? MeasuredOp::kD2h : MeasuredOp::kCombine, {});
    std::int64_t size = 1;
    const int count = 3 + trial % 7;
    for (int point = 0; point < count; ++point) {
      size += 1 + static_cast<std::int64_t>(random.uniform() * 1000);
      MeasuredPoint& made = table.points.emplace_back();
      (is_by_bytes ? made.bytes : made.tokens) = size;
      made.median_us = 1 + 100 * random.uniform();
    }
    check_against_slow_way(table);
  }
}

TEST_CASE("left out: without ratings, and of other types, a GEMM's times are taken as they are") {
  Measurement table =
      table_of(MeasuredOp::kGemm,
               {{.m = 1024, .median_us = 10}, {.m = 2048, .median_us = 25}, {.m = 4096, .median_us = 40}});
  table.params = {.n = 4096, .k = 4096, .dtype = MeasuredType::kBf16};
  CHECK(left_out_error(table, {})->mean == Approx(0.2));
  CHECK(left_out_error(table, kH200)->mean != Approx(0.2));
  table.params.dtype = MeasuredType::kFp8;
  CHECK(left_out_error(table, kH200)->mean == Approx(0.2));
}

}  // namespace goodput
