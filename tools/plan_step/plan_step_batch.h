// Step times for every row of a CSV file whose columns vary a base plan.
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

// Columns are keys of a plan (batch_columns.h) or those of vTrain's tables (vtrain_columns.h).
struct BatchRow {
  std::size_t line = 0;                // of the file, where the row begins
  std::optional<double> predicted_ms;  // absent: no prediction, and the fields below are unset
  double low_ms = 0;                   // 80 % of steps like this one take from low_ms to high_ms
  double high_ms = 0;
  double mfu = 0;
  double memory_gib = 0;        // of the fullest GPU
  bool fits = false;            // within its memory
  std::optional<double> error;  // predicted over measured_ms, minus 1; absent: not measured
};

struct BatchResult {
  // The input rows, with predicted_ms, mfu, memory_gib and fits appended, and error if there is a column
  // measured_ms. These cells are empty if a row has no prediction. Blank lines are dropped; lines end in LF.
  std::string csv;
  std::vector<std::string> others;  // columns that are not keys of a plan
  std::vector<std::string> errors;  // FILE:line: why
  std::vector<BatchRow> rows;
  Tier tier = Tier::kMeasured;  // the lowest that a prediction rests on
};

// Fails if the file cannot be read or lacks a column, and if the base's cost model cannot be made.
// REQUIRES: base was read without error.
Result<BatchResult> predict_rows(const TrainingPlan& base, const std::string& path, Granularity granularity,
                                 std::uint64_t seed);

}  // namespace goodput
