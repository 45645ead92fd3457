#include "sim/cleaning/step_shapes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

#include "sim/base/hash.h"

namespace goodput {
namespace {

// Ops of a stage, by type.
using StageCounts = std::array<std::int64_t, kNdtimelineTypeCount>;

std::vector<StageCounts> count_by_stage(const std::vector<OpKey>& ops) {
  std::vector<StageCounts> counts;
  for (const OpKey op : ops) {
    const auto stage = static_cast<std::size_t>(stage_of(op));
    if (stage >= counts.size()) counts.resize(stage + 1);
    ++counts[stage][index_of(type_of(op))];
  }
  return counts;
}

std::vector<OpKey> without_micro_batches(const std::vector<OpKey>& ops) {
  std::vector<OpKey> rest;
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(rest),
               [](OpKey op) { return !is_pass(type_of(op)) && !is_message(type_of(op)); });
  return rest;
}

// Whether stages count from 0 without a gap, and in each stage the seq_ids of every type do.
bool counts_from_zero(const std::vector<OpKey>& ops) {
  OpKey before = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const OpKey op = ops[i];
    const bool same_kind = i > 0 && op >> 32U == before >> 32U;
    if (seq_id_of(op) != (same_kind ? seq_id_of(before) + 1 : 0)) return false;
    if (stage_of(op) > (i > 0 ? stage_of(before) + 1 : 0)) return false;
    before = op;
  }
  return true;
}

bool is_part_of(const std::vector<OpKey>& part, const std::vector<OpKey>& whole) {
  return part.size() < whole.size() && std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

// Whether sets differ in nothing but collectives and what follows the passes.
bool have_same_passes(const std::vector<OpKey>& a, const std::vector<OpKey>& b) {
  const auto passes = [](const std::vector<OpKey>& ops) {
    std::vector<OpKey> found;
    std::copy_if(ops.begin(), ops.end(), std::back_inserter(found),
                 [](OpKey op) { return is_pass(type_of(op)) || is_message(type_of(op)); });
    return found;
  };
  return passes(a) == passes(b);
}

// What sets with different numbers of micro-batches have in common: the collectives, and the passes of every
// stage relative to those of stage 0.
using SetKind = std::pair<std::vector<OpKey>, std::vector<std::int64_t>>;

SetKind kind_of(const std::vector<OpKey>& ops) {
  std::vector<std::int64_t> passes;
  const std::vector<StageCounts> counts = count_by_stage(ops);
  for (const StageCounts& stage : counts) {
    for (const OpType type : {OpType::kForwardCompute, OpType::kBackwardCompute}) {
      passes.push_back(stage[index_of(type)] - counts[0][index_of(OpType::kForwardCompute)]);
    }
  }
  return {without_micro_batches(ops), std::move(passes)};
}

// Keeps only the sets of the kind with the most steps as complete; among equals, the kind seen last.
void keep_largest_kind(const OpSets& sets, const std::vector<std::size_t>& steps_of,
                       std::vector<char>& whole) {
  struct Kind {
    std::vector<std::uint32_t> sets;
    std::size_t steps = 0;
  };
  std::map<SetKind, Kind> kinds;
  for (std::uint32_t set = 0; set < sets.size(); ++set) {
    if (whole[set] == 0) continue;
    Kind& kind = kinds[kind_of(sets.at(set))];
    kind.sets.push_back(set);
    kind.steps += steps_of[set];
  }
  const auto is_less = [](const auto& a, const auto& b) {
    return std::pair(a.second.steps, a.second.sets.back()) < std::pair(b.second.steps, b.second.sets.back());
  };
  const auto largest = std::max_element(kinds.begin(), kinds.end(), is_less);
  std::fill(whole.begin(), whole.end(), 0);
  if (largest == kinds.end()) return;
  for (const std::uint32_t set : largest->second.sets) whole[set] = 1;
}

}  // namespace

