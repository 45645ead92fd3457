// Which columns of a failure log say what, whatever they are called.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "traces/faults/log_table.h"

namespace goodput {

// A column that has a role.
struct LogColumn {
  std::size_t index = 0;
  std::string name{};                          // as the file calls it
  SimDuration unit = std::chrono::seconds{1};  // of its numbers
};

// Roles that users may name: kFaultRoles. An empty name: no column has the role.
using RoleNames = std::map<std::string, std::string>;  // column by role
inline constexpr std::string_view kFaultRoles[] = {"node", "start", "end", "duration", "cause"};

struct FaultColumns {
  LogColumn node, start;
  std::optional<LogColumn> end{}, duration{}, cause{};
  std::optional<LogColumn> event{};  // whether a row starts or ends a fault
  std::optional<LogColumn> state{};  // of an event of Slurm
  // "node: host"
  [[nodiscard]] std::vector<std::string> described() const;
  // Columns of the table without a role.
  [[nodiscard]] std::vector<std::string> unused(const LogTable& table) const;
};

// `named` comes before what the names of columns suggest. Fails with what is missing and the option that
// helps.
Result<FaultColumns> find_fault_columns(const LogTable& table, const RoleNames& named);

// Whether the columns are those of a list of faults: node, start, and an end or a duration.
[[nodiscard]] bool are_fault_columns(const std::vector<std::string>& names);

// The column with that name, in whatever case and with whatever separators ("TimeStart", "time_start").
[[nodiscard]] std::optional<LogColumn> find_column_called(const std::vector<std::string>& columns,
                                                          std::string_view name);

}  // namespace goodput
