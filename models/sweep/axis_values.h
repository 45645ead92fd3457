// What a parameter of a sweep runs through, as people write it:
//   10,25,50,"young",[1,2]     JSON, and what is no JSON is text
//   0..8                       whole numbers; 0..64:8 every eighth
//   0.1..0.5:0.1               decimals, exactly
//   600..86400/7               so many, evenly spaced; 600..86400/7:log with equal ratios
//   0.01..0.15 or 10..1000:log a range as it is, which designs take values from that choose their own
// and any of these with commas between. Ends without a decimal point are whole, and so is what lies between.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// Numbers LOW..HIGH.
struct AxisRange {
  double low = 0;
  double high = 0;
  bool is_whole = false;
  bool is_log = false;  // evenly spaced by their logarithms

  // Where `share`, from 0 to 1, of the range lies below; not rounded.
  [[nodiscard]] double at(double share) const;
};

class AxisValues {
 public:
  // Errors have no place.
  static Result<AxisValues> parse(std::string_view text);
  // JSON texts, as they are.
  static AxisValues of(std::vector<std::string> values);

  // How many there are, or the largest number there is if that is less; none: a range that does not say.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  // JSON. REQUIRES: index < count().
  [[nodiscard]] std::string at(std::uint64_t index) const;
  // A value that `is_fine` does not hold for, JSON; of a range without a number of values only its low end
  // and one between are asked for.
  [[nodiscard]] std::optional<std::string> find_unlike(
      const std::function<bool(const std::string&)>& is_fine) const;
  // JSON: where `share`, in [0, 1), of all lies below. All of a range and all of a list are as likely.
  [[nodiscard]] std::string at_share(double share) const;

 private:
  // One of what the commas separate.
  struct Piece {
    std::string value{};                   // JSON; empty: a range
    AxisRange range{};                     // with both ends
    std::int64_t first = 0;                // of a range in steps: in units of 10^-decimals
    std::int64_t step = 0;                 // likewise; 0: it is spaced
    int decimals = 0;                      // likewise
    std::optional<std::uint64_t> count{};  // none: the range does not say

    [[nodiscard]] std::string at(std::uint64_t index) const;
  };

  static Result<Piece> parse_piece(std::string_view text);
  static Result<Piece> parse_range(std::string_view text, std::size_t dots);
  static Status check_spaced(const Piece& piece, std::string_view text);

  std::vector<Piece> pieces_{};
};

}  // namespace goodput
