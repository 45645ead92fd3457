#include "tools/check/speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  return Error{fmt::format("{} failed with exit code {}: {}", program, child.exit_code,
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

namespace {

// One after the other, each first in a third of the rounds.
Result<SpeedResult> measure(const std::vector<std::string>& arguments, const std::string& program,
                            const std::string& other, std::int64_t rounds,
                            const std::function<bool()>& is_time_over) {
  const std::array<const std::string*, 3> programs = {&other, &other, &program};
  std::array<std::vector<double>, 3> seconds;
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (round >= kLeastRounds && is_time_over()) break;
    for (std::size_t k = 0; k < programs.size(); ++k) {
      const std::size_t turn = (k + static_cast<std::size_t>(round)) % programs.size();
      GOODPUT_TRY(seconds[turn].emplace_back(), seconds_of(*programs[turn], arguments));
    }
  }
  SpeedResult result{.rounds = std::ssize(seconds[2])};
  result.baseline_s = least(seconds[0]);
  result.program_s = least(seconds[2]);
  result.noise = ratio_of(seconds[0], seconds[1]);
  result.ratio = ratio_of(seconds[0], seconds[2]);
  return result;
}

}  // namespace

Result<SpeedResult> time_run(const SuiteRun& run, const std::string& program, const std::string& other,
                             const RunnerOptions& options, std::int64_t rounds,
                             const std::function<bool()>& is_time_over) {
  const std::vector<std::string> arguments =
      suite_arguments(run, {0, run.has_trials() ? run.trials : 0}, {}, options);
  // The first of each fills caches and is not counted.
  GOODPUT_TRY_STATUS(seconds_of(other, arguments));
  GOODPUT_TRY_STATUS(seconds_of(program, arguments));
  GOODPUT_TRY(SpeedResult result, measure(arguments, program, other, rounds, is_time_over));
  if (result.is_slower() || result.is_faster()) {  // once more: of many runs some are by chance
    GOODPUT_TRY(result, measure(arguments, program, other, rounds, is_time_over));
  }
  result.run = run.name;
  return result;
}

}  // namespace goodput
