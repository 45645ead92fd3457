#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/chart/bar_chart.h"
#include "tools/chart/line_chart.h"
#include "tools/cli/output_file.h"
#include "tools/fleet/fleet_report.h"

namespace goodput {
namespace {

constexpr std::size_t kMostDrawnHosts = 30;
constexpr std::size_t kMostDots = 20'000;

std::string_view cumulated(const FleetCurve& curve, FleetWeight weight) {
  if (weight == FleetWeight::kGpuHours) return "share of GPU-hours";
  return curve.key == "steps" ? "share of steps" : "share of jobs";
}

// What the distributions are drawn from and to, and what stands at their mark.
struct CurveLook {
  std::string_view key;
  std::string_view title;
  bool is_percent = false;
  std::optional<double> least{};
  std::optional<double> most{};
  std::string_view mark{};
};
constexpr CurveLook kCurveLooks[] = {
    {"waste", "Waste caused by stragglers", true, 0, {}, "S = 1.1"},
    {"steps", "Slowdown of steps relative to S of their job", false, {}, {}, ""},
    {"m_w", "Loss explained by the slowest workers", false, -0.25, 1.5, "half of the loss"},
    {"m_s", "Loss explained by the last stage", false, -0.25, 1.5, "half of the loss"},
    {"correlation", "Are sequence lengths the cause?", false, -1, 1, "0.9"},
};

LineChart curve_chart(const FleetCurve& curve, const CurveLook& look, FleetWeight weight) {
  LineChart chart;
  chart.title = look.title;
  chart.note = fmt::format("{} {}", curve.sample.jobs(), curve.over);
  chart.x.label = curve.what;
  chart.x.is_percent = look.is_percent;
  chart.x.least = look.least;
  chart.x.most = look.most;
  chart.y = {std::string(cumulated(curve, weight)), 0, 1, true, false};
  std::vector<LinePoint> points = cumulative(curve.sample);
  points.insert(points.begin(), {points.front().x, 0});
  chart.series = {{"", std::move(points), ChartSeries::Shape::kSteps, {}}};
  if (curve.paper_mark) chart.marks = {{*curve.paper_mark, std::string(look.mark), true}};
  return chart;
}

LineChart size_chart(const FleetStudy& study) {
  LineChart chart;
  chart.title = "Slowdown by job size";
  ChartSeries dots{"", {}, ChartSeries::Shape::kDots, {}};
  for (const FleetJob* job : study.fleet.studied) {
    if (!job->gpus || dots.points.size() == kMostDots) continue;
    dots.points.push_back({static_cast<double>(*job->gpus), job->slowdown});
    dots.tips.push_back(fmt::format("{}: {} GPUs, S {:.3f}", job->name, *job->gpus, job->slowdown));
  }
  chart.note = fmt::format("{} studied jobs", dots.points.size());
  if (study.size_correlation) chart.note += fmt::format("; rank correlation {:.2f}", *study.size_correlation);
  chart.x = {"GPUs", {}, {}, false, true};
  chart.y = {"slowdown S", {}, {}, false, false};
  chart.series = {std::move(dots)};
  chart.marks = {{kSlowJob, "S = 1.1", false}};
  return chart;
}

BarChart optype_chart(const FleetStudy& study) {
  BarChart chart;
  chart.title = "Waste caused by each op type alone";
  chart.note = "mean over the studied jobs that have this op type; all other ops ideal";
  for (const OptypeWaste& type : study.optypes)
    chart.bars.push_back({type.optype, type.waste, fmt::format("{:.2f} %", 100 * type.waste), {}});
  return chart;
}

BarChart host_chart(const FleetStudy& study) {
  BarChart chart;
  chart.title = "Hosts that were slow in the most jobs";
  for (const HostRecord& host : study.hosts) {
    if (chart.bars.size() == kMostDrawnHosts) break;
    chart.bars.push_back(
        {host.host, static_cast<double>(host.slow_in),
         fmt::format("{} of {} jobs, mean S {:.2f}", host.slow_in, host.ran_in, host.mean_slowdown),
         fmt::format("{}: slowdown caused by this host alone: {:.3f} on average, {:.3f} at most", host.host,
                     host.mean_slowdown, host.worst_slowdown)});
  }
  chart.note =
      fmt::format("showing {} of {} hosts that were slow in at least one job; jobs with host names: {}",
                  chart.bars.size(), study.hosts.size(), study.jobs_with_hosts);
  return chart;
}

std::string figure_file(const std::string& folder, std::string_view figure) {
  return fmt::format("{}/{}.svg", folder, figure);
}

}  // namespace

std::vector<std::string> fleet_figure_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const CurveLook& look : kCurveLooks) files.push_back(figure_file(folder, look.key));
  for (const std::string_view figure : {"optypes", "sizes", "hosts"})
    files.push_back(figure_file(folder, figure));
  return files;
}

std::vector<LinePoint> cumulative(const FleetSample& sample) {
  std::vector<LinePoint> points;
  const double total = sample.total_weight();
  double below = 0;
  for (const SampleValue& value : sample.values()) {
    below += value.weight;
    if (!points.empty() && points.back().x == value.value) {
      points.back().y = below / total;
    } else {
      points.push_back({value.value, below / total});
    }
  }
  if (!points.empty()) points.back().y = 1;
  return points;
}

Status write_fleet_figures(const FleetReport& report, const std::string& folder) {
  const FleetStudy& study = report.study;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Error{fmt::format("cannot create this folder: {}", failed.message()), {.file = folder}};
  const auto write = [&](std::string_view name, const std::string& svg) {
    return write_text_atomically(figure_file(folder, name), svg);
  };
  for (const FleetCurve& curve : study.curves) {
    const auto* look = std::find_if(std::begin(kCurveLooks), std::end(kCurveLooks),
                                    [&](const CurveLook& of) { return of.key == curve.key; });
    GOODPUT_TRY_STATUS(write(curve.key, line_chart_svg(curve_chart(curve, *look, study.weight))));
  }
  if (!study.optypes.empty()) GOODPUT_TRY_STATUS(write("optypes", bar_chart_svg(optype_chart(study))));
  if (!study.sizes.empty()) GOODPUT_TRY_STATUS(write("sizes", line_chart_svg(size_chart(study))));
  if (!study.hosts.empty()) GOODPUT_TRY_STATUS(write("hosts", bar_chart_svg(host_chart(study))));
  return Ok{};
}

}  // namespace goodput
