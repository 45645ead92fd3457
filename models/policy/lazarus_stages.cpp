#include "models/policy/lazarus_stages.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace goodput {
namespace {

using Move = LazarusPlacements::Move;

std::int32_t count_left(const StageHolders& stage) {
  return static_cast<std::int32_t>(std::count(stage.is_left.begin(), stage.is_left.end(), true));
}

// The holders after a move.
StageHolders moved(const StageHolders& held, LazarusPlacements::PlacementId to, const Move& move,
                   const std::vector<NodeId>& joined) {
  StageHolders next{to, {}, std::vector<bool>(move.node_of_place.size(), true)};
  for (const std::int32_t id : move.node_of_place) {
    const auto at = static_cast<std::size_t>(id);
    next.nodes.push_back(at < held.nodes.size() ? held.nodes[at] : joined[at - held.nodes.size()]);
  }
  return next;
}

// Nodes that are left and have no place any more.
void add_freed(const StageHolders& held, const Move& move, std::vector<NodeId>& free) {
  std::vector<bool> stays(held.nodes.size());
  for (const std::int32_t id : move.node_of_place) stays[static_cast<std::size_t>(id)] = true;
  for (std::size_t place = 0; place < held.nodes.size(); ++place) {
    if (held.is_left[place] && !stays[place]) free.push_back(held.nodes[place]);
  }
}

}  // namespace

bool ExpertHolders::are_whole() const {
  return std::ranges::all_of(stages, [](const StageHolders& stage) {
    return std::ranges::all_of(stage.is_left, [](bool left) { return left; });
  });
}

void ExpertHolders::forget(NodeId node) {
  for (StageHolders& stage : stages) {
    const auto place = std::ranges::find(stage.nodes, node);
    if (place != stage.nodes.end())
      stage.is_left[static_cast<std::size_t>(place - stage.nodes.begin())] = false;
  }
}

std::vector<NodeId> ExpertHolders::left() const {
  std::vector<NodeId> left;
  for (const StageHolders& stage : stages) {
    for (std::size_t place = 0; place < stage.nodes.size(); ++place) {
      if (stage.is_left[place]) left.push_back(stage.nodes[place]);
    }
  }
  std::ranges::sort(left);
  return left;
}

std::vector<std::int32_t> ExpertHolders::left_by_stage() const {
  std::vector<std::int32_t> left;
  for (const StageHolders& stage : stages) left.push_back(count_left(stage));
  return left;
}

ExpertHolders load_all(const LazarusPlacements& placements, const std::vector<NodeId>& nodes,
                       std::size_t window) {
  ExpertHolders loaded;
  auto next = nodes.begin();
  for (const std::int32_t share : placements.share_out(static_cast<std::int32_t>(nodes.size()),
                                                       std::vector<std::int32_t>(placements.stages()))) {
    StageHolders& stage = loaded.stages.emplace_back();
    stage.placement = placements.placement(share, window);
    stage.nodes.assign(next, next + share);
    stage.is_left.assign(stage.nodes.size(), true);
    next += share;
  }
  return loaded;
}

bool hold_every_expert(const LazarusPlacements& placements, const ExpertHolders& held) {
  for (std::size_t s = 0; s < held.stages.size(); ++s) {
    const StageHolders& stage = held.stages[s];
    const std::int32_t others = static_cast<std::int32_t>(stage.nodes.size()) - count_left(stage);
    if (!placements.move(s, stage.placement, stage.is_left, others, stage.placement).is_possible)
      return false;
  }
  return true;
}

StageMoves move_stages(const LazarusPlacements& placements, const ExpertHolders& held,
                       const std::vector<NodeId>& joined, std::int32_t nodes, std::size_t window) {
  const std::vector<std::int32_t> left = held.left_by_stage();
  const std::vector<std::int32_t> shares = placements.share_out(nodes, left);
  StageMoves moves;
  moves.next.stages.resize(held.stages.size());
  std::vector<NodeId> free = joined;
  const auto move = [&](std::size_t s, const std::vector<NodeId>& joining) {
    const StageHolders& stage = held.stages[s];
    const auto to = placements.placement(shares[s], window);
    Move made =
        placements.move(s, stage.placement, stage.is_left, static_cast<std::int32_t>(joining.size()), to);
    if (!made.is_possible) return made;
    moves.next.stages[s] = moved(stage, to, made, joining);
    moves.experts += made.experts;
    moves.plan = std::max(moves.plan, made.time.plan);
    moves.transfer = std::max(moves.transfer, made.time.transfer);
    return made;
  };
  for (std::size_t s = 0; s < shares.size(); ++s) {  // first those that may free nodes for others
    if (left[s] < shares[s]) continue;
    const Move made = move(s, {});
    if (!made.is_possible) return {};
    if (left[s] > shares[s]) add_freed(held.stages[s], made, free);
  }
  std::ranges::sort(free);
  auto next = free.begin();
  for (std::size_t s = 0; s < shares.size(); ++s) {
    if (left[s] >= shares[s]) continue;
    const std::vector<NodeId> joining(next, next + (shares[s] - left[s]));
    next += shares[s] - left[s];
    if (!move(s, joining).is_possible) return {};
  }
  moves.are_possible = true;
  return moves;
}

}  // namespace goodput
