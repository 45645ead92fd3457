#include "tools/check/figure_check.h"

#include <algorithm>
#include <span>
#include <utility>

namespace goodput {
namespace {

std::int64_t size_of(const std::vector<double>& values) {
  return static_cast<std::int64_t>(values.size());
}

std::span<const double> first(const std::vector<double>& values, std::int64_t count) {
  return {values.data(), static_cast<std::size_t>(count)};
}

}  // namespace

FigureCheck::FigureCheck(RunFigure figure, std::optional<BaselineFigure> before, std::int64_t most,
                         std::int64_t questions)
    : figure_(std::move(figure)), before_(std::move(before)), most_(most) {
  if (before_ && figure_.is_of_trials() && size_of(figure_.values) > most_)  // more than the baseline holds
    figure_.values.resize(static_cast<std::size_t>(most_));
  const bool can_be_tested = figure_.fault.empty() && before_ && figure_.is_of_trials() && most >= 2;
  if (can_be_tested && figure_.rule.tolerance.is_statistical())
    test_.emplace(figure_.rule.tolerance, most, questions);
}

std::optional<std::int64_t> FigureCheck::wanted() const {
  if (!figure_.fault.empty() || !before_ || !figure_.is_of_trials()) return std::nullopt;
  if (test_) return test_->next_look();
  return size_of(figure_.values) < most_ ? std::optional(most_) : std::nullopt;
}

void FigureCheck::extend(const RunFigure& ours, const RunFigure* before) {
  if (!ours.fault.empty()) {
    figure_.fault = ours.fault;
    return;
  }
  figure_.values.insert(figure_.values.end(), ours.values.begin(), ours.values.end());
  if (before == nullptr) return;
  if (!before->fault.empty()) figure_.fault = "the other program: " + before->fault;
  before_->trials.insert(before_->trials.end(), before->values.begin(), before->values.end());
}

void FigureCheck::look() {
  const auto count = wanted();
  if (!count || !test_) return;
  if (size_of(figure_.values) < *count || size_of(before_->trials) < *count) return;
  test_->look(first(before_->trials, *count), first(figure_.values, *count));
}

}  // namespace goodput
