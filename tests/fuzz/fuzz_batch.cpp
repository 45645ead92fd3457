// The CSV of plan-step --batch under a small plan.
#include <algorithm>

#include "models/plan/training_plan.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/plan_step/plan_step_batch.h"

namespace goodput::fuzz {
namespace {

TrainingPlan base_plan() {
  TrainingPlan plan;
  plan.file = "plan.json";
  plan.model = {.name = "small",
                .layers = 2,
                .hidden = 64,
                .heads = 4,
                .kv_heads = 4,
                .head_dim = 16,
                .ffn = 256,
                .vocab = 500,
                .learned_positions = 32};
  plan.cluster.gpus_per_node = 4;
  plan.cluster.gpu = {.name = "g",
                      .bf16 = {1e12},
                      .fp8 = {},
                      .fp32 = {1e11},
                      .memory = {1 << 30},
                      .memory_bandwidth = {1e10},
                      .multiprocessors = 4};
  plan.cluster.intra_node.bandwidth = plan.cluster.inter_node.bandwidth = {1e9};
  return plan;
}

// Every line end of the input has its row, error or not, unless the line is blank or within quotes.
void check(const BatchResult& result) {
  const auto rows = static_cast<std::size_t>(std::count(result.csv.begin(), result.csv.end(), '\n'));
  GOODPUT_CHECK(rows >= 1 + result.rows.size() && result.rows.size() >= result.errors.size(),
                "a row is missing");
}

}  // namespace
}  // namespace goodput::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const goodput::TrainingPlan kBase = goodput::fuzz::base_plan();
  const goodput::fuzz::MemoryFile file(data, size);
  const auto result = goodput::predict_rows(kBase, file.path(), goodput::Granularity::kOps, 1);
  if (result) goodput::fuzz::check(*result);
  return 0;
}
