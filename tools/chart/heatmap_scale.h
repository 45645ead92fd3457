// The colours of a heat map of slowdowns: pale yellow for 1 (nothing lost) over green to dark violet for the
// worst (the ramp of tools/page/palette.def).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace goodput {

struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  friend bool operator==(const Rgb&, const Rgb&) = default;
};

// The colour at `position`, 0 (light) to 1 (dark).
[[nodiscard]] Rgb ramp_colour(double position);

// Black or white, whichever is easier to read on `background`.
[[nodiscard]] Rgb ink_on(Rgb background);

class HeatScale {
 public:
  // Reaches from 1 to the first tick at or above `largest`, and at least to 1.1: noise should not look like a
  // straggler.
  explicit HeatScale(double largest);

  // Slowdowns below 1 count as 1, those above the scale as its end. What is no number is grey.
  [[nodiscard]] Rgb colour(double slowdown) const;

  [[nodiscard]] double top() const { return ticks_.back(); }
  [[nodiscard]] const std::vector<double>& ticks() const { return ticks_; }  // from 1 to top()

  // A value of the scale with as many decimals as all ticks need.
  [[nodiscard]] std::string tick_label(double slowdown) const;

 private:
  std::vector<double> ticks_;
  int decimals_ = 1;
};

// A slowdown in at most four characters where it fits: 1.97, 12.3, 140.
[[nodiscard]] std::string slowdown_label(double slowdown);

}  // namespace goodput
