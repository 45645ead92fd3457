// What the CSV readers share: a file in blocks of whole lines, and the fields of a line.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"
#include "traces/io/decimal.h"

namespace goodput {

inline constexpr std::size_t kCsvBlockBytes = std::size_t{256} << 10;
inline constexpr std::string_view kUnclosedQuote = "a field has an opening quote without a closing quote";

// The text of a file in blocks of whole lines, each ended by a '\n', the last line too.
class LineBlocks {
 public:
  // No line may be longer than a block.
  explicit LineBlocks(ByteSource& source, std::size_t block_bytes = kCsvBlockBytes)
      : source_(source), block_bytes_(block_bytes), buffer_(block_bytes + 1) {}

  // The next block; empty at the end. Valid until the next call. `line` is the number of its first line.
  Result<std::string_view> next(std::size_t line);

  // Whether the block that next() returned last ends with the last line of the file, which has no end of its
  // own.
  [[nodiscard]] bool ends_open() const { return ends_open_; }

 private:
  ByteSource& source_;
  std::size_t block_bytes_;
  std::vector<char> buffer_;
  std::size_t filled_ = 0;
  std::size_t used_ = 0;
  bool ends_open_ = false;
};

[[nodiscard]] std::string_view without_line_end(std::string_view line);
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

// The first line of a block, without its end; it is gone from the block.
std::string_view take_line(std::string_view& block);

// `error` at FILE:LINE, unless it has a place already.
[[nodiscard]] Error at_line(Error error, const std::string& path, std::size_t line);

// Calls `on_line(line, number)` for every line, without its end, until that fails. An Error without a place
// gets that of the line.
template <typename OnLine>
Status for_each_line(ByteSource& source, std::size_t block_bytes, OnLine on_line) {
  LineBlocks blocks(source, block_bytes);
  for (std::size_t number = 1;;) {
    GOODPUT_TRY(std::string_view block, blocks.next(number));
    if (block.empty()) return Ok{};
    for (; !block.empty(); ++number) {
      Status status = on_line(take_line(block), number);
      if (!status) return at_line(std::move(status).error(), source.path(), number);
    }
  }
}

// Takes the fields of a line one by one. The line must be followed by a character that belongs to no number.
template <char kSeparator>
class SeparatedFields {
 public:
  explicit SeparatedFields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  [[nodiscard]] bool exhausted() const { return at_ == nullptr; }

  // The next field without its quotes; nothing when its quotes are not closed.
  // REQUIRES: !exhausted().
  std::optional<std::string_view> take() {
    if (at_ != end_ && *at_ == '"') return take_quoted();
    const void* comma = std::memchr(at_, kSeparator, static_cast<std::size_t>(end_ - at_));
    return take_until(comma == nullptr ? end_ : static_cast<const char*>(comma));
  }

  // The next field when it is a plain integer or decimal, as almost all are; else takes nothing.
  std::optional<std::int64_t> take_plain_integer() {
    constexpr std::ptrdiff_t kMostDigits = 18;  // cannot overflow
    const char* at = at_;
    const bool negative = *at == '-';
    if (negative) ++at;
    const char* digits = at;
    std::uint64_t value = 0;
    for (; static_cast<unsigned char>(*at - '0') < 10; ++at)
      value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    if (at == digits || at - digits > kMostDigits || !is_field_end(at)) return std::nullopt;
    take_until(at);
    return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  }
  // The next fields as far as they are plain integers without a sign; how many were taken. For long rows of
  // numbers.
  std::size_t take_plain_integers(std::span<std::int64_t> into) {
    constexpr std::ptrdiff_t kMostDigits = 18;  // cannot overflow
    if (exhausted()) return 0;
    const char* at = at_;
    std::size_t taken = 0;
    while (taken < into.size()) {
      const char* digits = at;
      std::uint64_t value = 0;
      for (; static_cast<unsigned char>(*at - '0') < 10; ++at)
        value = value * 10 + static_cast<std::uint64_t>(*at - '0');
      if (at == digits || at - digits > kMostDigits || !is_field_end(at)) {
        at = digits;
        break;
      }
      into[taken++] = static_cast<std::int64_t>(value);
      if (at == end_) {
        at_ = nullptr;
        return taken;
      }
      ++at;
    }
    at_ = at;
    return taken;
  }
  std::optional<Decimal> take_plain_decimal() {
    const auto plain = scan_plain_decimal(at_);
    if (!plain || !is_field_end(at_ + plain->length)) return std::nullopt;
    take_until(at_ + plain->length);
    return plain->decimal;
  }

 private:
  [[nodiscard]] bool is_field_end(const char* at) const { return at == end_ || *at == kSeparator; }

  std::string_view take_until(const char* field_end) {
    const std::string_view field(at_, static_cast<std::size_t>(field_end - at_));
    at_ = field_end == end_ ? nullptr : field_end + 1;
    return field;
  }

  // Doubled quotes inside stay doubled: no name of ours has any.
  std::optional<std::string_view> take_quoted() {
    const char* at = at_ + 1;
    while (at != end_ && (*at != '"' || (at + 1 != end_ && at[1] == '"'))) at += *at == '"' ? 2 : 1;
    if (at == end_ || !is_field_end(at + 1)) return std::nullopt;
    std::string_view field = take_until(at + 1);
    field.remove_prefix(1);
    field.remove_suffix(1);
    return field;
  }

  const char* at_;
  const char* end_;
};

using CsvFields = SeparatedFields<','>;

// All fields of a line; nothing when quotes are not closed. `separator`: a comma, a semicolon or a tab.
[[nodiscard]] std::optional<std::vector<std::string_view>> split_csv(std::string_view line,
                                                                     char separator = ',');

}  // namespace goodput
