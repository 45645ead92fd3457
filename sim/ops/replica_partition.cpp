#include "sim/ops/replica_partition.h"

#include <numeric>
#include <unordered_map>

#include "sim/base/errors.h"

namespace goodput {
namespace {

ReplicaBlocks lay_out(std::span<const std::uint32_t> number_of) {
  ReplicaBlocks blocks;
  blocks.block_of.reserve(number_of.size());
  std::unordered_map<std::uint32_t, std::uint32_t> block_of_number;
  for (const std::uint32_t number : number_of) {
    const auto next = static_cast<std::uint32_t>(block_of_number.size());
    blocks.block_of.push_back(block_of_number.try_emplace(number, next).first->second);
  }
  blocks.offsets.assign(block_of_number.size() + 1, 0);
  for (const std::uint32_t block : blocks.block_of) ++blocks.offsets[block + 1];
  std::partial_sum(blocks.offsets.begin(), blocks.offsets.end(), blocks.offsets.begin());
  std::vector<std::uint32_t> next(blocks.offsets.begin(), blocks.offsets.end() - 1);
  blocks.members.resize(number_of.size());
  for (std::uint32_t replica = 0; replica < number_of.size(); ++replica) {
    blocks.members[next[blocks.block_of[replica]]++] = replica;
  }
  return blocks;
}

}  // namespace

ReplicaPartition ReplicaPartition::of_blocks(std::span<const std::uint32_t> block_of) {
  GOODPUT_CHECK(!block_of.empty(), "a partition must have at least one replica");
  ReplicaPartition partition(Kind::kBlocks);
  partition.blocks_ = lay_out(block_of);
  if (partition.blocks_.size() == block_of.size()) return apart();
  if (partition.blocks_.size() == 1) return together();
  return partition;
}

ReplicaBlocks ReplicaPartition::expanded(std::size_t replicas) const {
  GOODPUT_CHECK(fits(replicas), "the partition is for a different number of replicas");
  if (replicas > 1 && !is_extreme()) return blocks_;
  std::vector<std::uint32_t> number_of(replicas, 0);
  if (is_apart()) std::iota(number_of.begin(), number_of.end(), 0U);
  return lay_out(number_of);
}

}  // namespace goodput
