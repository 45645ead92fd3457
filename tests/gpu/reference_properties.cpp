#include "tests/gpu/reference_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace goodput::testing {
namespace {

using gpu::reference::message;
using gpu::reference::RankLayout;
using gpu::reference::Schedule;
using moe::DispatchPolicy;
using moe::DispatchStatus;

// One expert, its cells by rank.
struct ExpertColumn {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> replicas;
  std::int64_t tokens = 0;          // all counts
  std::int64_t total_replicas = 0;  // all replicas
  std::vector<std::int32_t> hosts;
};

ExpertColumn column_of(const Cluster& cluster, std::int32_t expert) {
  ExpertColumn column;
  for (std::int32_t rank = 0; rank < cluster.placement.ranks; ++rank) {
    const std::size_t cell = cluster.placement.cell(rank, expert);
    column.counts.push_back(cluster.counts[cell]);
    column.replicas.push_back(cluster.placement.replicas[cell]);
    column.tokens += column.counts.back();
    column.total_replicas += column.replicas.back();
    if (column.replicas.back() > 0) column.hosts.push_back(rank);
  }
  return column;
}

std::string wrong_lost_expert(const ExpertColumn& column, const Schedule& schedule, std::int32_t expert) {
  for (std::int32_t rank = 0; rank < schedule.ranks; ++rank) {
    const std::size_t cell = schedule.cell(rank, expert);
    if (schedule.capacity[cell] != 0 || schedule.local[cell] != 0 || schedule.surplus[cell].count != 0 ||
        schedule.residual[cell].count != 0)
      return "a lost expert gets no tokens";
    for (const std::int32_t host : column.hosts)
      if (message(schedule, rank, host, expert) != 0) return "a lost expert has no messages";
  }
  return {};
}

// Capacities, and how they split into local tokens, surpluses and residuals. Adds up the surpluses.
std::string wrong_split(const ExpertColumn& column, const Schedule& schedule, std::int32_t expert) {
  const std::int64_t floor = column.total_replicas == 0 ? 0 : column.tokens / column.total_replicas;
  const std::int64_t ceil = floor * column.total_replicas == column.tokens ? floor : floor + 1;
  std::int64_t capacities = 0;
  std::int64_t surplus = 0;
  std::int64_t residual = 0;
  for (std::size_t rank = 0; rank < column.counts.size(); ++rank) {
    const std::size_t cell = schedule.cell(static_cast<std::int32_t>(rank), expert);
    const std::int64_t capacity = schedule.capacity[cell];
    const std::int64_t local = std::min(column.counts[rank], capacity);
    if (capacity < floor * column.replicas[rank] || capacity > ceil * column.replicas[rank])
      return "replicas take floor or ceil";
    if (schedule.local[cell] != local) return "a rank keeps what it can";
    if (schedule.surplus[cell].first != surplus || schedule.residual[cell].first != residual)
      return "intervals follow each other";
    if (schedule.surplus[cell].count != column.counts[rank] - local) return "surplus is what does not stay";
    if (schedule.residual[cell].count != capacity - local) return "residual is what is free";
    capacities += capacity;
    surplus += column.counts[rank] - local;
    residual += capacity - local;
  }
  if (capacities != column.tokens) return "capacities add up to the tokens";
  const moe::SurplusMap& map = schedule.maps[at(expert)];
  return surplus == residual && map.size == surplus ? "" : "surplus and residual add up to S";
}

// Messages of all ranks to all hosts.
std::string wrong_pairs(const ExpertColumn& column, const Schedule& schedule, DispatchPolicy policy,
                        std::int32_t expert) {
  const std::int64_t moved = schedule.maps[at(expert)].size;
  std::vector<std::int64_t> received(column.hosts.size(), 0);
  std::int64_t messages = 0;
  std::int64_t sources = 0;
  for (std::int32_t from = 0; from < schedule.ranks; ++from) {
    const std::int64_t surplus = schedule.surplus[schedule.cell(from, expert)].count;
    sources += surplus > 0;
    std::int64_t sent = 0;
    for (std::size_t h = 0; h < column.hosts.size(); ++h) {
      const std::int32_t to = column.hosts[h];
      const std::int64_t count = message(schedule, from, to, expert);
      if (count < 0) return "no message is negative";
      const std::int64_t residual = schedule.residual[schedule.cell(to, expert)].count;
      if (policy == DispatchPolicy::kProportional && from != to &&
          std::abs(count * moved - surplus * residual) > 16 * moved)
        return "a message is within 16 of the exact proportion";
      sent += count;
      received[h] += count;
      messages += from != to && count > 0;
    }
    if (sent != column.counts[at(from)]) return "rows are what is routed";
  }
  std::int64_t takers = 0;
  for (std::size_t h = 0; h < column.hosts.size(); ++h) {
    const std::size_t cell = schedule.cell(column.hosts[h], expert);
    takers += schedule.residual[cell].count > 0;
    if (received[h] != schedule.capacity[cell]) return "columns are the capacities";
  }
  if (policy == DispatchPolicy::kPacked && messages > std::max<std::int64_t>(sources + takers - 1, 0))
    return "packed messages are fewer than their ends";
  return {};
}

// No rank's messages go where no replica is. Of every pair of ranks at a distance below 3.
std::string wrong_strangers(const ExpertColumn& column, const Schedule& schedule, std::int32_t expert) {
  for (std::int32_t to = 0; to < schedule.ranks; ++to) {
    if (column.replicas[at(to)] > 0) continue;
    for (std::int32_t step = 0; step < 3; ++step)
      if (message(schedule, (to + step) % schedule.ranks, to, expert) != 0)
        return "nothing goes where no replica is";
  }
  return {};
}

std::string wrong_expert(const Cluster& cluster, const Schedule& schedule, DispatchPolicy policy,
                         std::int32_t expert) {
  const ExpertColumn column = column_of(cluster, expert);
  const bool lost = column.tokens > 0 && column.total_replicas == 0;
  if (schedule.status[at(expert)] != (lost ? DispatchStatus::kExpertLost : DispatchStatus::kOk))
    return "the status says whether the expert is lost";
  if (lost) return wrong_lost_expert(column, schedule, expert);
  std::string wrong = wrong_split(column, schedule, expert);
  if (wrong.empty()) wrong = wrong_pairs(column, schedule, policy, expert);
  return wrong.empty() ? wrong_strangers(column, schedule, expert) : wrong;
}

// Slots of a rank that go somewhere.
std::int64_t slots_sent(const Cluster& cluster, const Schedule& schedule, std::int32_t me) {
  std::int64_t sent = 0;
  for (std::int32_t expert = 0; expert < schedule.experts; ++expert)
    if (schedule.status[at(expert)] == DispatchStatus::kOk)
      sent += cluster.counts[cluster.placement.cell(me, expert)];
  return sent;
}

bool is_permutation_of_rows(const std::vector<std::int32_t>& rows) {
  std::vector<std::int32_t> sorted = rows;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<std::int32_t>(i)) return false;
  return true;
}

