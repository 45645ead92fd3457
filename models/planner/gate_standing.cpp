#include "models/planner/gate_standing.h"

#include <algorithm>

namespace goodput {

void GateStanding::add(const Kind& kind, const TimedChoice& timed) {
  const auto [known, is_new] = of_kind_.emplace(kind, timed);
  if (!is_new) known->second = std::min(known->second, timed);
  if (of_kind_.size() <= keep_) return;
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  of_kind_.erase(std::max_element(of_kind_.begin(), of_kind_.end(), by_time));
}

bool GateStanding::may_keep(const Kind& kind, double at_least_ns) const {
  const auto is_below = [at_least_ns](const TimedChoice& timed) {
    return at_least_ns <= static_cast<double>(timed.step.count());
  };
  if (const auto known = of_kind_.find(kind); known != of_kind_.end()) return is_below(known->second);
  return of_kind_.size() < keep_ ||
         std::any_of(of_kind_.begin(), of_kind_.end(), [&](const auto& one) { return is_below(one.second); });
}

std::vector<TimedChoice> GateStanding::best() const {
  std::vector<TimedChoice> best;
  for (const auto& [kind, timed] : of_kind_) best.push_back(timed);
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace goodput
