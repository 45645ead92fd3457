// The value sources of the what-if analysis: which ops of a block replay as recorded and which at their ideal
// value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/timing.h"
#include "sim/recording/instance_set.h"
#include "sim/recording/recording.h"

namespace goodput {

// Which side of an InstanceSet is meant.
enum class Side : std::uint8_t { kInside, kOutside };

// Which lanes of each op of a block lie on one side of an InstanceSet.
class Coverage {
 public:
  Coverage(const InstanceSet& set, const StepBlock& block, std::size_t ops, Side side);

  enum class Extent : std::uint8_t { kNone, kSome, kAll };
  [[nodiscard]] Extent extent(OpId op) const { return masks_[mask_of_op_[op]].extent; }
  // stride() flags. REQUIRES: extent(op) is kSome.
  [[nodiscard]] const unsigned char* mask(OpId op) const { return masks_[mask_of_op_[op]].lanes.data(); }

 private:
  struct Mask {
    Extent extent = Extent::kNone;
    std::vector<unsigned char> lanes;
  };
  [[nodiscard]] static Mask make_mask(const InstanceSet& set, const StepBlock& block, std::size_t op,
                                      Side side);

  std::vector<Mask> masks_;  // one per distinct combination of boxes
  std::vector<std::uint32_t> mask_of_op_;
};

// Every lane at the ideal value. One lane is enough: all are alike.
class IdealReplay final : public OpValues {
 public:
  explicit IdealReplay(const IdealValues& ideal) : ideal_(ideal) {}
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> scratch) const override;

 private:
  const IdealValues& ideal_;
};

// Instances on one side of a set as recorded, all others ideal.
class MixedReplay final : public OpValues {
 public:
  MixedReplay(const StepBlock& block, const IdealValues& ideal, const InstanceSet& set, Side recorded);
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> scratch) const override;

 private:
  const StepBlock& block_;
  const IdealValues& ideal_;
  Coverage coverage_;
};

// Some replicas of a block, each in every step for itself next to ideal ones: in a shape of (steps *
// replicas) x classes (sim/whatif/replica_classes.h), the first lane of a row has the chosen ops as recorded,
// the others are ideal and feel the first where they meet it.
class LoneReplicaReplay final : public OpValues {
 public:
  // `replicas`: ascending. Keeps references.
  LoneReplicaReplay(const StepBlock& block, const IdealValues& ideal, const std::vector<char>& recorded_ops,
                    std::span<const std::uint32_t> replicas);
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> scratch) const override;

 private:
  // Lanes that are neighbors here and in the block.
  struct Run {
    std::size_t first = 0;  // of the block
    std::size_t count = 0;
  };
  const StepBlock& block_;
  const IdealValues& ideal_;
  const std::vector<char>& recorded_ops_;
  std::vector<Run> runs_;
};

// All values as recorded; instances inside a set also launch as late as recorded, all others at once.
class DelayedReplay final : public OpValues {
 public:
  DelayedReplay(const StepBlock& block, const std::vector<double>& delays_s, const InstanceSet& set,
                std::size_t ops)
      : block_(block), delays_s_(delays_s), coverage_(set, block, ops, Side::kInside) {}
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> scratch) const override;
  [[nodiscard]] lanes::Values delay(OpId op, std::span<double> scratch) const override;

 private:
  const StepBlock& block_;
  const std::vector<double>& delays_s_;
  Coverage coverage_;
};

}  // namespace goodput
