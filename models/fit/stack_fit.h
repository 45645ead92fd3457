// Fits a software stack to measured training steps.
//
// At most four numbers change: factors of the stack on what a lone kernel sustains, and the time to launch a
// kernel. The fit minimizes a robust loss of log(predicted / measured), so that 10 % too slow counts as much
// as 10 % too fast and a few odd rows do not decide, plus a penalty on leaving the stack it starts from, so
// that five rows do not move what they say nothing about.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/stack/software_stack.h"
#include "sim/base/errors.h"

namespace goodput {

struct MeasuredStep {
  TrainingPlan plan;  // its stack does not matter
  double seconds = 0;
};

enum class FitParameter : std::uint8_t { kGemm, kFp8Gemm, kAttention, kMemory, kLaunch };
inline constexpr std::size_t kFitParameters = 5;
inline constexpr std::array<std::string_view, kFitParameters> kFitParameterNames = {
    "gemm", "fp8_gemm", "attention", "memory", "launch_us"};
inline constexpr std::size_t kMostFitted = 4;

struct FittedParameter {
  FitParameter parameter{};
  double before = 0;
  double after = 0;
  bool is_at_bound = false;  // a sign that the simulator lacks what makes these steps slow or fast
};

struct StackFit {
  SoftwareStack stack;  // the base, with the fitted numbers
  std::vector<FittedParameter> parameters;
  // By row: predicted over measured, minus 1.
  std::vector<double> before;
  std::vector<double> after;
  std::vector<std::size_t> bad_rows;  // left out of the fit: so far off that they are probably mistakes
};

struct FitOptions {
  // Which may change; empty: those up to kMostFitted that the rows depend on most.
  std::vector<FitParameter> parameters;
  std::vector<std::size_t> without;  // rows that are predicted but not fitted
  unsigned jobs = 1;
};

// Fails if a step cannot be predicted, and if no parameter changes any of them.
// REQUIRES: rows; no more than kMostFitted parameters.
[[nodiscard]] Result<StackFit> fit_stack(std::span<const MeasuredStep> rows, const SoftwareStack& base,
                                         const FitOptions& options = {});

// By row: predicted over measured, minus 1, where the prediction comes from a fit that did not use any row of
// the same group. If all rows are of one group, each row is left out by itself. A single row is predicted by
// the base.
[[nodiscard]] Result<std::vector<double>> left_out_errors(std::span<const MeasuredStep> rows,
                                                          std::span<const std::string> groups,
                                                          const SoftwareStack& base,
                                                          const FitOptions& options = {});

// Of errors: the mean of their sizes.
[[nodiscard]] double mean_size(std::span<const double> errors);

// Seconds of a plan's step in a stack.
[[nodiscard]] Result<double> step_seconds(TrainingPlan plan, const SoftwareStack& stack);

}  // namespace goodput
