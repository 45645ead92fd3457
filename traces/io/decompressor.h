// The compressed forms in which files are read: what they begin with, and their streams.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "sim/base/errors.h"

namespace goodput {

// A stream of parts (gzip members, zstd frames), fed piece by piece.
class Decompressor {
 public:
  struct Progress {
    std::size_t read = 0;     // bytes of the input used up
    std::size_t written = 0;  // bytes of output
    bool part_ended = false;
  };

  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  virtual ~Decompressor() = default;

  // "gzip", "zstd".
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Whether another part may begin with this byte.
  [[nodiscard]] virtual bool begins_part(unsigned char first) const = 0;
  // Makes ready for another part.
  virtual void restart() = 0;
  // From the front of `from` into the front of `into`, as far as either goes. Fails on damaged data, without
  // the place, once all before the damage was returned.
  virtual Result<Progress> run(std::span<const unsigned char> from, std::span<char> into) = 0;
};

// How many bytes tell what a file is.
inline constexpr std::size_t kCompressionMagicBytes = 4;

// For a file that begins like this; null when it is not compressed.
[[nodiscard]] std::unique_ptr<Decompressor> decompressor_for(std::span<const unsigned char> head);

}  // namespace goodput
