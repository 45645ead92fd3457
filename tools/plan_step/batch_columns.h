// Maps the columns of a batch to keys of a plan, and applies a row to the base plan.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"

namespace goodput {

// A column is one of:
// - a pointer to a key of a plan: /parallel/tp, /cluster/inter_node/efficiency;
// - a key of `parallel`, `model`, `model.moe` or `model.latent`: tp, layers, top_k;
// - `stack`: the name of a stack, with its defaults for keys that neither the base plan nor the row gives;
// - `cluster`: the name of a cluster, which brings its own efficiency;
// - `gpus`: the cluster gets as many nodes as they need;
// - `model`: the name of a model, or a label if the row has dimensions of its own.
//
// An empty cell keeps the base's value. A row that gives layers, hidden, heads and vocab describes a whole
// model and takes nothing from the base's. If a row gives heads or hidden, kv_heads and head_dim follow from
// these unless the row gives them too.
class BatchColumns {
 public:
  // Fails if no column is a key, or if two columns set the same key.
  static Result<BatchColumns> find(std::span<const std::string> header, const TrainingPlan& base);

  // The checked plan of one row. Errors name no file: the caller knows the row.
  [[nodiscard]] Result<TrainingPlan> plan_of(std::span<const std::string> cells) const;

  // Names of the columns that are not keys, in the order of the header.
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }

 private:
  struct Column {
    std::size_t at = 0;   // in a row
    std::string pointer;  // into a plan, or /cluster, /model or /gpus, which are handled apart
  };

  BatchColumns(const TrainingPlan& base, std::shared_ptr<const Json> plan)
      : library_(base.library), plan_(std::move(plan)) {}

  config::Library library_;
  std::shared_ptr<const Json> plan_;  // the base, all of it
  std::vector<Column> columns_;
  std::vector<std::string> others_;
  std::vector<std::string> stack_settings_;  // keys of `parallel` that the base plan leaves to the stack
};

}  // namespace goodput
