// The shipped stacks against the published measured steps, where these are to be had (docs/validation.md).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/fit/stack_fit.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/plan_step/batch_rows.h"
#include "tools/plan_step/plan_step_batch.h"

namespace goodput {
namespace {

// Whatever rows do not say.
TrainingPlan plan_of_rows() {
  const TemporaryFile file("plan.json", R"({"model": "llama3-8b", "cluster": "dgx-h100",
      "parallel": {"zero": 1, "global_batch": 128, "sequence_length": 8192}})");
  auto plan = read_training_plan(file.path(), {.folders = {GOODPUT_CONFIGS}});
  REQUIRE_MESSAGE(plan, plan.error().message());
  return *plan;
}

}  // namespace

TEST_CASE(
    "stack: shipped stacks are off by at most 7 % on the public measured steps, by 4.5 % on dense models" *
    doctest::test_suite("release-only")) {
  const std::string path = fmt::format("{}/steps/public_steps_open.csv", GOODPUT_SHARED_DATA);
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const TrainingPlan base = plan_of_rows();
  const auto predicted = predict_rows(base, path, Granularity::kLayers, 0);
  REQUIRE(predicted);
  CHECK(predicted->errors.empty());
  auto rows = BatchRows::open(base, path);
  REQUIRE(rows);
  std::map<std::string, std::vector<double>> by_stack;
  for (std::size_t i = 0; rows->next(); ++i) {
    const auto row = rows->read();
    REQUIRE(row);
    by_stack[row->plan.stack.name].push_back(*predicted->rows[i].error);
    by_stack["all"].push_back(*predicted->rows[i].error);
    const StepFamily family = family_of(row->plan, row->plan.parallel);
    if (family.parallelism == Parallelism::kMoe) {
      by_stack["MoE"].push_back(*predicted->rows[i].error);
      continue;
    }
    by_stack[family.gpu == GpuGeneration::kBlackwell ? "dense Blackwell" : "dense"].push_back(
        *predicted->rows[i].error);
  }
  for (const auto& [stack, errors] : by_stack)
    MESSAGE(fmt::format("{}: {} rows, {:.1f} %", stack, errors.size(), 100 * mean_size(errors)));
  CHECK(by_stack["all"].size() == 158);
  CHECK(mean_size(by_stack["all"]) <= 0.07);
  CHECK(by_stack["MoE"].size() == 29);
  for (const auto& [stack, target] :
       {std::pair{"dense", 0.045}, std::pair{"dense Blackwell", 0.08}, std::pair{"MoE", 0.09},
        std::pair{"llm-foundry", 0.04}, std::pair{"nemo", 0.05}, std::pair{"megatron-bridge", 0.065},
        std::pair{"torchtitan", 0.06}})
    CHECK(mean_size(by_stack[stack]) <= target);
}

}  // namespace goodput
