// Timelines of a recording for a trace viewer (ui.perfetto.dev, chrome://tracing): every op as a slice, on
// the threads of traces/timeline/op_tracks.h.
//
// Steps are laid end to end, a tenth of a step apart, each from its own first start; a marker says where each
// begins, and a flow shows the critical path of each (traces/timeline/critical_chain.h). Times are whole
// nanoseconds.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

// `graph` is that of the recording. Chrome trace JSON, gzip when `final_path`, the name `path` is going to
// have, ends in .gz. Fails when the file cannot be written and when the steps are longer than a viewer can
// tell nanoseconds apart (104 days).
Status write_recorded_timeline(const Recording& recording, const OpGraph& graph, const std::string& path,
                               std::string_view final_path);

// The same with one start and one end an op, by OpId, in every step and replica alike: the ideal timeline.
// REQUIRES: as many of either as recording.ops, all finite.
Status write_ideal_timeline(const Recording& recording, const OpGraph& graph, std::span<const double> start_s,
                            std::span<const double> end_s, const std::string& path,
                            std::string_view final_path);

}  // namespace goodput
