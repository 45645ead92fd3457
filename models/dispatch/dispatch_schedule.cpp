#include "models/dispatch/dispatch_schedule.h"

namespace goodput::moe {

Result<DispatchSchedule> DispatchSchedule::make(const ExpertHosts& hosts, const RoutedTokens& routed,
                                                DispatchPolicy policy) {
  GOODPUT_TRY(const auto quotas, token_quotas(hosts, routed));
  DispatchSchedule schedule(hosts, routed);
  schedule.local_.resize(hosts.entries().size());
  schedule.residuals_.resize(hosts.entries().size());
  schedule.maps_.reserve(quotas.size());
  for (std::int32_t expert = 0; expert < hosts.experts(); ++expert) {
    const Tokens moved = schedule.split_over_hosts(expert, quotas[static_cast<std::size_t>(expert)]);
    schedule.maps_.push_back(surplus_map(policy, moved));
  }
  return schedule;
}

// How much residual capacity there is, and thus how many tokens move.
Tokens DispatchSchedule::split_over_hosts(std::int32_t expert, const TokenQuota& quota) {
  Interval* residual = residuals_.data() + hosts_->first_host(expert);
  Tokens places = 0;
  for (const std::uint32_t i : hosts_->entries_of(expert)) {
    const HostedExpert& entry = hosts_->entries()[i];
    const TokenSplit split =
        split_tokens(routed_.at(entry.rank, expert), capacity(quota, entry.before, entry.replicas));
    local_[i] = split.local;
    *residual++ = {places, split.residual};
    places += split.residual;
  }
  return places;
}

RankDispatch::RankDispatch(const DispatchSchedule& schedule, std::int32_t rank)
    : schedule_(&schedule), rank_(rank) {
  GOODPUT_CHECK(rank >= 0 && rank < schedule.hosts().ranks(), "the rank must be in the cluster");
  find_surpluses();
  count_sent();
  count_received();
}

// The numbers of this rank's surplus begin after what lower ranks have: all their tokens but those that stay.
void RankDispatch::find_surpluses() {
  const ExpertHosts& hosts = schedule_->hosts();
  const auto experts = static_cast<std::size_t>(hosts.experts());
  std::vector<std::int64_t> before = expert_totals(schedule_->routed(), 0, rank_);
  const std::size_t own = hosts.first_entry(rank_);
  for (std::size_t i = 0; i < own; ++i)
    before[static_cast<std::size_t>(hosts.entries()[i].expert)] -= schedule_->local(i);

  local_.assign(experts, 0);
  own_entry_.assign(experts, 0);
  for (std::size_t i = own; i < hosts.first_entry(rank_ + 1); ++i) {
    const auto expert = static_cast<std::size_t>(hosts.entries()[i].expert);
    local_[expert] = schedule_->local(i);
    own_entry_[expert] = static_cast<std::uint32_t>(i);
  }
  const std::span<const Tokens> routed = schedule_->routed().of_rank(rank_);
  surpluses_.reserve(experts);
  for (std::size_t expert = 0; expert < experts; ++expert)
    surpluses_.push_back({static_cast<Tokens>(before[expert]), routed[expert] - local_[expert]});
}

void RankDispatch::count_sent() {
  const ExpertHosts& hosts = schedule_->hosts();
  send_.assign(hosts.entries().size(), 0);
  for (std::int32_t expert = 0; expert < hosts.experts(); ++expert) {
    const Interval surplus = surpluses_[static_cast<std::size_t>(expert)];
    if (surplus.count == 0) continue;
    const Interval* residual = schedule_->residuals_of(expert).data();
    for (const std::uint32_t i : hosts.entries_of(expert))
      send_[i] = pair_count(schedule_->map_of(expert), surplus, *residual++);
  }
  // A rank with surplus has no residual: nothing was counted for its own entries yet.
  for (std::size_t i = hosts.first_entry(rank_); i < hosts.first_entry(rank_ + 1); ++i)
    send_[i] += schedule_->local(i);
}

void RankDispatch::count_received() {
  const ExpertHosts& hosts = schedule_->hosts();
  const std::span<const HostedExpert> own = hosts.of_rank(rank_);
  receive_.assign(static_cast<std::size_t>(hosts.ranks()) * own.size(), 0);
  for (std::size_t column = 0; column < own.size(); ++column) {
    const std::int32_t expert = own[column].expert;
    const std::span<const std::uint32_t> entries = hosts.entries_of(expert);
    const std::span<const Interval> residuals = schedule_->residuals_of(expert);
    Interval residual = {0, 0};
    for (std::size_t h = 0; h < entries.size(); ++h)
      if (hosts.entries()[entries[h]].rank == rank_) residual = residuals[h];

    Tokens before = 0;
    std::size_t host = 0;
    for (std::int32_t source = 0; source < hosts.ranks(); ++source) {
      const bool is_host = host < entries.size() && hosts.entries()[entries[host]].rank == source;
      const Tokens stays = is_host ? schedule_->local(entries[host++]) : 0;
      const Interval surplus = {before, schedule_->routed().at(source, expert) - stays};
      receive_[static_cast<std::size_t>(source) * own.size() + column] =
          pair_count(schedule_->map_of(expert), surplus, residual) + (source == rank_ ? stays : 0);
      before += surplus.count;
    }
  }
}

std::vector<std::int64_t> RankDispatch::send_offsets() const {
  std::vector<std::int64_t> offsets;
  offsets.reserve(send_.size() + 1);
  std::int64_t offset = 0;
  for (const Tokens count : send_) {
    offsets.push_back(offset);
    offset += count;
  }
  offsets.push_back(offset);
  return offsets;
}

// Which entry the rank's token `number` for `expert` goes to. The first stay, the others are surplus.
std::size_t RankDispatch::entry_of_token(std::int32_t expert, Tokens number) const {
  const auto e = static_cast<std::size_t>(expert);
  if (number < local_[e]) return own_entry_[e];
  const Tokens place = residual_place(schedule_->map_of(expert), surpluses_[e].first + number - local_[e]);
  const std::span<const Interval> residuals = schedule_->residuals_of(expert);
  const std::int32_t host =
      host_of_place(residuals.data(), static_cast<std::int32_t>(residuals.size()), place);
  return schedule_->hosts().entries_of(expert)[static_cast<std::size_t>(host)];
}

std::vector<std::int64_t> RankDispatch::positions(std::span<const std::int32_t> expert_of) const {
  const std::span<const Tokens> routed = schedule_->routed().of_rank(rank_);
  std::vector<std::int64_t> next = send_offsets();
  std::vector<Tokens> seen(routed.size(), 0);
  std::vector<std::int64_t> positions;
  positions.reserve(expert_of.size());
  for (const std::int32_t expert : expert_of) {
    if (expert < 0) {
      positions.push_back(-1);
      continue;
    }
    const auto e = static_cast<std::size_t>(expert);
    GOODPUT_CHECK(e < seen.size() && seen[e] < routed[e], "the slots must match the routed token counts");
    positions.push_back(next[entry_of_token(expert, seen[e]++)]++);
  }
  return positions;
}

}  // namespace goodput::moe
