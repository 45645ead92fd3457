#include "models/failure/trace_events.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

using Kind = NodeEvent::Kind;

// Nodes without names that are held, by order of joining.
class CountedNodes {
 public:
  CountedNodes(TraceVictims victims, const FailureKey& key)
      : victims_(victims), random_(key.stream(kWholeCluster)) {}

  // Adds and removes nodes until there are `count`.
  void become(std::int32_t count, SimTime time) {
    while (held_.size() < index(count)) add(time);
    while (held_.size() > index(count)) remove(time);
  }

  [[nodiscard]] std::vector<NodeEvent> take_events() { return std::move(events_); }

 private:
  void add(SimTime time) {
    auto node = static_cast<NodeId>(held_.size());  // where none is free, the ids up to here are held
    if (!free_.empty()) {
      node = free_.top();
      free_.pop();
    }
    held_.push_back(node);
    events_.push_back({time, Kind::kAdd, node, 1});
  }

  void remove(SimTime time) {
    const auto victim = held_.begin() + static_cast<std::ptrdiff_t>(choose_victim());
    events_.push_back({time, Kind::kRemove, *victim, 1});
    free_.push(*victim);
    held_.erase(victim);
  }

  [[nodiscard]] std::size_t choose_victim() {
    switch (victims_) {
      case TraceVictims::kRandom:
        return random_.below(held_.size());
      case TraceVictims::kNewest:
        return held_.size() - 1;
      case TraceVictims::kOldest:
        return 0;
    }
    GOODPUT_CHECK(false, "a rule for victims");
  }

  TraceVictims victims_;
  RandomStream random_;
  std::vector<NodeId> held_;
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> free_;
  std::vector<NodeEvent> events_;
};

}  // namespace

std::vector<NodeEvent> events_of_nodes(const SpotTrace& trace, const TraceSegment& segment) {
  std::vector<NodeEvent> events;
  auto event = trace.events.begin();
  for (; event != trace.events.end() && event->time <= segment.begin; ++event) {
    if (event->kind == Kind::kAdd) {
      events.push_back({SimTime{}, Kind::kAdd, event->node, 1});
    } else {
      const auto is_it = [&](const NodeEvent& held) { return held.node == event->node; };
      events.erase(std::find_if(events.begin(), events.end(), is_it));
    }
  }
  const SimDuration begin = segment.begin.time_since_epoch();
  for (; event != trace.events.end() && event->time <= segment.end; ++event) {
    events.push_back({event->time - begin, event->kind, event->node, 1});
  }
  return events;
}

std::vector<NodeEvent> events_of_counts(const SpotTrace& trace, const TraceSegment& segment,
                                        TraceVictims victims, const FailureKey& key) {
  const auto& counts = trace.counts;
  const auto after = [](SimTime time, const SpotCount& count) { return time < count.time; };
  auto count = std::upper_bound(counts.begin(), counts.end(), segment.begin, after);
  CountedNodes nodes(victims, key);
  if (count != counts.begin()) nodes.become(std::prev(count)->count, SimTime{});
  for (; count != counts.end() && count->time <= segment.end; ++count) {
    nodes.become(count->count, count->time - segment.begin.time_since_epoch());
  }
  return nodes.take_events();
}

namespace {

// Nodes that are lost together.
struct Loss {
  std::int32_t held = 0;  // before
  std::int32_t lost = 0;
};

std::vector<Loss> losses_of(const std::vector<NodeEvent>& events) {
  std::vector<Loss> losses;
  std::int32_t held = 0;
  for (auto event = events.begin(); event != events.end();) {
    Loss loss{held, 0};
    const SimTime now = event->time;
    for (; event != events.end() && event->time == now; ++event) {
      if (event->kind == Kind::kRemove) ++loss.lost;
      held += event->kind == Kind::kRemove ? -1 : event->kind == Kind::kAdd ? 1 : 0;
    }
    if (loss.lost > 0) losses.push_back(loss);
  }
  return losses;
}

// One node of the lost after the other is not among the used ones.
double miss_probability(const Loss& loss, std::int32_t used) {
  double misses = 1;
  for (std::int32_t i = 0; i < loss.lost && misses > 0; ++i)
    misses *= std::max(0.0, static_cast<double>(loss.held - used - i) / (loss.held - i));
  return misses;
}

}  // namespace

InterruptionRate loss_rate(const std::vector<NodeEvent>& events, SimTime end) {
  const double seconds = to_seconds(end.time_since_epoch());
  return [losses = losses_of(events), seconds](NodeId used) {
    double hits = 0;
    for (const Loss& loss : losses) hits += used > 0 ? 1 - miss_probability(loss, used) : 0;
    return seconds > 0 ? hits / seconds : 0;
  };
}

}  // namespace goodput
