#include "models/stack/step_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace goodput {
namespace {

constexpr std::size_t kEnoughRows = 5;
constexpr double kAssumedError = 0.3;  // of a step that no measured one is like

// From the k-th smallest to the k-th largest of n ratios, with k = (n + 1) / 10: the next one falls between
// them with a probability of 0.8, if it is one of n + 1 that could have come in any order. With n < 19 the
// extremes. 1 is always between them: the prediction itself is possible.
StepRange range_of(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  const std::size_t k = std::max<std::size_t>(1, (ratios.size() + 1) / 10);
  return {.low = std::min(1.0, ratios[k - 1]),
          .high = std::max(1.0, ratios[ratios.size() - k]),
          .rows = ratios.size(),
          .basis = {}};
}

// Kinds of families that are more and more different from one.
struct Likeness {
  std::function<bool(const StepFamily&)> holds;
  std::string text;
};

std::vector<Likeness> likenesses(const StepFamily& family) {
  const auto parallelism = kParallelismNames[static_cast<std::size_t>(family.parallelism)];
  const auto gpu = kGpuGenerationNames[static_cast<std::size_t>(family.gpu)];
  const auto precision = kStepPrecisionNames[static_cast<std::size_t>(family.precision)];
  const auto same_gpu = [family](const StepFamily& other) {
    return other.parallelism == family.parallelism && other.gpu == family.gpu;
  };
  return {{[family](const StepFamily& other) { return other == family; }, " of " + to_string(family)},
          {same_gpu, fmt::format(" of {} on {}, but none in this precision", parallelism, gpu)},
          {[family](const StepFamily& other) { return other.parallelism == family.parallelism; },
           fmt::format(" of {}, but none on such GPUs", parallelism)},
          {[family](const StepFamily& other) {
             return other.gpu == family.gpu && other.precision == family.precision;
           },
           fmt::format(" on {} in {}, but none of {}", gpu, precision, parallelism)},
          {[](const StepFamily&) { return true; }, ", but none of this kind"}};
}

std::vector<double> ratios_of(const SoftwareStack& stack, const Likeness& likeness) {
  std::vector<double> ratios;
  for (const LeftOutRows& rows : stack.left_out) {
    if (likeness.holds(rows.family)) ratios.insert(ratios.end(), rows.ratios.begin(), rows.ratios.end());
  }
  return ratios;
}

}  // namespace

StepRange range_for(const SoftwareStack& stack, const StepFamily& family) {
  const std::vector<Likeness> all = likenesses(family);
  StepRange range{1 / (1 + kAssumedError), 1 + kAssumedError, 0,
                  "assumed, because there are too few measured steps"};
  for (const Likeness& likeness : all) {
    std::vector<double> ratios = ratios_of(stack, likeness);
    if (ratios.size() < kEnoughRows) continue;
    range = range_of(std::move(ratios));
    range.basis = fmt::format("{} measured steps{}", range.rows, likeness.text);
    break;
  }
  // A few rows of the family itself widen a range that rests on others.
  const std::vector<double> own = ratios_of(stack, all.front());
  if (own.size() >= kEnoughRows) return range;
  for (const double ratio : own) {
    range.low = std::min(range.low, ratio);
    range.high = std::max(range.high, ratio);
  }
  return range;
}

}  // namespace goodput
