// A recording of many nodes, seen by a job that wants fewer (TraceCap).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/failure/failure_draws.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {

// At most `nodes` nodes of a recording: which ones.
struct TraceCap {
  enum class Rule : std::uint8_t {
    kList,       // `names` only; none given: the nodes lost together first, then those that came first
    kFirstSeen,  // those that came first
    kThin,       // each with probability nodes / peak; who would be one too many stays out
    kSaturate,   // at any time those held for longest; the others wait and step in when one leaves
    kAdmit,      // those that join while there is room; the others are turned away, until they join again
  };
  Rule rule = Rule::kList;
  NodeId nodes = 0;  // 0: as many as `names`
  std::vector<std::string> names{};

  [[nodiscard]] NodeId most_nodes() const {
    return names.empty() ? nodes : static_cast<NodeId>(names.size());
  }
};
inline constexpr std::array<std::string_view, 5> kTraceCapNames = {"list", "first_seen", "thin", "saturate",
                                                                   "admit"};
[[nodiscard]] config::Fields config_fields(TraceCap& cap);
[[nodiscard]] Status config_finish(TraceCap& cap);

// The most nodes that are there at the same time. REQUIRES: events of kinds kAdd and kRemove only.
[[nodiscard]] NodeId most_held_in(const std::vector<NodeEvent>& events);

// The events of `events` that the job sees, and those that `cap` makes of them. Error::where is a pointer
// from the cap: names that the trace does not have.
Result<std::vector<NodeEvent>> capped(const std::vector<NodeEvent>& events, const TraceCap& cap,
                                      const SpotTrace& trace, const FailureKey& key);

}  // namespace goodput
