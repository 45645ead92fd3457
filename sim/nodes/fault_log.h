// Faults of the nodes of a cluster, and jobs that ended, as an operator's log lists them.
//
// Read by traces/faults/fault_reader.h. fault_history.h makes a consistent history of a FaultLog.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

// One row of a log. Faults of a node may overlap, and rows may be in any order.
struct LoggedFault {
  NodeId node = 0;  // index into FaultLog::nodes
  SimTime begin{};
  std::optional<SimTime> end{};  // not before `begin`; none: the log does not say
  bool is_open = false;          // without an end, because the node is still down
  std::int32_t cause = -1;       // index into FaultLog::causes; -1: none is stated
};

struct FaultLog {
  std::vector<std::string> nodes{};  // with at least one fault
  std::vector<std::string> causes{};
  std::vector<LoggedFault> faults{};
  NodeId cluster_nodes = 0;  // as the log states; 0: it does not
};

// A job as the accounting of a batch system lists it.
struct LoggedJob {
  std::string id{}, name{}, user{};
  std::string state{};  // NODE_FAIL, COMPLETED, ...
  NodeId nodes = 0;
  std::string failed_node{};  // as the batch system names it; empty: it does not
  std::string node_list{};    // n[001-057,059-129]; empty: not known
  SimTime begin{};
  std::optional<SimTime> end{};  // none: it was still running
};

struct FailureLog {
  FaultLog faults{};
  std::vector<LoggedJob> jobs{};
  // Whether times are dates, in UTC since 1970. Otherwise they count from the start of the recording.
  bool has_dates = false;
  std::map<std::string, std::int64_t> left_out{};  // number of rows that are not faults, by why
  std::vector<std::string> columns{};              // how columns were read: "start: failed_at"
  std::vector<std::string> unused_columns{};
  // The first and the last time in any row.
  SimTime first = SimTime::max(), last = SimTime::min();
};

}  // namespace goodput
