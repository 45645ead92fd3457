#include "gpu/reference_schedule.h"

namespace goodput::gpu::reference {
namespace {

struct ExpertTotals {
  std::int64_t tokens = 0;
  std::int64_t replicas = 0;
};

ExpertTotals totals_of(const Placement& placement, const std::vector<moe::Tokens>& counts,
                       std::int32_t expert) {
  ExpertTotals totals;
  for (std::int32_t rank = 0; rank < placement.ranks; ++rank) {
    totals.tokens += counts[placement.cell(rank, expert)];
    totals.replicas += placement.replicas[placement.cell(rank, expert)];
  }
  return totals;
}

void schedule_expert(const Placement& placement, const std::vector<moe::Tokens>& counts,
                     moe::DispatchPolicy policy, std::int32_t expert, Schedule& schedule) {
  const auto e = static_cast<std::size_t>(expert);
  const ExpertTotals totals = totals_of(placement, counts, expert);
  schedule.status[e] = moe::expert_status(totals.tokens, totals.replicas);
  if (schedule.status[e] != moe::DispatchStatus::kOk) return;

  const moe::TokenQuota quota = moe::token_quota(expert, static_cast<moe::Tokens>(totals.tokens),
                                                 static_cast<std::int32_t>(totals.replicas));
  std::int32_t replicas_before = 0;
  moe::Tokens surplus_before = 0;
  moe::Tokens residual_before = 0;
  for (std::int32_t rank = 0; rank < placement.ranks; ++rank) {
    const std::size_t cell = placement.cell(rank, expert);
    const moe::Tokens capacity = moe::capacity(quota, replicas_before, placement.replicas[cell]);
    const moe::TokenSplit split = moe::split_tokens(counts[cell], capacity);
    schedule.capacity[cell] = capacity;
    schedule.local[cell] = split.local;
    schedule.surplus[cell] = {surplus_before, split.surplus};
    schedule.residual[cell] = {residual_before, split.residual};
    replicas_before += placement.replicas[cell];
    surplus_before += split.surplus;
    residual_before += split.residual;
  }
  schedule.maps[e] = moe::surplus_map(policy, surplus_before);
}

}  // namespace

Schedule make_schedule(const Placement& placement, const std::vector<moe::Tokens>& counts,
                       moe::DispatchPolicy policy) {
  const std::size_t cells = placement.cell(placement.ranks, 0);
  const auto experts = static_cast<std::size_t>(placement.experts);
  Schedule schedule;
  schedule.ranks = placement.ranks;
  schedule.experts = placement.experts;
  schedule.status.assign(experts, moe::DispatchStatus::kOk);
  schedule.maps.assign(experts, {0, 0});
  schedule.capacity.assign(cells, 0);
  schedule.local.assign(cells, 0);
  schedule.surplus.assign(cells, {0, 0});
  schedule.residual.assign(cells, {0, 0});
  for (std::int32_t expert = 0; expert < placement.experts; ++expert)
    schedule_expert(placement, counts, policy, expert, schedule);
  return schedule;
}

moe::Tokens message(const Schedule& schedule, std::int32_t from, std::int32_t to, std::int32_t expert) {
  const std::size_t source = schedule.cell(from, expert);
  if (from == to) return schedule.local[source];
  return moe::pair_count(schedule.maps[static_cast<std::size_t>(expert)], schedule.surplus[source],
                         schedule.residual[schedule.cell(to, expert)]);
}

std::vector<moe::Tokens> count_slots(const std::vector<std::int32_t>& expert_of, std::int32_t experts) {
  std::vector<moe::Tokens> counts(static_cast<std::size_t>(experts), 0);
  for (const std::int32_t expert : expert_of)
    if (expert >= 0 && expert < experts) ++counts[static_cast<std::size_t>(expert)];
  return counts;
}

}  // namespace goodput::gpu::reference
