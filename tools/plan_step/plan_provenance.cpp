#include "tools/plan_step/plan_provenance.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "models/cost/calibrated.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "tools/cli/config_files.h"

namespace goodput {
namespace {

// `echoed`: `plan` as it would be written, but for the calibration file: its content counts.
Result<Provenance> provenance_of(const TrainingPlan& plan, const OrderedJson& echoed, Granularity granularity,
                                 Tier lowest_tier) {
  Hash hash;
  hash.add(echoed.dump());
  hash.add(static_cast<int>(granularity));
  Provenance provenance;
  provenance.lowest_tier = to_string(lowest_tier);
  GOODPUT_TRY(const std::vector<config::Source> sources, plan_sources(plan));
  provenance.config_files = files_of(sources);
  std::string content;
  if (plan.cost_model == "calibrated") {
    provenance.calibration = provenance.config_files.back();
    std::ifstream file(*provenance.calibration, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(file), {});
  }
  hash.add(content);
  provenance.config_hash = hash.value();
  return provenance;
}

}  // namespace

Result<Provenance> plan_provenance(const TrainingPlan& plan, Granularity granularity, Tier lowest_tier) {
  TrainingPlan echoed = plan;
  echoed.calibration.clear();
  return provenance_of(plan, config::write(config_fields(echoed)), granularity, lowest_tier);
}

Result<Provenance> plan_provenance(const SynthPlan& plan, Granularity granularity, Tier lowest_tier) {
  SynthPlan echoed = plan;
  echoed.plan.calibration.clear();
  return provenance_of(plan.plan, config::write(config_fields(echoed)), granularity, lowest_tier);
}

Result<std::vector<config::Source>> plan_sources(const TrainingPlan& plan) {
  std::vector<config::Source> sources = plan.sources;
  if (plan.cost_model == "calibrated") {
    GOODPUT_TRY(config::Source calibration, find_calibration(cost_inputs(plan)));
    sources.push_back(std::move(calibration));
  }
  return sources;
}

}  // namespace goodput
