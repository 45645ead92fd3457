// A set of the threads of a block, 0 .. 1023.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace simt {

class ThreadSet {
 public:
  void insert(int thread) {
    std::uint64_t& word = words_[index_of(thread)];
    const std::uint64_t bit = bit_of(thread);
    size_ += (word & bit) == 0 ? 1 : 0;
    word |= bit;
  }

  void erase(int thread) {
    std::uint64_t& word = words_[index_of(thread)];
    const std::uint64_t bit = bit_of(thread);
    size_ -= (word & bit) != 0 ? 1 : 0;
    word &= ~bit;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // REQUIRES for the next three: not empty; n < size().
  int lowest() const {
    std::size_t word = 0;
    while (words_[word] == 0) ++word;
    return static_cast<int>(word * 64) + __builtin_ctzll(words_[word]);
  }

  int highest() const {
    std::size_t word = words_.size() - 1;
    while (words_[word] == 0) --word;
    return static_cast<int>(word * 64) + 63 - __builtin_clzll(words_[word]);
  }

  int nth(int n) const {
    std::size_t word = 0;
    for (int here = __builtin_popcountll(words_[0]); here <= n; here = __builtin_popcountll(words_[word])) {
      n -= here;
      ++word;
    }
    std::uint64_t bits = words_[word];
    for (; n > 0; --n) bits &= bits - 1;
    return static_cast<int>(word * 64) + __builtin_ctzll(bits);
  }

 private:
  static std::size_t index_of(int thread) { return static_cast<std::size_t>(thread) / 64; }
  static std::uint64_t bit_of(int thread) { return std::uint64_t{1} << (static_cast<unsigned>(thread) % 64); }

  std::array<std::uint64_t, 16> words_{};
  int size_ = 0;
};

}  // namespace simt
