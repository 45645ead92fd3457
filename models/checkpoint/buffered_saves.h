// When checkpoints begin and when they are in storage, through three buffers (CheckpointBuffers): event by
// event. What comes of it is in closed form in models/checkpoint/save_cost.h (least_buffered_interval,
// mean_interval).
#pragma once

#include <cstdint>
#include <optional>

#include "models/checkpoint/checkpoint_buffers.h"
#include "models/checkpoint/save_cost.h"

namespace goodput {

// Times must not decrease, but begin at 0 again after lose_unfinished().
class BufferedSaves {
 public:
  // Of saves from now on. REQUIRES: none is unfinished.
  void set_times(const SaveTimes& times) { times_ = times; }

  // A checkpoint is due at `now`. It begins unless all buffers are taken: storage is still busy with older
  // ones, and this one is left out. Returns whether it began. REQUIRES: numbers ascend.
  bool begin(std::int64_t checkpoint, SimDuration now);
  // The newest checkpoint that is in storage by `now`.
  [[nodiscard]] std::optional<std::int64_t> stored(SimDuration now);
  // A fault: checkpoints that are not in storage are lost. Time begins at 0 again.
  void lose_unfinished();

 private:
  void advance(SimDuration now);

  CheckpointBuffers buffers_;
  SaveTimes times_{};
  std::optional<SimDuration> snapshot_end_{};
  std::optional<SimDuration> persist_end_{};
};

}  // namespace goodput
