// What `goodput plan` says: as text for people, as JSON for programs, as configs that other commands run.
#pragma once

#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "tools/cli/json_result.h"
#include "tools/plan/plan_answer.h"

namespace goodput {

struct PlanReport {
  const PlanQuestion& question;
  const PlanAnswer& answer;
};

// One line: "Llama 3 70B: 1 T tokens on 1024 H100, in 14 days with 95 %, within $700000".
[[nodiscard]] std::string question_summary(const PlanQuestion& question);

[[nodiscard]] std::string plan_text(const PlanReport& report);

// Adds the members of goodput.plan/1 (docs/formats/plan.md).
void add_plan_json(const PlanReport& report, OrderedJson& json);
[[nodiscard]] Result<Provenance> plan_provenance(const PlanReport& report);

// What write_plan_configs() wrote.
struct PlanConfigs {
  std::string plan{};                       // for `goodput plan-step`
  std::string scenario{};                   // for `goodput simulate`
  std::vector<std::string> launch_files{};  // for training frameworks that can express the plan
  std::vector<std::string> not_exported{};  // "TorchTitan: answer/plan.json /parallel/zero: must be ..."
};

// Writes plan.json, scenario.json and launch files (models/launch/launch_exports.def) of the best plan to
// `folder`. Removes launch files of an earlier answer. REQUIRES: an answer.
Result<PlanConfigs> write_plan_configs(const PlanReport& report, const std::string& folder);

}  // namespace goodput
