// CPU jobs with gloo: a rank's track is its main thread. A part begins when the thread launches it and ends
// with a gloo event of its kind.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/kineto/gloo_ops.h"
#include "traces/kineto/kineto_forms.h"
#include "traces/kineto/track_builder.h"

namespace goodput {
namespace {

using Span = KinetoEvents::Span;

// The gloo events of a file, each the end of one launch.
class GlooEnds {
 public:
  explicit GlooEnds(const KinetoEvents& events) {
    for (const Span& span : events.spans) {
      const std::string& name = events.names[span.name];
      if (name.starts_with("gloo:")) by_name_[name].push_back(&span);
    }
    for (auto& [name, ends] : by_name_) std::ranges::stable_sort(ends, {}, &Span::begin_ns);
  }

  // The first unused event of the launch's kind that begins no earlier than the launch. Null if there is none
  // (a group of one rank).
  const Span* take(const GlooOp& op, std::int64_t launch_ns) {
    constexpr std::int64_t kRounding = 1000;  // begins are written in decimal microseconds
    std::vector<const Span*>* best = nullptr;
    std::size_t place = 0;
    for (const std::string_view name : op.ends) {
      const auto found = by_name_.find(name);
      if (name.empty() || found == by_name_.end()) continue;
      std::vector<const Span*>& unused = found->second;
      const auto first = std::ranges::lower_bound(unused, launch_ns - kRounding, {}, &Span::begin_ns);
      if (first == unused.end()) continue;
      if (best != nullptr && (*best)[place]->begin_ns <= (*first)->begin_ns) continue;
      best = &unused;
      place = static_cast<std::size_t>(first - unused.begin());
    }
    if (best == nullptr) return nullptr;
    const Span* const taken = (*best)[place];
    best->erase(best->begin() + static_cast<std::ptrdiff_t>(place));
    return taken;
  }

 private:
  std::map<std::string, std::vector<const Span*>, std::less<>> by_name_;  // not used yet; ascending
};

// Whether the main thread works, and does not wait for communication.
bool is_own_work(std::string_view name) {
  return !name.starts_with("gloo:") && !name.starts_with("c10d::") && !name.starts_with("FSDP::") &&
         !name.starts_with("nccl:");
}

class HostActivity {
 public:
  HostActivity(const KinetoEvents& events, RankActivity& activity)
      : events_(events), activity_(activity), thread_(main_thread(events)) {}

  Status fill() {
    const HostSteps steps(events_);
    GOODPUT_TRY_STATUS(add_parts(steps));
    const OwnWork work = own_work();
    const std::vector<HostSpan> runs = backward_runs(events_, work.begins);
    std::vector<HostCut> cuts = pass_cuts(runs, work.ends);
    for (std::size_t i = 0; i < activity_.parts.size(); ++i)
      cuts.push_back({activity_.parts[i].launch_ns, TrackCut::Kind::kLaunch, static_cast<std::int32_t>(i)});
    const std::vector<std::int64_t> times =
        lay_out_cuts(activity_, steps, std::move(cuts), host_spans(events_, runs));
    for (std::size_t i = 0; i < times.size(); ++i) activity_.cuts[i].end_ns = times[i];
    for (std::size_t i = 0; i < activity_.steps.size(); ++i) {
      activity_.steps[i].begin_ns = steps.steps()[i].begin_ns;
      activity_.steps[i].end_ns = steps.end_ns(i);
    }
    activity_.gaps = idle_gaps();
    return Ok{};
  }

 private:
  Status add_parts(const HostSteps& steps) {
    GlooEnds ends(events_);
    std::vector<const Span*> launches;
    for (const Span& span : events_.spans) {
      if (span.thread == thread_ && find_gloo_op(events_.names[span.name]) != nullptr)
        launches.push_back(&span);
    }
    std::ranges::stable_sort(launches, {}, &Span::begin_ns);
    for (const Span* launch : launches) {
      const GlooOp& op = *find_gloo_op(events_.names[launch->name]);
      const Span* const end = ends.take(op, launch->begin_ns);
      const std::int32_t step = steps.step_at(launch->begin_ns);
      if (end == nullptr || step < 0) continue;
      const bool is_collective = op.kind == CommunicationPart::Kind::kCollective;
      if (!is_collective && launch->peer < 0)
        return Error{"sends and receives have no recorded peer ranks; record with record_shapes=True",
                     {.file = activity_.file}};
      CommunicationPart part;
      part.kind = op.kind;
      part.step = static_cast<std::uint32_t>(step);
      part.peer = is_collective ? -1 : launch->peer;
      part.name = intern(activity_, op.name);
      part.shape = launch->shape;
      part.launch_ns = launch->begin_ns;
      part.begin_ns = launch->begin_ns;
      part.end_ns = end->end_ns;
      activity_.parts.push_back(part);
    }
    return Ok{};
  }

  // When events of the main thread other than communication begin, and when they end; both ascending.
  struct OwnWork {
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> ends;
  };
  [[nodiscard]] OwnWork own_work() const {
    OwnWork work;
    for (const KinetoEvents::Mark& mark : events_.marks) {
      if (mark.thread != thread_ || !is_own_work(events_.names[mark.name])) continue;
      work.begins.push_back(mark.begin_ns);
      work.ends.push_back(mark.end_ns);
    }
    std::ranges::sort(work.begins);
    std::ranges::sort(work.ends);
    return work;
  }

  // Times without any begin or end on the main thread. Enclosing events count as idle: they hide waits.
  [[nodiscard]] std::vector<IdleGap> idle_gaps() const {
    std::vector<IdleGap> instants;
    for (const KinetoEvents::Mark& mark : events_.marks) {
      if (mark.thread != thread_ || events_.names[mark.name].starts_with("gloo:")) continue;
      instants.push_back({mark.begin_ns, mark.begin_ns});
      instants.push_back({mark.end_ns, mark.end_ns});
    }
    std::ranges::sort(instants, {}, &IdleGap::begin_ns);
    return gaps_between(instants, kShortestHostGapNs);
  }

  const KinetoEvents& events_;
  RankActivity& activity_;
  std::uint32_t thread_;
};

}  // namespace

Status fill_from_host(const KinetoEvents& events, RankActivity& activity) {
  return HostActivity(events, activity).fill();
}

}  // namespace goodput
