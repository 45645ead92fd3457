// Bytes made fewer: numbers cut up into planes, and zstd.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/hash.h"

namespace goodput {

// A zstd frame.
[[nodiscard]] std::string compressed(std::string_view bytes, int level);
// Fails on what is no frame, or is one of more than `most_bytes`.
Result<std::string> decompressed(std::string_view frame, std::size_t most_bytes);

// 16 bytes that tell contents apart; not cryptographic. Eight bytes at a time into four sums, whose
// multiplications overlap: 4 GB/s.
class BytesHash {
 public:
  void add(std::string_view bytes);
  [[nodiscard]] std::string value() const;

 private:
  std::uint64_t sums_[4] = {1, 2, 3, 4};
  Hash rest_;
};

// All first bytes, then all second ones, ...: neighbours are alike, which compresses.
template <typename Word>
[[nodiscard]] std::string planes_of(std::span<const Word> words) {
  std::string planes(words.size() * sizeof(Word), '\0');
  for (std::size_t plane = 0; plane < sizeof(Word); ++plane) {
    char* const to = planes.data() + plane * words.size();
    for (std::size_t i = 0; i < words.size(); ++i) to[i] = static_cast<char>(words[i] >> (8 * plane));
  }
  return planes;
}

// REQUIRES: planes.size() is a multiple of sizeof(Word).
template <typename Word>
[[nodiscard]] std::vector<Word> words_of(std::string_view planes) {
  std::vector<Word> words(planes.size() / sizeof(Word));
  for (std::size_t plane = 0; plane < sizeof(Word); ++plane) {
    const char* const from = planes.data() + plane * words.size();
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = static_cast<Word>(
          words[i] |
          static_cast<Word>(static_cast<Word>(static_cast<unsigned char>(from[i])) << (8 * plane)));
    }
  }
  return words;
}

// Small numbers of either sign as small ones without: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
template <typename Word>
[[nodiscard]] constexpr Word zigzag(Word difference) {
  constexpr int kSign = 8 * sizeof(Word) - 1;
  return static_cast<Word>(static_cast<Word>(difference << 1) ^
                           static_cast<Word>(-static_cast<Word>(difference >> kSign)));
}
template <typename Word>
[[nodiscard]] constexpr Word unzigzag(Word code) {
  return static_cast<Word>(static_cast<Word>(code >> 1) ^ static_cast<Word>(-static_cast<Word>(code & 1)));
}

}  // namespace goodput
