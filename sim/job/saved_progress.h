// What a job has trained, and the checkpoints that hold parts of it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/units.h"
#include "sim/job/steady_training.h"

namespace goodput {

// All that was trained up to some step and counts.
struct Progress {
  std::int64_t step = 0;
  std::int64_t samples = 0;
  SimDuration productive{};
  NodeTime node_productive = 0;
};

// The checkpoints at both levels: the last one that can be used, and those that are on their way. Where
// storage has a newer one, memory is as good.
class SavedProgress {
 public:
  [[nodiscard]] const Progress& usable(CheckpointLevel level) const { return at(level).usable; }

  // Can be used as soon as arrive() is told of that time.
  void send(CheckpointLevel level, const Progress& progress, SimTime arrives) {
    at(level).coming.push_back({progress, arrives});
  }
  // Can be used now, if it is newer than what can be.
  void put(CheckpointLevel level, const Progress& progress) {
    at(level).use(progress);
    at(CheckpointLevel::kMemory).use(usable(CheckpointLevel::kStorage));
  }
  void arrive(SimTime now);

  // What is on its way is lost with the nodes that were writing it.
  void drop_coming();
  // What storage has is all there is.
  void drop_memory() { at(CheckpointLevel::kMemory).usable = usable(CheckpointLevel::kStorage); }

 private:
  struct Coming {
    Progress progress{};
    SimTime arrives{};
  };
  struct Level {
    Progress usable{};
    std::vector<Coming> coming{};  // one, as a rule: a checkpoint is there before the next one is due

    void use(const Progress& progress) {
      if (progress.step > usable.step) usable = progress;
    }
  };
  [[nodiscard]] Level& at(CheckpointLevel level) { return levels_[static_cast<std::size_t>(level)]; }
  [[nodiscard]] const Level& at(CheckpointLevel level) const {
    return levels_[static_cast<std::size_t>(level)];
  }

  std::array<Level, kCheckpointLevels> levels_{};
};

}  // namespace goodput
