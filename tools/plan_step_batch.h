// Step times for every row of a CSV that varies a base plan: sizes and parallelism a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/training_plan.h"
#include "sim/errors.h"

namespace goodput {

// Columns (any order, others pass through): # GPUs, global batch, micro batch, hidden size, attention heads,
// # layers, sequence length, tensor parallelism, data parallelism, pipeline parallelism. The FFN is four
// times the hidden size, and positions, where they are learned, as many as the sequence is long.
struct BatchResult {
  std::string csv;                  // the input with `predicted_ms` appended; empty where a row has none
  std::vector<std::string> errors;  // FILE:line: why
  std::size_t predicted = 0;
};

// Fails on a file that cannot be read or lacks a column. REQUIRES: base was read without error.
Result<BatchResult> predict_rows(const TrainingPlan& base, const std::string& path, std::uint64_t seed);

}  // namespace goodput