std::uint32_t OpSets::intern(std::vector<OpKey> ops) {
  Hash hash;
  for (const OpKey op : ops) hash.add(op);
  std::vector<std::uint32_t>& alike = by_hash_[hash.value()];
  for (const std::uint32_t set : alike) {
    if (sets_[set] == ops) return set;
  }
  alike.push_back(static_cast<std::uint32_t>(sets_.size()));
  sets_.push_back(std::move(ops));
  return alike.back();
}

std::optional<StepShape> shape_of(std::span<const InstanceRow> rows, OpSets& sets) {
  std::vector<OpKey> ops;
  std::int32_t replicas = 0;
  for (std::size_t begin = 0; begin < rows.size(); ++replicas) {
    if (rows[begin].dp_rank != replicas) return std::nullopt;
    const std::size_t end = end_of_lane(rows, begin);
    if (replicas == 0) {
      for (const InstanceRow& row : rows.first(end)) {
        if (!ops.empty() && ops.back() == row.op) return std::nullopt;
        ops.push_back(row.op);
      }
    }
    if (end - begin != ops.size()) return std::nullopt;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (rows[begin + i].op != ops[i]) return std::nullopt;
    }
    begin = end;
  }
  if (replicas == 0) return std::nullopt;
  return StepShape{replicas, sets.intern(std::move(ops))};
}

bool differ_in_batch(const std::vector<OpKey>& a, const std::vector<OpKey>& b) {
  std::vector<StageCounts> more = count_by_stage(a);
  std::vector<StageCounts> fewer = count_by_stage(b);
  if (more.size() != fewer.size() || more.empty()) return false;
  const std::size_t forward = index_of(OpType::kForwardCompute);
  if (more[0][forward] < fewer[0][forward]) std::swap(more, fewer);
  const std::int64_t passes = more[0][forward] - fewer[0][forward];
  if (passes == 0 || fewer[0][forward] == 0) return false;
  for (std::size_t stage = 0; stage < more.size(); ++stage) {
    for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type) {
      const std::int64_t difference = more[stage][type] - fewer[stage][type];
      const bool occurs = is_pass_compute(static_cast<OpType>(type)) || more[stage][type] > 0;
      if (is_pass(static_cast<OpType>(type)) && occurs && difference != passes) return false;
      if (is_message(static_cast<OpType>(type)) && (difference < 0 || difference > passes)) return false;
    }
  }
  return without_micro_batches(a) == without_micro_batches(b);
}

std::vector<char> find_whole_sets(const OpSets& sets, const std::vector<std::size_t>& steps_of,
                                  const std::vector<std::size_t>& asked_for) {
  std::vector<char> whole(sets.size(), 0);
  for (std::uint32_t set = 0; set < sets.size(); ++set) whole[set] = counts_from_zero(sets.at(set)) ? 1 : 0;
  if (std::find(whole.begin(), whole.end(), 1) == whole.end()) std::fill(whole.begin(), whole.end(), 1);
  // Large sets first, because a part of an incomplete set may itself be complete.
  std::vector<std::uint32_t> order(sets.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sets.at(a).size() > sets.at(b).size(); });
  constexpr std::size_t kMostSetsCompared = 1000;
  std::vector<std::uint32_t> accepted;
  for (const std::uint32_t set : order) {
    if (whole[set] == 0) continue;
    const bool is_part = std::any_of(accepted.begin(), accepted.end(), [&](std::uint32_t other) {
      if (!is_part_of(sets.at(set), sets.at(other)) || differ_in_batch(sets.at(set), sets.at(other)))
        return false;
      return steps_of[set] <= steps_of[other] || !have_same_passes(sets.at(set), sets.at(other));
    });
    if (is_part) whole[set] = 0;
    if (!is_part && accepted.size() < kMostSetsCompared) accepted.push_back(set);
  }
  keep_largest_kind(sets, asked_for, whole);
  return whole;
}

}  // namespace goodput
