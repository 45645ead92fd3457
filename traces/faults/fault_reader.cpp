#include "traces/faults/fault_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "traces/faults/host_list.h"
#include "traces/faults/job_reader.h"
#include "traces/faults/log_clock.h"
#include "traces/faults/log_time.h"

namespace goodput {
namespace {

constexpr std::size_t kLongestNodeName = 256;

// Gives numbers to names in the order in which they first appear.
class NameNumbers {
 public:
  explicit NameNumbers(std::vector<std::string>& names) : names_(names) {
    for (std::size_t i = 0; i < names.size(); ++i) numbers_.emplace(names[i], static_cast<std::int32_t>(i));
  }
  std::int32_t of(const std::string& name) {
    const auto [found, is_new] = numbers_.try_emplace(name, static_cast<std::int32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

std::string fault_of_node_name(const std::string& name) {
  const bool has_bad = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == 0x7f;
  });
  if (!name.empty() && name.size() <= kLongestNodeName && !has_bad) return "";
  return fmt::format("node must be a name of 1 to {} characters without quotes, not {}", kLongestNodeName,
                     in_quotes(name));
}

// What an event's State says, without flags such as "*".
enum class EventState : std::uint8_t { kFault, kPlanned, kOther };
EventState event_state(std::string_view text) {
  constexpr std::string_view kFlags = "*~#%$@^!-";
  constexpr std::string_view kFaults[] = {"DOWN", "DRAIN",   "DRAINED", "DRAINING",       "DRNG",
                                          "FAIL", "FAILING", "ERROR",   "NOT_RESPONDING", "UNKNOWN"};
  constexpr std::string_view kPlanned[] = {"MAINT",    "REBOOT",        "POWERED_DOWN", "POWERED_DN",
                                           "BOOT",     "POWERING_DOWN", "POWER_DOWN",   "POWERING_UP",
                                           "POWER_UP", "PLANNED",       "FUTURE",       "RESERVED"};
  EventState state = EventState::kOther;
  for (std::string_view part : split(text, '+')) {
    while (!part.empty() && kFlags.find(part.back()) != std::string_view::npos) part.remove_suffix(1);
    if (std::find(std::begin(kPlanned), std::end(kPlanned), part) != std::end(kPlanned))
      return EventState::kPlanned;
    if (std::find(std::begin(kFaults), std::end(kFaults), part) != std::end(kFaults))
      state = EventState::kFault;
  }
  return state;
}

// "billing=1000,cpu=8192,node=128" has 128 nodes.
std::optional<NodeId> nodes_in_resources(std::string_view text) {
  for (const std::string_view part : split(text, ',')) {
    if (!part.starts_with("node=")) continue;
    const auto count = parse_integer(part.substr(5));
    if (count && *count > 0 && *count <= 1'000'000) return static_cast<NodeId>(*count);
  }
  return std::nullopt;
}

// Rows of a list of faults, or of events of Slurm, to FaultLog.
class FaultRows {
 public:
  FaultRows(const LogTable& table, FaultColumns columns, FailureLog& log)
      : table_(table),
        columns_(std::move(columns)),
        log_(log),
        clock_(log),
        nodes_(log.faults.nodes),
        causes_(log.faults.causes) {
    is_slurm_ =
        columns_.state && find_column_called(table, "nodename") && find_column_called(table, "timestart");
    resources_ = find_column_called(table, "tres");
    cluster_nodes_ = find_column_called(table, "clusternodes");
  }

  Status add(const LogTable::Row& row) {
    const std::string& node = field(row, columns_.node);
    if (is_slurm_) {
      if (is_unknown(node)) return take_cluster_row(row);
      const std::string& state = field(row, *columns_.state);
      if (event_state(state) != EventState::kFault)
        return leave_out(fmt::format("state {}", on_one_line(state)));
    }
    GOODPUT_TRY(LoggedFault fault, times_of(row));
    if (columns_.cause && !field(row, *columns_.cause).empty())
      fault.cause = causes_.of(field(row, *columns_.cause));
    return add_nodes(row, node, fault);
  }

 private:
  static const std::string& field(const LogTable::Row& row, const LogColumn& column) {
    return row.fields[column.index];
  }

