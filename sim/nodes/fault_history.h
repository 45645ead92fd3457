// What happened to the nodes of a cluster in a stretch of time: each node is up or down at any moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/fault_log.h"

namespace goodput {

inline constexpr NodeId kUnnamedNode = -1;

// A node is down from `begin` to `end`.
struct NodeFault {
  enum class End : std::uint8_t {
    kRepaired,  // at `end`
    kOpen,      // still down at the end of the history, which is `end`
    kUnknown,   // the log does not say when, and `end` is a guess
  };
  NodeId node = kUnnamedNode;
  SimTime begin{}, end{};
  End how = End::kRepaired;
  std::int32_t cause = -1;  // index into FaultHistory::causes; -1: none is stated
  // Not for a node that was down when the history begins: nobody knows since when.
  bool began_inside = true;

  [[nodiscard]] SimDuration down_time() const { return end - begin; }
};

struct FaultHistory {
  std::vector<std::string> nodes{};  // by id; further nodes of the cluster never failed
  std::vector<std::string> causes{};
  NodeId cluster_nodes = 0;  // at least nodes.size()
  SimTime from{}, to{};
  bool begins_with_fault = false;   // `from` was chosen as the time of the first fault
  std::vector<NodeFault> faults{};  // by begin, then node; those of a node are apart
  NodeTime up_time = 0;             // of all nodes together, or of those that were in use
  bool has_repairs = true;          // false: a log of jobs, which says nothing about repairs

  SimDuration resolution{};  // of the times in the log: a day, an hour, a minute, a second, or less (0)

  std::int64_t merged = 0;   // rows that overlap another row of their node
  std::int64_t outside = 0;  // rows beyond from and to
};

struct HistoryOptions {
  std::optional<SimTime> from{}, to{};  // default: the first and the last time in the log
  NodeId nodes = 0;                     // of the cluster; 0: as the log states, else those in the log
};

// Faults of a node that overlap or touch become one. A fault without an end that is followed by another fault
// of its node, or is older than the longest repair in the log, ends at an unknown time: after the median
// repair. Any other one is still open, and so is one that the log calls open if it is the last of its node.
// Errors have no file: no fault is left, or options contradict the log.
[[nodiscard]] Result<FaultHistory> fault_history(const FailureLog& log, const HistoryOptions& options);

}  // namespace goodput
