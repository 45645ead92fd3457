#include "tools/plan_step/planned_timeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/engine/timing.h"
#include "traces/io/chrome_writer.h"
#include "traces/timeline/critical_chain.h"
#include "traces/timeline/op_tracks.h"

namespace goodput {
namespace {

std::vector<ShownOp> shown_ops(const PlannedStep& step) {
  std::vector<ShownOp> shown;
  for (const StepOp& op : step.ops) {
    shown.push_back({op.op, op.label(), op.part != LayerPart::kWhole && op.is_communication()});
  }
  return shown;
}

// Of one lane, by OpId.
std::vector<OpTimes> times_in(const TimingEngine& timing, std::size_t ops, std::size_t lane) {
  std::vector<OpTimes> times;
  for (OpId op = 0; op < ops; ++op) {
    times.push_back({std::llround(timing.starts(op)[lane]), std::llround(timing.ends(op)[lane])});
  }
  return times;
}

}  // namespace

Status write_step_timeline(const PlannedStep& step, const std::string& path, std::string_view final_path) {
  TimingEngine timing(step.graph, step.lanes, {}, TimingEngine::Keep::kAllTimes);
  timing.propagate(PlannedValues(step));
  GOODPUT_TRY_STATUS(check_timeline_length(timing.spans().front() / 1e9, final_path));
  std::int32_t stages = 1;
  for (const StepOp& op : step.ops) stages = std::max(stages, op.op.stage + 1);
  GOODPUT_TRY(ChromeWriter writer,
              ChromeWriter::open(path, final_path, ChromeWriter::Precision::kNanoseconds));
  OpTracks tracks(writer, static_cast<std::int32_t>(step.lanes.replicas), stages, shown_ops(step));
  // Nobody says which rank a worker would be: they are numbered, stages within lanes.
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(stages));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::vector<OpTimes>> times;  // by lane
  for (std::size_t lane = 0; lane < step.lanes.replicas; ++lane) {
    times.push_back(times_in(timing, step.ops.size(), lane));
    GOODPUT_TRY_STATUS(tracks.write_lane(lane, 0, ranks, times.back()));
    for (std::int32_t& rank : ranks) rank += stages;
  }
  const auto chain =
      critical_chain(step.graph, times.size(), [&](OpId op, std::size_t lane) { return times[lane][op]; });
  tracks.write_step(0, 0, chain);
  return writer.close();
}

}  // namespace goodput
