// A failure log (traces/faults/fault_reader.h) as a recording: all nodes are there at first, and each is away
// while it is down.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/nodes/fault_history.h"
#include "sim/nodes/fault_log.h"
#include "traces/faults/fault_reader.h"
#include "traces/faults/log_table.h"
#include "traces/spot/spot_fields.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

bool is_failure_log(std::string_view head) {
  return is_fault_list(head) || is_job_list(head);
}

// Times count from the start of the history.
std::vector<NodeEvent> events_of(const FaultHistory& history) {
  std::vector<NodeEvent> events;
  std::vector<bool> is_down_at_first(static_cast<std::size_t>(history.cluster_nodes), false);
  for (const NodeFault& fault : history.faults) {
    const SimDuration from = history.from.time_since_epoch();
    if (fault.begin > history.from)
      events.push_back({fault.begin - from, NodeEvent::Kind::kRemove, fault.node, 1});
    else
      is_down_at_first[static_cast<std::size_t>(fault.node)] = true;
    if (fault.how != NodeFault::End::kOpen)
      events.push_back({fault.end - from, NodeEvent::Kind::kAdd, fault.node, 1});
  }
  for (NodeId node = 0; node < history.cluster_nodes; ++node) {
    if (!is_down_at_first[static_cast<std::size_t>(node)])
      events.push_back({SimTime{}, NodeEvent::Kind::kAdd, node, 1});
  }
  std::stable_sort(events.begin(), events.end(), [](const NodeEvent& a, const NodeEvent& b) {
    return a.time != b.time ? a.time < b.time : a.kind < b.kind;
  });
  return events;
}

Result<SpotContent> read_failure_log_as_trace(ByteSource& source, const SpotOptions& options) {
  GOODPUT_TRY_STATUS(refuse_preempted(options, source.path()));
  GOODPUT_TRY(const LogTable table, read_log_table(source));
  FailureLog log;
  GOODPUT_TRY_STATUS(add_failure_log(table, {}, log));
  if (log.faults.faults.empty() && !log.jobs.empty()) {
    return Error{
        "lists jobs, which do not say when nodes failed and returned; replay the output of `sacctmgr list "
        "event`, or estimate a failure rate with `goodput import failures`",
        {.file = source.path()}};
  }
  const auto history = fault_history(log, {.nodes = options.nodes});
  if (!history) return history.error().in_file(source.path());
  if (std::none_of(log.faults.faults.begin(), log.faults.faults.end(),
                   [](const LoggedFault& fault) { return fault.end.has_value(); })) {
    return Error{"does not say when any node was repaired, so it cannot be replayed",
                 {.file = source.path()}};
  }
  SpotTrace trace{.events = events_of(*history), .node_names = history->nodes, .end = history->to};
  trace.end -= history->from.time_since_epoch();
  for (NodeId node = static_cast<NodeId>(trace.node_names.size()); node < history->cluster_nodes; ++node)
    trace.node_names.push_back(fmt::format("(no fault) {}", node + 1));
  return SpotContent{.trace = std::move(trace), .stated_meaning = SpotMeaning::kFaults};
}

}  // namespace

SpotFormat spot_format_failure_log() {
  return {
      .name = "failure_log",
      .summary = "faults of nodes: CSV or JSON with node, start, and end or duration; `sacctmgr list event`",
      .extensions = {},
      .matches = is_failure_log,
      .read = read_failure_log_as_trace,
      .write = nullptr};
}

}  // namespace goodput
