#include "tools/monitor_store/packed_bytes.h"

#include <zstd.h>

#include <bit>
#include <cstring>

namespace goodput {

std::string compressed(std::string_view bytes, int level) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), level);
  GOODPUT_CHECK(ZSTD_isError(size) == 0, "zstd failed to compress");
  frame.resize(size);
  return frame;
}

Result<std::string> decompressed(std::string_view frame, std::size_t most_bytes) {
  const Error damaged{"contains damaged compressed data"};
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > most_bytes) return damaged;
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), frame.data(), frame.size()) != bytes.size()) return damaged;
  return bytes;
}

void BytesHash::add(std::string_view bytes) {
  std::size_t at = 0;
  for (; bytes.size() - at >= sizeof(sums_); at += sizeof(sums_)) {
    std::uint64_t words[4];
    std::memcpy(words, bytes.data() + at, sizeof(words));
    for (std::size_t k = 0; k < 4; ++k) sums_[k] = (std::rotl(sums_[k], 29) ^ words[k]) * 0x9e3779b97f4a7c15U;
  }
  rest_.add(bytes.substr(at));
  rest_.add(bytes.size());
}

std::string BytesHash::value() const {
  std::string value;
  for (const std::uint64_t half : {std::uint64_t{1}, std::uint64_t{2}}) {
    Hash hash;
    hash.add(half);
    for (const std::uint64_t sum : sums_) hash.add(sum);
    hash.add(rest_.value());
    const std::uint64_t bits = hash.value();
    for (int shift = 0; shift < 64; shift += 8) value += static_cast<char>(bits >> shift);
  }
  return value;
}

}  // namespace goodput
