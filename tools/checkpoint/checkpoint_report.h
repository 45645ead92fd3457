// The answer of `goodput checkpoint`, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/checkpoint/checkpointed_run.h"
#include "sim/base/json_fwd.h"
#include "sim/base/tier.h"
#include "tools/checkpoint/checkpoint_options.h"

namespace goodput {

struct CheckpointRunReport {
  CheckpointedRun run;
  RunCosts costs;
  std::optional<PecLevels> recommended;  // none also without experts, or where training waits for storage
  std::vector<CheckpointRunOptions::Assumption> assumed;
};

struct CheckpointReport {
  const CheckpointModel& model;
  const ModuleBytes& bytes;
  std::int32_t bytes_per_parameter = 0;
  PartialCheckpoint checkpoint;
  RankWrites full;     // every rank all it holds
  RankWrites partial;  // as `checkpoint` says
  std::optional<CheckpointRunReport> run;

  // The sizes follow from the model; of a run some numbers may be nobody's.
  [[nodiscard]] Tier tier() const { return run && !run->assumed.empty() ? Tier::kAssumed : Tier::kModel; }
};

[[nodiscard]] std::string checkpoint_text(const CheckpointReport& report);
// Adds all but what every result begins with.
void add_checkpoint_json(const CheckpointReport& report, OrderedJson& json);

}  // namespace goodput
