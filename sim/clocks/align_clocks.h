// One clock for a recording whose workers' clocks disagree, where that is asked for or needed.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/clocks/clocks.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

enum class ClockAlignment {
  // Where some clock is more than 5 ms off, and five times the noise of its offset, or drifts, unless
  // rounding to float32 looks like that.
  kAuto,
  kOn,
  kOff,
};
inline constexpr std::array<std::string_view, 3> kClockAlignments = {"auto", "on", "off"};

struct RecordedClocks {
  ClockEstimate estimate;
  bool are_aligned = false;  // the recording has the reference's time
  // Steps inside which a clock was set; the first step of the recording counts as warm-up.
  std::vector<CleaningFinding> left_out{};
};

// Leaves out steps inside which a clock was set (clock_set.h), unless clocks are kept or that is more than
// half of the steps. In the first step connections are set up, and messages end as if a clock was set. Adds
// to `notes` what was done to the times, and pairs that contradict each other.
[[nodiscard]] RecordedClocks align_clocks(Recording& recording, const OpGraph& graph,
                                          ClockAlignment alignment, std::vector<std::string>& notes);

// `dp 0 stage 1 (rank 4) and dp 0 stage 2 (rank 8)`
[[nodiscard]] std::string conflict_name(const WorkerGrid& grid, const ClockConflict& conflict);

// `+50.2 ms`, `-2.000 s`
[[nodiscard]] std::string clock_time(double seconds);

}  // namespace goodput
