// The three buffers in CPU memory through which checkpoints reach storage (MoC-System): one takes the
// snapshot, one is being written to storage, one holds the last checkpoint that is there whole, to recover
// from. Each plays every part in turn; nothing is copied between them.
//
//   free -> snapshot -> ready -> persist -> recovery -> free
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace goodput {

class CheckpointBuffers {
 public:
  enum class Role : std::uint8_t {
    kFree,
    kSnapshot,  // being filled from the GPU
    kReady,     // full, waits until the buffer before it is in storage
    kPersist,   // being written to storage
    kRecovery,  // in storage; stays in memory for ranks that live on
  };
  static constexpr std::size_t kBuffers = 3;

  // A snapshot can begin unless one is being taken, or no buffer is free because storage is too slow.
  [[nodiscard]] bool can_begin_snapshot() const;
  // REQUIRES: can_begin_snapshot(), and `checkpoint` above all before.
  void begin_snapshot(std::int64_t checkpoint);
  // Begins to persist it unless another one is under way. REQUIRES: a snapshot is being taken.
  void finish_snapshot();
  // The buffer becomes the one to recover from, the one before is free; a ready buffer follows.
  // REQUIRES: a buffer is being persisted.
  void finish_persist();
  // After a fault: what is not in storage is no checkpoint.
  void discard_unfinished();

  // The checkpoint that ranks recover from.
  [[nodiscard]] std::optional<std::int64_t> recoverable() const { return checkpoint_in(Role::kRecovery); }
  [[nodiscard]] std::optional<std::int64_t> persisting() const { return checkpoint_in(Role::kPersist); }
  [[nodiscard]] Role role(std::size_t buffer) const { return buffers_.at(buffer).role; }

 private:
  struct Buffer {
    Role role = Role::kFree;
    std::int64_t checkpoint = -1;
  };

  [[nodiscard]] const Buffer* find(Role role) const;
  [[nodiscard]] Buffer* find(Role role);
  [[nodiscard]] std::optional<std::int64_t> checkpoint_in(Role role) const;
  void persist_next();

  std::array<Buffer, kBuffers> buffers_{};
  std::int64_t newest_ = -1;
};

}  // namespace goodput
