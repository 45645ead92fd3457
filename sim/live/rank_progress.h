// How far the rows of a worker have come, and whether further ones follow, go back, or are older.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "sim/live/open_step.h"
#include "sim/ops/op_type.h"

namespace goodput {

// Ops of a type start closer together in a step, and a restart takes longer; clocks further apart are off.
inline constexpr double kFarApart = 60;  // seconds

// Of a rank, in the order of its files. Times by its own clock.
struct RankProgress {
  bool is_known = false;  // rows of it came
  std::int32_t run = 0;
  std::size_t file = 0;  // of the latest
  std::array<std::optional<std::int64_t>, kNdtimelineTypeCount> last_step{};
  std::array<double, kNdtimelineTypeCount> last_start_s{};
  std::array<std::int32_t, kNdtimelineTypeCount> last_seq{};
  TypeCounts counts{};                                           // ops in last_step
  TypeCounts before{};                                           // in the step before, also of the run before
  std::int64_t past = std::numeric_limits<std::int64_t>::min();  // it has gone on from steps up to this one
  double last_end_s = -std::numeric_limits<double>::infinity();  // of its latest op
  double skew_s = 0;  // its clock against the others', where they are minutes apart

  // From here on its rows are of another run.
  void enter(std::int32_t new_run);
  void advance(const RowGroup& group, std::size_t in_file);
};

enum class RowOrder : std::uint8_t {
  kOnward,  // the same step or a later one
  kBack,    // an earlier step, at a later time
  kOlder,   // an earlier step, at an earlier time: files that are read in the wrong order
};
// REQUIRES: progress.is_known.
[[nodiscard]] RowOrder order_of(const RankProgress& progress, const RowGroup& group);

// Whether the clock of a rank is found to be away from the others', from its first rows of a type in a step.
void note_skew(RankProgress& progress, const RowGroup& group, const OpenStep& step);

// The ranks of a worker.
struct WorkerRanks {
  std::map<std::int32_t, RankProgress> ranks;
  std::int32_t run = -1;     // of which the lowest is known
  std::int32_t lowest = -1;  // rank; the rows of others are left out

  // A row of a rank came. Whether it counts.
  bool note(std::int32_t rank, std::int32_t in_run);
};

}  // namespace goodput
