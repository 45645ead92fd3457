#include "sim/ops/op_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>
#include <numeric>

namespace goodput {
namespace {

// Groups contracted to one node each: what has to be acyclic.
using UnitGraph = boost::compressed_sparse_row_graph<boost::directedS>;

struct Contraction {
  std::vector<OpGraphSpec::Group> units;  // members in the caller's numbering
  std::vector<std::uint32_t> unit_of;     // by the caller's number
};

Contraction contract(const OpGraphSpec& spec) {
  constexpr std::uint32_t kNoUnit = ~0U;
  Contraction contraction{spec.groups, std::vector<std::uint32_t>(spec.op_count, kNoUnit)};
  for (std::uint32_t unit = 0; unit < spec.groups.size(); ++unit) {
    for (const std::uint32_t op : spec.groups[unit].members) {
      GOODPUT_CHECK(op < spec.op_count && contraction.unit_of[op] == kNoUnit, "an op is in two groups");
      contraction.unit_of[op] = unit;
    }
  }
  for (std::uint32_t op = 0; op < spec.op_count; ++op) {
    if (contraction.unit_of[op] != kNoUnit) continue;
    contraction.unit_of[op] = static_cast<std::uint32_t>(contraction.units.size());
    contraction.units.push_back({{op}, Sync::kNone});
  }
  return contraction;
}

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Edges unit_edges(const OpGraphSpec& spec, const Contraction& contraction) {
  Edges edges;
  edges.reserve(spec.edges.size());
  for (const auto& [from, to] : spec.edges) {
    GOODPUT_CHECK(from < spec.op_count && to < spec.op_count, "an edge leaves the graph");
    edges.emplace_back(contraction.unit_of[from], contraction.unit_of[to]);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
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

std::string describe_cycle(const std::vector<std::size_t>& cycle, const Contraction& contraction,
                           const std::function<std::string(std::uint32_t)>& name_of) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const std::size_t unit : cycle) {
    if (names.size() == kShown) break;
    std::vector<std::string> members;
    for (const std::uint32_t op : contraction.units[unit].members) members.push_back(name_of(op));
    names.push_back(fmt::format("{}", fmt::join(members, "+")));
  }
  const std::string more = cycle.size() > kShown ? fmt::format(" -> ({} more)", cycle.size() - kShown) : "";
  return fmt::format("the dependencies form a cycle: {}{} -> {}", fmt::join(names, " -> "), more,
                     names.front());
}

// Longest chain of units in front of each unit.
std::vector<std::uint32_t> levelize(const UnitGraph& graph) {
  std::vector<std::size_t> reversed;
  boost::topological_sort(graph, std::back_inserter(reversed));
  std::vector<std::uint32_t> level(boost::num_vertices(graph), 0);
  for (auto unit = reversed.rbegin(); unit != reversed.rend(); ++unit) {
    const auto [begin, end] = boost::adjacent_vertices(*unit, graph);
    for (auto next = begin; next != end; ++next) level[*next] = std::max(level[*next], level[*unit] + 1);
  }
  return level;
}

}  // namespace

Result<OpGraph> OpGraph::build(const OpGraphSpec& spec,
                               const std::function<std::string(std::uint32_t)>& name_of) {
  const Contraction contraction = contract(spec);
  const Edges edges = unit_edges(spec, contraction);
  const UnitGraph graph(boost::edges_are_sorted, edges.begin(), edges.end(), contraction.units.size());

  std::vector<std::size_t> component(contraction.units.size());
  const auto components = boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  const bool self_loop =
      std::any_of(edges.begin(), edges.end(), [](const auto& e) { return e.first == e.second; });
  if (components != contraction.units.size() || self_loop) {
    return Error{describe_cycle(find_cycle(graph, component), contraction, name_of)};
  }

  const std::vector<std::uint32_t> level = levelize(graph);
  std::vector<std::uint32_t> order(contraction.units.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(level[a], contraction.units[a].members.front()) <
           std::pair(level[b], contraction.units[b].members.front());
  });

  OpGraph result;
  std::vector<OpId> id_of(spec.op_count);
  for (const std::uint32_t unit : order) {
    const auto& [members, sync] = contraction.units[unit];
    result.units_.push_back(
        {static_cast<OpId>(result.caller_index_.size()), static_cast<std::uint32_t>(members.size()), sync});
    for (const std::uint32_t op : members) {
      id_of[op] = static_cast<OpId>(result.caller_index_.size());
      result.caller_index_.push_back(op);
      result.unit_of_.push_back(static_cast<std::uint32_t>(result.units_.size() - 1));
    }
  }

  Edges by_successor;
  by_successor.reserve(spec.edges.size());
  for (const auto& [from, to] : spec.edges) by_successor.emplace_back(id_of[to], id_of[from]);
  std::sort(by_successor.begin(), by_successor.end());
  by_successor.erase(std::unique(by_successor.begin(), by_successor.end()), by_successor.end());
  result.offsets_.assign(spec.op_count + 1, 0);
  for (const auto& [to, from] : by_successor) {
    ++result.offsets_[to + 1];
    result.predecessors_.push_back(from);
  }
  std::partial_sum(result.offsets_.begin(), result.offsets_.end(), result.offsets_.begin());
  return result;
}

}  // namespace goodput
