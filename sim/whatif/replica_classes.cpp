#include "sim/whatif/replica_classes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

using Classes = std::vector<std::uint32_t>;  // by replica, from 0

// Splits classes until the replicas of each class meet the same classes everywhere. It looks again only at
// blocks that hold a replica whose class is new: in all other blocks nothing has changed.
// How classes are numbered depends only on which replicas meet, not on their own numbers, so two lone
// replicas in the same position get the same classes.
class ClassSplitter {
 public:
  // REQUIRES: two replicas or more.
  ClassSplitter(const std::vector<const ReplicaBlocks*>& partitions, std::uint32_t lone, std::size_t replicas)
      : partitions_(partitions),
        class_of_(replicas, 1),
        sizes_{1, replicas - 1},
        renumbered_(partitions.size(), {lone}) {
    class_of_[lone] = 0;
    while (std::ranges::any_of(renumbered_, [](const auto& replicas_of) { return !replicas_of.empty(); })) {
      for (std::size_t partition = 0; partition < partitions_.size(); ++partition) split_by(partition);
    }
  }

  [[nodiscard]] const Classes& class_of() const { return class_of_; }
  [[nodiscard]] std::size_t count() const { return sizes_.size(); }

 private:
  // The replicas of a class that meet the same classes in one partition, by that class and the classes they
  // meet.
  using Parts = std::map<std::pair<std::uint32_t, Classes>, std::vector<std::uint32_t>>;

  void split_by(std::size_t partition) {
    const ReplicaBlocks& blocks = *partitions_[partition];
    touched_.clear();
    for (const std::uint32_t replica : renumbered_[partition]) touched_.push_back(blocks.block_of[replica]);
    renumbered_[partition].clear();
    std::ranges::sort(touched_);
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    Parts parts;
    for (const std::uint32_t block : touched_) {
      const auto members = blocks.members_of(block);
      Classes met;
      for (const std::uint32_t replica : members) met.push_back(class_of_[replica]);
      std::ranges::sort(met);
      met.erase(std::unique(met.begin(), met.end()), met.end());
      for (const std::uint32_t replica : members) parts[{class_of_[replica], met}].push_back(replica);
    }
    number(parts);
  }

  // Every part becomes a class of its own; the last one left of a class keeps the number of that class.
  void number(const Parts& parts) {
    for (const auto& [key, replicas] : parts) {
      const std::uint32_t before = key.first;
      if (sizes_[before] == replicas.size()) continue;
      sizes_[before] -= replicas.size();
      const auto number = static_cast<std::uint32_t>(sizes_.size());
      sizes_.push_back(replicas.size());
      for (const std::uint32_t replica : replicas) class_of_[replica] = number;
      for (auto& of_partition : renumbered_)
        of_partition.insert(of_partition.end(), replicas.begin(), replicas.end());
    }
  }

  const std::vector<const ReplicaBlocks*>& partitions_;
  Classes class_of_;
  std::vector<std::size_t> sizes_;                      // by class
  std::vector<std::vector<std::uint32_t>> renumbered_;  // by partition: since it was last looked at
  std::vector<std::uint32_t> touched_;
};

// By partition, the block of each class, named by the lowest class in it. Two blocks of replicas hold either
// the same classes or none in common.
std::vector<Classes> blocks_of_classes(const std::vector<const ReplicaBlocks*>& partitions,
                                       const ClassSplitter& classes) {
  std::vector<Classes> result;
  for (const ReplicaBlocks* blocks : partitions) {
    Classes& block_of = result.emplace_back(classes.count(), 0);
    for (std::uint32_t block = 0; block < blocks->size(); ++block) {
      std::uint32_t lowest = ~0U;
      const auto members = blocks->members_of(block);
      for (const std::uint32_t replica : members) lowest = std::min(lowest, classes.class_of()[replica]);
      for (const std::uint32_t replica : members) block_of[classes.class_of()[replica]] = lowest;
    }
  }
  return result;
}

// The extremes hold for classes, too; all others are replaced by `blocks`, in order.
std::vector<ReplicaPartition> partitions_of_classes(std::span<const ReplicaPartition> of_replicas,
                                                    const std::vector<Classes>& blocks) {
  std::vector<ReplicaPartition> result;
  auto next = blocks.begin();
  for (const ReplicaPartition& partition : of_replicas) {
    result.push_back(partition.is_extreme() ? partition : ReplicaPartition::of_blocks(*next++));
  }
  return result;
}

}  // namespace

std::vector<LoneReplicas> lone_replicas(std::span<const ReplicaPartition> partitions, std::size_t replicas) {
  for (const ReplicaPartition& partition : partitions)
    GOODPUT_CHECK(partition.fits(replicas), "the partitions belong to a different job");
  std::vector<const ReplicaBlocks*> blocks;
  for (const ReplicaPartition& partition : partitions) {
    if (!partition.is_extreme()) blocks.push_back(&partition.blocks());
  }
  if (blocks.empty() || replicas == 1) {
    // All replicas are in the same position, and all others are one class.
    LoneReplicas every{{partitions.begin(), partitions.end()}, std::min<std::size_t>(replicas, 2), {}};
    every.replicas.resize(replicas);
    std::iota(every.replicas.begin(), every.replicas.end(), 0U);
    return {every};
  }
  std::vector<LoneReplicas> result;
  std::map<std::vector<Classes>, std::size_t> known;  // by which classes meet
  for (std::uint32_t lone = 0; lone < replicas; ++lone) {
    const ClassSplitter classes(blocks, lone, replicas);
    const auto [at, is_new] = known.try_emplace(blocks_of_classes(blocks, classes), result.size());
    if (is_new) result.push_back({partitions_of_classes(partitions, at->first), classes.count(), {}});
    result[at->second].replicas.push_back(lone);
  }
  return result;
}

}  // namespace goodput
