// Step times for every row of a CSV that varies a base plan: sizes and parallelism a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/step/planned_step.h"
#include "sim/base/errors.h"

namespace goodput {

// Columns are keys of a plan (batch_columns.h), or, if one is called `# GPUs`, all of these: # GPUs,
// global batch, micro batch, hidden size, attention heads, # layers, sequence length, tensor parallelism,
// data parallelism, pipeline parallelism. The FFN is four times the hidden size, there are as many key/value
// heads as heads, and positions, where they are learned, as many as the sequence is long. The cluster gets as
// many nodes as a row needs.
struct BatchRow {
  std::size_t line = 0;                // of the file, where the row begins
  std::optional<double> predicted_ms;  // absent: no prediction, and the fields below are unset
  double mfu = 0;
  double memory_gib = 0;        // of the fullest GPU
  bool fits = false;            // within its memory
  std::optional<double> error;  // predicted over measured_ms, minus 1; absent: not measured
};

struct BatchResult {
  // The rows as they are with predicted_ms, mfu, memory_gib, fits and, where there is a column measured_ms,
  // error appended, empty where a row has none; blank lines are left out, lines end in LF.
  std::string csv;
  std::vector<std::string> others;  // columns that are not keys of a plan
  std::vector<std::string> errors;  // FILE:line: why
  std::vector<BatchRow> rows;
  Tier tier = Tier::kMeasured;  // the lowest that a prediction rests on
};

// Fails on a file that cannot be read or lacks a column, and where the base's costs cannot be had.
// REQUIRES: base was read without error.
Result<BatchResult> predict_rows(const TrainingPlan& base, const std::string& path, Granularity granularity,
                                 std::uint64_t seed);

}  // namespace goodput
