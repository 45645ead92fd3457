// What the events of the host say about a rank's track: when passes ran, and other work that has a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/kineto/kineto_events.h"

namespace goodput {

// The kinds of work of a host that have a name in the trace.
enum class HostWork : std::uint8_t { kUnknown, kForward, kBackward, kOptimizer, kDataLoader };
inline constexpr std::size_t kHostWorkCount = 5;

// Their names in RankActivity: "", "forward", "backward", "optimizer", "data-loader".
[[nodiscard]] const char* to_string(HostWork work);

struct HostSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  HostWork work = HostWork::kUnknown;
};

// Maximal runs of backward functions, without other work that begins in between. `begins`: when other work
// begins, ascending.
[[nodiscard]] std::vector<HostSpan> backward_runs(const KinetoEvents& events,
                                                  std::span<const std::int64_t> begins);

// The runs, and annotated data loading and optimizer steps, sorted by begin. They do not nest.
[[nodiscard]] std::vector<HostSpan> host_spans(const KinetoEvents& events, std::span<const HostSpan> runs);

// Which work fills an interval.
class HostWorkShares {
 public:
  explicit HostWorkShares(std::vector<HostSpan> spans) : spans_(std::move(spans)) {}
  // The work that took most of [begin_ns, end_ns); time without named work counts as kUnknown.
  [[nodiscard]] HostWork main_work(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  std::vector<HostSpan> spans_;
};

}  // namespace goodput
