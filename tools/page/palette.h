// The colours of palette.def for pictures, which are light (0xrrggbb), and their font.
#pragma once

#include <array>
#include <cstdint>

namespace goodput::palette {

#define GOODPUT_COLOUR(name, light, dark) inline constexpr std::uint32_t k##name = light;
#define GOODPUT_FONT(families) inline constexpr const char* kFontFamily = families;
#define GOODPUT_RAMP(colour)
#include "tools/page/palette.def"
#undef GOODPUT_COLOUR
#undef GOODPUT_FONT
#undef GOODPUT_RAMP

// From little to much, in even steps.
inline constexpr std::array kRamp = {
#define GOODPUT_COLOUR(name, light, dark)
#define GOODPUT_FONT(families)
#define GOODPUT_RAMP(colour) std::uint32_t{colour},
#include "tools/page/palette.def"
#undef GOODPUT_COLOUR
#undef GOODPUT_FONT
#undef GOODPUT_RAMP
};

// Of things that are told apart, in turn.
inline constexpr std::array kCategories = {kCategory1, kCategory2, kCategory3, kCategory4, kCategory5,
                                           kCategory6, kCategory7, kCategory8, kCategory9, kCategory10};

}  // namespace goodput::palette
