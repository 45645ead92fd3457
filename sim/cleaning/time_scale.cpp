#include "sim/cleaning/time_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/base/float32.h"
#include "sim/base/statistics.h"

namespace goodput {
namespace {

// Starts up to here are resolved to 8 us even in float32.
constexpr double kWellResolvedS = 128;
// Of the median op: starts that are coarser move S by a percent and look like clocks that are apart.
constexpr double kCoarsest = 0.05;

// Of a sample of the rows where there are many in each step: a step does not become a thousand times shorter
// by it.
double median_step(const OpTrace& trace, const TraceIndex& index) {
  constexpr std::size_t kRowsPerStep = 512;
  const std::size_t stride = 1 + trace.size() / (kRowsPerStep * index.steps.size());
  std::vector<double> first(index.steps.size(), std::numeric_limits<double>::infinity());
  std::vector<double> last(index.steps.size(), -std::numeric_limits<double>::infinity());
  for (std::size_t row = 0; row < trace.size(); row += stride) {
    const std::uint32_t step = index.step_of_row[row];
    first[step] = std::min(first[step], trace.start_s[row]);
    last[step] = std::max(last[step], trace.start_s[row] + trace.duration_s[row]);
  }
  std::vector<double> spans;
  for (std::size_t step = 0; step < first.size(); ++step) {
    if (first[step] <= last[step]) spans.push_back(last[step] - first[step]);
  }
  return take_median(spans);
}

double median_duration(const OpTrace& trace) {
  std::vector<double> durations;
  std::copy_if(trace.duration_s.begin(), trace.duration_s.end(), std::back_inserter(durations),
               [](double duration) { return duration > 0; });
  return durations.empty() ? 0 : take_median(durations);
}

Status check_resolution(const OpTrace& trace) {
  const auto largest = std::max_element(trace.start_s.begin(), trace.start_s.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double start = std::abs(*largest);
  if (start < kWellResolvedS) return Ok{};
  const auto is_float32 = [](double x) { return round_to_float32(x) == x; };
  if (!std::all_of(trace.start_s.begin(), trace.start_s.end(), is_float32)) return Ok{};
  const auto narrow = static_cast<float>(start);
  const double resolution =
      static_cast<double>(std::nextafter(narrow, std::numeric_limits<float>::infinity()) - narrow);
  const double duration = median_duration(trace);
  if (resolution <= kCoarsest * duration) return Ok{};
  return Error{
      fmt::format("starts of {:.6g} s are float32 values, {:.3g} s apart, but the median op takes {:.3g} s: "
                  "their order is lost; record start_ts in float64 or from the start of each step",
                  start, resolution, duration)};
}

}  // namespace

Status check_time_scale(const OpTrace& trace, const TraceIndex& index) {
  GOODPUT_TRY_STATUS(check_resolution(trace));
  const double step = median_step(trace, index);
  if (step >= kShortestStepS && step <= kLongestStepS) return Ok{};
  const bool is_long = step > kLongestStepS;
  return Error{fmt::format("the median step takes {:.3g} s, which no training step does (10 us to an hour): "
                           "the times are not in seconds; say their unit with {}{}",
                           step, kOption, is_long ? " ms, us or ns" : ""),
               {},
               "time-unit"};
}

}  // namespace goodput
