#include "tools/chart/axis_ticks.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace goodput {
namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> labels;
  for (const AxisTick& tick : axis.ticks) labels.push_back(tick.label);
  return labels;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("axis: counts end at the first mark behind the largest") {
  CHECK(labels(count_axis(10, 4)) == Labels{"0", "5", "10"});
  CHECK(labels(count_axis(291332, 7)) == Labels{"0", "50k", "100k", "150k", "200k", "250k", "300k"});
  CHECK(count_axis(291332, 7).most == 300000);
  CHECK(labels(count_axis(3.85e6, 7)) == Labels{"0", "1M", "2M", "3M", "4M"});
  CHECK(labels(count_axis(1500, 7)) == Labels{"0", "500", "1000", "1500"});
}

TEST_CASE("axis: of nothing, and of a single thing, goes to one") {
  CHECK(labels(count_axis(0, 4)) == Labels{"0", "1"});
  CHECK(labels(count_axis(1, 4)) == Labels{"0", "1"});
}

TEST_CASE("axis: time has marks at round seconds, minutes, hours and days, and ends with the run") {
  CHECK(labels(time_axis(90)) == Labels{"0", "15", "30", "45", "60", "75", "90"});
  CHECK(time_axis(90).unit == "s");
  CHECK(labels(time_axis(1800)) == Labels{"0", "5", "10", "15", "20", "25", "30"});
  CHECK(time_axis(1800).unit == "min");
  CHECK(labels(time_axis(86400)) == Labels{"0", "4", "8", "12", "16", "20", "24"});
  CHECK(time_axis(86400).unit == "h");
  CHECK(labels(time_axis(30 * 86400)) == Labels{"0", "5", "10", "15", "20", "25", "30"});
  CHECK(time_axis(30 * 86400).unit == "days");
  CHECK(time_axis(40920).most == 40920);
  CHECK(time_axis(40920).ticks.back().value == 10 * 3600);
}

TEST_CASE("axis: a run of no time has one") {
  CHECK(time_axis(0).ticks.size() > 1);
}

}  // namespace goodput
