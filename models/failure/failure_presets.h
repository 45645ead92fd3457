// Failure models of machines that somebody wrote about: configs/failures/*.json.
//
// A file has the object of a failure model, as a scenario would, with where its numbers come from. How many
// nodes there are it leaves to who uses it.
#pragma once

#include <optional>
#include <string>

#include "sim/base/json_fwd.h"
#include "sim/base/tier.h"
#include "sim/config/library.h"

namespace goodput {

inline constexpr config::Kind kFailurePresetFiles{"failures", "failure preset"};

// The file that a failure model was named by.
struct FailurePreset {
  config::Source source{};
  std::string text{};          // its JSON object
  std::optional<Tier> tier{};  // how well founded its numbers are, if it says so
};

// The object that a failure model is read from: that of the preset, where the keys given beside "preset" do
// not say otherwise. Who says how well founded a number is speaks of its own numbers only.
[[nodiscard]] Json with_preset(const FailurePreset& preset, const Json& given);

// Why naming the preset moves nothing; empty: it does.
[[nodiscard]] std::string useless_preset(const FailurePreset& preset, const Json& given);

}  // namespace goodput
