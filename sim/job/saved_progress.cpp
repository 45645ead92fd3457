#include "sim/job/saved_progress.h"

namespace goodput {

void SavedProgress::arrive(SimTime now) {
  for (Level& level : levels_) {
    std::erase_if(level.coming, [&level, now](const Coming& one) {
      if (one.arrives > now) return false;
      level.use(one.progress);
      return true;
    });
  }
  at(CheckpointLevel::kMemory).use(usable(CheckpointLevel::kStorage));
}

void SavedProgress::drop_coming() {
  for (Level& level : levels_) level.coming.clear();
}

}  // namespace goodput
