// DeepSpeed-MoE and Tutel made fault-tolerant, as Lazarus (arXiv 2407.04656, section 6) compares itself with:
// after a loss the nodes in use that are left form new expert-parallel groups, as long as every shard of the
// experts survives in some group. Nodes without a place in a group, and nodes that join, wait for the next
// restart; with "absorb": "gathered" they get shards from others, after a loss or gather_s after they joined.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/migration/expert_migration.h"
#include "models/policy/restart_setup.h"

namespace goodput {

class FaultTolerantSetup : public ExpertParallelSetup {
 public:
  FaultTolerantSetup();
  [[nodiscard]] config::Fields fields() override;
  [[nodiscard]] Status prepare(const JobModel& job) override;
  [[nodiscard]] std::unique_ptr<RecoveryPolicy> make() override;

 private:
  MigrationTiming migration_;
  Bytes shard_{};  // the experts of one node of a group, with their optimizer states
};

}  // namespace goodput
