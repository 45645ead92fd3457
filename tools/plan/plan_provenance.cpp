#include "tools/plan/plan_provenance.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "models/cost/calibrated.h"
#include "sim/base/hash.h"
#include "sim/config/config.h"

namespace goodput {
namespace {

// `echoed`: `plan` as it would be written, but for the calibration file: its content counts.
Result<Provenance> provenance_of(const TrainingPlan& plan, const nlohmann::ordered_json& echoed,
                                 Granularity granularity, Tier lowest_tier) {
  Hash hash;
  hash.add(echoed.dump());
  hash.add(static_cast<int>(granularity));
  Provenance provenance;
  provenance.lowest_tier = to_string(lowest_tier);
  std::string content;
  if (plan.cost_model == "calibrated") {
    GOODPUT_TRY(std::string path, calibration_path(cost_inputs(plan)));
    std::ifstream file(path, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(file), {});
    provenance.calibration = std::move(path);
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

Result<std::vector<std::string>> plan_files(const TrainingPlan& plan) {
  std::vector<std::string> files = plan.files;
  if (plan.cost_model == "calibrated") {
    GOODPUT_TRY(std::string path, calibration_path(cost_inputs(plan)));
    files.push_back(std::move(path));
  }
  return files;
}

}  // namespace goodput
