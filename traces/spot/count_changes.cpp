#include "traces/spot/count_changes.h"

namespace goodput {

std::vector<SpotCount> spot_counts(const SpotTrace& trace) {
  if (!trace.has_names()) return trace.counts;
  std::vector<SpotCount> counts;
  std::int32_t count = 0;
  if (trace.events.empty() || trace.events.front().time > SimTime{}) counts.push_back({SimTime{}, 0});
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const NodeEvent& event = trace.events[i];
    count += event.kind == NodeEvent::Kind::kAdd ? 1 : -1;
    const bool is_last_of_moment = i + 1 == trace.events.size() || trace.events[i + 1].time != event.time;
    if (!is_last_of_moment) continue;
    if (counts.empty() || counts.back().count != count) counts.push_back({event.time, count});
  }
  return counts;
}

}  // namespace goodput
