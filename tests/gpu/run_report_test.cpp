#include "gpu/bench/run_report.h"

#include <doctest/doctest.h>

#include "gpu/bench/run_table.h"
#include "sim/base/json.h"
#include "tests/gpu/made_up_report.h"

namespace goodput::gpu::bench {
namespace {

// 4,000,000 bytes at 4000 GB/s are 1 us: a share of 1/2 by the events and of 0.8 by the replays.
constexpr std::int64_t kBytes = 4'000'000;

RunReport measured_report(const PointGoal& goal, const std::string& gpu = "some GPU") {
  RunReport report;
  report.tier = Tier::kMeasured;
  report.machine.gpu = gpu;
  report.ceilings = {made_up_ceiling({1, 1}), made_up_ceiling({1, 8})};
  report.points = {{made_up_point("scatter", goal), made_up_result(kBytes, 2, 1.25), ""}};
  return report;
}

std::string target_of(const RunReport& report) {
  return judge(report, report.points[0]).target;
}

TEST_CASE("bench report: the shares of events and of replays are those of the point's ceiling") {
  const PointVerdict verdict =
      judge(measured_report({CopyFlow{1, 8}, {}, {}}),
            {made_up_point("scatter", {CopyFlow{1, 8}, {}, {}}), made_up_result(kBytes, 2, 1.25), ""});
  REQUIRE(verdict.events);
  CHECK(verdict.events->floor_us == doctest::Approx(1));
  CHECK(verdict.events->share == doctest::Approx(0.5));
  CHECK(*verdict.graph_share == doctest::Approx(0.8));
  CHECK(verdict.target.empty());

  const RunReport other = measured_report({CopyFlow{8, 1}, {}, {}});  // no such ceiling
  CHECK_FALSE(judge(other, other.points[0]).events);
  CHECK_FALSE(judge(other, other.points[0]).graph_share);
}

TEST_CASE("bench report: a share is held against its target on every GPU, by the replays") {
  CHECK(target_of(measured_report({CopyFlow{1, 8}, 0.79, {}})) == "met");
  CHECK(target_of(measured_report({CopyFlow{1, 8}, 0.85, {}})) == "missed");
  CHECK(target_of(measured_report({CopyFlow{8, 1}, 0.85, {}})) == "-");  // no such ceiling
}

TEST_CASE("bench report: a time is held against its target on an H200 only") {
  CHECK(target_of(measured_report({{}, {}, 1.5}, "NVIDIA H200")) == "met");
  CHECK(target_of(measured_report({{}, {}, 1.0}, "NVIDIA H200")) == "missed");
  CHECK(target_of(measured_report({{}, {}, 1.5}, "NVIDIA GH200 480GB")) == "-");
  CHECK(target_of(measured_report({{}, {}, 1.5})) == "-");
}

TEST_CASE("bench report: emulated times make no share, no verdict and no rate") {
  RunReport report = measured_report({CopyFlow{1, 8}, 0.5, {}});
  report.ceilings[0].again = report.ceilings[0].tried[1];
  report.tier = Tier::kEmulated;
  CHECK_FALSE(judge(report, report.points[0]).events);
  CHECK(target_of(report) == "-");

  const Json json = Json::parse(json_of(report));
  CHECK(json["tier"] == "emulated");
  CHECK(json["ceilings"][0]["gb_per_s"].is_null());
  CHECK(json["ceilings"][0]["kernel"].is_null());
  CHECK(json["ceilings"][0]["drift"].is_null());
  CHECK_FALSE(json["ceilings"][0]["again"].contains("gb_per_s"));
  CHECK_FALSE(json["ceilings"][0]["tried"][0].contains("gb_per_s"));
  CHECK_FALSE(json["points"][0].contains("share_of_ceiling"));
  CHECK_FALSE(json["points"][0].contains("target"));
  CHECK_FALSE(json["points"][0]["graph"].contains("share_of_ceiling"));
}

TEST_CASE("bench report: what is wrong, and what is not") {
  RunReport report = measured_report({});
  CHECK_FALSE(report.has_wrong());
  CHECK(report.has_result());
  report.points.push_back({made_up_point("late", {}), {}, kDeadlineReason});
  CHECK_FALSE(report.has_wrong());
  report.points[1].reason = "failed: out of memory";
  CHECK(report.has_wrong());

  RunReport unchecked = measured_report({});
  unchecked.points[0].result->check.compared = 0;
  CHECK(unchecked.has_wrong());
  RunReport ceiling = measured_report({});
  ceiling.ceilings[1].tried[0].nwrong = 1;
  CHECK(ceiling.has_wrong());
}

TEST_CASE("bench json: a point has its goal, its times twice, clocks, shares and verdict") {
  const Json json = Json::parse(json_of(measured_report({CopyFlow{1, 8}, 0.75, {}})));
  CHECK(json["schema"] == "goodput.dispatch_bench/2");
  CHECK(json["ended"] == "running");
  const Json& point = json["points"][0];
  CHECK(point["ceiling"] == Json{{"reads", 1}, {"writes", 8}});
  CHECK(point["target_share"] == 0.75);
  CHECK(point["target"] == "met");
  CHECK(point["floor_us"] == 1.0);
  CHECK(point["share_of_ceiling"] == 0.5);
  CHECK(point["median_us"] == 2.0);
  CHECK(point["sm_mhz"] == Json{{"before", 1980}, {"after", 1980}});
  CHECK(point["steady_clock"] == true);
  CHECK(point["warm_up"] == Json{{"device_ms", 110}, {"ended", "steady"}});
  CHECK(point["graph"]["median_us"] == 1.25);
  CHECK(point["graph"]["runs_in_graph"] == 3);
  CHECK(point["graph"]["share_of_ceiling"] == 0.8);
  CHECK(point["graph"]["sm_mhz"]["after"] == 1980);
  CHECK(point["nwrong"] == 0);
  CHECK(point["compared"] == 70);
}

TEST_CASE("bench json: a clock that is not known is null, and a point that was left out has its reason") {
  RunReport report = measured_report({});
  report.points[0].result->time.events = made_up_times(2, {}, false);
  report.points.push_back({made_up_point("late", {CopyFlow{1, 1}, {}, {}}), {}, kDeadlineReason});
  const Json json = Json::parse(json_of(report));
  CHECK(json["points"][0]["sm_mhz"] == Json{{"before", nullptr}, {"after", nullptr}});
  CHECK(json["points"][0]["steady_clock"] == false);
  CHECK(json["points"][1] ==
        Json{{"op", "late"}, {"shape", "T=1"}, {"path", "bulk"}, {"skipped", "deadline"}});
}

TEST_CASE("bench json: a ceiling has all that was tried, the best once more, and the drift") {
  RunReport report = measured_report({});
  report.ceilings[0].again = report.ceilings[0].tried[1];
  report.ceilings[0].again->gb_per_s = 3900;
  const Json json = Json::parse(json_of(report));
  const Json& first = json["ceilings"][0];
  CHECK(first["reads"] == 1);
  CHECK(first["writes"] == 1);
  CHECK(first["gb_per_s"] == 4000);
  CHECK(first["kernel"] == "fast");
  CHECK(first["tried"].size() == 2);
  CHECK(first["tried"][0]["sm_mhz"]["before"] == 1980);
  CHECK(first["again"]["gb_per_s"] == 3900);
  CHECK(first["again"]["median_us"] == 500);
  CHECK(first["again"]["sm_mhz"]["after"] == 1980);
  CHECK(first["drift"].get<double>() == doctest::Approx(-0.025));
  CHECK(json["ceilings"][1]["again"].is_null());
  CHECK(json["ceilings"][1]["drift"].is_null());
}

TEST_CASE("bench table: a clock that changed, never settled or is not known is seen") {
  CHECK(clock_text(made_up_times(1, {1980.4, 1979.6})) == "1980");
  CHECK(clock_text(made_up_times(1, {1980, 1950})) == "1980");
  CHECK(clock_text(made_up_times(1, {1980, 1755}, false)) == "1980>1755");
  CHECK(clock_text(made_up_times(1, {}, false)) == "-");
  SampledTimes never = made_up_times(1, {1980, 1980}, false);
  never.warm_up.end = WarmUpEnd::kNeverSteady;
  CHECK(clock_text(never) == "~1980");
  never.sm_mhz.after = 1755;
  CHECK(clock_text(never) == "~1980>1755");
}

TEST_CASE("bench table: rows begin with the name, and stand under their columns") {
  RunReport report = measured_report({CopyFlow{1, 8}, 0.85, {}});
  report.points[0].result->time.graph->times = made_up_times(1.25, {1980, 1755}, false);
  const PointTable table({report.points[0].point, made_up_point("count_rank", {})});
  CHECK(table.header() ==
        "op          shape  path  L2            MB  floor us  median us      p05      p95     n    share  "
        "graph us  graph share  target           SM MHz           nwrong  checked\n");
  CHECK(table.begin_of_row(report.points[0].point.name) == "scatter     T=1    bulk");
  CHECK(table.rest_of_row(report, report.points[0]) ==
        "  cold       4.000      1.00       2.00     1.00     3.00    50   50.0 %      1.25       80.0 %  "
        ">= 85 % missed   graph 1980>1755       0  all\n");
  CHECK(table.rest_of_row(report, {made_up_point("late", {}), {}, kDeadlineReason}) == "  deadline\n");
}

TEST_CASE("bench table: a target that nobody can judge here is shown without a verdict") {
  RunReport report = measured_report({{}, {}, 12});
  const std::string row = PointTable({report.points[0].point}).rest_of_row(report, report.points[0]);
  CHECK(row.find("  <= 12 us         1980 ") != std::string::npos);
}

TEST_CASE("bench table: the ceilings at the end stand beside those at first") {
  RunReport report = measured_report({});
  CHECK(drift_text(report).empty());
  report.ceilings[1].again = report.ceilings[1].tried[1];
  report.ceilings[1].again->gb_per_s = 4100;
  CHECK(drift_text(report) ==
        "at the end of the run\n"
        "copy ceiling      kernel  SM MHz  median us  GB/s  at start   drift  nwrong\n"
        "1 read : 8 write  fast    1980        500.0  4100      4000  +2.5 %       0\n");
  CHECK(ceilings_text(report).find("1 read : 8 write  fast  <- ceiling  cold  1980 ") != std::string::npos);
}

}  // namespace
}  // namespace goodput::gpu::bench
