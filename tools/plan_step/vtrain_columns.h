// The columns of vTrain's tables of measured steps, which set sizes and parallelism of a base plan.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "models/plan/training_plan.h"
#include "sim/base/errors.h"

namespace goodput {

// All of these: # GPUs, global batch, micro batch, hidden size, attention heads, # layers, sequence length,
// tensor parallelism, data parallelism, pipeline parallelism. The FFN is four times the hidden size, there
// are as many key/value heads as heads, and learned positions, if any, are as many as the sequence is long.
// The cluster gets as many nodes as a row needs.
class VtrainColumns {
 public:
  // Whether the header is that of such a table: it has a column `# GPUs`.
  [[nodiscard]] static bool are_in(std::span<const std::string> header);

  // Fails if a column is missing or there twice. `base` must outlive it.
  static Result<VtrainColumns> find(std::span<const std::string> header, const TrainingPlan& base);

  // The checked plan of one row. Errors name no file: the caller knows the row.
  [[nodiscard]] Result<TrainingPlan> plan_of(std::span<const std::string> cells) const;

 private:
  explicit VtrainColumns(const TrainingPlan& base) : base_(&base) {}

  const TrainingPlan* base_;
  std::array<std::size_t, 10> positions_{};
};

}  // namespace goodput
