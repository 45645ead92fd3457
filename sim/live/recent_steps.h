// The latest analysed steps of a job in a few words each, and who is to blame for their slowness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/live/step_result.h"

namespace goodput {

struct BlamedWorker {
  std::size_t worker = 0;
  double slowdown = 1;  // that it alone causes
};

// A likely cause, or what of it one worker, replica or host has: several faults of one kind are several.
struct BlamedCause {
  std::string key;   // the same in every step: "worker-fault worker=1:2", "slow-replica dp=3", "gc-pauses"
  std::string name;  // as StepCause::name
  double gain = 1;   // of the whole cause
  std::vector<BlamedWorker> workers;  // the slowest first, a few of them; empty: it is about no worker
  std::optional<std::size_t> stage;
  std::vector<std::string> fix;
  std::string next_check;
};

// Of a step. The workers that cost most, the slowest first, a few of them.
[[nodiscard]] std::vector<BlamedCause> blamed_causes(const StepResult& step);
[[nodiscard]] std::vector<BlamedWorker> worst_workers(const StepResult& step);
// Of one worker; nothing where the step does not tell.
[[nodiscard]] std::optional<double> slowdown_of(const StepResult& step, std::size_t worker);

// What an alert says of the steps it looked at.
struct AlertBlame {
  std::size_t steps = 0;              // so many of them are known
  double slowdown = 1;                // S, mean
  double lost_s = 0;                  // of a step, mean
  std::string cause;                  // the one whose fix gains most over these steps; empty: none is likely
  double gain = 1;                    // of it, in the steps that have it
  std::optional<std::size_t> worker;  // of the cause, or who costs most; absent: no worker stands out
  double worker_slowdown = 1;
  std::size_t others = 0;  // further workers, replicas or hosts that the same cause is about
  std::optional<std::size_t> stage;
  std::vector<std::string> fix;
  std::string next_check;
};

class RecentSteps {
 public:
  struct Entry {
    double slowdown = 1;
    double lost_s = 0;
    std::vector<BlamedCause> causes;
    std::vector<BlamedWorker> worst;
  };

  // Remembers so many.
  explicit RecentSteps(std::size_t most = 20) : most_(most) {}

  // REQUIRES: the step was analysed.
  void add(const StepResult& step);
  void add(Entry entry);
  void clear() { entries_.clear(); }
  [[nodiscard]] const std::deque<Entry>& entries() const { return entries_; }

  // Of those of the latest steps, one a value of `seen` and the latest last, that are true there, as far back
  // as is remembered. `cause`: the key of the only one that counts, `worker`: the only one; none: whoever is
  // to blame. A cause counts when at least half of the steps have it.
  [[nodiscard]] AlertBlame blame(const std::deque<bool>& seen) const;
  [[nodiscard]] AlertBlame blame_cause(const std::deque<bool>& seen, std::string_view key) const;
  [[nodiscard]] AlertBlame blame_worker(const std::deque<bool>& seen, std::size_t worker) const;

 private:
  [[nodiscard]] std::vector<const Entry*> among(const std::deque<bool>& seen) const;

  std::size_t most_;
  std::deque<Entry> entries_;  // the latest last
};

}  // namespace goodput
