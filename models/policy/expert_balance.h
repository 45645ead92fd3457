// Experts of expert-parallel groups that move to follow their loads: busy ones have replicas in redundant
// slots, and every GPU gets about as many tokens (DeepSeek's EPLB; goodput placement).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
  // Groups of consecutive experts that each stay on one node of a group of GPUs, if those nodes divide them
  // (models/placement/eplb_groups.h); 1: all experts go anywhere.
  std::int32_t expert_groups = 1;
};

class ExpertBalance final : public ExpertCourse {
 public:
  // Keeps a reference. REQUIRES: a model with experts, which `gpus` divides.
  ExpertBalance(const JobModel& job, const BalanceRules& rules) : job_(&job), rules_(rules) {}

  [[nodiscard]] const ExpertParallelGroup& at(std::int64_t step) const override {
    return placed(window(step));
  }
  [[nodiscard]] std::size_t window(std::int64_t step) const override;
  [[nodiscard]] std::int64_t next(std::int64_t step) const override;
  // How long experts take to move in front of that step. REQUIRES: a next() one.
  [[nodiscard]] SimDuration time_at(std::int64_t step) const;
  // Fails on more slots than can be filled.
  [[nodiscard]] Status check() const;
  // Fails if the groups do not divide the experts.
  [[nodiscard]] Status check_groups() const;
  // Groups of experts without effect; slots that repeat an expert of their GPU when training starts.
  // REQUIRES: both checks passed.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  // At which that placement was made: from its loads.
  [[nodiscard]] std::int64_t placed_at(std::int64_t step) const;
  [[nodiscard]] const ExpertParallelGroup& placed(std::size_t window) const;
  [[nodiscard]] Result<ExpertParallelGroup> place(std::size_t window) const;
  [[nodiscard]] std::int32_t gpus_together() const;
  // Why groups of experts have no effect; empty if they have one.
  [[nodiscard]] std::string idle_groups() const;

  const JobModel* job_;
  BalanceRules rules_;
  mutable SharedMemo<1, ExpertParallelGroup> placed_;  // by window
  mutable SharedMemo<2, SimDuration> moves_;           // by windows
};

}  // namespace goodput
