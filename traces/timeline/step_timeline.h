// Timelines for a trace viewer (ui.perfetto.dev, chrome://tracing): every op of a recording as a slice.
//
// A process is a dp rank; a thread is a stage and a stream of it: compute, each kind of pipeline transfer, dp
// (the collectives). Steps are laid end to end, a tenth of a step apart, each from its own first start. Times
// are whole nanoseconds. Slices of a thread never overlap: where ops of a stream do, further threads take
// them, "stage 0 forward-recv (2)". A slice whose end is before its start is drawn with no length.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/recording/recording.h"

namespace goodput {

// Chrome trace JSON, gzip when `final_path`, the name `path` is going to have, ends in .gz. Fails when the
// file cannot be written and when the steps are longer than a viewer can tell nanoseconds apart (104 days).
Status write_recorded_timeline(const Recording& recording, const std::string& path,
                               std::string_view final_path);

// The same with one start and one end an op, by OpId, in every step and replica alike: the ideal timeline.
// REQUIRES: as many of either as recording.ops, all finite.
Status write_ideal_timeline(const Recording& recording, std::span<const double> start_s,
                            std::span<const double> end_s, const std::string& path,
                            std::string_view final_path);

// How an op of a planned step is shown: passes come in parts, and their communication has a thread of its
// own.
struct SliceLook {
  std::string name;
  bool is_communication = false;  // of a pass
};

// A step nobody recorded: times in `planned`, looks by OpId. REQUIRES: as many looks as ops.
Status write_planned_timeline(const Recording& planned, std::span<const SliceLook> looks,
                              const std::string& path, std::string_view final_path);

}  // namespace goodput
