#include "models/fit/stack_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "models/cost/cost_models.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/parallel.h"
#include "sim/base/statistics.h"

namespace goodput {
namespace {

// Residuals are logarithms of predicted over measured. Below the noise the loss is quadratic, above linear.
// The noise is how far residuals usually are from their median, and at least this.
constexpr double kLeastNoise = 0.03;
constexpr double kProbe = 0.05;     // of a logarithm, for slopes
constexpr double kNoEffect = 1e-4;  // slope of a residual by which a parameter counts as without effect
constexpr int kMostRounds = 12;
constexpr double kSmallestStep = 2e-3;
constexpr std::uint64_t kSeed = 1;

// A row is bad if its residual is beyond both of these: a factor, and deviations of the others.
const double kBadFactor = std::log(1.8);
constexpr double kBadDeviations = 6;

constexpr std::size_t kRowsPerParameter = 2;
// With fewer rows, only the part of a fit that is more than chance is kept.
constexpr std::size_t kEnoughRows = 8;

// What a parameter may become, and how far it usually is from the stack that the fit starts from (standard
// deviation of its logarithm).
struct ParameterRange {
  double least;
  double most;
  double spread;
};
constexpr ParameterRange kRanges[kFitParameters] = {
    {0.3, 1.1, 0.3}, {0.3, 1.1, 0.3}, {0.5, 1.3, 0.3}, {0.5, 1.3, 0.3}, {1, 40, 0.7}};

constexpr std::size_t kLaunchKey = 8;
static_assert(kEfficiencyKeys[kLaunchKey].name == "launch_us");

constexpr std::array<std::optional<double> KernelFactors::*, 4> kFactors = {
    &KernelFactors::gemm, &KernelFactors::fp8_gemm, &KernelFactors::attention, &KernelFactors::memory};

using Values = std::array<double, kFitParameters>;  // by parameter: the logarithm of its change, or a slope
using Vector = std::vector<double>;

// The stack with parameters times exp(steps). The factor on fp8 moves with that in 16 bits: its step is how
// much further it moves.
class StackSpace {
 public:
  // `lone_launch_us`, `gpu`: of a typical row.
  StackSpace(const SoftwareStack& base, std::string_view gpu, double lone_launch_us)
      : base_(base), gpu_(gpu), launch_us_(base.efficiency.values[kLaunchKey].value_or(lone_launch_us)) {}

  [[nodiscard]] double base_value(std::size_t parameter) const {
    if (parameter == kFactors.size()) return launch_us_;
    return *(factors_for(base_, gpu_).*kFactors[parameter]);
  }
  [[nodiscard]] SoftwareStack at(const Values& steps) const {
    SoftwareStack stack = base_;
    scale(stack.factors, steps);
    for (GpuFactors& some : stack.gpu_factors) scale_given(some.factors, steps);
    const double launch = steps[kFactors.size()];
    if (launch != 0) stack.efficiency.values[kLaunchKey] = launch_us_ * std::exp(launch);
    return stack;
  }
  // The logarithms that a parameter's step may have; 0 is always among them.
  [[nodiscard]] std::pair<double, double> bounds(std::size_t parameter) const {
    const double base = base_value(parameter);
    return {std::min(0.0, std::log(kRanges[parameter].least / base)),
            std::max(0.0, std::log(kRanges[parameter].most / base))};
  }

 private:
  static void scale(KernelFactors& factors, const Values& steps) {
    const double gemm = factors.gemm.value_or(1);
    if (steps[1] != 0 || factors.fp8_gemm)
      factors.fp8_gemm = factors.fp8_gemm.value_or(gemm) * std::exp(steps[0] + steps[1]);
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
      if (steps[i] != 0) factors.*kFactors[i] = (factors.*kFactors[i]).value_or(1) * std::exp(steps[i]);
    }
  }
  static void scale_given(KernelFactors& factors, const Values& steps) {
    if (factors.gemm && !factors.fp8_gemm && steps[1] != 0) factors.fp8_gemm = factors.gemm;
    for (std::size_t i = 0; i < kFactors.size(); ++i) {
      if (factors.*kFactors[i]) *(factors.*kFactors[i]) *= std::exp(i == 1 ? steps[0] + steps[1] : steps[i]);
    }
  }

