// The text of a body that was pushed, piece by piece: decompressed as it is asked for, in whole lines.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "traces/io/decompressor.h"

namespace goodput {

struct PushLimits {
  std::size_t text_bytes = std::size_t{512} << 20;  // of a body, decompressed
  // Times the compressed bytes, once there are more than a few: profiles compress to a tenth, not a
  // thousandth.
  std::size_t ratio = 200;
  std::size_t ratio_free_bytes = std::size_t{8} << 20;
  std::size_t piece_bytes = std::size_t{4} << 20;
  std::size_t line_bytes = std::size_t{16} << 20;
};

class PushedLines {
 public:
  PushedLines(std::string body, const PushLimits& limits);

  // About piece_bytes of the next lines, each with its line feed; nothing: that was all. Fails, without a
  // place, on damaged data, and on more or longer lines than there may be.
  Result<std::optional<std::string>> next();

  [[nodiscard]] std::size_t body_bytes() const { return body_.size(); }
  [[nodiscard]] std::size_t text_bytes() const { return text_bytes_; }  // so far
  // As if nothing had been read.
  void rewind();

 private:
  // Some of the text into the front of `into`: 0 at its end.
  Result<std::size_t> read(std::span<char> into);
  Result<std::size_t> decompress(std::span<char> into);
  Status begin_part();

  std::string body_;
  PushLimits limits_;
  std::unique_ptr<Decompressor> decompressor_;  // null: it is not compressed
  std::size_t read_ = 0;                        // of body_
  bool in_part_ = false;                        // of what is compressed
  std::size_t text_bytes_ = 0;
  std::string begun_;  // the line that is not whole yet
};

}  // namespace goodput
