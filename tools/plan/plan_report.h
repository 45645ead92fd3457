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

// Files in `folder`: plan.json for `goodput plan-step`, scenario.json for `goodput
// simulate`. REQUIRES: an answer. The result is what was written.
Result<std::vector<std::string>> write_plan_configs(const PlanReport& report, const std::string& folder);

}  // namespace goodput
