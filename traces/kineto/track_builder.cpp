#include "traces/kineto/track_builder.h"

#include <algorithm>
#include <utility>

namespace goodput {
namespace {

// The work of a segment. If it has no name and comes before the last backward run, it is forward.
HostWork work_of_segment(const HostWorkShares& shares, std::int64_t begin_ns, std::int64_t end_ns,
                         std::int64_t last_backward_ns) {
  const HostWork work = shares.main_work(begin_ns, end_ns);
  return work == HostWork::kUnknown && end_ns <= last_backward_ns ? HostWork::kForward : work;
}

}  // namespace

std::uint32_t main_thread(const KinetoEvents& events) {
  return events.steps.front().thread;
}

std::uint32_t intern(RankActivity& activity, std::string_view name) {
  const auto index =
      static_cast<std::uint32_t>(std::ranges::find(activity.names, name) - activity.names.begin());
  if (index == activity.names.size()) activity.names.emplace_back(name);
  return index;
}

std::vector<HostCut> pass_cuts(std::span<const HostSpan> runs, std::span<const std::int64_t> others) {
  std::vector<HostCut> cuts;
  std::int64_t last_end = 0;
  for (const HostSpan& run : runs) {
    const auto behind = std::ranges::upper_bound(others, run.begin_ns);
    if (behind != others.begin() && *(behind - 1) > last_end)
      cuts.push_back({*(behind - 1), TrackCut::Kind::kPassEnd, -1});
    cuts.push_back({run.end_ns, TrackCut::Kind::kPassEnd, -1});
    last_end = run.end_ns;
  }
  return cuts;
}

HostSteps::HostSteps(const KinetoEvents& events) : steps_(events.steps) {
  std::ranges::sort(steps_, {}, &KinetoEvents::Step::begin_ns);
}

std::int32_t HostSteps::step_at(std::int64_t host_ns) const {
  const auto next = std::ranges::upper_bound(steps_, host_ns, {}, &KinetoEvents::Step::begin_ns);
  if (next == steps_.begin() || (next == steps_.end() && host_ns >= steps_.back().end_ns)) return -1;
  return static_cast<std::int32_t>(next - steps_.begin()) - 1;
}

std::int64_t HostSteps::end_ns(std::size_t step) const {
  return step + 1 < steps_.size() ? std::max(steps_[step].end_ns, steps_[step + 1].begin_ns)
                                  : steps_[step].end_ns;
}

std::vector<std::int64_t> lay_out_cuts(RankActivity& activity, const HostSteps& steps,
                                       std::vector<HostCut> cuts, std::vector<HostSpan> spans) {
  for (std::size_t step = 0; step < steps.steps().size(); ++step)
    cuts.push_back({steps.end_ns(step), TrackCut::Kind::kStepEnd, -1});
  std::ranges::stable_sort(cuts, {}, &HostCut::host_ns);
  std::vector<std::int64_t> last_backward(steps.steps().size(), 0);
  for (const HostSpan& span : spans) {
    const std::int32_t step = steps.step_at(span.begin_ns);
    if (step >= 0 && span.work == HostWork::kBackward)
      last_backward[static_cast<std::size_t>(step)] = span.begin_ns;
  }
  const HostWorkShares shares(std::move(spans));
  std::vector<std::int64_t> times;
  std::size_t next = 0;
  for (std::size_t step = 0; step < steps.steps().size(); ++step) {
    const std::int64_t begin = steps.steps()[step].begin_ns;
    RankActivity::Step laid;
    laid.number = steps.steps()[step].number;
    laid.first_cut = static_cast<std::uint32_t>(activity.cuts.size());
    while (next < cuts.size() && cuts[next].host_ns < begin) ++next;
    std::int64_t before = begin;
    for (bool is_open = true; is_open && next < cuts.size(); ++next) {
      const HostCut& cut = cuts[next];
      const HostWork work = work_of_segment(shares, before, cut.host_ns, last_backward[step]);
      activity.cuts.push_back(
          {.kind = cut.kind, .part = cut.part, .label = intern(activity, to_string(work))});
      times.push_back(cut.host_ns);
      before = cut.host_ns;
      is_open = cut.kind != TrackCut::Kind::kStepEnd;
    }
    laid.cut_count = static_cast<std::uint32_t>(activity.cuts.size()) - laid.first_cut;
    activity.steps.push_back(laid);
  }
  return times;
}

std::vector<IdleGap> gaps_between(std::span<const IdleGap> busy, std::int64_t shortest_ns) {
  std::vector<IdleGap> gaps;
  if (busy.empty()) return gaps;
  std::int64_t end = busy.front().end_ns;
  for (const IdleGap& next : busy) {
    if (next.begin_ns - end > shortest_ns) gaps.push_back({end, next.begin_ns});
    end = std::max(end, next.end_ns);
  }
  return gaps;
}

}  // namespace goodput
