#include "models/checkpoint/checkpoint_buffers.h"

#include <algorithm>

#include "sim/base/errors.h"

namespace goodput {

const CheckpointBuffers::Buffer* CheckpointBuffers::find(Role role) const {
  const auto* const found =
      std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& b) { return b.role == role; });
  return found == buffers_.end() ? nullptr : found;
}

CheckpointBuffers::Buffer* CheckpointBuffers::find(Role role) {
  auto* const found =
      std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& b) { return b.role == role; });
  return found == buffers_.end() ? nullptr : found;
}

std::optional<std::int64_t> CheckpointBuffers::checkpoint_in(Role role) const {
  const Buffer* const buffer = find(role);
  return buffer == nullptr ? std::nullopt : std::optional(buffer->checkpoint);
}

bool CheckpointBuffers::can_begin_snapshot() const {
  return find(Role::kSnapshot) == nullptr && find(Role::kFree) != nullptr;
}

void CheckpointBuffers::begin_snapshot(std::int64_t checkpoint) {
  GOODPUT_CHECK(can_begin_snapshot(), "a snapshot needs a free buffer, and only one can be in progress");
  GOODPUT_CHECK(checkpoint > newest_, "checkpoint numbers must increase");
  newest_ = checkpoint;
  *find(Role::kFree) = {Role::kSnapshot, checkpoint};
}

void CheckpointBuffers::finish_snapshot() {
  Buffer* const buffer = find(Role::kSnapshot);
  GOODPUT_CHECK(buffer != nullptr, "no snapshot is in progress");
  buffer->role = Role::kReady;
  persist_next();
}

void CheckpointBuffers::finish_persist() {
  Buffer* const buffer = find(Role::kPersist);
  GOODPUT_CHECK(buffer != nullptr, "no checkpoint is being persisted");
  if (Buffer* const before = find(Role::kRecovery); before != nullptr) *before = {};
  buffer->role = Role::kRecovery;
  persist_next();
}

void CheckpointBuffers::discard_unfinished() {
  for (Buffer& buffer : buffers_) {
    if (buffer.role != Role::kRecovery) buffer = {};
  }
  newest_ = recoverable().value_or(-1);
}

// At most one buffer is ready: with a second snapshot under way none would be free for it.
void CheckpointBuffers::persist_next() {
  if (find(Role::kPersist) != nullptr) return;
  if (Buffer* const ready = find(Role::kReady); ready != nullptr) ready->role = Role::kPersist;
}

}  // namespace goodput
