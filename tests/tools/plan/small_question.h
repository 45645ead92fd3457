// A question that is answered in a second: Llama 3 8B on 64 GPUs of nodes that fail often.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/planner/plan_question.h"
#include "sim/base/errors.h"
#include "sim/config/changes.h"

namespace goodput {

// With these changes: {{"/deadline", "3d"}}.
inline Result<PlanQuestion> read_small_question(const std::vector<config::Change>& changes = {}) {
  std::vector<config::Change> all = {
      {"/model", "llama3-8b"},
      {"/cluster", "dgx-h100"},
      {"/gpus", "64"},
      {"/tokens", "40e9"},
      {"/batch", "256"},
      {"/sequence_length", "8192"},
      {"/usd_per_node_hour", "20"},
      {"/failures", R"({"model": "exponential", "failures_per_1000_node_days": 200, "repair_s": 43200,
                        "repair": "exponential"})"},
      {"/storage_gb_per_s", "5"},
      {"/detect_s", "120"},
      {"/startup_s", "300"},
      {"/swap_s", "60"},
      {"/search", R"({"tp": [1, 2], "pp": [1, 2, 4], "cp": [1]})"},
      {"/plans", "2"},
      {"/policies", R"({"checkpoint": {}, "hot_spare": {}, "elastic_dp": {}})"},
      {"/spares", "[0, 1, 2]"},
      {"/intervals", "[0.5, 1, 2]"},
      {"/max_trials", "512"}};
  all.insert(all.end(), changes.begin(), changes.end());
  return read_plan_question("", all, config::Library{{GOODPUT_CONFIGS}});
}

inline PlanQuestion small_question(const std::vector<config::Change>& changes = {}) {
  auto question = read_small_question(changes);
  GOODPUT_CHECK(question, "the small question is a good one");
  return *std::move(question);
}

}  // namespace goodput
