#include "sim/base/statistics.h"
#include "sim/causes/fix.h"
#include "sim/causes/remedy.h"
#include "sim/recording/instance_set.h"
#include "tools/whatif/whatif_report.h"

namespace goodput {
namespace {

Result<InstanceSet> select_union(const Recording& recording, const std::vector<std::string>& selectors) {
  InstanceSet set;
  for (const std::string& selector : selectors) {
    GOODPUT_TRY(InstanceBox box, select(recording, selector));
    set.boxes.push_back(std::move(box));
  }
  return set;
}

}  // namespace

Result<std::vector<Intervention>> intervene(const WhatIfEngine& engine, const AnalysedJob& job,
                                            const Patterns& patterns, const std::vector<std::string>& fix,
                                            const std::vector<std::string>& keep) {
  std::vector<Intervention> interventions;
  if (!fix.empty()) {
    GOODPUT_TRY(Remedy remedy, remedy_of(job, patterns, fix));
    const Gain gain = gain_of(job, std::move(remedy));
    interventions.push_back({fix, {}, gain.step_s, gain.gain});
  }
  if (!keep.empty()) {
    GOODPUT_TRY(const InstanceSet recorded, select_union(job.recording, keep));
    const double jct_s = mean(engine.simulate(recorded).span_s);
    interventions.push_back({{}, keep, jct_s, mean(job.result.nodelay.span_s) / jct_s});
  }
  return interventions;
}

}  // namespace goodput