  Status leave_out(std::string why) {
    ++log_.left_out[std::move(why)];
    return Ok{};
  }

  // A row about the cluster as a whole states how many nodes there are.
  Status take_cluster_row(const LogTable::Row& row) {
    std::optional<NodeId> stated;
    if (resources_) stated = nodes_in_resources(field(row, *resources_));
    if (!stated && cluster_nodes_) {
      if (const auto names = expand_host_list(field(row, *cluster_nodes_)))
        stated = static_cast<NodeId>(names->size());
    }
    if (stated) log_.faults.cluster_nodes = std::max(log_.faults.cluster_nodes, *stated);
    return leave_out("about the whole cluster");
  }

  // Some programs write 0 for an end that is not known.
  static bool is_open(const std::string& end, SimTime begin) {
    return is_unknown(end) || (end == "0" && begin > SimTime{});
  }

  Result<LoggedFault> times_of(const LogTable::Row& row) {
    LoggedFault fault;
    GOODPUT_TRY(fault.begin, clock_.read(table_, row, columns_.start));
    if (columns_.end && !is_open(field(row, *columns_.end), fault.begin)) {
      GOODPUT_TRY(fault.end, clock_.read(table_, row, *columns_.end));
    } else if (columns_.duration && !is_unknown(field(row, *columns_.duration))) {
      const LogColumn& column = *columns_.duration;
      const auto length = parse_log_duration(field(row, column), column.unit, column.name);
      if (!length) return table_.error(row, length.error().what);
      fault.end = fault.begin + *length;
      log_.last = std::max(log_.last, *fault.end);
    }
    if (fault.end && *fault.end < fault.begin) {
      return table_.error(
          row, fmt::format("{} ({}) is before {} ({}); correct or remove the row", columns_.end->name,
                           field(row, *columns_.end), columns_.start.name, field(row, columns_.start)));
    }
    return fault;
  }

  Status add_nodes(const LogTable::Row& row, const std::string& text, LoggedFault fault) {
    std::vector<std::string> names = {text};
    if (text.find_first_of("[,") != std::string::npos) {
      auto expanded = expand_host_list(text);
      if (!expanded) return table_.error(row, expanded.error().what);
      names = *std::move(expanded);
    }
    for (const std::string& name : names) {
      if (std::string wrong = fault_of_node_name(name); !wrong.empty())
        return table_.error(row, std::move(wrong));
      fault.node = nodes_.of(name);
      log_.faults.faults.push_back(fault);
    }
    return Ok{};
  }

  const LogTable& table_;
  FaultColumns columns_;
  FailureLog& log_;
  LogClock clock_;
  NameNumbers nodes_, causes_;
  bool is_slurm_ = false;
  std::optional<LogColumn> resources_, cluster_nodes_;
};

bool are_job_columns(const std::vector<std::string>& names) {
  LogTable table;
  table.columns = names;
  return find_column_called(table, "jobid") &&
         (find_column_called(table, "state") || find_column_called(table, "statecurrent"));
}

}  // namespace

Status add_failure_log(const LogTable& table, const FaultLogOptions& options, FailureLog& log) {
  if (are_job_columns(table.columns)) return add_jobs(table, log);
  GOODPUT_TRY(FaultColumns columns, find_fault_columns(table, options.columns));
  for (std::string& text : columns.described()) {
    if (std::find(log.columns.begin(), log.columns.end(), text) == log.columns.end())
      log.columns.push_back(std::move(text));
  }
  FaultRows rows(table, std::move(columns), log);
  for (const LogTable::Row& row : table.rows) GOODPUT_TRY_STATUS(rows.add(row));
  return Ok{};
}

Status read_failure_log(const std::string& path, const FaultLogOptions& options, FailureLog& log) {
  GOODPUT_TRY(const LogTable table, read_log_table(path));
  return add_failure_log(table, options, log);
}

bool is_fault_list(std::string_view head) {
  const std::vector<std::string> names = column_names(head);
  return !are_job_columns(names) && are_fault_columns(names);
}

bool is_job_list(std::string_view head) {
  return are_job_columns(column_names(head));
}

}  // namespace goodput