  const SoftwareStack& base_;
  std::string gpu_;
  double launch_us_;
};

double loss_of(double residual, double noise) {
  const double size = std::abs(residual) / noise;
  return size <= 1 ? size * size / 2 : size - 0.5;
}

// Steps that minimize the weighted squares of residuals + slopes * (steps - from), and the penalty, within
// bounds: by coordinates, which converges as the sum is convex.
Values solve(const Vector& residuals, const std::vector<Values>& slopes, const Values& from,
             std::span<const std::size_t> active, const StackSpace& space, double noise) {
  Values steps = from;
  Vector now = residuals;
  for (int round = 0; round < 200; ++round) {
    double moved = 0;
    for (const std::size_t p : active) {
      const double penalty = 1 / (kRanges[p].spread * kRanges[p].spread);
      double slope = steps[p] * penalty;
      double curvature = penalty;
      for (std::size_t i = 0; i < now.size(); ++i) {
        const double weight = 1 / (noise * noise * std::max(1.0, std::abs(residuals[i]) / noise));
        slope += weight * now[i] * slopes[i][p];
        curvature += weight * slopes[i][p] * slopes[i][p];
      }
      const auto [least, most] = space.bounds(p);
      const double next = std::clamp(steps[p] - slope / curvature, least, most);
      for (std::size_t i = 0; i < now.size(); ++i) now[i] += slopes[i][p] * (next - steps[p]);
      moved = std::max(moved, std::abs(next - steps[p]));
      steps[p] = next;
    }
    if (moved < 1e-7) break;
  }
  return steps;
}

double noise_of(Vector residuals) {
  Vector sorted = residuals;
  const double median = take_median(sorted);
  for (double& residual : residuals) residual = std::abs(residual - median);
  return std::max(kLeastNoise, kDeviationOfMedian * take_median(residuals));
}

class Fitter {
 public:
  Fitter(std::span<const MeasuredStep> rows, const SoftwareStack& base, unsigned jobs)
      : rows_(rows),
        jobs_(jobs),
        space_(base, rows.front().plan.cluster.gpu.name, rows.front().plan.lone_kernels.launch_us) {}

  [[nodiscard]] const StackSpace& space() const { return space_; }

