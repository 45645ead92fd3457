#include "sim/ops/op_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <numeric>

namespace goodput {
namespace {

// Groups contracted to one node each: what has to be acyclic.
using UnitGraph = boost::compressed_sparse_row_graph<boost::directedS>;

struct Contraction {
  std::vector<std::uint32_t> offsets = {0};  // of units into members, one more than there are units
  std::vector<std::uint32_t> members;        // in the caller's numbering
  std::vector<PartitionId> partitions;       // by unit
  std::vector<bool> is_group;                // by unit
  std::vector<std::uint32_t> unit_of;        // by the caller's number

  [[nodiscard]] std::size_t size() const { return partitions.size(); }
  [[nodiscard]] std::span<const std::uint32_t> members_of(std::size_t unit) const {
    return std::span(members).subspan(offsets[unit], offsets[unit + 1] - offsets[unit]);
  }
  void add_unit(bool is_a_group, PartitionId partition) {
    offsets.push_back(static_cast<std::uint32_t>(members.size()));
    is_group.push_back(is_a_group);
    partitions.push_back(partition);
  }
};

// The extremes have one number each, whatever number the caller gave them.
PartitionId canonical(PartitionId id, const OpGraphSpec& spec) {
  if (spec.partitions[id].is_apart()) return kReplicasApart;
  return spec.partitions[id].is_together() ? kReplicasTogether : id;
}

Contraction contract(const OpGraphSpec& spec) {
  constexpr std::uint32_t kNoUnit = ~0U;
  Contraction contraction;
  contraction.unit_of.assign(spec.op_count, kNoUnit);
  contraction.members.reserve(spec.op_count);
  for (const OpGraphSpec::Group& group : spec.groups) {
    for (const std::uint32_t op : group.members) {
      GOODPUT_CHECK(op < spec.op_count && contraction.unit_of[op] == kNoUnit,
                    "an op does not exist or is in two groups");
      contraction.unit_of[op] = static_cast<std::uint32_t>(contraction.size());
      contraction.members.push_back(op);
    }
    GOODPUT_CHECK(group.partition < spec.partitions.size(), "the partition of a group does not exist");
    contraction.add_unit(true, canonical(group.partition, spec));
  }
  for (std::uint32_t op = 0; op < spec.op_count; ++op) {
    if (contraction.unit_of[op] != kNoUnit) continue;
    contraction.unit_of[op] = static_cast<std::uint32_t>(contraction.size());
    contraction.members.push_back(op);
    contraction.add_unit(false, kReplicasApart);
  }
  return contraction;
}

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// The second ends of pairs by the first, those of one in the order of the pairs.
struct Adjacency {
  std::vector<std::size_t> offsets;  // one more than there are firsts
  std::vector<std::uint32_t> ends;

