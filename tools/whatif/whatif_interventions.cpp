#include "sim/base/statistics.h"
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

Result<std::vector<Intervention>> intervene(const WhatIfEngine& engine, const Recording& recording,
                                            const WhatIf& result, const std::vector<std::string>& fix,
                                            const std::vector<std::string>& keep) {
  std::vector<Intervention> interventions;
  const double recorded_s = mean(result.nodelay.span_s);
  const auto add = [&](const StepTimes& times, std::vector<std::string> fixed,
                       std::vector<std::string> kept) {
    const double jct_s = mean(times.span_s);
    interventions.push_back({std::move(fixed), std::move(kept), jct_s, recorded_s / jct_s});
  };
  if (!fix.empty()) {
    GOODPUT_TRY(const InstanceSet ideal, select_union(recording, fix));
    add(engine.simulate_without(ideal), fix, {});
  }
  if (!keep.empty()) {
    GOODPUT_TRY(const InstanceSet recorded, select_union(recording, keep));
    add(engine.simulate(recorded), {}, keep);
  }
  return interventions;
}

}  // namespace goodput
