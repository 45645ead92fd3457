// Which keys of a plan the columns of a batch set, and the plan that a row makes of the base.
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

// Columns are keys of a plan: by pointer (/parallel/tp, /cluster/inter_node/efficiency), or by themselves
// those of `parallel`, of `model`, and of its `moe` and `latent`; `cluster`, by name,
// with its own efficiency; `gpus`, for which the
// cluster gets the nodes; `model`, a model by name, or a label where the row has dimensions of its own.
//
// An empty cell leaves what the base has. A row with a whole model (layers, hidden, heads and vocab) has
// nothing of the base's; where a row gives heads or hidden, kv_heads and head_dim follow from these unless it
// gives them.
class BatchColumns {
 public:
  // Fails where no column is a key, or two set the same.
  static Result<BatchColumns> find(std::span<const std::string> header, const TrainingPlan& base);

  // Settled for its GPUs, and checked. Its messages have no file: where the values stand is the row.
  [[nodiscard]] Result<TrainingPlan> plan_of(std::span<const std::string> cells) const;

  // Names of the columns that are no keys, in their order.
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }

 private:
  struct Column {
    std::size_t at = 0;   // in a row
    std::string pointer;  // into a plan; /cluster, /model and /gpus for what is no value of one
  };

  BatchColumns(const TrainingPlan& base, std::shared_ptr<const Json> plan)
      : library_(base.library), plan_(std::move(plan)) {}

  config::Library library_;
  std::shared_ptr<const Json> plan_;  // the base, all of it
  std::vector<Column> columns_;
  std::vector<std::string> others_;
};

// Without the spaces around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace goodput