  Result<Vector> residuals(const Values& steps, std::span<const std::size_t> of) const {
    const SoftwareStack stack = space_.at(steps);
    std::vector<Result<double>> seconds(of.size(), 0.0);
    parallel_pieces(jobs_, of.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) seconds[i] = step_seconds(rows_[of[i]].plan, stack);
    });
    Vector result;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (!seconds[i]) return seconds[i].error();
      result.push_back(std::log(*seconds[i] / rows_[of[i]].seconds));
    }
    return result;
  }

  // By row, how residuals change with each active parameter.
  Result<std::vector<Values>> slopes(const Values& at, const Vector& there, std::span<const std::size_t> of,
                                     std::span<const std::size_t> active) const {
    std::vector<Values> result(of.size(), Values{});
    for (const std::size_t p : active) {
      Values probed = at;
      const auto [least, most] = space_.bounds(p);
      const double probe = at[p] + kProbe > most ? -kProbe : kProbe;
      probed[p] += probe;
      GOODPUT_TRY(const Vector moved, residuals(probed, of));
      for (std::size_t i = 0; i < of.size(); ++i) result[i][p] = (moved[i] - there[i]) / probe;
    }
    return result;
  }

  // Gauss-Newton with reweighting; a step that does not lower the loss is halved.
  Result<Values> fit(std::span<const std::size_t> of, std::span<const std::size_t> active) const {
    Values steps{};
    GOODPUT_TRY(Vector there, residuals(steps, of));
    for (int round = 0; round < kMostRounds; ++round) {
      const double noise = noise_of(there);
      GOODPUT_TRY(const std::vector<Values> slope, slopes(steps, there, of, active));
      const Values target = solve(there, slope, steps, active, space_, noise);
      bool is_better = false;
      double moved = 0;
      for (double part = 1; part > 0.1 && !is_better; part /= 2) {
        Values next = steps;
        for (const std::size_t p : active) next[p] += part * (target[p] - steps[p]);
        GOODPUT_TRY(Vector residual, residuals(next, of));
        if (loss(next, residual, noise) >= loss(steps, there, noise)) continue;
        is_better = true;
        for (const std::size_t p : active) moved = std::max(moved, std::abs(next[p] - steps[p]));
        steps = next;
        there = std::move(residual);
      }
      if (!is_better || moved < kSmallestStep) break;
    }
    return steps;
  }

  // The part of the steps that is more than chance. If the base is right, a fit of p parameters to rows that
  // scatter by s lowers the sum of squares by about p s^2. The part of a fit that goes beyond twice that is
  // kept (positive-part James-Stein shrinkage; twice, because s is itself estimated from few rows).
  Result<Values> beyond_chance(Values steps, std::span<const std::size_t> of, std::size_t parameters) const {
    GOODPUT_TRY(const Vector before, residuals({}, of));
    GOODPUT_TRY(const Vector after, residuals(steps, of));
    double lowered = 0;
    double scatter = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
      lowered += before[i] * before[i] - after[i] * after[i];
      scatter += after[i] * after[i];
    }
    const auto rows = static_cast<double>(of.size());
    const auto fitted = static_cast<double>(parameters);
    const double by_chance = 2 * fitted * scatter / std::max(1.0, rows - fitted);
    const double part = lowered > 0 ? std::max(0.0, 1 - by_chance / lowered) : 0;
    for (double& step : steps) step *= part;
    return steps;
  }

 private:
  [[nodiscard]] static double loss(const Values& steps, const Vector& residuals, double noise) {
    double sum = 0;
    for (const double residual : residuals) sum += loss_of(residual, noise);
    for (std::size_t p = 0; p < kFitParameters; ++p)
      sum += steps[p] * steps[p] / (2 * kRanges[p].spread * kRanges[p].spread);
    return sum;
  }

  std::span<const MeasuredStep> rows_;
  unsigned jobs_;
  StackSpace space_;
};

// The parameters that the rows depend on, the most important first, at most kMostFitted.
Result<std::vector<std::size_t>> important_parameters(const Fitter& fitter, const Vector& there,
                                                      std::span<const std::size_t> of,
                                                      std::span<const FitParameter> allowed) {
  std::vector<std::size_t> candidates;
  for (std::size_t p = 0; p < kFitParameters; ++p) {
    if (allowed.empty() || std::ranges::find(allowed, static_cast<FitParameter>(p)) != allowed.end())
      candidates.push_back(p);
  }
  GOODPUT_TRY(const std::vector<Values> slopes, fitter.slopes({}, there, of, candidates));
  // How much a usual change of the parameter changes the rows.
  Values effect{};
  for (const std::size_t p : candidates) {
    for (const Values& slope : slopes) effect[p] += std::abs(slope[p]) * kRanges[p].spread;
  }
  std::erase_if(candidates,
                [&](std::size_t p) { return effect[p] < kNoEffect * static_cast<double>(slopes.size()); });
  std::ranges::stable_sort(candidates, [&](std::size_t a, std::size_t b) { return effect[a] > effect[b]; });
  const std::size_t most = allowed.empty()
                               ? std::clamp<std::size_t>(of.size() / kRowsPerParameter, 1, kMostFitted)
                               : allowed.size();
  if (candidates.size() > most) candidates.resize(most);
  if (candidates.empty())
    return Error{"no parameter of the software stack affects these steps, so there is nothing to fit"};
  return candidates;
}

std::vector<std::size_t> without(std::size_t rows, std::span<const std::size_t> left_out) {
  std::vector<std::size_t> rest;
  for (std::size_t row = 0; row < rows; ++row) {
    if (std::ranges::find(left_out, row) == left_out.end()) rest.push_back(row);
  }
  return rest;
}

std::vector<std::size_t> bad_among(std::span<const std::size_t> rows, const Vector& residuals) {
  Vector sizes;
  for (const double residual : residuals) sizes.push_back(std::abs(residual));
  Vector sorted = sizes;
  const double deviation = kDeviationOfMedian * take_median(sorted);
  std::vector<std::size_t> bad;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (sizes[i] > std::max(kBadFactor, kBadDeviations * deviation)) bad.push_back(rows[i]);
  }
  return bad;
}

