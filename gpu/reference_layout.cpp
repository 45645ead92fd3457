#include "gpu/reference_layout.h"

#include <cstddef>
#include <cstdint>

namespace goodput::gpu::reference {
namespace {

std::vector<std::int32_t> offsets_of(const std::vector<std::int32_t>& counts) {
  std::vector<std::int32_t> offsets = {0};
  offsets.reserve(counts.size() + 1);
  for (const std::int32_t count : counts) offsets.push_back(offsets.back() + count);
  return offsets;
}

void lay_out_sent(const Schedule& schedule, std::int32_t me, RankLayout& layout) {
  layout.send_per_rank.assign(static_cast<std::size_t>(schedule.ranks), 0);
  for (const Entry& entry : layout.entries) {
    const std::int32_t count = message(schedule, me, entry.rank, entry.expert);
    layout.send_counts.push_back(count);
    layout.send_per_rank[static_cast<std::size_t>(entry.rank)] += count;
  }
  layout.send_offsets = offsets_of(layout.send_counts);
}

void lay_out_received(const Schedule& schedule, std::int32_t me, RankLayout& layout) {
  layout.receive_per_rank.assign(static_cast<std::size_t>(schedule.ranks), 0);
  for (std::int32_t source = 0; source < schedule.ranks; ++source) {
    for (const std::int32_t expert : layout.experts_here) {
      const std::int32_t count = message(schedule, source, me, expert);
      layout.receive_counts.push_back(count);
      layout.receive_per_rank[static_cast<std::size_t>(source)] += count;
    }
  }
  layout.receive_offsets = offsets_of(layout.receive_counts);
}

void lay_out_groups(RankLayout& layout) {
  const std::size_t m = layout.experts_here.size();
  std::vector<std::int32_t> counts;
  for (std::size_t column = 0; column < m; ++column)
    for (std::size_t source = 0; source < layout.receive_per_rank.size(); ++source)
      counts.push_back(layout.receive_counts[source * m + column]);
  layout.group_offsets = offsets_of(counts);
}

bool gets_tokens(const Schedule& schedule, std::int32_t expert) {
  return expert >= 0 && expert < schedule.experts &&
         schedule.status[static_cast<std::size_t>(expert)] == moe::DispatchStatus::kOk;
}

// Which rank has the residual place: as many end at or before it as there are lower ones, by bisection.
std::int32_t rank_of_place(const Schedule& schedule, std::int32_t expert, moe::Tokens place) {
  std::int32_t low = 0;
  std::int32_t high = schedule.ranks - 1;
  while (low < high) {
    const std::int32_t middle = low + (high - low) / 2;
    const moe::Interval residual = schedule.residual[schedule.cell(middle, expert)];
    if (place < residual.first + residual.count) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// The first of a rank's tokens for an expert stay, the others are its surplus in order.
std::int32_t destination(const Schedule& schedule, std::int32_t me, std::int32_t expert, moe::Tokens number) {
  const std::size_t cell = schedule.cell(me, expert);
  if (number < schedule.local[cell]) return me;
  const moe::Tokens token = schedule.surplus[cell].first + (number - schedule.local[cell]);
  return rank_of_place(schedule, expert,
                       moe::residual_place(schedule.maps[static_cast<std::size_t>(expert)], token));
}

}  // namespace

std::vector<Entry> entries_of(const Placement& placement) {
  std::vector<Entry> entries;
  for (std::int32_t rank = 0; rank < placement.ranks; ++rank)
    for (std::int32_t expert = 0; expert < placement.experts; ++expert)
      if (placement.replicas[placement.cell(rank, expert)] > 0) entries.push_back({rank, expert});
  return entries;
}

RankLayout make_layout(const Placement& placement, const Schedule& schedule, std::int32_t me) {
  RankLayout layout;
  layout.ranks = placement.ranks;
  layout.entries = entries_of(placement);
  for (const Entry& entry : layout.entries)
    if (entry.rank == me) layout.experts_here.push_back(entry.expert);
  lay_out_sent(schedule, me, layout);
  lay_out_received(schedule, me, layout);
  lay_out_groups(layout);
  return layout;
}

std::vector<std::int32_t> positions(const Placement& placement, const Schedule& schedule,
                                    const RankLayout& layout, std::int32_t me,
                                    const std::vector<std::int32_t>& expert_of) {
  // The next row of every (rank, expert), and how many tokens of every expert came before.
  std::vector<std::int32_t> next(placement.cell(placement.ranks, 0), -1);
  for (std::size_t i = 0; i < layout.entries.size(); ++i)
    next[placement.cell(layout.entries[i].rank, layout.entries[i].expert)] = layout.send_offsets[i];
  std::vector<moe::Tokens> seen(static_cast<std::size_t>(placement.experts), 0);

  std::vector<std::int32_t> positions;
  positions.reserve(expert_of.size());
  for (const std::int32_t expert : expert_of) {
    if (!gets_tokens(schedule, expert)) {
      positions.push_back(-1);
      continue;
    }
    const moe::Tokens number = seen[static_cast<std::size_t>(expert)]++;
    positions.push_back(next[placement.cell(destination(schedule, me, expert, number), expert)]++);
  }
  return positions;
}

std::vector<std::int32_t> regroup_rows(const RankLayout& layout) {
  const std::size_t m = layout.experts_here.size();
  const auto ranks = static_cast<std::size_t>(layout.ranks);
  std::vector<std::int32_t> rows;
  rows.reserve(static_cast<std::size_t>(layout.rows_received()));
  for (std::size_t source = 0; source < ranks; ++source)
    for (std::size_t column = 0; column < m; ++column)
      for (std::int32_t i = 0; i < layout.receive_counts[source * m + column]; ++i)
        rows.push_back(layout.group_offsets[column * ranks + source] + i);
  return rows;
}

}  // namespace goodput::gpu::reference
