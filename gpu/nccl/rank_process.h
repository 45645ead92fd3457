// A rank as a process of its own: which of how many it is, how all of them learn NCCL's id, and what became
// of the others. Implementations: rank_launcher.h (forked by a program on one machine), environment_rank.h
// (started by torchrun or Slurm).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace goodput::gpu {

// What rank 0 makes and all need: as large as NCCL's.
using UniqueId = std::array<char, 128>;

// Ranks that cannot be started, or cannot find each other. One line, with the remedy.
class RankError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What RankProcess::lost() said, thrown by whoever waits for the other ranks: this rank ends because another
// one did.
class LostRank : public RankError {
 public:
  using RankError::RankError;
};

// This process as one of `ranks()`. Not thread-safe.
class RankProcess {
 public:
  virtual ~RankProcess() = default;

  [[nodiscard]] virtual std::int32_t rank() const = 0;
  [[nodiscard]] virtual std::int32_t ranks() const = 0;
  // Among those of its machine: which GPU is its own.
  [[nodiscard]] virtual std::int32_t local_rank() const = 0;

  // What rank 0's `make` returned. Every rank calls it once; waits for rank 0, at most the deadline. Throws
  // RankError.
  virtual UniqueId share(const std::function<UniqueId()>& make) = 0;

  // Every rank has what was shared. To be called when the communicator is there.
  virtual void joined() = 0;

  // What became of another rank ("rank 2 was killed by signal 9 (SIGKILL)"), "" as long as nothing is known
  // to be wrong. Cheap: no waiting.
  [[nodiscard]] virtual std::string lost() = 0;
};

}  // namespace goodput::gpu