// Which entry every row of the send buffer is for.
std::vector<std::size_t> entry_of_rows(const RankLayout& layout) {
  std::vector<std::size_t> entry_of;
  for (std::size_t i = 0; i < layout.entries.size(); ++i)
    entry_of.insert(entry_of.end(), at(layout.send_counts[i]), i);
  return entry_of;
}

}  // namespace

std::string wrong_schedule(const Cluster& cluster, const Schedule& schedule, DispatchPolicy policy) {
  for (std::int32_t expert = 0; expert < schedule.experts; ++expert) {
    const std::string wrong = wrong_expert(cluster, schedule, policy, expert);
    if (!wrong.empty()) return fmt::format("expert {}: {}", expert, wrong);
  }
  return {};
}

std::string wrong_messages(const Cluster& cluster, const Schedule& schedule, std::int32_t expert) {
  if (schedule.status[at(expert)] != DispatchStatus::kOk) return {};
  const std::vector<moe::Tokens> enumerated = gpu::reference::enumerate_messages(
      cluster.placement, cluster.counts, expert, schedule.maps[at(expert)].multiplier);
  std::size_t pair = 0;
  for (std::int32_t from = 0; from < schedule.ranks; ++from)
    for (std::int32_t to = 0; to < schedule.ranks; ++to)
      if (message(schedule, from, to, expert) != enumerated[pair++])
        return fmt::format("expert {}: the message from {} to {} is not the enumerated one", expert, from,
                           to);
  return {};
}

