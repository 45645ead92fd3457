#include "models/checkpoint/dynamic_k.h"

#include <algorithm>

namespace goodput {
namespace {

constexpr double kRounding = 1e-12;

PecLevels doubled(const PecLevels& k, std::int32_t experts) {
  return {std::min(experts, 2 * k.snapshot), std::min(experts, 2 * k.persist)};
}

}  // namespace

double mean_age(std::int32_t experts, std::int32_t persist) {
  std::int64_t sum = 0;
  for (std::int32_t i = 0; i < experts; ++i) sum += i / persist;
  return static_cast<double>(sum) / experts;
}

PecLevels raised_levels(PecLevels k, std::int32_t experts, double limit, const LostShares& lost,
                        const std::function<double(const PecLevels&)>& interval_share) {
  const auto next = [&] { return std::max(lost.at_once, mean_age(experts, k.persist) * interval_share(k)); };
  while (k.persist < experts && lost.so_far + next() > limit + kRounding) k = doubled(k, experts);
  return k;
}

}  // namespace goodput
