// Two calibrations against each other.
#include "tools/calibration/compare_calibrations.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace goodput {
namespace {

using doctest::Approx;

Calibration with_copies(std::vector<MeasuredPoint> points, MeasuredParams params = {}) {
  Calibration calibration;
  calibration.ops = {{.op = MeasuredOp::kCopy, .params = std::move(params), .points = std::move(points)}};
  return calibration;
}

std::string tolerance_problem(std::string_view text) {
  const Result<double> tolerance = parse_ratio_tolerance(text);
  return tolerance ? "" : tolerance.error().message();
}

}  // namespace

TEST_CASE("compare calibrations: the geometric mean of the ratios, and the one furthest from 1 either way") {
  const Calibration first = with_copies({{.bytes = 1, .median_us = 10}, {.bytes = 2, .median_us = 10}});
  const Calibration second = with_copies({{.bytes = 1, .median_us = 12}, {.bytes = 2, .median_us = 8}});
  const auto compared = compare_calibrations(first, second, 0.1);
  REQUIRE(compared.has_value());
  REQUIRE(compared->tables.size() == 1);
  const ComparedTable& table = compared->tables[0];
  CHECK(table.common == 2);
  CHECK(table.geometric_mean == Approx(std::sqrt(1.2 * 0.8)));
  CHECK(table.farthest == Approx(0.8));  // 1 / 0.8 = 1.25 is further than 1.2
  CHECK(table.farthest_size == 2);
  CHECK(table.beyond == 2);
  CHECK(compared->geometric_mean == Approx(std::sqrt(1.2 * 0.8)));
}

TEST_CASE("compare calibrations: the other way round the ratios are the inverse ones") {
  const Calibration first = with_copies({{.bytes = 1, .median_us = 10}, {.bytes = 2, .median_us = 10}});
  const Calibration second = with_copies({{.bytes = 1, .median_us = 12}, {.bytes = 2, .median_us = 9}});
  const auto there = compare_calibrations(first, second, 0).value();
  const auto back = compare_calibrations(second, first, 0).value();
  CHECK(back.geometric_mean == Approx(1 / there.geometric_mean));
  CHECK(back.tables[0].farthest == Approx(1 / there.tables[0].farthest));
}

TEST_CASE("compare calibrations: only sizes that both have count") {
  const Calibration first = with_copies(
      {{.bytes = 1, .median_us = 1}, {.bytes = 4, .median_us = 10}, {.bytes = 5, .median_us = 1}});
  const Calibration second = with_copies({{.bytes = 2, .median_us = 7},
                                          {.bytes = 3, .median_us = 7},
                                          {.bytes = 4, .median_us = 11},
                                          {.bytes = 9, .median_us = 7}});
  const auto compared = compare_calibrations(first, second, 0.05).value();
  CHECK(compared.common == 1);
  CHECK(compared.beyond == 1);
  CHECK(compared.tables[0].only_first == 2);
  CHECK(compared.tables[0].only_second == 3);
  CHECK(compared.tables[0].farthest == Approx(1.1));
  CHECK(compared.tables[0].farthest_size == 4);
}

TEST_CASE("compare calibrations: a time at the tolerance is within it") {
  const Calibration first = with_copies({{.bytes = 1, .median_us = 100}});
  const auto beyond = [&first](double time, double tolerance) {
    return compare_calibrations(first, with_copies({{.bytes = 1, .median_us = time}}), tolerance)->beyond;
  };
  CHECK(beyond(105, 0.05) == 0);
  CHECK(beyond(95, 0.05) == 0);
  CHECK(beyond(105.01, 0.05) == 1);
  CHECK(beyond(94.99, 0.05) == 1);
  CHECK(beyond(100, 0) == 0);
  CHECK(beyond(100.0001, 0) == 1);
}

TEST_CASE("compare calibrations: tables are the same where op and all params are") {
  const Calibration plain = with_copies({{.bytes = 1, .median_us = 1}});
  const Calibration beside = with_copies({{.bytes = 1, .median_us = 1}}, {.is_beside_gemm = true});
  CHECK_FALSE(compare_calibrations(plain, beside, 0).has_value());  // nothing in common
  CHECK_FALSE(compare_calibrations(plain, Calibration{}, 0).has_value());
  Calibration both = plain;
  both.ops.push_back(beside.ops[0]);
  const auto compared = compare_calibrations(both, plain, 0).value();
  CHECK(compared.only_first == std::vector<const Measurement*>{&both.ops[1]});
  CHECK(compared.only_second.empty());
  CHECK(compare_calibrations(plain, both, 0)->only_second == std::vector<const Measurement*>{&both.ops[1]});
}

TEST_CASE("compare calibrations: a tolerance is a percentage from 0 to 1000") {
  CHECK(parse_ratio_tolerance("5%").value() == Approx(0.05));
  CHECK(parse_ratio_tolerance("2.5 %").value() == Approx(0.025));
  CHECK(parse_ratio_tolerance("0%").value() == 0);
  CHECK(parse_ratio_tolerance("1000%").value() == Approx(10));
  CHECK(tolerance_problem("0.05") == "must be from 0 % to 1000 % (for example 5%), not \"0.05\"");
  for (const char* text : {"", "%", " %", "-1%", "1000.1%", "five%", "inf%", "5%%"})
    CHECK(tolerance_problem(text).starts_with("must be from 0 % to 1000 % (for example 5%), not \""));
}

}  // namespace goodput
