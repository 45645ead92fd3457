// A recording of how many, or which, nodes of a spot market a user held, or could have had.
//
// Read by traces/spot/spot_reader.h, replayed by models/failure/trace.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

// What a drop is.
enum class SpotMeaning : std::uint8_t {
  kHeld,    // a preemption: the nodes were held
  kProbe,   // not necessarily one: so many nodes could have been launched at that moment
  kFaults,  // a fault: the nodes are one's own, and return when they are repaired
};
inline constexpr std::string_view kSpotMeaningNames[] = {"held", "probe", "faults"};

// What the numbers of a count file count.
enum class SpotPolarity : std::uint8_t { kAvailable, kPreempted };
inline constexpr std::string_view kSpotPolarityNames[] = {"available", "preempted"};

// How many nodes there are from `time` on.
struct SpotCount {
  SimTime time{};
  std::int32_t count = 0;

  friend bool operator==(const SpotCount&, const SpotCount&) = default;
};

// What a node costs from `time` on.
struct SpotPrice {
  SimTime time{};
  double usd_per_node_hour = 0;

  friend bool operator==(const SpotPrice&, const SpotPrice&) = default;
};

// Nothing was recorded in [begin, end), although the file's own pace says that there should be something.
struct SpotHole {
  SimTime begin{};
  SimTime end{};

  friend bool operator==(const SpotHole&, const SpotHole&) = default;
};

// Exactly one of `events` and `counts` is filled. Times start at 0 and never decrease.
struct SpotTrace {
  std::string file{};                     // for messages
  std::string format{};                   // a name of traces/spot/spot_formats.def
  std::vector<NodeEvent> events{};        // kAdd and kRemove; a valid stream in the sense of FailureModel
  std::vector<std::string> node_names{};  // by node of `events`, in the order in which they first appear
  std::vector<SpotCount> counts{};        // changes only, the first at time 0
  std::vector<SpotPrice> prices{};        // changes only
  std::vector<SpotHole> holes{};          // ascending, apart
  std::int64_t momentary = 0;  // times a node was added and removed again in one moment: not in `events`
  SimTime end{};               // the recording says nothing from here on
  SpotMeaning meaning = SpotMeaning::kHeld;
  SpotPolarity polarity = SpotPolarity::kAvailable;  // of the file; `counts` are of available nodes always

  [[nodiscard]] bool has_names() const { return !node_names.empty(); }
};

}  // namespace goodput
