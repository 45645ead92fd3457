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

std::vector<std::uint32_t> random_blocks(std::size_t replicas, RandomStream& random) {
  std::vector<std::uint32_t> block_of(replicas);
  const std::uint64_t kind = random.below(4);
  const std::uint64_t size = 1 + random.below(replicas);
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const std::uint64_t block = kind == 0 ? replica / size : kind == 1 ? replica % size : random.below(size);
    const bool is_alone = kind == 3 && random.uniform() < 0.3;
    block_of[replica] = static_cast<std::uint32_t>(is_alone ? replicas + replica : block);
  }
  return block_of;
}

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
      PartitionId partition = random.uniform() < spec.replicas ? kReplicasTogether : kReplicasApart;
      if (partition == kReplicasTogether && spec.lanes > 0 && random.uniform() < 0.5) {
        const bool is_known = result.partitions.size() > 2 && random.uniform() < 0.7;
        partition = static_cast<PartitionId>(is_known ? 2 + random.below(result.partitions.size() - 2)
                                                      : result.partitions.size());
        if (!is_known)
          result.partitions.push_back(ReplicaPartition::of_blocks(random_blocks(spec.lanes, random)));
      }
      result.groups.push_back({{number.begin() + static_cast<std::ptrdiff_t>(op),
                                number.begin() + static_cast<std::ptrdiff_t>(end)},
                               partition});
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