std::string wrong_layout(const Cluster& cluster, const Schedule& schedule, const RankLayout& layout,
                         std::int32_t me) {
  if (layout.rows_sent() != slots_sent(cluster, schedule, me)) return "a rank sends what it has";
  std::int64_t received = 0;
  const auto ranks = at(schedule.ranks);
  for (std::size_t column = 0; column < layout.experts_here.size(); ++column) {
    const moe::Tokens capacity = schedule.capacity[schedule.cell(me, layout.experts_here[column])];
    received += capacity;
    if (layout.group_offsets[(column + 1) * ranks] - layout.group_offsets[column * ranks] != capacity)
      return "an expert gets its capacity";
  }
  if (layout.rows_received() != received) return "a rank receives its capacity";
  std::int64_t sent_by_rank = 0;
  std::int64_t received_by_rank = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    sent_by_rank += layout.send_per_rank[rank];
    received_by_rank += layout.receive_per_rank[rank];
  }
  if (sent_by_rank != layout.rows_sent() || received_by_rank != received)
    return "what goes to all ranks and comes from all is what there is";
  const std::vector<std::int32_t> rows = gpu::reference::regroup_rows(layout);
  return static_cast<std::int64_t>(rows.size()) == received && is_permutation_of_rows(rows)
             ? ""
             : "regrouping is a permutation";
}

std::string wrong_positions(const Cluster& cluster, const Schedule& schedule, const RankLayout& layout,
                            std::int32_t me) {
  const std::vector<std::int32_t>& expert_of = cluster.expert_of[at(me)];
  const std::vector<std::int32_t> positions =
      gpu::reference::positions(cluster.placement, schedule, layout, me, expert_of);
  if (positions.size() != expert_of.size()) return "every slot has a position";
  const std::vector<std::size_t> entry_of = entry_of_rows(layout);
  std::vector<std::int32_t> next = layout.send_offsets;
  std::vector<moe::Tokens> seen(at(schedule.experts), 0);
  for (std::size_t slot = 0; slot < positions.size(); ++slot) {
    const std::int32_t expert = expert_of[slot];
    const bool goes = expert >= 0 && schedule.status[at(expert)] == DispatchStatus::kOk;
    if (goes != (positions[slot] >= 0)) return "what is dropped or lost has no position";
    if (!goes) continue;
    if (positions[slot] >= layout.rows_sent()) return "positions are rows of the send buffer";
    const std::size_t entry = entry_of[at(positions[slot])];
    if (layout.entries[entry].expert != expert) return "a slot goes to a host of its expert";
    // Rows of a segment are taken one after the other: order is kept, and no row is taken twice.
    if (positions[slot] != next[entry]++) return "a segment keeps the order of the slots";
    const bool stays = seen[at(expert)]++ < schedule.local[schedule.cell(me, expert)];
    if (stays != (layout.entries[entry].rank == me)) return "the first tokens stay, no others";
  }
  for (std::size_t i = 0; i < layout.entries.size(); ++i)
    if (next[i] != layout.send_offsets[i + 1]) return "every row of the send buffer is taken";
  return {};
}

}  // namespace goodput::testing
