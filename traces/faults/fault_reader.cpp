#include "traces/faults/fault_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "traces/faults/event_words.h"
#include "traces/faults/host_list.h"
#include "traces/faults/job_reader.h"
#include "traces/faults/log_clock.h"
#include "traces/faults/log_time.h"
#include "traces/faults/slurm_states.h"

namespace goodput {
namespace {

constexpr std::size_t kLongestNodeName = 256;
constexpr std::size_t kMostFaults = 20'000'000;

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
    is_slurm_ = columns_.state && find_column_called(table.columns, "nodename") &&
                find_column_called(table.columns, "timestart");
    resources_ = find_column_called(table.columns, "tres");
    cluster_nodes_ = find_column_called(table.columns, "clusternodes");
  }

  Status add(const LogTable::Row& row) {
    const std::string& node = field(row, columns_.node);
    if (is_slurm_) {
      if (is_unknown(node)) return take_cluster_row(row);
      const std::string& state = field(row, *columns_.state);
      if (node_state_kind(state) != NodeStateKind::kFault)
        return leave_out(fmt::format("state {}", on_one_line(state)));
    }
    GOODPUT_TRY_STATUS(check_node(row, node));
    GOODPUT_TRY(LoggedFault fault, times_of(row));
    if (columns_.cause && !field(row, *columns_.cause).empty())
      fault.cause = causes_.of(field(row, *columns_.cause));
    return add_nodes(row, node, fault);
  }

  // Gives faults the ends that other rows state.
  void finish() {
    const auto order = [](const LoggedFault& fault) { return std::tuple(fault.node, fault.begin); };
    std::vector<LoggedFault>& faults = log_.faults.faults;
    std::stable_sort(ends_.begin(), ends_.end(),
                     [&](const LoggedFault& a, const LoggedFault& b) { return order(a) < order(b); });
    std::vector<LoggedFault*> open;
    for (std::size_t i = first_; i < faults.size(); ++i) open.push_back(&faults[i]);
    std::stable_sort(open.begin(), open.end(),
                     [&](const LoggedFault* a, const LoggedFault* b) { return order(*a) < order(*b); });
    auto next = open.begin();
    for (const LoggedFault& end : ends_) {
      bool found = false;
      for (; next != open.end() && order(**next) <= order(end); ++next) {
        if ((*next)->node != end.node) continue;
        (*next)->end = end.begin;
        found = true;
      }
      if (!found) ++log_.left_out["ends of faults that began before the log"];
    }
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

  [[nodiscard]] Status check_node(const LogTable::Row& row, const std::string& node) const {
    if (table_.is_fixed_width && node.ends_with('+')) {
      return table_.error(
          row, fmt::format("{} is cut ({}), so that nodes cannot be told apart; print the list with -P",
                           columns_.node.name, in_quotes(node)));
    }
    const bool is_plural =
        equals_lower("nodes", columns_.node.name) || equals_lower("hosts", columns_.node.name);
    if (is_plural && parse_integer(node)) {
      return table_.error(
          row, fmt::format("{} is {}, which looks like a number of nodes; say which column has the name "
                           "of the node",
                           columns_.node.name, node));
    }
    return Ok{};
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
      if (to_seconds(fault.begin) + to_seconds(*length) > to_seconds(kLatestLogTime))
        return table_.error(row, fmt::format("{} is {}, which ends after the year 2250; check its unit",
                                             column.name, field(row, column)));
      fault.end = fault.begin + *length;
      log_.last = std::max(log_.last, *fault.end);
    }
    // Slurm leaves out the end of an event that goes on.
    fault.is_open = is_slurm_ && !fault.end;
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
      const bool ends = columns_.event && event_word(field(row, *columns_.event)) == EventWord::kEnd;
      (ends ? ends_ : log_.faults.faults).push_back(fault);
    }
    if (log_.faults.faults.size() + ends_.size() <= kMostFaults) return Ok{};
    return table_.error(row, fmt::format("is beyond {} faults; is it the right file?", kMostFaults));
  }

  const LogTable& table_;
  FaultColumns columns_;
  FailureLog& log_;
  LogClock clock_;
  NameNumbers nodes_, causes_;
  std::size_t first_ = log_.faults.faults.size();  // of the faults of this table
  std::vector<LoggedFault> ends_;                  // `begin` is when a fault ended
  bool is_slurm_ = false;
  std::optional<LogColumn> resources_, cluster_nodes_;
};

// Down times matter only where ends are missing. Fails if they contradict the other ends, as in another unit.
Status settle_durations(const LogTable& table, FaultColumns& columns) {
  constexpr double kMostContradictions = 0.05;
  if (!columns.end || !columns.duration) return Ok{};
  std::size_t compared = 0;
  std::size_t needed = 0;
  std::vector<const LogTable::Row*> odd;
  for (const LogTable::Row& row : table.rows) {
    const std::string& end = row.fields[columns.end->index];
    const auto length = parse_log_duration(row.fields[columns.duration->index], columns.duration->unit,
                                           columns.duration->name);
    if (!length) continue;
    if (is_unknown(end) || end == "0") ++needed;
    const auto begins =
        parse_log_time(row.fields[columns.start.index], columns.start.unit, columns.start.name);
    const auto ends = parse_log_time(end, columns.end->unit, columns.end->name);
    if (!begins || !ends) continue;
    ++compared;
    const double seconds = to_seconds(ends->time - begins->time);
    if (std::abs(to_seconds(*length) - seconds) > 90 + 0.05 * seconds) odd.push_back(&row);
  }
  if (needed == 0) columns.duration.reset();
  if (needed == 0 || static_cast<double>(odd.size()) <= kMostContradictions * static_cast<double>(compared))
    return Ok{};
  return table.error(
      *odd.front(),
      fmt::format("{} does not agree with {} and {}; give its name a unit, for example {}_min, "
                  "or remove the column",
                  columns.duration->name, columns.start.name, columns.end->name, columns.duration->name));
}

bool are_job_columns(const std::vector<std::string>& names) {
  return find_column_called(names, "jobid") &&
         (find_column_called(names, "state") || find_column_called(names, "statecurrent"));
}

}  // namespace

Status add_failure_log(const LogTable& table, const FaultLogOptions& options, FailureLog& log) {
  if (are_job_columns(table.columns)) return add_jobs(table, log);
  GOODPUT_TRY(FaultColumns columns, find_fault_columns(table, options.columns));
  GOODPUT_TRY_STATUS(settle_durations(table, columns));
  const auto add_new = [](std::vector<std::string> from, std::vector<std::string>& to) {
    for (std::string& text : from) {
      if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(std::move(text));
    }
  };
  add_new(columns.described(), log.columns);
  add_new(columns.unused(table), log.unused_columns);
  FaultRows rows(table, std::move(columns), log);
  for (const LogTable::Row& row : table.rows) GOODPUT_TRY_STATUS(rows.add(row));
  rows.finish();
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
