#include "sim/nodes/fault_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

// Rows of one node in ascending order to faults that are apart.
void merge_rows(std::vector<LoggedFault> rows, std::vector<LoggedFault>& merged, std::int64_t& overlaps) {
  const auto order = [](const LoggedFault& fault) { return std::tuple(fault.node, fault.begin); };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const LoggedFault& a, const LoggedFault& b) { return order(a) < order(b); });
  for (const LoggedFault& row : rows) {
    LoggedFault* const last = merged.empty() || merged.back().node != row.node ? nullptr : &merged.back();
    const bool begins_with_last = last != nullptr && row.begin == last->begin;
    const bool overlaps_last =
        last != nullptr && (begins_with_last || (last->end && row.begin <= *last->end));
    if (!overlaps_last) {
      merged.push_back(row);
      continue;
    }
    ++overlaps;
    if (last->cause < 0) last->cause = row.cause;
    if (begins_with_last && (!last->end || !row.end)) {
      last->end = last->end ? last->end : row.end;
    } else {
      last->end = row.end ? std::optional(std::max(*last->end, *row.end)) : std::nullopt;
      last->is_open = row.is_open;
    }
  }
}

struct KnownRepairs {
  SimDuration longest{}, median{};
};
KnownRepairs known_repairs(const std::vector<LoggedFault>& faults) {
  std::vector<double> seconds;
  for (const LoggedFault& fault : faults) {
    if (fault.end) seconds.push_back(to_seconds(*fault.end - fault.begin));
  }
  if (seconds.empty()) return {};
  return {from_seconds(*std::max_element(seconds.begin(), seconds.end())),
          from_seconds(take_median(seconds))};
}

// The longest of a day, an hour, a minute and a second that all times are multiples of.
SimDuration resolution_of(const std::vector<LoggedFault>& faults) {
  constexpr std::array<SimDuration, 4> kUnits = {std::chrono::days{1}, std::chrono::hours{1},
                                                 std::chrono::minutes{1}, std::chrono::seconds{1}};
  const auto divides = [](SimDuration unit, SimTime time) {
    return time.time_since_epoch() % unit == SimDuration{};
  };
  for (const SimDuration unit : kUnits) {
    if (std::all_of(faults.begin(), faults.end(), [&](const LoggedFault& fault) {
          return divides(unit, fault.begin) && divides(unit, fault.end.value_or(fault.begin));
        }))
      return unit;
  }
  return SimDuration{};
}

// `next`: when the node fails again; SimTime::max(): never.
NodeFault settled(const LoggedFault& fault, SimTime next, SimTime to, const KnownRepairs& repairs) {
  NodeFault result{.node = fault.node, .begin = fault.begin, .cause = fault.cause};
  if (fault.end) {
    result.end = *fault.end;
  } else if (next == SimTime::max() && (fault.is_open || to - fault.begin <= repairs.longest)) {
    result.end = to;
    result.how = NodeFault::End::kOpen;
  } else {
    result.end = std::min(next, fault.begin + repairs.median);
    result.how = NodeFault::End::kUnknown;
  }
  if (result.end > to) {
    result.end = to;
    if (result.how == NodeFault::End::kRepaired) result.how = NodeFault::End::kOpen;
  }
  return result;
}

Status choose_window(const FailureLog& log, const HistoryOptions& options, FaultHistory& history) {
  history.from = options.from.value_or(log.first);
  history.to = options.to.value_or(log.last);
  history.begins_with_fault =
      !options.from && std::any_of(log.faults.faults.begin(), log.faults.faults.end(),
                                   [&](const LoggedFault& fault) { return fault.begin == history.from; });
  if (history.from < history.to) return Ok{};
  if (options.from && options.to)
    return Error{fmt::format("{} must be after the start of the observation", kOption), {}, "to"};
  if (options.from || options.to) {
    return Error{fmt::format("{} leaves out the whole log", kOption), {}, options.from ? "from" : "to"};
  }
  return Error{"has only one moment; state from when to when the nodes were observed"};
}

Status choose_nodes(const FaultLog& log, NodeId stated, FaultHistory& history) {
  const auto named = static_cast<NodeId>(log.nodes.size());
  if (stated > 0 && stated < named)
    return Error{
        fmt::format("{} {} is less than the {} nodes that the log names; correct it", kOption, stated, named),
        {},
        "nodes"};
  history.cluster_nodes = stated > 0 ? stated : std::max(named, log.cluster_nodes);
  return Ok{};
}

}  // namespace

Result<FaultHistory> fault_history(const FailureLog& log, const HistoryOptions& options) {
  if (log.faults.faults.empty()) return Error{"has no fault of a node"};
  FaultHistory history{.nodes = log.faults.nodes, .causes = log.faults.causes};
  GOODPUT_TRY_STATUS(choose_window(log, options, history));
  GOODPUT_TRY_STATUS(choose_nodes(log.faults, options.nodes, history));
  std::vector<LoggedFault> faults;
  merge_rows(log.faults.faults, faults, history.merged);
  const KnownRepairs repairs = known_repairs(faults);
  const auto time = history.to - history.from;
  history.up_time = NodeTime{history.cluster_nodes} * time.count();
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const bool fails_again = i + 1 < faults.size() && faults[i + 1].node == faults[i].node;
    NodeFault fault =
        settled(faults[i], fails_again ? faults[i + 1].begin : SimTime::max(), history.to, repairs);
    if (fault.begin > history.to || (fault.begin < history.from && fault.end <= history.from)) {
      ++history.outside;
      continue;
    }
    fault.began_inside = history.begins_with_fault ? fault.begin > history.from : fault.begin >= history.from;
    fault.begin = std::max(fault.begin, history.from);
    history.up_time -= fault.down_time().count();
    history.faults.push_back(fault);
  }
  history.resolution = resolution_of(faults);
  if (history.up_time <= 0) {
    return Error{
        fmt::format("says that all {} nodes are down all the time; give the number of nodes of the cluster "
                    "with {}",
                    history.cluster_nodes, kOption),
        {},
        "nodes"};
  }
  if (history.faults.empty()) return Error{"has no fault between the start and the end of the observation"};
  const auto order = [](const NodeFault& fault) { return std::tuple(fault.begin, fault.node); };
  std::sort(history.faults.begin(), history.faults.end(),
            [&](const NodeFault& a, const NodeFault& b) { return order(a) < order(b); });
  return history;
}

}  // namespace goodput
