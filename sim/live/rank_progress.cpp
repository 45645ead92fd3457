#include "sim/live/rank_progress.h"

#include <algorithm>
#include <cmath>

namespace goodput {

void RankProgress::enter(std::int32_t new_run) {
  RankProgress entered;
  entered.is_known = true;
  entered.run = new_run;
  entered.skew_s = skew_s;
  entered.before = before;
  for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type) {
    if (before[type] == 0) entered.before[type] = counts[type];
  }
  *this = entered;
}

void RankProgress::advance(const RowGroup& group, std::size_t in_file) {
  const std::size_t type = group.type;
  const auto count = static_cast<std::uint32_t>(group.size());
  file = in_file;
  if (last_step[type] && group.step < *last_step[type]) return;
  if (last_step[type] == group.step) {
    last_start_s[type] = std::max(last_start_s[type], group.latest_start_s);
    last_seq[type] = std::max(last_seq[type], group.latest_seq);
    counts[type] += count;
  } else {
    if (last_step[type]) before[type] = counts[type];
    last_start_s[type] = group.latest_start_s;
    last_seq[type] = group.latest_seq;
    counts[type] = count;
  }
  last_step[type] = group.step;
  last_end_s = group.latest_end_s;
}

RowOrder order_of(const RankProgress& progress, const RowGroup& group) {
  const std::optional<std::int64_t>& last = progress.last_step[group.type];
  if (!last || group.step >= *last) return RowOrder::kOnward;
  const bool is_later = !group.is_absolute() || group.start_s > progress.last_start_s[group.type];
  return is_later ? RowOrder::kBack : RowOrder::kOlder;
}

void note_skew(RankProgress& progress, const RowGroup& group, const OpenStep& step) {
  const std::optional<double>& others = step.first_start_s[group.type];
  if (!group.is_absolute() || !others || progress.last_step[group.type] == group.step) return;
  const double ahead_s = group.start_s - progress.skew_s - *others;
  if (std::abs(ahead_s) > kFarApart) progress.skew_s += ahead_s;
}

bool WorkerRanks::note(std::int32_t rank, std::int32_t in_run) {
  if (in_run < run) return true;
  if (in_run > run || rank < lowest) {
    run = in_run;
    lowest = rank;
  }
  return rank == lowest;
}

}  // namespace goodput
