#include "traces/faults/job_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "traces/faults/fault_columns.h"
#include "traces/faults/host_list.h"
#include "traces/faults/log_clock.h"
#include "traces/faults/log_time.h"

namespace goodput {
namespace {

// As sacct calls them, then as its JSON does.
struct JobColumns {
  LogColumn id, state, start, end;
  std::optional<LogColumn> name{}, user{}, node_count{}, node_list{}, failed_node{};
};

Result<LogColumn> need_column(const LogTable& table, std::string_view name, std::string_view json_name) {
  if (const auto found = find_column_called(table.columns, name)) return *found;
  if (const auto found = find_column_called(table.columns, json_name)) return *found;
  return table.error(
      fmt::format("is a list of jobs without the column {}; list them with: sacct -P -o "
                  "JobID,JobName,State,NNodes,NodeList,Start,End",
                  name));
}

Result<JobColumns> find_job_columns(const LogTable& table) {
  JobColumns columns;
  GOODPUT_TRY(columns.id, need_column(table, "jobid", "jobid"));
  GOODPUT_TRY(columns.state, need_column(table, "state", "statecurrent"));
  GOODPUT_TRY(columns.start, need_column(table, "start", "timestart"));
  GOODPUT_TRY(columns.end, need_column(table, "end", "timeend"));
  const auto either = [&table](std::string_view name, std::string_view other) {
    const auto found = find_column_called(table.columns, name);
    return found ? found : find_column_called(table.columns, other);
  };
  columns.name = either("jobname", "name");
  columns.user = either("user", "username");
  columns.node_count = either("nnodes", "allocationnodes");
  columns.node_list = either("nodelist", "nodes");
  columns.failed_node = find_column_called(table.columns, "failednode");
  if (!columns.node_count && !columns.node_list) {
    GOODPUT_TRY(columns.node_count, need_column(table, "nnodes", "allocationnodes"));
  }
  return columns;
}

class JobRows {
 public:
  JobRows(const LogTable& table, JobColumns columns, FailureLog& log)
      : table_(table), columns_(std::move(columns)), log_(log), clock_(log) {}

  Status add(const LogTable::Row& row) {
    LoggedJob job{.id = field(row, columns_.id)};
    if (job.id.find('.') != std::string::npos) return leave_out("job steps");
    const std::string& state = field(row, columns_.state);
    job.state = state.substr(0, state.find_first_of(" ,"));
    if (columns_.name) job.name = field(row, *columns_.name);
    if (columns_.user) job.user = field(row, *columns_.user);
    const std::string& start = field(row, columns_.start);
    if (is_unknown(start) || start == "0") return leave_out("jobs that never started");
    GOODPUT_TRY(job.begin, clock_.read(table_, row, columns_.start));
    const std::string& end = field(row, columns_.end);
    if (!is_unknown(end) && end != "0") {
      GOODPUT_TRY(job.end, clock_.read(table_, row, columns_.end));
    }
    if (job.end && *job.end < job.begin)
      return table_.error(
          row, fmt::format("ends ({}) before it starts ({}); correct or remove the row", end, start));
    if (columns_.failed_node) {
      const std::string& node = field(row, *columns_.failed_node);
      if (!is_unknown(node) && !is_cut(node)) job.failed_node = node;
    }
    GOODPUT_TRY_STATUS(read_nodes(row, job));
    log_.jobs.push_back(std::move(job));
    return Ok{};
  }

 private:
  static const std::string& field(const LogTable::Row& row, const LogColumn& column) {
    return row.fields[column.index];
  }

  // A field of fixed width that was too long ends with "+".
  [[nodiscard]] bool is_cut(const std::string& text) const {
    return table_.is_fixed_width && text.ends_with('+');
  }

  Status leave_out(const std::string& why) {
    ++log_.left_out[why];
    return Ok{};
  }

  Status read_nodes(const LogTable::Row& row, LoggedJob& job) const {
    if (columns_.node_list) {
      const std::string& list = field(row, *columns_.node_list);
      if (!is_unknown(list) && !list.starts_with("None") && !is_cut(list)) job.node_list = list;
    }
    if (columns_.node_count) {
      const std::string& text = field(row, *columns_.node_count);
      const auto count = parse_integer(text);
      if (!count || *count < 0 || *count > 1'000'000)
        return table_.error(row, fmt::format("{} must be a number of nodes, not {}",
                                             columns_.node_count->name, in_quotes(text)));
      job.nodes = static_cast<NodeId>(*count);
      return Ok{};
    }
    if (job.node_list.empty())
      return table_.error(
          row, fmt::format("{} does not name the nodes; add the column NNodes", columns_.node_list->name));
    const auto names = expand_host_list(job.node_list);
    if (!names) return table_.error(row, names.error().what);
    job.nodes = static_cast<NodeId>(names->size());
    return Ok{};
  }

  const LogTable& table_;
  JobColumns columns_;
  FailureLog& log_;
  LogClock clock_;
};

}  // namespace

Status add_jobs(const LogTable& table, FailureLog& log) {
  GOODPUT_TRY(JobColumns columns, find_job_columns(table));
  JobRows rows(table, std::move(columns), log);
  for (const LogTable::Row& row : table.rows) GOODPUT_TRY_STATUS(rows.add(row));
  return Ok{};
}

}  // namespace goodput
