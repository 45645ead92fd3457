#include "models/plan/synth_plan.h"

#include <utility>

namespace goodput {

config::Fields config_fields(SynthPlan& plan) {
  config::Fields fields = config_fields(plan.plan);
  // What a plan only checks goes somewhere.
  for (config::Field& kept : config_fields(plan.synth)) {
    for (config::Field& field : fields) {
      if (field.key == kept.key) field.value = std::move(kept.value);
    }
  }
  return fields;
}

Status config_finish(SynthPlan& plan) {
  return config_finish(plan.plan);
}

Result<SynthPlan> read_synth_plan(const std::string& path, const config::Library& library) {
  SynthPlan plan;
  plan.plan.file = path;
  plan.plan.sources = {{path, {}}};
  plan.plan.library = library;
  GOODPUT_TRY_STATUS(config::read_file(path, config::access(plan), library, {}, &kPlanFiles));
  return plan;
}

}  // namespace goodput
