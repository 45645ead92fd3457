#include "sim/nodes/node_set.h"

#include "sim/base/errors.h"

namespace goodput {

bool NodeSet::insert(NodeId node) {
  GOODPUT_CHECK(node >= 0, "a node with a negative id");
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
