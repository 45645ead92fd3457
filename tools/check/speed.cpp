#include "tools/check/speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "sim/base/statistics.h"
#include "tools/check/child_program.h"

namespace goodput {
namespace {

constexpr double kNoises = 2;  // that a change has to be beyond

Result<double> seconds_of(const std::string& program, const std::vector<std::string>& arguments) {
  GOODPUT_TRY(const ChildResult child, run_child(program, arguments));
  if (child.exit_code == 0) return std::chrono::duration<double>(child.took).count();
  return Error{fmt::format("{} ends with exit code {}: {}", program, child.exit_code,
                           child.messages.substr(0, child.messages.find('\n')))};
}

double least(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

SpeedRatio ratio_of(std::vector<double> before, std::vector<double> after) {
  SpeedRatio ratio{.of_minima = least(after) / least(before)};
  ratio.of_medians = take_median(after) / take_median(before);
  return ratio;
}

// By the ratio of minima, which what else the machine does moves least; the medians must not contradict.
bool is_beyond_noise(const SpeedResult& result, double direction) {
  const double limit = std::max(kLeastSpeedChange, kNoises * result.noise.excess());
  return direction * (result.ratio.of_minima - 1) > limit && direction * (result.ratio.of_medians - 1) > 0;
}

}  // namespace

double SpeedRatio::excess() const {
  return std::max(std::abs(of_minima - 1), std::abs(of_medians - 1));
}

bool SpeedResult::is_slower() const {
  return is_beyond_noise(*this, 1);
}

bool SpeedResult::is_faster() const {
  return is_beyond_noise(*this, -1);
}

Result<SpeedResult> time_run(const SuiteRun& run, const std::string& program, const std::string& other,
                             const RunnerOptions& options, std::int64_t rounds,
                             const std::function<bool()>& is_time_over) {
  const std::vector<std::string> arguments =
      suite_arguments(run, {0, run.has_trials() ? run.trials : 0}, {}, options);
  std::vector<double> a;
  std::vector<double> again;
  std::vector<double> b;
  // The first of each fills caches and is not counted.
  GOODPUT_TRY_STATUS(seconds_of(other, arguments));
  GOODPUT_TRY_STATUS(seconds_of(program, arguments));
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (round >= kLeastRounds && is_time_over()) break;
    GOODPUT_TRY(a.emplace_back(), seconds_of(other, arguments));
    GOODPUT_TRY(again.emplace_back(), seconds_of(other, arguments));
    GOODPUT_TRY(b.emplace_back(), seconds_of(program, arguments));
  }
  SpeedResult result{.run = run.name, .rounds = std::ssize(b)};
  result.baseline_s = least(a);
  result.program_s = least(b);
  result.noise = ratio_of(a, again);
  result.ratio = ratio_of(a, b);
  return result;
}

}  // namespace goodput
