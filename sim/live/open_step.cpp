#include "sim/live/open_step.h"

#include <algorithm>

#include "sim/live/job_runs.h"

namespace goodput {
namespace {

template <typename Column>
void append_range(Column& to, const Column& from, const RowGroup& group) {
  const auto at = [&](std::size_t row) { return from.begin() + static_cast<std::ptrdiff_t>(row); };
  to.insert(to.end(), at(group.first), at(group.last));
}

void append_group(OpTrace& to, const RowGroup& group) {
  const OpTrace& from = *group.rows;
  append_range(to.dp_rank, from.dp_rank, group);
  append_range(to.stage, from.stage, group);
  append_range(to.rank, from.rank, group);
  append_range(to.step, from.step, group);
  append_range(to.optype, from.optype, group);
  append_range(to.start_s, from.start_s, group);
  append_range(to.duration_s, from.duration_s, group);
  append_range(to.seq_id, from.seq_id, group);
  append_range(to.mc, from.mc, group);
  append_range(to.mb_id, from.mb_id, group);
  append_range(to.gmc, from.gmc, group);
}

}  // namespace

bool RowGroup::is_absolute() const {
  return is_absolute_time(start_s);
}

RowGroup group_at(const OpTrace& rows, std::size_t first, std::size_t last) {
  RowGroup group{&rows,
                 first,
                 first + 1,
                 {rows.dp_rank[first], rows.stage[first]},
                 rows.rank[first],
                 rows.step[first],
                 index_of(rows.optype[first])};
  const OpType type = rows.optype[first];
  while (group.last < last && rows.step[group.last] == group.step && rows.optype[group.last] == type &&
         rows.rank[group.last] == group.rank && rows.dp_rank[group.last] == group.worker.first &&
         rows.stage[group.last] == group.worker.second)
    ++group.last;
  group.start_s = group.latest_start_s = group.latest_end_s = rows.start_s[first];
  group.latest_seq = rows.seq_id[first];
  for (std::size_t row = first; row < group.last; ++row) {
    group.latest_start_s = std::max(group.latest_start_s, rows.start_s[row]);
    group.latest_end_s = std::max(group.latest_end_s, rows.start_s[row] + rows.duration_s[row]);
    group.latest_seq = std::max(group.latest_seq, rows.seq_id[row]);
  }
  return group;
}

void OpenStep::set_past(Worker& worker, bool is_past) {
  if (worker.is_past == is_past) return;
  worker.is_past = is_past;
  if (is_past)
    ++past_workers;
  else
    --past_workers;
}

OpenStep::Worker* take_group(OpenStep& step, const RowGroup& group, double skew_s) {
  const auto [at, is_new] = step.workers.try_emplace(group.worker);
  OpenStep::Worker& worker = at->second;
  if (is_new) {
    worker.rank = group.rank;
  } else if (group.rank > worker.rank) {
    return nullptr;
  } else if (group.rank < worker.rank) {
    step.set_past(worker, false);
    worker = {group.rank, {}, false, false};
    step.has_more_ranks = true;
  }
  worker.counts[group.type] += static_cast<std::uint32_t>(group.size());
  step.seen_sizes = {std::max(step.seen_sizes.first, group.worker.first + 1),
                     std::max(step.seen_sizes.second, group.worker.second + 1)};
  if (group.is_absolute()) {
    if (!step.first_start_s[group.type]) step.first_start_s[group.type] = group.start_s - skew_s;
    step.began_s = std::min(step.began_s, group.start_s - skew_s);
    step.end_s = std::max(step.end_s, group.latest_end_s - skew_s);
  }
  if (!step.is_skipped) append_group(step.rows, group);
  return &worker;
}

void drop_other_ranks(OpenStep& step) {
  if (!step.has_more_ranks) return;
  std::vector<bool> kept(step.rows.size());
  for (std::size_t row = 0; row < step.rows.size(); ++row)
    kept[row] = step.workers.at({step.rows.dp_rank[row], step.rows.stage[row]}).rank == step.rows.rank[row];
  keep_rows(step.rows, 0, kept);
  step.has_more_ranks = false;
}

StageCounts count_stages(const OpenStep& step) {
  StageCounts stages;
  for (const auto& [key, worker] : step.workers) {
    TypeCounts& most = stages[key.second];
    for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type)
      most[type] = std::max(most[type], worker.counts[type]);
  }
  return stages;
}

bool has_all(const TypeCounts& counts, const StageCounts& expected, std::int32_t stage) {
  const auto wanted = expected.find(stage);
  if (wanted == expected.end()) return false;
  for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type) {
    if (counts[type] < wanted->second[type]) return false;
  }
  return true;
}

bool looks_whole(const TypeCounts& counts) {
  return counts[index_of(OpType::kForwardCompute)] > 0 && counts[index_of(OpType::kBackwardCompute)] > 0 &&
         counts[index_of(OpType::kOptimizer)] > 0;
}

}  // namespace goodput
