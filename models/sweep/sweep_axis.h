// One axis of a sweep: a pointer of the scenario and its values, several pointers that move together, or a
// variable that pointers follow from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/sweep/axis_values.h"
#include "models/sweep/expression.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"

namespace goodput {

// A variable that needs no `sets`: nodes beyond those that the plan's GPUs take, "plan_nodes + spares".
inline constexpr std::string_view kSparesVariable = "spares";
// In expressions: the nodes that the plan's GPUs take, at the point in question.
inline constexpr std::string_view kPlanNodes = "plan_nodes";

// A pointer that follows from variables.
struct SweepSetting {
  std::string pointer{};
  Expression value{};
};

struct SweepAxis {
  std::string pointer{};                // one of the three is given
  std::vector<std::string> pointers{};  // then a value is an array of as many
  std::string name{};                   // of a variable
  AxisValues values{};
  std::string values_json{};         // as they were given: text or an array
  std::vector<SweepSetting> sets{};  // by expressions of this variable and others
  std::string file{};                // that has the values; empty: the command line (config::Change::file)

  // What varies, columns of the results.
  [[nodiscard]] std::vector<std::string> parameters() const;
  // A value, JSON, by parameter.
  [[nodiscard]] std::vector<std::string> split(const std::string& value) const;
  // It is the number of nodes beyond the plan's, and nothing else is said of it.
  [[nodiscard]] bool is_spares() const { return name == kSparesVariable && sets.empty(); }
};
[[nodiscard]] config::Fields config_fields(SweepAxis& axis);
// All but whether there is such a variable: that may be known elsewhere.
[[nodiscard]] Status config_finish(SweepAxis& axis);

// As the command line has it: "/failures/mtbf_hours=10,100", "/nodes,/plan/parallel/dp=[136,16],[144,17]",
// "spares=0..8". The Error has no place.
Result<SweepAxis> parse_sweep_axis(std::string_view text);

}  // namespace goodput
