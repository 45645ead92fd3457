#include "tools/plan/one_factor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

// Whether two contenders are the same but for `factor`.
bool differ_only_in(PlanFactor factor, const Contenders& contenders, std::size_t a, std::size_t b) {
  const PlannedNodes& of_a = contenders.setting(a).choice;
  const PlannedNodes& of_b = contenders.setting(b).choice;
  return contenders[a].base == contenders[b].base &&
         (factor == PlanFactor::kSpares || of_a.spares == of_b.spares) &&
         (factor == PlanFactor::kSpot || of_a.spot_nodes == of_b.spot_nodes) &&
         (factor == PlanFactor::kInterval || contenders[a].interval == contenders[b].interval) &&
         text_key(of_a.parallel) == text_key(of_b.parallel);
}

OneFactorCurve curve_of(PlanFactor factor, const Contenders& contenders, const PlanQuestion& question,
                        std::size_t best) {
  OneFactorCurve curve{factor, {}};
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (!contenders.trials(i).empty() && differ_only_in(factor, contenders, i, best))
      curve.options.push_back(plan_option(contenders, question, i));
  }
  std::stable_sort(curve.options.begin(), curve.options.end(),
                   [factor](const PlanOption& a, const PlanOption& b) {
                     return factor_value(factor, a) < factor_value(factor, b);
                   });
  return curve;
}

}  // namespace

std::int64_t factor_value(PlanFactor factor, const PlanOption& option) {
  switch (factor) {
    case PlanFactor::kSpares:
      return option.choice.spares;
    case PlanFactor::kInterval:
      return option.interval_steps;
    case PlanFactor::kSpot:
      return option.choice.spot_nodes;
  }
  GOODPUT_CHECK(false, "a factor that is none");
  return 0;
}

std::vector<OneFactorCurve> one_factor_curves(const Contenders& contenders, const PlanQuestion& question,
                                              std::size_t best) {
  std::vector<OneFactorCurve> curves;
  for (const PlanFactor factor : {PlanFactor::kSpares, PlanFactor::kInterval, PlanFactor::kSpot}) {
    OneFactorCurve curve = curve_of(factor, contenders, question, best);
    if (curve.options.size() > 1) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace goodput
