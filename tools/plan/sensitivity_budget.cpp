#include "tools/plan/sensitivity_budget.h"

#include <algorithm>
#include <numeric>

namespace goodput {
namespace {

constexpr double kWorkOfStart = 20;          // of a run in which nothing happens
constexpr double kNodesOfDecision = 256;     // to look at so many nodes doubles the work of a decision
constexpr double kWorkOfSixSeconds = 2.5e6;  // measured (docs/performance.md)

// Runs of inputs that are looked at low and high, screened at two further values on either side, and searched
// for about one break-even. Each answer at each value takes two more runs to find its interval between
// checkpoints.
double runs_of(std::size_t inputs, const SensitivitySize& size) {
  const auto rivals = static_cast<double>(size.rivals);
  const auto trials = static_cast<double>(size.trials);
  const double screened = std::min(trials, 16.0);
  const double values = 2 * rivals + 4 * rivals + 12;
  return static_cast<double>(inputs) *
         (2 * rivals * trials + 4 * rivals * screened + 12 * trials + 2 * values);
}

}  // namespace

double work_of(const TrialSummary& trial, std::int32_t nodes) {
  const double decisions = std::accumulate(trial.courses.begin(), trial.courses.end(), 0.0);
  return kWorkOfStart + decisions * (1 + static_cast<double>(nodes) / kNodesOfDecision);
}

SensitivitySize sensitivity_size(std::size_t inputs, double contest_work, double run_work) {
  constexpr SensitivitySize kSizes[] = {{10, 128}, {10, 96}, {10, 64}, {8, 48}, {6, 32},
                                        {5, 24},   {4, 16},  {4, 8},   {4, 4},  {3, 4}};
  const double affordable = std::max(contest_work, kWorkOfSixSeconds);
  for (const SensitivitySize& size : kSizes) {
    if (runs_of(inputs, size) * run_work <= affordable) return size;
  }
  return std::end(kSizes)[-1];
}

}  // namespace goodput
