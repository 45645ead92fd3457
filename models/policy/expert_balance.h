// Experts of expert-parallel groups that move to follow their loads: busy ones have replicas in redundant
// slots, and every GPU gets about as many tokens (DeepSeek's EPLB; goodput placement).
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/job/expert_parallel_group.h"
#include "models/job/job_model.h"
#include "models/job/training_speed.h"
#include "models/migration/expert_migration.h"
#include "sim/base/errors.h"
#include "sim/base/shared_memo.h"
#include "sim/base/units.h"

namespace goodput {

struct BalanceRules {
  std::int32_t gpus = 1;           // of a group: ep
  std::int32_t redundant = 1;      // slots of a GPU
  std::int64_t every_steps = 200;  // experts move at multiples of this, to where the loads of that step want
                                   // them; 0: they stay where the loads of the first step want them
  MigrationTiming timing{};        // of a move; nothing was lost, and groups stay as they are
  Bytes expert{};                  // of one layer, with its optimizer states
};

// For any number of threads.
class ExpertBalance {
 public:
  // Keeps a reference. REQUIRES: a model with experts, which `gpus` divides.
  ExpertBalance(const JobModel& job, const BalanceRules& rules) : job_(&job), rules_(rules) {}

  // Who holds what while that step is trained.
  [[nodiscard]] const ExpertParallelGroup& at(std::int64_t step) const { return placed(window_of(step)); }
  // The first step behind `step` in front of which experts move. kNoStep: none.
  [[nodiscard]] std::int64_t next(std::int64_t step) const;
  // How long that takes. REQUIRES: step is such a one.
  [[nodiscard]] SimDuration time_at(std::int64_t step) const;
  // Fails on more slots than can be filled.
  [[nodiscard]] Status check() const;

 private:
  // Whose loads the placement of that step follows.
  [[nodiscard]] std::size_t window_of(std::int64_t step) const;
  [[nodiscard]] const ExpertParallelGroup& placed(std::size_t window) const;
  [[nodiscard]] Result<ExpertParallelGroup> place(std::size_t window) const;
  [[nodiscard]] std::int32_t gpus_together() const;

  const JobModel* job_;
  BalanceRules rules_;
  mutable SharedMemo<1, ExpertParallelGroup> placed_;  // by window
  mutable SharedMemo<2, SimDuration> moves_;           // by windows
};

// Of whole groups with balanced experts.
class BalancedExpertSpeed final : public TrainingSpeed {
 public:
  // Keeps references.
  BalancedExpertSpeed(const JobModel& job, const ExpertBalance& balance, std::int32_t gpus,
                      const StepSettings& settings)
      : job_(&job), balance_(&balance), gpus_(gpus), settings_(settings) {}

  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const override;
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const override;
  [[nodiscard]] Result<StepTime> compute(std::int32_t nodes, std::int64_t step,
                                         double slowest) const override;
  [[nodiscard]] std::int64_t until(std::int64_t step) const override;
  [[nodiscard]] bool follows_routing() const override { return true; }

 private:
  const JobModel* job_;
  const ExpertBalance* balance_;
  std::int32_t gpus_;
  StepSettings settings_;
};

}  // namespace goodput
