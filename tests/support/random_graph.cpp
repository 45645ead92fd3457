#include "tests/support/random_graph.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.h"

namespace goodput::testing {
namespace {

std::vector<std::uint32_t> shuffled(std::size_t count, RandomStream& random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace

// Every op has a level; groups lie within one, edges lead from lower to higher ones: no cycle.
OpGraph random_graph(std::uint64_t seed, const RandomGraphSpec& spec) {
  RandomStream random(seed, "graph");
  const std::size_t ops = 1 + random.below(spec.max_ops);
  const std::size_t levels = 1 + random.below(spec.max_levels);
  const std::vector<std::uint32_t> number = shuffled(ops, random);
  const auto level = [&](std::size_t op) { return op * levels / ops; };

  OpGraphSpec result{ops, {}, {}};
  for (std::size_t op = 0; op < ops;) {
    const std::size_t end = std::min(op + 1 + random.below(spec.max_group), ops);
    if (random.uniform() < spec.grouped && level(op) == level(end - 1)) {
      const Sync sync = random.uniform() < spec.replicas ? Sync::kReplicas : Sync::kLane;
      result.groups.push_back({{number.begin() + static_cast<std::ptrdiff_t>(op),
                                number.begin() + static_cast<std::ptrdiff_t>(end)},
                               sync});
    }
    op = end;
  }
  const auto edges = static_cast<std::size_t>(spec.predecessors_per_op * static_cast<double>(ops));
  for (std::size_t i = 0; i < edges; ++i) {
    const std::size_t from = random.below(ops);
    const std::size_t to = random.below(ops);
    if (level(from) < level(to)) result.edges.emplace_back(number[from], number[to]);
  }
  return *OpGraph::build(result, [](std::uint32_t op) { return std::to_string(op); });
}

}  // namespace goodput::testing
