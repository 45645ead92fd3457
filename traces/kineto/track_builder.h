// Builds the cuts of a rank's track: what traces of CUDA jobs and of CPU jobs have in common.
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

// A cut of the track, at the time when the host reached it.
struct HostCut {
  std::int64_t host_ns = 0;
  TrackCut::Kind kind = TrackCut::Kind::kStepEnd;
  std::int32_t part = -1;
};

// The thread that has the steps.
[[nodiscard]] std::uint32_t main_thread(const KinetoEvents& events);

// The index of a name in the activity's table. Adds a new one.
[[nodiscard]] std::uint32_t intern(RankActivity& activity, std::string_view name);

// The ends of passes: the end of every backward run, and the end of the last other work before it, if there
// was any since the previous run. `others`: when other work of the host ends, ascending.
[[nodiscard]] std::vector<HostCut> pass_cuts(std::span<const HostSpan> runs,
                                             std::span<const std::int64_t> others);

// The steps by host time. A step lasts from its begin to the begin of the next.
class HostSteps {
 public:
  explicit HostSteps(const KinetoEvents& events);
  // The index of the step at a time; -1 before the first step and after the end of the last.
  [[nodiscard]] std::int32_t step_at(std::int64_t host_ns) const;
  [[nodiscard]] const std::vector<KinetoEvents::Step>& steps() const { return steps_; }
  // When a step ends on the host: no earlier than the next step begins.
  [[nodiscard]] std::int64_t end_ns(std::size_t step) const;

 private:
  std::vector<KinetoEvents::Step> steps_;  // ascending by time
};

// Sorts the cuts, adds the end of every step, and fills the activity's steps (number and range of cuts) and
// cuts (kind, part and label, but no times). Returns when the host reached each cut.
[[nodiscard]] std::vector<std::int64_t> lay_out_cuts(RankActivity& activity, const HostSteps& steps,
                                                     std::vector<HostCut> cuts, std::vector<HostSpan> spans);

// Merges intervals that are sorted by begin, and returns the gaps between them that are longer than
// `shortest_ns`.
[[nodiscard]] std::vector<IdleGap> gaps_between(std::span<const IdleGap> busy, std::int64_t shortest_ns);

}  // namespace goodput