Vector errors_of(const Vector& residuals) {
  Vector errors;
  for (const double residual : residuals) errors.push_back(std::expm1(residual));
  return errors;
}

}  // namespace

Result<double> step_seconds(TrainingPlan plan, const SoftwareStack& stack) {
  plan.stack = stack;
  settle_efficiency(plan);
  GOODPUT_TRY(const std::unique_ptr<CostModel> cost, make_cost_model(cost_inputs(plan)));
  GOODPUT_TRY(const PlannedStep step, build_planned_step(plan, *cost, Granularity::kLayers, kSeed));
  return to_seconds(step_time(step));
}

double mean_size(std::span<const double> errors) {
  double sum = 0;
  for (const double error : errors) sum += std::abs(error);
  return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
}

Result<StackFit> fit_stack(std::span<const MeasuredStep> rows, const SoftwareStack& base,
                           const FitOptions& options) {
  const Fitter fitter(rows, base, options.jobs);
  const std::vector<std::size_t> all = without(rows.size(), {});
  GOODPUT_TRY(const Vector before, fitter.residuals({}, all));
  std::vector<std::size_t> fitted = without(rows.size(), options.without);
  Vector there;
  for (const std::size_t row : fitted) there.push_back(before[row]);
  GOODPUT_TRY(const std::vector<std::size_t> active,
              important_parameters(fitter, there, fitted, options.parameters));
  GOODPUT_TRY(Values steps, fitter.fit(fitted, active));
  GOODPUT_TRY(const Vector first, fitter.residuals(steps, fitted));
  StackFit fit;
  fit.bad_rows = bad_among(fitted, first);
  if (!fit.bad_rows.empty()) {  // at most half of them: they are far beyond the median
    std::erase_if(
        fitted, [&](std::size_t row) { return std::ranges::find(fit.bad_rows, row) != fit.bad_rows.end(); });
    GOODPUT_TRY(steps, fitter.fit(fitted, active));
  }
  const Values wanted = steps;
  if (fitted.size() < kEnoughRows) {
    GOODPUT_TRY(steps, fitter.beyond_chance(wanted, fitted, active.size()));
  }
  fit.stack = fitter.space().at(steps);
  const StackSpace fitted_space(fit.stack, rows.front().plan.cluster.gpu.name,
                                rows.front().plan.lone_kernels.launch_us);
  for (const std::size_t p : active) {
    const double value = fitter.space().base_value(p);
    const auto [least, most] = fitter.space().bounds(p);
    const bool is_at_bound = wanted[p] != 0 && (wanted[p] <= least || wanted[p] >= most);
    fit.parameters.push_back({static_cast<FitParameter>(p), value, fitted_space.base_value(p), is_at_bound});
  }
  GOODPUT_TRY(const Vector after, fitter.residuals(steps, all));
  fit.before = errors_of(before);
  fit.after = errors_of(after);
  return fit;
}

Result<std::vector<double>> left_out_errors(std::span<const MeasuredStep> rows,
                                            std::span<const std::string> groups, const SoftwareStack& base,
                                            const FitOptions& options) {
  std::map<std::string, std::vector<std::size_t>> by_group;
  for (std::size_t row = 0; row < rows.size(); ++row) by_group[groups[row]].push_back(row);
  if (by_group.size() == 1) {
    by_group.clear();
    for (std::size_t row = 0; row < rows.size(); ++row) by_group[std::to_string(row)] = {row};
  }
  std::vector<double> errors(rows.size());
  for (const auto& [group, members] : by_group) {
    FitOptions rest = options;
    rest.without.insert(rest.without.end(), members.begin(), members.end());
    if (members.size() == rows.size()) {
      for (const std::size_t row : members) {
        GOODPUT_TRY(const double seconds, step_seconds(rows[row].plan, base));
        errors[row] = seconds / rows[row].seconds - 1;
      }
      continue;
    }
    GOODPUT_TRY(const StackFit fit, fit_stack(rows, base, rest));
    for (const std::size_t row : members) errors[row] = fit.after[row];
  }
  return errors;
}

}  // namespace goodput
