#include "traces/timeline/critical_chain.h"

#include <algorithm>

namespace goodput {
namespace {

// Slices may give up their last nanosecond to the next one on their thread.
constexpr std::int64_t kShortestShownNs = 2;

struct Instance {
  OpId op = 0;
  std::size_t dp_rank = 0;
};

class ChainFinder {
 public:
  ChainFinder(const OpGraph& graph, std::size_t replicas,
              const std::function<OpTimes(OpId, std::size_t)>& times)
      : graph_(graph), replicas_(replicas), times_(times) {}

  // Last instance first.
  [[nodiscard]] std::vector<Instance> find() const {
    std::vector<Instance> chain;
    Instance at = last_to_end();
    while (true) {
      chain.push_back(at);
      const Instance waited_for = last_to_start(at);
      if (waited_for.op != at.op || waited_for.dp_rank != at.dp_rank) chain.push_back(waited_for);
      const auto before = graph_.predecessors(waited_for.op);
      if (before.empty()) return chain;
      at = {*std::max_element(before.begin(), before.end(),
                              [&](OpId a, OpId b) {
                                return times_(a, waited_for.dp_rank).end_ns <
                                       times_(b, waited_for.dp_rank).end_ns;
                              }),
            waited_for.dp_rank};
    }
  }

 private:
  [[nodiscard]] Instance last_to_end() const {
    Instance last;
    std::int64_t end_ns = times_(last.op, last.dp_rank).end_ns;
    for (std::size_t dp_rank = 0; dp_rank < replicas_; ++dp_rank) {
      for (OpId op = 0; op < graph_.size(); ++op) {
        const std::int64_t candidate = times_(op, dp_rank).end_ns;
        if (candidate <= end_ns) continue;
        last = {op, dp_rank};
        end_ns = candidate;
      }
    }
    return last;
  }

  // Of the group of an instance, which may be alone.
  [[nodiscard]] Instance last_to_start(Instance of) const {
    const OpGraph::Unit& unit = graph_.units()[graph_.unit_of()[of.op]];
    Instance last = of;
    std::int64_t start_ns = times_(of.op, of.dp_rank).start_ns;
    for (std::size_t dp_rank = 0; dp_rank < replicas_; ++dp_rank) {
      if (!graph_.partition_of(unit).in_same_block(dp_rank, of.dp_rank)) continue;
      for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
        const std::int64_t candidate = times_(op, dp_rank).start_ns;
        if (candidate <= start_ns) continue;
        last = {op, dp_rank};
        start_ns = candidate;
      }
    }
    return last;
  }

  const OpGraph& graph_;
  std::size_t replicas_;
  const std::function<OpTimes(OpId, std::size_t)>& times_;
};

}  // namespace

std::vector<FlowPoint> critical_chain(const OpGraph& graph, std::size_t replicas,
                                      const std::function<OpTimes(OpId, std::size_t)>& times) {
  std::vector<Instance> chain = ChainFinder(graph, replicas, times).find();
  std::reverse(chain.begin(), chain.end());
  std::vector<FlowPoint> points;
  for (const Instance& instance : chain) {
    const OpTimes of = times(instance.op, instance.dp_rank);
    if (of.end_ns - of.start_ns < kShortestShownNs) continue;
    const std::int64_t at_ns = points.empty() ? of.start_ns : std::max(of.start_ns, points.back().at_ns + 1);
    if (at_ns > of.end_ns - kShortestShownNs) continue;
    points.push_back({instance.op, instance.dp_rank, at_ns});
  }
  return points;
}

}  // namespace goodput
