// The books of a job: the steps that count, the checkpoints that hold them, and where every second of the job
// and of its nodes went.
//
// The job engine (sim/job/job_engine.h) says what happened; nothing is decided here. A step is productive
// when it is done, and wasted when the job goes back behind it, so what the books show of a run is final only
// at its end.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/units.h"
#include "sim/job/job_ledger.h"
#include "sim/job/recovery_policy.h"
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

// Steps that were done one after the other, and the checkpoints that were saved between and after them.
struct TrainedStretch {
  const SteadyTraining& training;  // from where the job stands on
  std::int64_t steps = 0;
  std::int64_t saved_steps = 0;  // of these: after the others no checkpoint was written, even if one was due
  std::int64_t samples_per_step = 0;
  std::int32_t nodes = 0;  // that worked
  SimTime began{};
  SimTime ended{};
  SimDuration saving{};  // of this time
};

class JobBooks {
 public:
  // Where the job stands: all that was trained and counts.
  [[nodiscard]] const Progress& here() const { return here_; }
  [[nodiscard]] const JobLedger& ledger() const { return ledger_; }
  // Trained, and not counted any more.
  [[nodiscard]] std::int64_t steps_lost() const { return steps_lost_; }
  // Checkpoints that were asked for, and that storage could not keep up with.
  [[nodiscard]] std::int64_t saves_skipped() const { return saves_skipped_; }
  // Bytes of all checkpoints that training waited for, or passed on, in full: also of those that were then
  // lost on their way to storage.
  [[nodiscard]] double stored_bytes() const { return stored_bytes_; }
  // The step to which a checkpoint that can be used leads back.
  [[nodiscard]] std::int64_t saved_step(CheckpointLevel level) const { return saved_.usable(level).step; }

  // Time that `nodes` nodes spent on something other than steps that are done.
  void spend(TimeBucket bucket, SimDuration time, std::int32_t nodes) { ledger_.spend(bucket, time, nodes); }
  // Nodes that were there and took no part; the job's own time is not theirs to spend.
  void idle(SimDuration time, std::int32_t nodes) { ledger_.idle(time, nodes); }

  void count(const TrainedStretch& stretch);
  // Returns the steps that are lost by it.
  std::int64_t go_back_to(ResumeFrom from);

  // A checkpoint of where the job stands can be used from storage.
  void save_here(Bytes bytes) {
    saved_.put(CheckpointLevel::kStorage, here_);
    stored_bytes_ += static_cast<double>(bytes.value);
  }
  // Checkpoints that were on their way can be used once their time has come.
  void arrive(SimTime now) { saved_.arrive(now); }
  // Those that still are on their way are lost.
  void drop_coming() { saved_.drop_coming(); }

 private:
  [[nodiscard]] Progress after(const TrainedStretch& stretch, std::int64_t steps) const;
  void note_checkpoints(CheckpointLevel level, const TrainedStretch& stretch, std::int64_t last);

  Progress here_;
  SavedProgress saved_;
  JobLedger ledger_;
  std::int64_t steps_lost_ = 0;
  std::int64_t saves_skipped_ = 0;
  double stored_bytes_ = 0;
};

// Inline: a job whose pace changes with every step counts every step.
inline void JobBooks::count(const TrainedStretch& stretch) {
  ledger_.spend(TimeBucket::kProductive, stretch.steps * stretch.training.step, stretch.nodes);
  ledger_.spend(TimeBucket::kCheckpointSave, stretch.saving, stretch.nodes);
  for (const CheckpointLevel level : {CheckpointLevel::kMemory, CheckpointLevel::kStorage}) {
    const std::int64_t interval = stretch.training.rules[static_cast<std::size_t>(level)].interval;
    if (interval == 0) continue;
    const std::int64_t last = (here_.step + stretch.steps) / interval * interval - here_.step;
    if (last > 0) note_checkpoints(level, stretch, last);
  }
  saves_skipped_ += stretch.training.skipped(stretch.steps);
  stored_bytes_ += stretch.training.stored_bytes(stretch.saved_steps);
  saved_.arrive(stretch.ended);
  here_ = after(stretch, stretch.steps);
}

inline Progress JobBooks::after(const TrainedStretch& stretch, std::int64_t steps) const {
  const SimDuration time = steps * stretch.training.step;
  return {here_.step + steps, here_.samples + steps * stretch.samples_per_step, here_.productive + time,
          here_.node_productive + NodeTime{time.count()} * stretch.nodes};
}

}  // namespace goodput
