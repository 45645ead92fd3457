// Puts the cuts of a rank's track together: what the two forms of traces (kernels of a device, or the work of
// a host) have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/ops/rank_activity.h"
#include "traces/kineto/host_track.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {

// Something that cuts the track, at the time at which the host came there.
struct HostCut {
  std::int64_t host_ns = 0;
  TrackCut::Kind kind = TrackCut::Kind::kStepEnd;
  std::int32_t part = -1;
};

// The main thread: the one that has the steps.
[[nodiscard]] std::uint32_t main_thread(const KinetoEvents& events);

// Index of the name in the activity's table; added if it is new.
[[nodiscard]] std::uint32_t intern(RankActivity& activity, std::string_view name);

// The ends of passes: of every backward run, and of the work before it if there is any since the run before.
// `others`: when other work of the host ends, ascending.
[[nodiscard]] std::vector<HostCut> pass_cuts(std::span<const HostSpan> runs,
                                             std::span<const std::int64_t> others);

// Index of the step that a time of the host falls into: from the begin of the step to that of the next.
// Nothing: before the first or after the end of the last.
class HostSteps {
 public:
  explicit HostSteps(const KinetoEvents& events);
  [[nodiscard]] std::int32_t step_at(std::int64_t host_ns) const;
  [[nodiscard]] const std::vector<KinetoEvents::Step>& steps() const { return steps_; }
  // Where the step's own work ends on the host.
  [[nodiscard]] std::int64_t end_ns(std::size_t step) const;

 private:
  std::vector<KinetoEvents::Step> steps_;  // ascending by time
};

// Fills steps (numbers, and the range of each one's cuts) and cuts (kind, part and label; no times) from cuts
// in any order; adds the end of every step. Returns the times at which the host came to the cuts.
[[nodiscard]] std::vector<std::int64_t> lay_out_cuts(RankActivity& activity, const HostSteps& steps,
                                                     std::vector<HostCut> cuts, std::vector<HostSpan> spans);

// Merges intervals that are sorted by begin, and returns the gaps between them that are longer than
// `shortest_ns`.
[[nodiscard]] std::vector<IdleGap> gaps_between(std::span<const IdleGap> busy, std::int64_t shortest_ns);

}  // namespace goodput
