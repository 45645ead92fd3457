// A set of nodes, by id: a million of them in 128 KiB, in which every change takes the same time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "sim/nodes/failure_model.h"

namespace goodput {

// A bit for every id up to the highest there ever was, and one above for every word of 64 that has any:
// stretches of ids that are gone for good are passed over 4096 at a time.
class NodeSet {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = NodeId;
    using difference_type = std::ptrdiff_t;
    using pointer = const NodeId*;
    using reference = NodeId;

    Iterator() = default;
    [[nodiscard]] NodeId operator*() const {
      return static_cast<NodeId>(64 * word_ + static_cast<std::size_t>(std::countr_zero(left_)));
    }
    Iterator& operator++() {
      left_ &= left_ - 1;
      if (left_ == 0) *this = set_->from_word(word_ + 1);
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    friend class NodeSet;
    Iterator(const NodeSet* set, std::size_t word, std::uint64_t left)
        : set_(set), word_(word), left_(left) {}

    const NodeSet* set_ = nullptr;
    std::size_t word_ = 0;
    std::uint64_t left_ = 0;  // of the word: this node and those behind it
  };

  // Ids ascend. Any change ends iterators.
  [[nodiscard]] Iterator begin() const { return from_word(0); }
  [[nodiscard]] Iterator end() const { return {this, words_.size(), 0}; }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] bool contains(NodeId node) const {
    const std::size_t word = static_cast<std::size_t>(node) / 64;
    return word < words_.size() && (words_[word] & bit(static_cast<std::size_t>(node))) != 0;
  }

  // False where nothing changed. REQUIRES: node >= 0.
  bool insert(NodeId node);
  bool erase(NodeId node);
  // Those of them that are in the set. REQUIRES: none is negative.
  void erase(std::span<const NodeId> nodes);

 private:
  static std::uint64_t bit(std::size_t of) { return std::uint64_t{1} << of % 64; }
  // The first node of that word or a later one.
  [[nodiscard]] Iterator from_word(std::size_t word) const;

  std::vector<std::uint64_t> words_;  // bit n % 64 of word n / 64: node n
  std::vector<std::uint64_t> any_;    // likewise: words that are not 0
  std::size_t size_ = 0;
};

}  // namespace goodput
