// What a person does to an incident.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace goodput {

struct IncidentAction {
  enum class Kind : std::uint8_t { kAcknowledge, kMute, kEnd };
  Kind kind = Kind::kAcknowledge;
  std::string incident;  // its key
  std::string by;        // who does it
  double mute_s = 0;     // kMute: for how long
};
inline constexpr std::string_view kIncidentActions[] = {"acknowledge", "mute", "end"};

}  // namespace goodput