  [[nodiscard]] std::span<std::uint32_t> of(std::size_t first) {
    return std::span(ends).subspan(offsets[first], offsets[first + 1] - offsets[first]);
  }
};

// `ends_of`: an edge of the spec as a pair.
template <typename EndsOf>
Adjacency group_by_first(const Edges& edges, std::size_t firsts, const EndsOf& ends_of) {
  Adjacency adjacency{std::vector<std::size_t>(firsts + 1), std::vector<std::uint32_t>(edges.size())};
  for (const auto& edge : edges) ++adjacency.offsets[ends_of(edge).first + 1];
  std::partial_sum(adjacency.offsets.begin(), adjacency.offsets.end(), adjacency.offsets.begin());
  std::vector<std::size_t> next(adjacency.offsets.begin(), adjacency.offsets.end() - 1);
  for (const auto& edge : edges) {
    const auto [first, second] = ends_of(edge);
    adjacency.ends[next[first]++] = second;
  }
  return adjacency;
}

// Longest chain of units in front of each unit; nothing where there is a cycle.
std::vector<std::uint32_t> levelize(const Edges& edges, const Contraction& contraction) {
  const auto units_of = [&](const auto& edge) {
    return std::pair(contraction.unit_of[edge.first], contraction.unit_of[edge.second]);
  };
  Adjacency successors = group_by_first(edges, contraction.size(), units_of);
  std::vector<std::uint32_t> waits_for(contraction.size());
  for (const std::uint32_t unit : successors.ends) ++waits_for[unit];
  std::vector<std::uint32_t> ready;
  for (std::uint32_t unit = 0; unit < contraction.size(); ++unit) {
    if (waits_for[unit] == 0) ready.push_back(unit);
  }
  std::vector<std::uint32_t> level(contraction.size());
  for (std::size_t done = 0; done < ready.size(); ++done) {
    const std::uint32_t unit = ready[done];
    for (const std::uint32_t next : successors.of(unit)) {
      level[next] = std::max(level[next], level[unit] + 1);
      if (--waits_for[next] == 0) ready.push_back(next);
    }
  }
  return ready.size() == contraction.size() ? level : std::vector<std::uint32_t>{};
}

// Units by level, those of one by the caller's number of their first member.
std::vector<std::uint32_t> evaluation_order(const Contraction& contraction,
                                            const std::vector<std::uint32_t>& level) {
  std::vector<std::size_t> next(1);
  for (const std::uint32_t of_unit : level) {
    if (of_unit + 2 > next.size()) next.resize(of_unit + 2);
    ++next[of_unit + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::uint32_t> order(contraction.size());
  for (std::uint32_t op = 0; op < contraction.unit_of.size(); ++op) {
    const std::uint32_t unit = contraction.unit_of[op];
    if (contraction.members_of(unit).front() == op) order[next[level[unit]]++] = unit;
  }
  return order;
}

// Walks inside one strong component until a unit repeats.
std::vector<std::size_t> find_cycle(const UnitGraph& graph, const std::vector<std::size_t>& component) {
  std::vector<std::size_t> members(boost::num_vertices(graph), 0);
  for (const std::size_t c : component) ++members[c];
  const auto on_cycle = [&](std::size_t unit) {
    return members[component[unit]] > 1 || boost::edge(unit, unit, graph).second;
  };
  std::size_t unit = 0;
  while (!on_cycle(unit)) ++unit;
  std::vector<std::size_t> walk;
  std::vector<std::size_t> seen_at(boost::num_vertices(graph), 0);  // 1 + position in the walk
  while (seen_at[unit] == 0) {
    walk.push_back(unit);
    seen_at[unit] = walk.size();
    const auto [begin, end] = boost::adjacent_vertices(unit, graph);
    const std::size_t home = component[unit];
    unit = *std::find_if(begin, end, [&](std::size_t next) { return component[next] == home; });
  }
  walk.erase(walk.begin(), walk.begin() + static_cast<std::ptrdiff_t>(seen_at[unit] - 1));
  return walk;
}

// REQUIRES: there is one.
std::string describe_cycle(const Edges& edges, const Contraction& contraction,
                           const std::function<std::string(std::uint32_t)>& name_of) {
  Edges of_units;
  for (const auto& [from, to] : edges)
    of_units.emplace_back(contraction.unit_of[from], contraction.unit_of[to]);
  std::sort(of_units.begin(), of_units.end());
  of_units.erase(std::unique(of_units.begin(), of_units.end()), of_units.end());
  const UnitGraph graph(boost::edges_are_sorted, of_units.begin(), of_units.end(), contraction.size());
  std::vector<std::size_t> component(contraction.size());
  boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  const std::vector<std::size_t> cycle = find_cycle(graph, component);
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const std::size_t unit : cycle) {
    if (names.size() == kShown) break;
    std::vector<std::string> members;
    for (const std::uint32_t op : contraction.members_of(unit)) members.push_back(name_of(op));
    names.push_back(fmt::format("{}", fmt::join(members, "+")));
  }
  const std::string more = cycle.size() > kShown ? fmt::format(" -> ({} more)", cycle.size() - kShown) : "";
  return fmt::format("the dependencies form a cycle: {}{} -> {}", fmt::join(names, " -> "), more,
                     names.front());
}

}  // namespace

bool OpGraph::fits(std::size_t replicas) const {
  return std::ranges::all_of(partitions_,
                             [&](const ReplicaPartition& partition) { return partition.fits(replicas); });
}

OpGraph OpGraph::with_partitions(std::vector<ReplicaPartition> partitions) const {
  GOODPUT_CHECK(partitions.size() == partitions_.size() && partitions[kReplicasApart].is_apart() &&
                    partitions[kReplicasTogether].is_together(),
                "the partitions belong to a different graph");
  OpGraph result = *this;
  result.partitions_ = std::move(partitions);
  return result;
}

Result<OpGraph> OpGraph::build(const OpGraphSpec& spec,
                               const std::function<std::string(std::uint32_t)>& name_of) {
  for (const auto& [from, to] : spec.edges)
    GOODPUT_CHECK(from < spec.op_count && to < spec.op_count, "an edge refers to an op that does not exist");
  const Contraction contraction = contract(spec);
  const std::vector<std::uint32_t> level = levelize(spec.edges, contraction);
  if (level.size() != contraction.size()) return Error{describe_cycle(spec.edges, contraction, name_of)};

  GOODPUT_CHECK(spec.partitions.size() > kReplicasTogether && spec.partitions[kReplicasApart].is_apart() &&
                    spec.partitions[kReplicasTogether].is_together(),
                "the first two partitions must be the extremes");
  OpGraph result;
  result.partitions_ = spec.partitions;
  result.units_.reserve(contraction.size());
  result.caller_index_.reserve(spec.op_count);
  result.unit_of_.reserve(spec.op_count);
  std::vector<OpId> id_of(spec.op_count);
  for (const std::uint32_t unit : evaluation_order(contraction, level)) {
    const std::span members = contraction.members_of(unit);
    result.units_.push_back({static_cast<OpId>(result.caller_index_.size()),
                             static_cast<std::uint32_t>(members.size()), contraction.is_group[unit],
                             contraction.partitions[unit]});
    for (const std::uint32_t op : members) {
      id_of[op] = static_cast<OpId>(result.caller_index_.size());
      result.caller_index_.push_back(op);
      result.unit_of_.push_back(static_cast<std::uint32_t>(result.units_.size() - 1));
    }
  }

  Adjacency predecessors = group_by_first(spec.edges, spec.op_count, [&](const auto& edge) {
    return std::pair(id_of[edge.second], id_of[edge.first]);
  });
  result.offsets_.push_back(0);
  result.offsets_.reserve(spec.op_count + 1);
  result.predecessors_.reserve(spec.edges.size());
  for (OpId op = 0; op < spec.op_count; ++op) {
    const std::span before = predecessors.of(op);
    std::sort(before.begin(), before.end());
    const auto end = std::unique(before.begin(), before.end());
    result.predecessors_.insert(result.predecessors_.end(), before.begin(), end);
    result.offsets_.push_back(result.predecessors_.size());
  }
  return result;
}

}  // namespace goodput
