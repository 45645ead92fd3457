// What is true of a synthetic trace: how much its stragglers cost, by place and in all.
//
// Worked out by a walk of its own over the graph, which shares no code with TimingEngine or the what-if
// engine: it is what their answers are compared with.
#pragma once

#include <vector>

#include "models/synth/lane_table.h"
#include "models/synth/synthetic_step.h"

namespace goodput {

// From the exact values, not from the rows; means over the steps. Slowdowns as whatif defines them
// (docs/design.md).
struct SyntheticTruth {
  double recorded_s = 0;                // step as recorded
  double replayed_s = 0;                // had every op launched at once
  double ideal_s = 0;                   // every op at the mean or median of its type: when the optimizer ends
  double clean_s = 0;                   // step without the stragglers, with the noise
  double slowdown = 1;                  // S = replayed over ideal
  double launch_slowdown = 1;           // recorded over the replayed optimizer's end
  std::vector<double> worker_slowdown;  // by dp * pp + stage: this worker as it was, all else ideal
  std::vector<double> stage_slowdown;
  // By straggler: the share of the recorded step that goes away without it; of an uneven partition, with the
  // same work spread evenly.
  std::vector<double> cost;
};

// Fills in replayed_s, ideal_s, slowdown and launch_slowdown; truth.recorded_s is there. `table`: as it was,
// with stragglers.
void find_slowdown(const SyntheticStep& step, const LaneTable& table, SyntheticTruth& truth);
// Fills in worker_slowdown and stage_slowdown.
void find_slowdown_of_parts(const SyntheticStep& step, const LaneTable& table, SyntheticTruth& truth);

}  // namespace goodput
