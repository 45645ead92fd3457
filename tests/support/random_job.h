// Seeded jobs at random, on a clock so coarse that many things happen at the same moment: for tests that
// compare an engine with another on all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/hash.h"
#include "sim/base/random.h"
#include "sim/job/job_engine.h"
#include "sim/job/recovery_policy.h"
#include "tests/support/scripted_failures.h"

namespace goodput::testing {

struct RandomJob {
  JobGoal goal{};
  NodeEvents events{};
  std::optional<SimTime> trace_end{};
  PriceSchedule prices{};
};
[[nodiscard]] RandomJob random_job(std::uint64_t seed);

// Does anything that a policy may do, a few hundred times; then it only trains on, so that every run ends.
// Its metric is a digest of all that it was told, and in which order.
class RandomPolicy final : public RecoveryPolicy {
 public:
  explicit RandomPolicy(std::uint64_t seed) : random_(seed, "random policy") {}

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override;
  [[nodiscard]] Response on_wake(const JobView& job) override;
  [[nodiscard]] SimTime wake_at() const override { return wake_; }
  [[nodiscard]] Course decide(const JobState& job) override;
  [[nodiscard]] Pace pace(std::int64_t step) override;
  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override;

 private:
  [[nodiscard]] bool chance(double probability) { return random_.uniform() < probability; }
  [[nodiscard]] std::int64_t below(std::int64_t bound);
  [[nodiscard]] Response any_response();
  void note(const JobView& job);
  void set_wake(const JobView& job, std::int64_t earliest);
  void choose_nodes(const Membership& members);
  [[nodiscard]] CheckpointRules any_rules();
  [[nodiscard]] Phases any_phases();

  RandomStream random_;
  Hash told_;
  std::int64_t calls_ = 0;
  SimTime wake_ = kNoTime;
  std::vector<NodeId> nodes_;
  std::uint64_t pace_seed_ = 0;
  std::int64_t pace_block_ = 1;  // steps of one pace; 0: all
};

}  // namespace goodput::testing
