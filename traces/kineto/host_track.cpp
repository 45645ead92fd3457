#include "traces/kineto/host_track.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "traces/kineto/kineto_names.h"

namespace goodput {
namespace {

HostWork work_of_annotation(std::string_view name) {
  if (name.starts_with("Optimizer.step")) return HostWork::kOptimizer;
  if (name.starts_with("enumerate(DataLoader)")) return HostWork::kDataLoader;
  return HostWork::kUnknown;
}

}  // namespace

const char* to_string(HostWork work) {
  constexpr std::array<const char*, kHostWorkCount> kNames = {"", "forward", "backward", "optimizer",
                                                              "data-loader"};
  return kNames[static_cast<std::size_t>(work)];
}

std::vector<HostSpan> backward_runs(const KinetoEvents& events, std::span<const std::int64_t> begins) {
  std::vector<HostSpan> runs;
  for (const KinetoEvents::Span& span : events.spans) {
    if (events.names[span.name] == kBackwardFunction)
      runs.push_back({span.begin_ns, span.end_ns, HostWork::kBackward});
  }
  std::ranges::sort(runs, {}, &HostSpan::begin_ns);
  std::size_t count = 0;
  for (const HostSpan& next : runs) {
    if (count > 0) {
      HostSpan& last = runs[count - 1];
      const auto other = std::ranges::lower_bound(begins, last.end_ns);
      if (next.begin_ns <= last.end_ns || other == begins.end() || *other >= next.begin_ns) {
        last.end_ns = std::max(last.end_ns, next.end_ns);
        continue;
      }
    }
    runs[count++] = next;
  }
  runs.resize(count);
  return runs;
}

std::vector<HostSpan> host_spans(const KinetoEvents& events, std::span<const HostSpan> runs) {
  std::vector<HostSpan> spans(runs.begin(), runs.end());
  for (const KinetoEvents::Span& span : events.spans) {
    const HostWork work = work_of_annotation(events.names[span.name]);
    if (work != HostWork::kUnknown) spans.push_back({span.begin_ns, span.end_ns, work});
  }
  std::ranges::sort(spans, {}, &HostSpan::begin_ns);
  return spans;
}

HostWork HostWorkShares::main_work(std::int64_t begin_ns, std::int64_t end_ns) const {
  std::array<double, kHostWorkCount> share{};
  auto span = std::ranges::upper_bound(spans_, begin_ns, {}, &HostSpan::begin_ns);
  // A span that began before may reach into the interval. Spans do not nest, so looking back at two is
  // enough.
  for (int back = 0; back < 2 && span != spans_.begin(); ++back) --span;
  for (; span != spans_.end() && span->begin_ns < end_ns; ++span) {
    const std::int64_t overlap = std::min(span->end_ns, end_ns) - std::max(span->begin_ns, begin_ns);
    if (overlap > 0) share[static_cast<std::size_t>(span->work)] += static_cast<double>(overlap);
  }
  share[0] = static_cast<double>(end_ns - begin_ns) - share[1] - share[2] - share[3] - share[4];
  const auto most = std::ranges::max_element(share) - share.begin();
  return static_cast<HostWork>(most);
}

}  // namespace goodput
