// How far a figure may move before that counts: "exact", "1 %", "0.02", "1 % at 95 %".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/errors.h"

namespace goodput {

struct Tolerance {
  enum class Kind : std::uint8_t {
    kExact,     // not at all
    kRelative,  // by `size` times the baseline, either way
    kAbsolute   // by `size`, in the figure's unit
  };
  Kind kind = Kind::kExact;
  double size = 0;
  // Of a figure that is a mean over trials: how sure to be of what is said of all trials there could be.
  // None: the figure is compared as it is.
  std::optional<double> confidence{};

  // The Error has no place.
  static Result<Tolerance> parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool is_relative() const { return kind == Kind::kRelative; }
  [[nodiscard]] bool is_statistical() const { return confidence.has_value(); }

  // How far `figure` is from `baseline`, in the unit of `size`; relative to 0: none.
  [[nodiscard]] std::optional<double> change(double baseline, double figure) const;
  [[nodiscard]] bool allows(double baseline, double figure) const;
};

}  // namespace goodput
