// A whole cluster dispatching one layer, token by token: the schedule put to the test.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/dispatch/dispatch.h"
#include "models/dispatch/expert_hosts.h"
#include "sim/base/errors.h"

namespace goodput::moe {

// The router's choice: ranks x slots, the expert of each slot (token * top_k + choice); negative: dropped.
struct RoutedSlots {
  std::int32_t ranks;
  std::int32_t experts;
  std::int32_t slots;  // of a rank
  std::span<const std::int32_t> expert_of;

  [[nodiscard]] std::span<const std::int32_t> of_rank(std::int32_t rank) const {
    return expert_of.subspan(static_cast<std::size_t>(rank) * static_cast<std::size_t>(slots),
                             static_cast<std::size_t>(slots));
  }
};

// Tokens of every rank for every expert, ranks x experts. An error for a number that is no expert.
[[nodiscard]] Result<std::vector<Tokens>> count_slots(const RoutedSlots& routed);

struct ClusterDispatch {
  std::int64_t delivered = 0;           // slots that a replica of their expert got
  std::int64_t dropped = 0;             // slots that the router dropped
  std::int64_t moved = 0;               // delivered to another rank than their own
  std::vector<std::int64_t> processed;  // tokens that every rank computes
  std::vector<std::int32_t> sent_to;    // how many other ranks every rank sends to
  std::vector<std::int32_t> received_from;
};

// Every rank computes its part on its own, scatters its slots, sends and receives. Checks (GOODPUT_CHECK)
// that the two ends of every message agree on its length, that every slot arrives once, at a host of its
// expert and in order, and that every rank gets what its capacity is. Errors: of the input only.
[[nodiscard]] Result<ClusterDispatch> emulate_cluster(const ExpertHosts& hosts, const RoutedSlots& routed,
                                                      DispatchPolicy policy);

}  // namespace goodput::moe
