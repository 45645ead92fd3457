// A run in its order: the copy ceilings that a point is held against, the points, the ceilings once more.
// What is known is told after every part of it, so that a run that is killed leaves what it has.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/bench/run_report.h"
#include "gpu/bench/sizes.h"

namespace goodput::gpu::bench {

struct RunPlan {
  std::vector<Point> points;
  Sizes sizes;
  CopyDevice device;
  StoppingRule rule;
  Clock clock;
  double deadline_s;  // from now on
};

struct RunOutput {
  std::function<void(const std::string& text)> print;  // of the table, piece by piece
  std::function<void(const RunReport&)> save;          // as soon as anything was measured, and then after
                                                       // every part
};

// `report` has what is known beforehand, and gets the rest. A point that throws is an outcome; all other
// errors are thrown.
void run_plan(const RunPlan& plan, const RunOutput& output, RunReport& report);

}  // namespace goodput::gpu::bench
