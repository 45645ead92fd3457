// Reads the rows of a batch: a CSV file whose columns vary a base plan.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "tools/plan_step/batch_columns.h"
#include "tools/plan_step/vtrain_columns.h"

namespace goodput {

inline constexpr std::string_view kMeasuredColumn = "measured_ms";

struct BatchInput {
  std::size_t line = 0;   // of the file, where the row begins
  std::string_view text;  // without its line end
  TrainingPlan plan;      // checked
  std::optional<double> measured_ms;
};

// Columns are keys of a plan (batch_columns.h) or those of vTrain's tables (vtrain_columns.h), and may
// include measured_ms. Blank lines are dropped. Errors name the file and the line.
class BatchRows {
 public:
  // Fails if the file cannot be read or lacks a column. A column named `ignored` has no effect. `base` must
  // outlive the rows.
  static Result<BatchRows> open(const TrainingPlan& base, const std::string& path,
                                std::string_view ignored = {});

  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] std::string_view header_text() const { return header_text_; }
  [[nodiscard]] bool has_measured() const { return measured_at_.has_value(); }
  // Columns that are neither keys of a plan nor measured_ms.
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }

  // Advances to the next row; false: there is none.
  bool next();
  // The row that next() found.
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::string_view text() const { return row_; }
  [[nodiscard]] Result<BatchInput> read() const;
  [[nodiscard]] Error error(std::string_view what) const;

 private:
  explicit BatchRows(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Status read_header(const TrainingPlan& base, std::string_view ignored);
  std::string_view take_line();

  std::string path_;
  std::unique_ptr<const std::string> content_;
  std::string_view rest_;
  std::string_view header_text_;
  std::vector<std::string> header_;
  std::vector<std::string> others_;
  std::optional<VtrainColumns> vtrain_;
  std::optional<BatchColumns> keys_;
  std::optional<std::size_t> measured_at_;
  std::string_view row_;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
};

}  // namespace goodput
