// Which replicas of a training step wait for each other at a communication group: a partition of the replicas
// into blocks.
//
// A replica is one execution of the step's graph: a data-parallel replica of a pipeline, or a rank of a job
// without one. The peers of a pipeline meet within their replica, gradients are reduced over all of them,
// tensor, expert and hybrid-sharded groups are blocks of some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput {

// The blocks of a given number of replicas.
struct ReplicaBlocks {
  std::vector<std::uint32_t> block_of;  // by replica; blocks are numbered by their first replica, from 0
  std::vector<std::uint32_t> members;   // replicas, block after block, ascending in each
  std::vector<std::uint32_t> offsets;   // of the blocks into members, one more than there are blocks

  friend bool operator==(const ReplicaBlocks&, const ReplicaBlocks&) = default;
  [[nodiscard]] std::size_t size() const { return offsets.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> members_of(std::uint32_t block) const {
    return std::span(members).subspan(offsets[block], offsets[block + 1] - offsets[block]);
  }
};

// The two extremes hold for any number of replicas, all other partitions for one.
class ReplicaPartition {
 public:
  // Every replica is a block.
  [[nodiscard]] static ReplicaPartition apart() { return ReplicaPartition(Kind::kApart); }
  // All replicas are one block.
  [[nodiscard]] static ReplicaPartition together() { return ReplicaPartition(Kind::kTogether); }
  // `block_of`: by replica; those with the same number meet. Becomes an extreme where it is one.
  // REQUIRES: a replica or more.
  [[nodiscard]] static ReplicaPartition of_blocks(std::span<const std::uint32_t> block_of);

  friend bool operator==(const ReplicaPartition&, const ReplicaPartition&) = default;

  [[nodiscard]] bool is_apart() const { return kind_ == Kind::kApart; }
  [[nodiscard]] bool is_together() const { return kind_ == Kind::kTogether; }
  [[nodiscard]] bool is_extreme() const { return kind_ != Kind::kBlocks; }
  // Whether it is a partition of so many replicas. Any is one of a single replica, which stands for replicas
  // that are all alike and do not wait for each other.
  [[nodiscard]] bool fits(std::size_t replicas) const {
    return is_extreme() || replicas == 1 || blocks_.block_of.size() == replicas;
  }

  // REQUIRES: replicas that it fits.
  [[nodiscard]] bool in_same_block(std::size_t a, std::size_t b) const {
    if (a == b || is_together()) return true;
    return !is_apart() && blocks_.block_of[a] == blocks_.block_of[b];
  }
  // REQUIRES: no extreme.
  [[nodiscard]] const ReplicaBlocks& blocks() const { return blocks_; }
  // The blocks of any partition, extremes too. REQUIRES: fits(replicas).
  [[nodiscard]] ReplicaBlocks expanded(std::size_t replicas) const;

 private:
  enum class Kind : std::uint8_t { kApart, kTogether, kBlocks };
  explicit ReplicaPartition(Kind kind) : kind_(kind) {}

  Kind kind_;
  ReplicaBlocks blocks_;  // kBlocks only
};

}  // namespace goodput
