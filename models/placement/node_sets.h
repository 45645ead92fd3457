// Sets of nodes as bits, and those that decide whether a placement survives.
//
// A model survives a failure iff every expert keeps a live node, that is, iff no expert's set of nodes lies
// within the set of failed nodes. Of nested sets only the innermost matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/placement/expert_placement.h"

namespace goodput {

class NodeSets {
 public:
  explicit NodeSets(std::int32_t nodes)
      : nodes_(nodes), words_((static_cast<std::size_t>(nodes) + 63) / 64) {}

  [[nodiscard]] std::int32_t nodes() const { return nodes_; }
  [[nodiscard]] std::size_t size() const { return bits_.size() / words_; }
  [[nodiscard]] bool contains(std::size_t set, std::int32_t node) const {
    const auto n = static_cast<std::size_t>(node);
    return (bits_[set * words_ + n / 64] >> (n % 64) & 1) != 0;
  }
  // 64 nodes a word.
  [[nodiscard]] std::span<const std::uint64_t> words(std::size_t set) const {
    return std::span(bits_).subspan(set * words_, words_);
  }
  [[nodiscard]] std::int32_t count(std::size_t set) const;

  void append(std::span<const std::uint64_t> set);
  void append_empty() { bits_.resize(bits_.size() + words_); }
  void insert(std::size_t set, std::int32_t node) {
    const auto n = static_cast<std::size_t>(node);
    bits_[set * words_ + n / 64] |= std::uint64_t{1} << (n % 64);
  }
  void erase(std::size_t set, std::int32_t node) {
    const auto n = static_cast<std::size_t>(node);
    bits_[set * words_ + n / 64] &= ~(std::uint64_t{1} << (n % 64));
  }

 private:
  std::int32_t nodes_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_{};
};

// Whether every node of `a` is one of `b`.
[[nodiscard]] bool is_subset(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

// The nodes that hold each expert.
[[nodiscard]] NodeSets expert_nodes(const ExpertPlacement& placement);

// The sets of which no other is a subset, each once, small sets first.
[[nodiscard]] NodeSets innermost(const NodeSets& sets);

// The innermost sets of all layers. Node n of every layer is the same machine. REQUIRES: layers, all on as
// many nodes.
[[nodiscard]] NodeSets deciding_sets(std::span<const ExpertPlacement> layers);

}  // namespace goodput
