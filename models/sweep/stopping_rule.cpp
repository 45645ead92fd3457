#include "models/sweep/stopping_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "models/scenario/ratio_estimate.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kPlusMinus = "±";

Error no_rule(std::string_view text) {
  return Error{fmt::format(
      "{} is not a valid rule: expected METRIC±X% or METRIC:A/B±X%, for example cost±0.2%", in_quotes(text))};
}

}  // namespace

Result<StoppingRule> StoppingRule::parse(std::string_view text) {
  std::size_t sign = text.rfind(kPlusMinus);
  std::size_t width = kPlusMinus.size();
  if (sign == std::string_view::npos) {
    sign = text.rfind("+-");
    width = 2;
  }
  if (sign == std::string_view::npos || !text.ends_with('%')) return no_rule(text);
  StoppingRule rule;
  std::string_view percent = text.substr(sign + width, text.size() - sign - width - 1);
  while (percent.starts_with(' ')) percent.remove_prefix(1);
  while (percent.ends_with(' ')) percent.remove_suffix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(percent.data(), percent.data() + percent.size(), value);
  if (code != std::errc{} || end != percent.data() + percent.size() || !(value > 0 && value <= 100))
    return Error{fmt::format("the percentage must be above 0 and at most 100, not {}", in_quotes(percent))};
  rule.percent_ = percent;
  rule.within_ = value / 100;
  std::string_view what = text.substr(0, sign);
  while (what.ends_with(' ')) what.remove_suffix(1);
  const std::size_t colon = what.find(':');
  GOODPUT_TRY(rule.metric_, find_trial_metric(what.substr(0, colon)));
  if (colon != std::string_view::npos) {
    rule.policies_ = what.substr(colon + 1);
    if (rule.policies_.find('/') == std::string::npos) return no_rule(text);
  }
  return rule;
}

std::string StoppingRule::text() const {
  return fmt::format("{}{}{}±{}%", info(metric_).name, policies_.empty() ? "" : ":", policies_, percent_);
}

std::optional<Estimate> StoppingRule::estimate(std::span<const TrialSummary> trials) const {
  return estimate_of(metric_, trials);
}

std::optional<Estimate> StoppingRule::estimate(std::span<const TrialSummary> a,
                                               std::span<const TrialSummary> b) const {
  const auto numerators = values_of(metric_, a);
  const auto divisors = values_of(metric_, b);
  if (!numerators || !divisors) return std::nullopt;
  return estimate_ratio(*numerators, *divisors);
}

double StoppingRule::excess(const Estimate& estimate) const {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  if (!estimate.interval) return kUnbounded;
  const auto [low, high] = *estimate.interval;
  const double half = std::max(high - estimate.mean, estimate.mean - low);
  if (half <= 0) return 0;
  return estimate.mean == 0 ? kUnbounded : half / std::abs(estimate.mean) / within_;
}

std::string StoppingRule::shortfall(const std::optional<Estimate>& estimate) const {
  const std::string what = policies_.empty() ? std::string(info(metric_).name)
                                             : fmt::format("{}:{}", info(metric_).name, policies_);
  if (!estimate)
    return fmt::format("{} has no value in some trials, so more trials cannot make it precise", what);
  const double reached = excess(*estimate);
  if (reached <= 1)
    return fmt::format("the values of {} are still too skewed for ±{} % to be reliable", what, percent_);
  if (!std::isfinite(reached))
    return fmt::format("the confidence interval of {} is still unbounded, but must be within ±{} %", what,
                       percent_);
  return fmt::format("{} is known only to ±{:.2g} %, but must be known to ±{} %", what,
                     100 * reached * within_, percent_);
}

}  // namespace goodput
