#include "sim/nodes/node_set.h"

#include <bit>

#include "sim/base/errors.h"

namespace goodput {

bool NodeSet::insert(NodeId node) {
  GOODPUT_CHECK(node >= 0, "a node id must not be negative");
  const std::size_t word = static_cast<std::size_t>(node) / 64;
  if (word >= words_.size()) {
    words_.resize(word + 1);
    any_.resize(word / 64 + 1);
  }
  const std::uint64_t mask = bit(static_cast<std::size_t>(node));
  if ((words_[word] & mask) != 0) return false;
  words_[word] |= mask;
  any_[word / 64] |= bit(word);
  ++size_;
  return true;
}

bool NodeSet::erase(NodeId node) {
  if (!contains(node)) return false;
  const std::size_t word = static_cast<std::size_t>(node) / 64;
  words_[word] &= ~bit(static_cast<std::size_t>(node));
  if (words_[word] == 0) any_[word / 64] &= ~bit(word);
  --size_;
  return true;
}

void NodeSet::erase(std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) {
    const std::size_t word = static_cast<std::size_t>(node) / 64;
    if (word < words_.size()) words_[word] &= ~bit(static_cast<std::size_t>(node));
  }
  size_ = 0;
  for (std::size_t word = 0; word < words_.size(); ++word) {
    size_ += static_cast<std::size_t>(std::popcount(words_[word]));
    if (words_[word] == 0) any_[word / 64] &= ~bit(word);
  }
}

NodeSet::Iterator NodeSet::from_word(std::size_t word) const {
  std::size_t block = word / 64;
  if (block >= any_.size()) return end();
  std::uint64_t words = any_[block] & (~std::uint64_t{0} << word % 64);
  while (words == 0) {
    if (++block == any_.size()) return end();
    words = any_[block];
  }
  const std::size_t found = 64 * block + static_cast<std::size_t>(std::countr_zero(words));
  return {this, found, words_[found]};
}

}  // namespace goodput
