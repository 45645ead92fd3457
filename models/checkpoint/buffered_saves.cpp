#include "models/checkpoint/buffered_saves.h"

#include <algorithm>

namespace goodput {

void BufferedSaves::advance(SimDuration now) {
  while (true) {
    const SimDuration next =
        std::min(snapshot_end_.value_or(SimDuration::max()), persist_end_.value_or(SimDuration::max()));
    if (next > now) return;
    if (snapshot_end_ == next) {
      buffers_.finish_snapshot();
      snapshot_end_.reset();
    } else {
      buffers_.finish_persist();
      persist_end_.reset();
    }
    if (!persist_end_ && buffers_.persisting()) persist_end_ = next + times_.persist;
  }
}

bool BufferedSaves::begin(std::int64_t checkpoint, SimDuration now) {
  advance(now);
  if (!buffers_.can_begin_snapshot()) return false;
  buffers_.begin_snapshot(checkpoint);
  snapshot_end_ = now + times_.snapshot;
  return true;
}

std::optional<std::int64_t> BufferedSaves::stored(SimDuration now) {
  advance(now);
  return buffers_.recoverable();
}

void BufferedSaves::lose_unfinished() {
  buffers_.discard_unfinished();
  snapshot_end_.reset();
  persist_end_.reset();
}

}  // namespace goodput
