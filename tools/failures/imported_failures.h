// What is known of failures after an import, and the preset that follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/reliability/failure_estimate.h"
#include "sim/base/json_fwd.h"
#include "sim/nodes/fault_history.h"
#include "sim/nodes/fault_log.h"

namespace goodput {

// Of a list of jobs.
struct LostJobs {
  double node_days = 0;      // that jobs held
  std::int64_t lost = 0;     // jobs that count as having lost a node
  std::int64_t failed = 0;   // jobs in state FAILED
  std::int64_t unnamed = 0;  // lost jobs whose bad node is not known
  EventRate rate{};          // per 1000 node-days
};

struct ImportedFailures {
  std::vector<std::string> files{};
  FailureLog log{};
  FaultHistory history{};
  FailureEstimate estimate{};
  std::optional<LostJobs> jobs{};  // if a list of jobs was among the files
  bool nodes_known = false;        // stated by the user or the log
  bool from_given = false, to_given = false;
  bool counts_failed = false;
  std::optional<double> stated_repair_s{};  // --repair-time

  // Whether the estimate is of jobs that lost nodes, because no list of faults was given.
  [[nodiscard]] bool is_of_jobs() const { return !history.has_repairs; }
};

// Fewer complete repairs do not show a distribution: the preset has an exponential one.
inline constexpr std::int64_t kRepairsForLaw = 10;

// The distribution of repair times that the preset has.
struct PresetRepair {
  double mean_s = 0;
  std::string law = "exponential";
  std::optional<double> shape{};
  std::string origin{};  // where it comes from, with its basis
  bool is_assumed = false;
};
[[nodiscard]] PresetRepair preset_repair(const ImportedFailures& failures);

// The rate of the preset: of faults outside of bursts, or of all if there are none outside.
[[nodiscard]] const EventRate& preset_rate(const ImportedFailures& failures);

// The preset as a file.
[[nodiscard]] OrderedJson failure_preset_json(const ImportedFailures& failures);

// What makes the estimate worse than it looks, and what to do about it: a line each.
[[nodiscard]] std::vector<std::string> failure_warnings(const ImportedFailures& failures);

// The answer in a sentence, then the evidence.
[[nodiscard]] std::string failure_report(const ImportedFailures& failures);

// Adds the members of goodput.import-failures/1 (docs/formats/failure-logs.md).
void add_failures_json(const ImportedFailures& failures, OrderedJson& json);

// A moment of the log: a date, or seconds from the start of the recording.
[[nodiscard]] std::string moment_text(const ImportedFailures& failures, SimTime time);

}  // namespace goodput
