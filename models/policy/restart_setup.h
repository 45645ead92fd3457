// The set-up of a policy that restarts from checkpoints (models/policy/restart_policy.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/job/training_speed.h"
#include "models/policy/policy.h"
#include "models/policy/restart_policy.h"

namespace goodput {

class RestartSetup : public PolicySetup {
 public:
  [[nodiscard]] config::Fields fields() override;
  [[nodiscard]] Status prepare(const JobModel& job) override;
  [[nodiscard]] std::unique_ptr<RecoveryPolicy> make() override;
  [[nodiscard]] Tier tier() const override { return tier_; }

 protected:
  [[nodiscard]] virtual std::unique_ptr<TrainingSpeed> make_speed(const JobModel& job) const;
  [[nodiscard]] const JobModel& job() const { return *job_; }
  [[nodiscard]] TrainingSpeed& speed() const { return *speed_; }
  [[nodiscard]] RestartSettings& settings() { return settings_; }
  [[nodiscard]] const RestartSettings& settings() const { return settings_; }
  [[nodiscard]] StepSettings& step_settings() { return step_; }
  [[nodiscard]] const StepSettings& step_settings() const { return step_; }

 private:
  RestartSettings settings_;
  StepSettings step_;
  const JobModel* job_ = nullptr;
  std::unique_ptr<TrainingSpeed> speed_;
  Tier tier_ = Tier::kAssumed;
};

// DeepSpeed-MoE and its like: experts are shared out over groups of GPUs.
class ExpertParallelSetup : public RestartSetup {
 public:
  [[nodiscard]] config::Fields fields() override;
  [[nodiscard]] Status prepare(const JobModel& job) override;
  [[nodiscard]] std::vector<std::string> warnings() const override;

 protected:
  [[nodiscard]] std::unique_ptr<TrainingSpeed> make_speed(const JobModel& job) const override;
  // Nodes over which whole sets of all experts are spread: the job uses multiples of them.
  [[nodiscard]] std::int32_t nodes_of_group() const;

 private:
  std::int32_t ep_ = 0;  // 0: the plan's
  std::int32_t ep_used_ = 1;
};

}  // namespace goodput
