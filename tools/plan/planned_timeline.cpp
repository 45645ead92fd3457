#include "tools/plan/planned_timeline.h"

#include <algorithm>
#include <vector>

#include "sim/engine/timing.h"
#include "sim/recording/recording.h"
#include "traces/timeline/step_timeline.h"

namespace goodput {
namespace {

constexpr double kSecond = 1e9;  // nanoseconds

// All ops in seconds, as if they had been recorded.
Recording times_of(const PlannedStep& step) {
  TimingEngine timing(step.graph, step.lanes, {}, TimingEngine::Keep::kAllTimes);
  timing.propagate(PlannedValues(step));
  Recording recording;
  recording.steps = {0};
  recording.step_origin_s = {0};
  recording.step_base_s = {timing.spans().front() / kSecond};
  recording.dp_size = static_cast<std::int32_t>(step.lanes.replicas);
  StepBlock block{0, step.lanes, {}, {}, {}};
  for (OpId op = 0; op < step.ops.size(); ++op) {
    recording.ops.push_back(step.ops[op].op);
    recording.pp_size = std::max(recording.pp_size, step.ops[op].op.stage + 1);
    for (const double start : timing.starts(op)) block.start_s.push_back(start / kSecond);
    for (const double end : timing.ends(op)) block.end_s.push_back(end / kSecond);
  }
  recording.blocks.push_back(std::move(block));
  const std::int32_t workers = recording.dp_size * recording.pp_size;
  for (std::int32_t worker = 0; worker < workers; ++worker) recording.ranks.push_back(worker);
  return recording;
}

}  // namespace

Status write_step_timeline(const PlannedStep& step, const std::string& path, std::string_view final_path) {
  std::vector<SliceLook> looks;
  for (const StepOp& op : step.ops) {
    looks.push_back({op.label(), op.part != LayerPart::kWhole && op.is_communication()});
  }
  return write_planned_timeline(times_of(step), looks, path, final_path);
}

}  // namespace goodput
