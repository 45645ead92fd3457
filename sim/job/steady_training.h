// How far a training run gets in a given time when its steps take equally long and it saves checkpoints at
// fixed intervals: in closed form, whatever the number of steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/base/units.h"

namespace goodput {

// Where checkpoints are kept, the quicker one to come back from first.
enum class CheckpointLevel : std::uint8_t {
  kMemory,   // of nodes: as good as the policy finds that what is left of it is
  kStorage,  // survives anything
};
inline constexpr std::size_t kCheckpointLevels = 2;

// A checkpoint is saved after every step whose number is a multiple of `interval`; steps are counted from the
// beginning of the job.
struct CheckpointRule {
  std::int64_t interval = 0;  // steps; 0: never
  SimDuration stall{};        // training stands still
  SimDuration lag{};          // after the stall, until the checkpoint can be used
  Bytes bytes{};              // that a checkpoint writes
  std::int64_t asked = 0;     // the interval that was wanted, where storage cannot keep up with it; 0: it can
};

// By level. Of two intervals storage's is a multiple of memory's.
using CheckpointRules = std::array<CheckpointRule, kCheckpointLevels>;

// From the end of step `first_step` (and of its checkpoints) on.
struct SteadyTraining {
  std::int64_t first_step = 0;
  SimDuration step{};  // > 0
  CheckpointRules rules{};

  // Until that many more steps are done and the checkpoints that are due after them are saved.
  [[nodiscard]] SimDuration time_of(std::int64_t steps) const;
  // The same without what is saved after the last of them.
  [[nodiscard]] SimDuration time_of_last_step(std::int64_t steps) const;
  // Steps of which time_of(steps) <= elapsed.
  [[nodiscard]] std::int64_t steps_in(SimDuration elapsed) const;
  // Checkpoints among so many steps.
  [[nodiscard]] std::int64_t saves(CheckpointLevel level, std::int64_t steps) const;
  // Bytes of the checkpoints in storage among so many steps.
  [[nodiscard]] double stored_bytes(std::int64_t steps) const {
    const CheckpointRule& storage = rules[static_cast<std::size_t>(CheckpointLevel::kStorage)];
    return static_cast<double>(saves(CheckpointLevel::kStorage, steps)) *
           static_cast<double>(storage.bytes.value);
  }
  // Checkpoints in storage that were asked for among so many steps, and are not among saves().
  [[nodiscard]] std::int64_t skipped(std::int64_t steps) const {
    const std::int64_t asked = rules[static_cast<std::size_t>(CheckpointLevel::kStorage)].asked;
    if (asked == 0) return 0;
    const std::int64_t wanted = (first_step + steps) / asked - first_step / asked;
    return std::max<std::int64_t>(0, wanted - saves(CheckpointLevel::kStorage, steps));
  }
};

}  // namespace goodput
