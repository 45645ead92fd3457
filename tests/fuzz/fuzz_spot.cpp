#include <cstdlib>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "traces/spot/count_changes.h"
#include "traces/spot/spot_reader.h"

namespace {

using goodput::SimTime;
using goodput::SpotTrace;

void require(bool condition) {
  if (!condition) std::abort();
}

// What sim/nodes/spot_trace.h promises.
void check(const SpotTrace& trace) {
  for (std::size_t i = 0; i < trace.counts.size(); ++i) {
    require(trace.counts[i].count >= 0 && trace.counts[i].time <= trace.end);
    require(i == 0 ? trace.counts[0].time == SimTime{} : trace.counts[i - 1].time < trace.counts[i].time);
    require(i == 0 || trace.counts[i - 1].count != trace.counts[i].count);
  }
  for (std::size_t i = 0; i < trace.holes.size(); ++i) {
    require(trace.holes[i].begin < trace.holes[i].end && trace.holes[i].end <= trace.end);
    require(i == 0 || trace.holes[i - 1].end < trace.holes[i].begin);
  }
  std::vector<bool> is_there(trace.node_names.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const goodput::NodeEvent& event = trace.events[i];
    const bool is_add = event.kind == goodput::NodeEvent::Kind::kAdd;
    const auto node = static_cast<std::size_t>(event.node);
    require(node < is_there.size() && is_there[node] != is_add);
    is_there[node] = is_add;
    if (i == 0) continue;
    const goodput::NodeEvent& before = trace.events[i - 1];
    require(before.time < event.time || (before.time == event.time && before.kind <= event.kind));
  }
  for (const goodput::SpotCount& count : goodput::spot_counts(trace)) require(count.count >= 0);
}

// Written and read again it is the same.
void check_round_trip(const SpotTrace& trace) {
  const goodput::fuzz::MemoryFile written(nullptr, 0);
  for (const goodput::SpotFormat& format : goodput::spot_formats()) {
    if (format.write == nullptr || (format.name == "events_csv") != trace.has_names()) continue;
    require(static_cast<bool>(format.write(trace, written.path(), "x.csv")));
    const auto again = goodput::read_spot_trace(written.path(), {});
    require(static_cast<bool>(again));
    require(again->counts == trace.counts && again->prices == trace.prices && again->holes == trace.holes);
    require(again->events.size() == trace.events.size() && (trace.has_names() || again->end == trace.end));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const goodput::fuzz::MemoryFile file(data, size);
  for (const auto polarity : {goodput::SpotPolarity::kAvailable, goodput::SpotPolarity::kPreempted}) {
    const auto trace = goodput::read_spot_trace(file.path(), {polarity, goodput::SpotMeaning::kHeld, {}});
    if (!trace) continue;
    check(*trace);
    constexpr std::size_t kMostRows = 4096;  // keeps an input below a second
    if (trace->counts.size() + trace->events.size() < kMostRows) check_round_trip(*trace);
  }
  return 0;
}
