#include "models/planner/no_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "models/planner/plan_choice.h"
#include "models/planner/plan_screen.h"

namespace goodput {
namespace {

constexpr std::int64_t kFarthestNodes = 512;  // from the number that was asked for
constexpr std::size_t kShownSizes = 6;
constexpr std::size_t kShownReasons = 3;

bool can_use(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space) {
  const Result<PlanChoices> listed = list_choices(base, gpus, space);
  if (!listed) return true;  // so many that they are not listed
  const PlanMaker maker(base, listed->choices);
  TrainingPlan plan = base;
  return std::any_of(listed->choices.begin(), listed->choices.end(), [&](const PlanChoice& choice) {
    plan.parallel = maker.plan(choice);
    const Result<std::optional<Rejection>> broken = broken_rule(plan);
    return broken && !*broken;
  });
}

// The nearest whole nodes in one direction, 1 or -1, in GPUs.
std::optional<std::int64_t> nearest(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space,
                                    std::int64_t direction) {
  const std::int64_t each = base.cluster.gpus_per_node;
  for (std::int64_t i = 1; i <= kFarthestNodes; ++i) {
    const std::int64_t other = (gpus / each + direction * i) * each;
    if (other < each) return std::nullopt;
    if (can_use(base, other, space)) return other;
  }
  return std::nullopt;
}

std::string nearest_text(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space) {
  std::vector<std::int64_t> found;
  for (const std::int64_t direction : {-1, 1}) {
    if (const auto other = nearest(base, gpus, space, direction)) found.push_back(*other);
  }
  if (found.empty()) return "";
  return fmt::format("; the nearest GPU counts that work and fill whole nodes: {}", fmt::join(found, " or "));
}

// What dp would have to be.
std::string batch_text(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space,
                       const std::set<std::int32_t>& odd_dp) {
  std::vector<std::int32_t> shown(odd_dp.begin(), odd_dp.end());
  const std::size_t more = shown.size() - std::min(shown.size(), kShownSizes);
  shown.resize(shown.size() - more);
  const std::string rest = more == 0 ? "" : fmt::format(" and {} more", more);
  const std::string none = odd_dp.size() == 1 ? "which does not divide" : "none of which divides";
  const std::string deepest =
      space.pp.empty() ? fmt::format(", with pp up to the model's {} layers,", base.model.layers) : "";
  return fmt::format("tp x cp x pp x dp = {}{} allows only dp {}{}, {} the batch of {}", gpus, deepest,
                     fmt::join(shown, ", "), rest, none, base.parallel.global_batch);
}

// What most candidates fell at.
std::string reasons_text(const PlanSearch& search) {
  std::vector<std::pair<std::string, std::int64_t>> reasons(search.rejected.begin(), search.rejected.end());
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (reasons.size() > kShownReasons) reasons.resize(kShownReasons);
  std::vector<std::string> texts;
  for (const auto& [reason, count] : reasons) texts.push_back(fmt::format("{} ({})", reason, count));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string no_plan_text(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space,
                         const PlanSearch& search) {
  const Result<PlanChoices> listed = list_choices(base, gpus, space);
  const bool has_choices = !listed || !listed->choices.empty();
  std::string why = "no tp, cp, pp and dp in the search multiply to that number";
  if (listed && !listed->odd_dp.empty()) why = batch_text(base, gpus, space, listed->odd_dp);
  if (has_choices) why = reasons_text(search);
  return fmt::format("no parallel plan uses exactly {} GPUs: {}{}", gpus, why,
                     nearest_text(base, gpus, space));
}

}  // namespace goodput
