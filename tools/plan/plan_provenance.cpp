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

Result<Provenance> plan_provenance(const TrainingPlan& plan, Granularity granularity, Tier lowest_tier) {
  TrainingPlan echoed = plan;
  echoed.calibration.clear();  // its content counts
  Hash hash;
  hash.add(config::write(config_fields(echoed)).dump());
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

Result<std::vector<std::string>> plan_files(const TrainingPlan& plan) {
  std::vector<std::string> files = plan.files;
  if (plan.cost_model == "calibrated") {
    GOODPUT_TRY(std::string path, calibration_path(cost_inputs(plan)));
    files.push_back(std::move(path));
  }
  return files;
}

}  // namespace goodput
