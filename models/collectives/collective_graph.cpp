#include "models/collectives/collective_graph.h"

#include <algorithm>
#include <map>

namespace goodput {
namespace {

constexpr std::uint32_t kNone = ~0U;

class GraphBuilder {
 public:
  explicit GraphBuilder(const GraphInput& input) : input_(input) {}

  CollectiveGraph build() {
    number_ops();
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      add_segments(slot);
      add_parts(slot);
    }
    add_groups();
    return std::move(graph_);
  }

 private:
  // Numbers of ops, by cut and part.
  struct OpsOfSlot {
    std::vector<std::uint32_t> host;
    std::vector<std::uint32_t> segment;
    std::vector<std::uint32_t> part;
    std::vector<std::uint32_t> mark;
  };

  std::uint32_t add(CollectiveOp::Kind kind, std::uint32_t slot, std::uint32_t at) {
    graph_.ops.push_back({kind, slot, at});
    return static_cast<std::uint32_t>(graph_.ops.size()) - 1;
  }

  void number_ops() {
    for (std::uint32_t slot = 0; slot < input_.joined.slots().size(); ++slot) {
      const RankSlot& shape = input_.joined.slots()[slot];
      OpsOfSlot ops;
      for (std::uint32_t cut = 0; cut < shape.cuts.size(); ++cut) {
        ops.host.push_back(input_.hosts[slot][cut] != 0 ? add(CollectiveOp::Kind::kHost, slot, cut) : kNone);
        ops.segment.push_back(add(CollectiveOp::Kind::kSegment, slot, cut));
        for (std::uint32_t part = shape.first_part[cut]; part < shape.first_part[cut + 1]; ++part) {
          ops.part.push_back(add(CollectiveOp::Kind::kPart, slot, part));
          ops.mark.push_back(input_.eager[slot][part] != 0 ? add(CollectiveOp::Kind::kMark, slot, part)
                                                           : kNone);
        }
      }
      slots_.push_back(std::move(ops));
    }
    graph_.spec.op_count = graph_.ops.size();
  }

  void add_edge(std::uint32_t before, std::uint32_t after) { graph_.spec.edges.emplace_back(before, after); }

  void add_segments(std::uint32_t slot) {
    const OpsOfSlot& ops = slots_[slot];
    const SlotWaits& waits = input_.waits[slot];
    std::vector<char> is_waited_for(ops.part.size(), 0);
    for (std::size_t cut = 0; cut < ops.segment.size(); ++cut) {
      const std::uint32_t first = ops.host[cut] == kNone ? ops.segment[cut] : ops.host[cut];
      if (first != ops.segment[cut]) add_edge(first, ops.segment[cut]);
      if (cut > 0) add_edge(ops.segment[cut - 1], first);
      for (const std::uint32_t part : waits.of_segment[cut]) {
        add_edge(ops.part[part], first);
        is_waited_for[part] = 1;
      }
    }
    graph_.finish.push_back(ops.segment.back());
    for (std::size_t part = 0; part < ops.part.size(); ++part) {
      if (is_waited_for[part] == 0) graph_.finish.push_back(ops.part[part]);
    }
  }

  void add_parts(std::uint32_t slot) {
    const OpsOfSlot& ops = slots_[slot];
    const SlotWaits& waits = input_.waits[slot];
    for (std::size_t part = 0; part < ops.part.size(); ++part) {
      for (const std::uint32_t op : {ops.part[part], ops.mark[part]}) {
        if (op == kNone) continue;
        if (const auto cut = waits.segment_of_part[part]) add_edge(ops.segment[*cut], op);
        for (const std::uint32_t before : waits.parts_of_part[part]) add_edge(ops.part[before], op);
      }
    }
  }

  PartitionId partition_of(const std::vector<std::uint32_t>& block_of) {
    // Lanes that no group has are blocks of their own.
    std::vector<std::uint32_t> blocks = block_of;
    std::uint32_t next = 0;
    for (const std::uint32_t block : blocks) {
      if (block != kNone) next = std::max(next, block + 1);
    }
    for (std::uint32_t& block : blocks) {
      if (block == kNone) block = next++;
    }
    const ReplicaPartition partition = ReplicaPartition::of_blocks(blocks);
    // A single replica is apart and together.
    if (partition.is_apart()) return kReplicasApart;
    if (partition.is_together()) return kReplicasTogether;
    auto& partitions = graph_.spec.partitions;
    const auto found = std::ranges::find(partitions, partition);
    const auto id = static_cast<PartitionId>(found - partitions.begin());
    if (found == partitions.end()) partitions.push_back(partition);
    return id;
  }

  void add_groups() {
    for (const SlotGroup& group : input_.groups) {
      OpGraphSpec::Group spec;
      spec.partition = partition_of(group.block_of);
      for (const auto& [slot, part] : group.members) {
        const std::uint32_t mark = slots_[slot].mark[part];
        spec.members.push_back(mark == kNone ? slots_[slot].part[part] : mark);
      }
      graph_.spec.groups.push_back(std::move(spec));
    }
  }

  const GraphInput& input_;
  std::vector<OpsOfSlot> slots_;
  CollectiveGraph graph_;
};

}  // namespace

CollectiveGraph build_collective_graph(const GraphInput& input) {
  return GraphBuilder(input).build();
}

}  // namespace goodput
