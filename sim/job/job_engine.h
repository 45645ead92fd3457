// A training job over hours or months: nodes fail and return, a policy recovers, and between these events
// time passes in one leap, however many steps are trained in it.
//
//   events of the nodes (FailureModel) ──► engine ◄──► what to do, and how long it takes (RecoveryPolicy)
//                                            └──► where the time of the job and of its nodes went (JobResult)
//
// What the job finishes at the very moment of a loss counts. Nodes that are lost, join or change speed at the
// same moment do so together. A node's new speed shows from the next step on. What a loss interrupts, a step
// or the writing of a checkpoint, has to be done again; a step that is done counts before its checkpoint is
// written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/job/job_ledger.h"
#include "sim/job/job_log.h"
#include "sim/job/recovery_policy.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/node_bill.h"

namespace goodput {

// How the job saves to storage when it first trains.
struct FirstSaving {
  std::int32_t nodes = 0;     // that it trains on
  std::int64_t interval = 0;  // steps; 0: it does not
};

struct JobResult {
  bool finished = false;  // reached its samples or steps
  std::string stopped{};  // why it ended otherwise; empty: at JobGoal::until
  SimTime end{};
  // Until when its samples are to be judged: the end if it is finished, else the end of the run, even where
  // it stopped before. None: it stopped for good in a run that has no end.
  std::optional<SimTime> horizon{};
  std::int64_t steps = 0;  // that count
  std::int64_t samples = 0;
  JobLedger ledger{};
  SimDuration waited{};                         // for nodes, of the bucket infrastructure recovery
  double cost_usd = 0;                          // of all nodes that are paid for
  std::vector<double> usd_by_pool{};            // the same by pool
  NodeTime missing_paid_time = 0;               // node time that was paid for without the nodes being there
  std::array<std::int64_t, kCauses> courses{};  // by Cause
  std::int64_t steps_lost = 0;                  // trained, and not counted in the end
  std::int64_t nodes_lost = 0;                  // while the job ran
  std::int64_t saves_skipped = 0;               // checkpoints that storage could not keep up with
  double stored_bytes = 0;                      // that checkpoints wrote to storage
  std::optional<FirstSaving> first_saving{};    // none: it never trained
  std::vector<PolicyMetric> metrics{};
  std::string policy_failure{};  // why nothing of this counts (RecoveryPolicy::failure()); empty: it does

  [[nodiscard]] double wall_s() const { return to_seconds(end); }
  [[nodiscard]] std::int64_t count(Cause cause) const { return courses[static_cast<std::size_t>(cause)]; }
};

// Runs to the end. Checks that every second of the job and of every node is accounted for, exactly.
// A run that gets no step further in kMostVainDecisions decisions, or that waits while nothing can happen any
// more, stops and says so. `pools`: of the nodes, who pays what for them; none: they are free. REQUIRES: a
// goal, or a failure model with an end.
[[nodiscard]] JobResult run_job(const JobGoal& goal, std::span<const PricedNodes> pools,
                                FailureModel& failures, RecoveryPolicy& policy, JobLog* log = nullptr);

inline constexpr std::int64_t kMostVainDecisions = 10'000;
inline constexpr std::int64_t kMostVainEvents = 1'000'000;

}  // namespace goodput
