#include "tests/support/random_step.h"

#include <algorithm>
#include <vector>

#include "tests/support/random_graph.h"

namespace goodput::testing {
namespace {

SimTime at(std::uint64_t nanoseconds) {
  return SimTime{SimDuration{nanoseconds}};
}

StepWork random_durations(const OpGraph& graph, std::size_t lanes, RandomStream& random) {
  StepWork work;
  const bool delayed = random.uniform() < 0.5;
  const std::uint64_t longest = random.uniform() < 0.5 ? 1000 : 4;  // with 4, most things are simultaneous
  for (std::size_t i = 0; i < graph.size() * lanes; ++i) {
    const std::uint64_t drawn = random.below(longest);
    work.durations.push_back(SimDuration{random.uniform() < 0.2 ? 0 : drawn});
    if (delayed) work.delays.push_back(SimDuration{random.uniform() < 0.6 ? 0 : random.below(50)});
  }
  return work;
}

}  // namespace

RandomStep random_step(std::uint64_t seed) {
  RandomStream random(seed, "step");
  const std::size_t lanes = 1 + random.below(5);
  RandomStep step{random_graph(seed, {.lanes = lanes}), lanes, {}, {}, {}};
  const std::uint64_t stages = 1 + random.below(4);
  for (OpId op = 0; op < step.graph.size(); ++op) {
    step.workers.of_op.push_back(static_cast<WorkerId>(random.below(stages)));
  }
  step.workers.per_lane = random.uniform() < 0.7 ? static_cast<std::uint32_t>(stages) : 1;
  step.work = random_durations(step.graph, step.lanes, random);
  return step;
}

void add_random_flows(RandomStep& step, RandomStream& random) {
  const OpGraph& graph = step.graph;
  const std::size_t lanes = step.lanes;
  StepWork& work = step.work;
  const std::size_t link_count = 1 + random.below(6);
  for (std::size_t i = 0; i < link_count; ++i) work.links.push_back({1e9 * (1 + random.uniform(0, 3))});
  work.flow_of.assign(work.durations.size(), kNoFlow);
  const auto add_flow = [&] {
    Flow flow{Bytes{static_cast<std::int64_t>(random.uniform() < 0.1 ? 0 : random.below(3000))},
              SimDuration{random.uniform() < 0.5 ? 0 : random.below(100)},
              static_cast<std::uint32_t>(work.routes.size())};
    work.routes.push_back(static_cast<LinkId>(random.below(link_count)));
    const auto second = static_cast<LinkId>(random.below(link_count));
    if (second != work.routes.back()) work.routes.push_back(second);
    flow.link_count = static_cast<std::uint32_t>(work.routes.size() - flow.first_link);
    work.flows.push_back(flow);
    return static_cast<FlowId>(work.flows.size() - 1);
  };
  for (const OpGraph::Unit& unit : graph.units()) {
    const std::size_t first = unit.first * lanes;
    const std::size_t end = first + unit.count * lanes;
    const double kind = random.uniform();
    if (kind < 0.3) {  // one flow a meeting
      std::vector<FlowId> of_lane(lanes, kNoFlow);
      for (std::size_t i = first; i < end; ++i) {
        FlowId& flow = of_lane[graph.partition_of(unit).expanded(lanes).block_of[i % lanes]];
        if (flow == kNoFlow) flow = add_flow();
        work.flow_of[i] = flow;
      }
    } else if (kind < 0.6) {
      for (std::size_t i = first; i < end; ++i) {
        if (random.uniform() < 0.7) work.flow_of[i] = add_flow();
      }
    }
  }
}

void add_random_disturbances(RandomStep& step, RandomStream& random) {
  const WorkerId last = *std::max_element(step.workers.of_op.begin(), step.workers.of_op.end());
  const std::size_t workers = last + (step.lanes - 1) * step.workers.per_lane + 1;
  for (std::uint64_t n = random.below(6); n > 0; --n) {
    const double rate = random.uniform() < 0.2 ? 0 : random.uniform(0, 2);
    step.disturbances.rates.push_back(
        {at(random.below(3000)), static_cast<WorkerId>(random.below(workers)), rate});
  }
  for (std::uint64_t n = random.uniform() < 0.5 ? 0 : random.below(3); n > 0; --n) {
    step.disturbances.losses.push_back(
        {at(random.below(4000)), static_cast<WorkerId>(random.below(workers))});
  }
}

}  // namespace goodput::testing
