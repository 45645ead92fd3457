#include "sim/job/job_books.h"

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

// The checkpoints of these steps, from the one after `last` of them back to one that can be used by now.
void JobBooks::note_checkpoints(CheckpointLevel level, const TrainedStretch& stretch, std::int64_t last) {
  const CheckpointRule& rule = stretch.training.rules[static_cast<std::size_t>(level)];
  for (std::int64_t at = last; at > 0; at -= rule.interval) {
    const SimTime arrives = stretch.began + stretch.training.time_of(at) + rule.lag;
    if (arrives <= stretch.ended) return saved_.put(level, after(stretch, at));
    saved_.send(level, after(stretch, at), arrives);
  }
}

std::int64_t JobBooks::go_back_to(ResumeFrom from) {
  if (from == ResumeFrom::kHere) return 0;
  const Progress& mark =
      saved_.usable(from == ResumeFrom::kMemory ? CheckpointLevel::kMemory : CheckpointLevel::kStorage);
  const std::int64_t lost = here_.step - mark.step;
  ledger_.waste(here_.productive - mark.productive, here_.node_productive - mark.node_productive);
  steps_lost_ += lost;
  here_ = mark;
  if (from == ResumeFrom::kStorage) saved_.drop_memory();
  saved_.drop_coming();
  return lost;
}

}  // namespace goodput
