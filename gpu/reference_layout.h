// What one rank computes of a schedule: what it sends and receives, and where in its buffers every row goes.
//
// The send buffer is ordered by destination rank, then expert; the receive buffer by source rank, then
// expert; the regrouped buffer by expert, then source rank. Within a segment tokens keep the order of their
// slots.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/reference_schedule.h"

namespace goodput::gpu::reference {

// A rank hosting an expert.
struct Entry {
  std::int32_t rank;
  std::int32_t expert;
};

// By rank, then expert: all with at least one replica, lost or overflowing experts too.
[[nodiscard]] std::vector<Entry> entries_of(const Placement& placement);

// Of one rank, which hosts m experts. Offsets are rows, and the last is the number of rows of the buffer.
struct RankLayout {
  std::int32_t ranks = 0;
  std::vector<Entry> entries;                  // entries_of the placement
  std::vector<std::int32_t> send_counts;       // by entry
  std::vector<std::int32_t> send_offsets;      // entries + 1
  std::vector<std::int32_t> send_per_rank;     // ranks
  std::vector<std::int32_t> experts_here;      // m, ascending
  std::vector<std::int32_t> receive_counts;    // ranks x m
  std::vector<std::int32_t> receive_offsets;   // ranks x m + 1
  std::vector<std::int32_t> receive_per_rank;  // ranks
  std::vector<std::int32_t> group_offsets;     // m x ranks + 1

  [[nodiscard]] std::int32_t rows_sent() const { return send_offsets.back(); }
  [[nodiscard]] std::int32_t rows_received() const { return receive_offsets.back(); }
};

// REQUIRES: `schedule` is of this placement; the rank sends and receives fewer than 2^31 rows.
[[nodiscard]] RankLayout make_layout(const Placement& placement, const Schedule& schedule, std::int32_t me);

// Row of the send buffer of every slot (token * top_k + choice); -1 for dropped slots and for slots of
// experts whose status is not kOk. REQUIRES: `layout` is that of `me`, and count_slots(expert_of) its row of
// the counts the schedule was made of.
[[nodiscard]] std::vector<std::int32_t> positions(const Placement& placement, const Schedule& schedule,
                                                  const RankLayout& layout, std::int32_t me,
                                                  const std::vector<std::int32_t>& expert_of);

// Row of the regrouped buffer of every received row.
[[nodiscard]] std::vector<std::int32_t> regroup_rows(const RankLayout& layout);

}  // namespace goodput::gpu::reference
