// A summary of a routing trace, for people and as JSON.
#pragma once

#include <string>

#include "sim/base/json_fwd.h"
#include "tools/routing/routing_summary.h"
#include "traces/routing/routing_reader.h"

namespace goodput {

struct RoutingReport {
  const RoutingReading& reading;
  const RoutingQuestion& question;
  const RoutingSummary& summary;
  std::size_t files = 1;
};

[[nodiscard]] std::string routing_text(const RoutingReport& report);

// Adds the keys of docs/formats/routing.md, "routing info --json".
void add_routing_json(const RoutingReport& report, OrderedJson& json);

}  // namespace goodput
