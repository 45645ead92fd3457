// Which node of a cluster holds which experts of which MoE layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/layer_classes.h"

namespace goodput {

// What all MoE layers have where: node n of every layer's placement is the cluster's node node_ids[n]. One
// order of nodes for all layers, or they would not survive failures together.
struct ClusterPlacement {
  std::vector<ExpertPlacement> layers{};
  std::vector<std::int32_t> node_ids{};  // distinct; in any order

  friend bool operator==(const ClusterPlacement&, const ClusterPlacement&) = default;
};

inline constexpr std::size_t kWordBits = 64;  // of NodeExperts' words

// The experts of every (node, layer) as a bit set: replicas of one expert on one node are one bit. Layers
// that are placed alike may stand here once: a "layer" below is then a class of layers.
class NodeExperts {
 public:
  // What the nodes of the plan would hold. REQUIRES: layers with the same number of nodes, valid experts.
  explicit NodeExperts(std::span<const ExpertPlacement> layers);
  NodeExperts(std::span<const ExpertPlacement> of_classes, LayerClasses classes);

  // What the nodes with these ids hold; those that are not among placed.node_ids hold nothing.
  NodeExperts(const ClusterPlacement& placed, std::span<const std::int32_t> ids);
  NodeExperts(const ClusterPlacement& placed, std::span<const std::int32_t> ids, LayerClasses classes);

  // What some of these nodes hold, by their numbers here.
  [[nodiscard]] NodeExperts of(std::span<const std::int32_t> nodes) const;

  [[nodiscard]] std::int32_t nodes() const { return nodes_; }
  [[nodiscard]] std::int32_t layers() const { return static_cast<std::int32_t>(experts_.size()); }

  // All layers of a node, one after the other, each padded to whole words with zeros.
  [[nodiscard]] std::span<const std::uint64_t> node(std::int32_t n) const {
    return std::span(words_).subspan(static_cast<std::size_t>(n) * first_word_.back(), first_word_.back());
  }
  // Bit e % 64 of word e / 64 is expert e.
  [[nodiscard]] std::span<const std::uint64_t> layer(std::int32_t n, std::int32_t layer) const {
    const auto l = static_cast<std::size_t>(layer);
    return node(n).subspan(first_word_[l], first_word_[l + 1] - first_word_[l]);
  }

  [[nodiscard]] const LayerClasses& classes() const { return classes_; }

  // By layer. Rows of two nodes may be compared bit by bit where these agree.
  [[nodiscard]] const std::vector<std::int32_t>& experts() const { return experts_; }

 private:
  NodeExperts() = default;
  void add(const ExpertPlacement& placement, std::size_t layer, std::int32_t from, std::int32_t to);

  LayerClasses classes_;
  std::int32_t nodes_ = 0;
  std::vector<std::int32_t> experts_;    // of each layer
  std::vector<std::size_t> first_word_;  // of each layer within a node's words, and the number of these
  std::vector<std::uint64_t> words_;     // nodes x first_word_.back()
};

}  // namespace goodput
