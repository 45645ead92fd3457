// The dispatch schedule of a whole cluster as dense tables: one loop over the ranks for every expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/dispatch/dispatch.h"

namespace goodput::gpu::reference {

struct Placement {
  std::int32_t ranks;
  std::int32_t experts;
  std::vector<std::int32_t> replicas;  // ranks x experts: how many of the expert the rank hosts

  [[nodiscard]] std::size_t cell(std::int32_t rank, std::int32_t expert) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(experts) +
           static_cast<std::size_t>(expert);
  }
};

// What all ranks agree on. Of an expert whose status is not kOk, everything but the status is 0.
struct Schedule {
  std::int32_t ranks;
  std::int32_t experts;
  std::vector<moe::DispatchStatus> status;  // by expert
  std::vector<moe::SurplusMap> maps;        // by expert
  // The rest is ranks x experts. Intervals number the surplus tokens and residual places of all ranks; empty
  // ones begin where the next rank's begins.
  std::vector<moe::Tokens> capacity;
  std::vector<moe::Tokens> local;
  std::vector<moe::Interval> surplus;
  std::vector<moe::Interval> residual;

  [[nodiscard]] std::size_t cell(std::int32_t rank, std::int32_t expert) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(experts) +
           static_cast<std::size_t>(expert);
  }
};

// REQUIRES: `counts` (tokens of the rank for the expert) is ranks x experts, like the replicas; none of them
// is negative.
[[nodiscard]] Schedule make_schedule(const Placement& placement, const std::vector<moe::Tokens>& counts,
                                     moe::DispatchPolicy policy);

// Tokens that go from one rank to another, the local ones where they are the same.
[[nodiscard]] moe::Tokens message(const Schedule& schedule, std::int32_t from, std::int32_t to,
                                  std::int32_t expert);

// Slots of every expert. Slots without an expert (negative, or not below `experts`) are dropped, not counted.
[[nodiscard]] std::vector<moe::Tokens> count_slots(const std::vector<std::int32_t>& expert_of,
                                                   std::int32_t experts);

}  // namespace goodput::gpu::reference
