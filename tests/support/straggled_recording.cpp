#include "tests/support/straggled_recording.h"

#include <algorithm>

#include "models/synth/lane_table.h"
#include "models/synth/straggler_injection.h"
#include "models/synth/synthetic_step.h"
#include "sim/engine/timing.h"

namespace goodput::testing {
namespace {

SyntheticStep step_of(const AnalysedTrace& trace) {
  SyntheticStep step{trace.recording.ops, trace.graph, {}};
  step.dp = trace.recording.dp_size;
  step.pp = trace.recording.pp_size;
  step.vpp = trace.recording.vpp_size;
  step.sequence_length = 8192;
  return step;
}

// Visits every (op, lane of the block, lane of the table) of a block.
template <typename Visit>
void for_each_instance(const Recording& recording, const StepBlock& block, LaneShape table, Visit visit) {
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
      for (std::size_t step = 0; step < block.shape.steps; ++step) {
        visit(op, op * block.shape.stride() + block.shape.lane(step, dp),
              table.lane(block.first_step + step, dp));
      }
    }
  }
}

LaneTable table_of(const AnalysedTrace& trace) {
  const Recording& recording = trace.recording;
  const LaneShape shape{recording.steps.size(), static_cast<std::size_t>(recording.dp_size)};
  LaneTable table(recording.ops.size(), shape);
  for (const StepBlock& block : recording.blocks) {
    for_each_instance(recording, block, shape, [&](OpId op, std::size_t at, std::size_t lane) {
      table.values(op)[lane] = block.value_s[at];
    });
  }
  return table;
}

}  // namespace

AnalysedTrace with_injected(AnalysedTrace trace, const std::vector<Straggler>& stragglers,
                            std::uint64_t seed) {
  const LaneTable table = with_stragglers(step_of(trace), table_of(trace), stragglers, seed);
  TimingEngine times(trace.graph, table.shape(), {}, TimingEngine::Keep::kAllTimes);
  times.propagate(table);
  Recording& recording = trace.recording;
  for (StepBlock& block : recording.blocks) {
    for_each_instance(recording, block, table.shape(), [&](OpId op, std::size_t at, std::size_t lane) {
      block.start_s[at] = times.starts(op)[lane];
      block.end_s[at] = times.ends(op)[lane];
      block.value_s[at] = table.at(op, lane);
    });
  }
  recording.step_base_s = times.spans();
  std::fill(recording.step_origin_s.begin(), recording.step_origin_s.end(), 0.0);
  return trace;
}

}  // namespace goodput::testing
