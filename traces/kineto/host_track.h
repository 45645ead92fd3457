// What the host's threads say about a rank's track: which passes ran when, and what else has a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/kineto/kineto_events.h"

namespace goodput {

// What the host was doing, as far as it is known by name.
enum class HostWork : std::uint8_t { kUnknown, kForward, kBackward, kOptimizer, kDataLoader };
inline constexpr std::size_t kHostWorkCount = 5;

// The names that RankActivity has for them: "", "forward", "backward", "optimizer", "data-loader".
[[nodiscard]] const char* to_string(HostWork work);

struct HostSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  HostWork work = HostWork::kUnknown;
};

// Maximal runs of backward functions: between two of a run nothing else begins. `begins`: when other work
// begins, ascending.
[[nodiscard]] std::vector<HostSpan> backward_runs(const KinetoEvents& events,
                                                  std::span<const std::int64_t> begins);

// Annotated data loading and optimizer steps, and the runs; sorted by begin. They do not nest.
[[nodiscard]] std::vector<HostSpan> host_spans(const KinetoEvents& events, std::span<const HostSpan> runs);

// Of [begin_ns, end_ns), by HostWork: how long each was done, kUnknown by the rest.
class HostWorkShares {
 public:
  explicit HostWorkShares(std::vector<HostSpan> spans) : spans_(std::move(spans)) {}
  // The work that took most of the interval, kUnknown if none is known.
  [[nodiscard]] HostWork main_work(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  std::vector<HostSpan> spans_;
};

}  // namespace goodput
