// Times the kernels of the token dispatcher against what copying costs on the same device. See --help.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/bench/count_points.h"
#include "gpu/bench/options.h"
#include "gpu/bench/output_file.h"
#include "gpu/bench/row_points.h"
#include "gpu/bench/run.h"
#include "gpu/bench/run_words.h"
#include "gpu/device.h"

namespace goodput::gpu::bench {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kWrongResults = 2, kSkipped = 77 };

constexpr const char* kQuickNote = "quick: shapes and copies are too small for meaningful numbers";

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
  return "random data; us: CUDA events around single runs, including the gaps between launches; graph: "
         "replay time of a captured graph divided by its runs; " +
         describe(rule) +
         "; share = floor / median; floor = bytes / copy ceiling; the ceiling is measured by events at the "
         "start; its copies are 1 read : 8 write for scatter with k > 1; 8 read : 1 write for sums over k "
         "rows; "
         "else 1 read : 1 write; targets are compared with graph; SM MHz: a>b means that the clock changed "
         "during the samples, ~ that it was not steady after the warm-up; cold: >= 256 MB moved in one round "
         "over the input sets";
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

// Prints at once: a run that is killed shall have shown what it knew.
void print_now(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

RunReport empty_report(const Options& options, const std::vector<std::string>& arguments,
                       const StoppingRule& rule) {
  RunReport report;
  report.machine = read_machine();
  report.date = options.date.empty() ? utc_now() : options.date;
  report.arguments = arguments;
  report.method = method_of(rule);
  if (report.tier == Tier::kEmulated) report.notes.push_back(kEmulatedNote);
  if (options.sizes == Sizes::kQuick) report.notes.push_back(kQuickNote);
  return report;
}

int run(const Options& options, const std::vector<std::string>& arguments) {
  std::optional<OutputFile> json_file;
  if (options.json_file) json_file.emplace(*options.json_file);
  if (const DeviceSearch search = find_devices(); search.count == 0) {
    std::printf("skipped: %s\n", search.why_none.c_str());
    return kSkipped;
  }
  const CopyDevice device = copy_device();
  const RunPlan plan{chosen_points(options, device), options.sizes,  device,
                     rule_for(options.sizes),        steady_clock(), options.deadline_s};
  RunReport report = empty_report(options, arguments, plan.rule);
  run_plan(plan,
           {print_now,
            [&](const RunReport& so_far) {
              if (json_file) json_file->write(json_of(so_far));
            }},
           report);
  if (!report.has_wrong() && !report.has_result()) {
    throw std::runtime_error("nothing was measured before the deadline; raise --deadline-s");
  }
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
