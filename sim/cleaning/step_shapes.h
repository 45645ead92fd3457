// What the steps of a trace are made of: sets of ops, how many replicas, and which of them are whole.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/cleaning/op_instances.h"

namespace goodput {

// Sets of ops, each kept once.
class OpSets {
 public:
  // Index of the set. REQUIRES: ops ascending, each once.
  std::uint32_t intern(std::vector<OpKey> ops);

  [[nodiscard]] const std::vector<OpKey>& at(std::uint32_t set) const { return sets_[set]; }
  [[nodiscard]] std::size_t size() const { return sets_.size(); }

 private:
  std::vector<std::vector<OpKey>> sets_;
  std::map<std::uint64_t, std::vector<std::uint32_t>> by_hash_;
};

struct StepShape {
  std::int32_t replicas = 0;
  std::uint32_t op_set = 0;  // of the OpSets
  friend bool operator==(const StepShape&, const StepShape&) = default;
};

// None when the step is not dense: lanes that differ, an op twice, dp ranks that do not count from 0.
[[nodiscard]] std::optional<StepShape> shape_of(std::span<const InstanceRow> rows, OpSets& sets);

// Whether the two sets differ only in the number of micro-batches: they have the same stages and collectives,
// and on every stage one set has k fewer forward and k fewer backward passes and at most k fewer messages.
[[nodiscard]] bool differ_in_batch(const std::vector<OpKey>& a, const std::vector<OpKey>& b);

// By op set: whether its steps are complete. `steps_of` counts the steps of each set and `asked_for` its
// selected steps. A set is incomplete
// - if it is a part of another set. Exceptions: the two differ only in the number of micro-batches; or more
//   steps have the smaller set and only collectives and ops after the passes differ, because the first step
//   of a job may reduce other buckets,
// - if its seq_ids or stages do not count from 0 while those of other sets do,
// - or if it differs in another way and fewer selected steps have it than have the most common kind.
[[nodiscard]] std::vector<char> find_whole_sets(const OpSets& sets, const std::vector<std::size_t>& steps_of,
                                                const std::vector<std::size_t>& asked_for);

}  // namespace goodput
