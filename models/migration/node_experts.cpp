#include "models/migration/node_experts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

std::vector<std::size_t> first_words(std::span<const ExpertPlacement> layers) {
  std::vector<std::size_t> first = {0};
  for (const ExpertPlacement& layer : layers) {
    GOODPUT_CHECK(layer.nodes == layers.front().nodes, "all layers must be placed on the same nodes");
    first.push_back(first.back() + (static_cast<std::size_t>(layer.experts) + kWordBits - 1) / kWordBits);
  }
  return first;
}

std::vector<std::int32_t> experts_of(std::span<const ExpertPlacement> layers) {
  std::vector<std::int32_t> experts;
  for (const ExpertPlacement& layer : layers) experts.push_back(layer.experts);
  return experts;
}

}  // namespace

NodeExperts::NodeExperts(std::span<const ExpertPlacement> layers)
    : NodeExperts(layers, LayerClasses::distinct(layers.size())) {}

NodeExperts::NodeExperts(std::span<const ExpertPlacement> layers, LayerClasses classes)
    : classes_(std::move(classes)),
      nodes_(layers.empty() ? 0 : layers.front().nodes),
      experts_(experts_of(layers)),
      first_word_(first_words(layers)),
      words_(static_cast<std::size_t>(nodes_) * first_word_.back()) {
  GOODPUT_CHECK(layers.size() == classes_.classes(),
                "every group of layers that share a placement needs a placement");
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (std::int32_t n = 0; n < nodes_; ++n) add(layers[layer], layer, n, n);
  }
}

NodeExperts::NodeExperts(const ClusterPlacement& placed, std::span<const std::int32_t> ids)
    : NodeExperts(placed, ids, LayerClasses::distinct(placed.layers.size())) {}

NodeExperts::NodeExperts(const ClusterPlacement& placed, std::span<const std::int32_t> ids,
                         LayerClasses classes)
    : classes_(std::move(classes)),
      nodes_(static_cast<std::int32_t>(ids.size())),
      experts_(experts_of(placed.layers)),
      first_word_(first_words(placed.layers)),
      words_(ids.size() * first_word_.back()) {
  GOODPUT_CHECK(placed.layers.size() == classes_.classes(),
                "every group of layers that share a placement needs a placement");
  std::vector<std::int32_t> by_id(placed.node_ids.size());
  std::iota(by_id.begin(), by_id.end(), 0);
  const auto id_of = [&placed](std::int32_t node) { return placed.node_ids[static_cast<std::size_t>(node)]; };
  std::ranges::sort(by_id, {}, id_of);
  for (std::size_t to = 0; to < ids.size(); ++to) {
    const auto found = std::ranges::lower_bound(by_id, ids[to], {}, id_of);
    if (found == by_id.end() || id_of(*found) != ids[to]) continue;
    const std::int32_t from = *found;
    for (std::size_t layer = 0; layer < placed.layers.size(); ++layer) {
      add(placed.layers[layer], layer, from, static_cast<std::int32_t>(to));
    }
  }
}

NodeExperts NodeExperts::of(std::span<const std::int32_t> nodes) const {
  NodeExperts some;
  some.classes_ = classes_;
  some.nodes_ = static_cast<std::int32_t>(nodes.size());
  some.experts_ = experts_;
  some.first_word_ = first_word_;
  for (const std::int32_t n : nodes) some.words_.insert(some.words_.end(), node(n).begin(), node(n).end());
  return some;
}

void NodeExperts::add(const ExpertPlacement& placement, std::size_t layer, std::int32_t from,
                      std::int32_t to) {
  GOODPUT_CHECK(from < placement.nodes, "every node with an id must be in every layer's placement");
  std::uint64_t* const words =
      words_.data() + static_cast<std::size_t>(to) * first_word_.back() + first_word_[layer];
  for (const std::int32_t expert : placement.node(from)) {
    GOODPUT_CHECK(expert >= 0 && expert < placement.experts, "a slot must hold an expert of its layer");
    const auto bit = static_cast<std::size_t>(expert);
    words[bit / kWordBits] |= std::uint64_t{1} << bit % kWordBits;
  }
}

}  // namespace goodput
