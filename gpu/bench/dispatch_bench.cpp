// Times the kernels of the token dispatcher against what copying costs on the same device. See --help.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/bench/count_points.h"
#include "gpu/bench/options.h"
#include "gpu/bench/output_file.h"
#include "gpu/bench/row_points.h"
#include "gpu/bench/run_table.h"
#include "gpu/device.h"

namespace goodput::gpu::bench {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kWrongResults = 2, kSkipped = 77 };

constexpr const char* kEmulatedNote = "emulated: times mean nothing";
constexpr const char* kQuickNote = "quick: shapes and copies are too small for figures";

std::string date_of_clock() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

StoppingRule rule_for(Sizes sizes) {
  StoppingRule rule;
  if (sizes == Sizes::kQuick) {
    rule.warm_up_ms = 0;
    rule.batch_ms = 0;
    rule.least = 3;
    rule.most = 3;
  }
  return rule;
}

std::string method_of(const StoppingRule& rule) {
  return "random data; us: events around single runs, which count about 2 us of their own, and graph: "
         "replays "
         "of a captured graph over its runs; " +
         describe(rule) +
         "; share = floor / median, floor = bytes / copy ceiling (1 read : 8 write for scatter with k > 1, "
         "8 read : 1 write for sums over k rows, 1 read : 1 write for the rest) as measured at first; "
         "targets are held against graph; SM MHz: a>b changed between before and after the samples, ~ was "
         "not steady after the warm-up; cold: >= 256 MB moved in a round over the input sets";
}

std::vector<Point> chosen_points(const Options& options, const CopyDevice& device) {
  std::vector<Point> points = count_points(options.sizes);
  for (Point& point : row_points(options.sizes, device)) points.push_back(std::move(point));
  const auto left_out = [&](const Point& point) {
    return text_of(point.name).find(options.only) == std::string::npos;
  };
  sort_by_turn(points);
  points.erase(std::remove_if(points.begin(), points.end(), left_out), points.end());
  if (points.empty()) throw std::invalid_argument("--only '" + options.only + "' selects no point");
  return points;
}

// Those that a chosen point is held against.
void measure_ceilings(const std::vector<Point>& points, Sizes sizes, const CopyDevice& device,
                      const Measurer& measurer, RunReport& report) {
  constexpr std::int64_t kPlaceBytes = 15'000 * 32'768;
  for (const CopyFlow& flow : {CopyFlow{1, 1}, CopyFlow{1, 8}, CopyFlow{8, 1}}) {
    const bool wanted = std::any_of(points.begin(), points.end(),
                                    [&](const Point& point) { return point.goal.ceiling == flow; });
    if (!wanted) continue;
    // 2 GB and 4.4 GB are moved.
    const std::int64_t full = flow == CopyFlow{1, 1} ? 2 * kPlaceBytes : kPlaceBytes;
    try {
      report.ceilings.push_back(
          measure_copy_ceiling(flow, sizes == Sizes::kQuick ? 64 * 1024 : full, device, measurer));
    } catch (const DeadlinePassed&) {
      report.notes.push_back("copy ceiling " + name_of(flow) + ": skipped: deadline");
    }
  }
}

PointOutcome outcome_of(const Point& point, const Measurer& measurer) {
  if (measurer.deadline().passed()) return {point, {}, "deadline"};
  std::fprintf(stderr, "%s\n", text_of(point.name).c_str());
  try {
    return {point, point.run(measurer), ""};
  } catch (const DeadlinePassed&) {
    return {point, {}, "deadline"};
  } catch (const std::exception& error) {
    return {point, {}, std::string("failed: ") + error.what()};
  }
}

int run(const Options& options, const std::vector<std::string>& arguments) {
  std::optional<OutputFile> json_file;
  if (options.json_file) json_file.emplace(*options.json_file);
  if (const DeviceSearch search = find_devices(); search.count == 0) {
    std::printf("skipped: %s\n", search.why_none.c_str());
    return kSkipped;
  }
  const CopyDevice device = copy_device();
  const std::vector<Point> points = chosen_points(options, device);
  const Clock clock = steady_clock();
  const Measurer measurer(rule_for(options.sizes), {clock, clock() + options.deadline_s});

  RunReport report;
  report.machine = read_machine();
  report.date = options.date.empty() ? date_of_clock() : options.date;
  report.arguments = arguments;
  report.method = method_of(measurer.rule());
  if (report.tier == Tier::kEmulated) report.notes.push_back(kEmulatedNote);
  if (options.sizes == Sizes::kQuick) report.notes.push_back(kQuickNote);
  measure_ceilings(points, options.sizes, device, measurer, report);
  for (const Point& point : points) report.points.push_back(outcome_of(point, measurer));
  report.ended = Ended::kDone;

  std::string text = head_text(report) + "\n" + ceilings_text(report);
  const PointTable table(points);
  text += "\n" + table.header();
  for (const PointOutcome& outcome : report.points) {
    text += table.begin_of_row(outcome.point.name) + table.rest_of_row(report, outcome);
  }
  std::printf("%s", text.c_str());
  if (!report.has_wrong() && !report.has_result()) {
    throw std::runtime_error("nothing was measured before the deadline; give more with --deadline-s");
  }
  if (json_file) json_file->write(json_of(report));
  return report.has_wrong() ? kWrongResults : kDone;
}

}  // namespace
}  // namespace goodput::gpu::bench

int main(int argc, char** argv) {
  using namespace goodput::gpu::bench;
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const Options options = parse_options(arguments);
    if (options.help) {
      std::printf("%s", help_text().c_str());
      return kDone;
    }
    return run(options, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dispatch_bench: %s\n", error.what());
    return kFailed;
  }
}
