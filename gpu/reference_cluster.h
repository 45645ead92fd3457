// A whole cluster dispatching one layer in one process: every rank computes its part on its own. And the
// oracle of the schedule, which enumerates every surplus token.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gpu/reference_layout.h"
#include "gpu/reference_schedule.h"

namespace goodput::gpu::reference {

// Messages of one expert by hand, ranks x ranks (source-major), local tokens included: odd tokens are dealt
// out to one replica after another from the rotation on, and every surplus token is sent by itself.
// `multiplier` maps surplus tokens to residual places. Takes time and memory in proportion to the expert's
// replicas and surplus. REQUIRES: the status of the expert is kOk.
[[nodiscard]] std::vector<moe::Tokens> enumerate_messages(const Placement& placement,
                                                          const std::vector<moe::Tokens>& counts,
                                                          std::int32_t expert, moe::Tokens multiplier);

// Whether every message has the same length, expert by expert, at its sender and its receiver. By rank.
[[nodiscard]] bool ends_agree(const std::vector<RankLayout>& layouts);

// All-to-all: what every rank receives of what all have in their send buffers, and back to the senders. By
// rank. REQUIRES: ends_agree.
template <class T>
[[nodiscard]] std::vector<std::vector<T>> exchange(const std::vector<RankLayout>& layouts,
                                                   const std::vector<std::vector<T>>& send, int hidden);
template <class T>
[[nodiscard]] std::vector<std::vector<T>> exchange_back(const std::vector<RankLayout>& layouts,
                                                        const std::vector<std::vector<T>>& received,
                                                        int hidden);

template <class T>
struct ClusterInput {
  int top_k = 1;
  int hidden = 1;
  moe::DispatchPolicy policy = moe::DispatchPolicy::kProportional;
  // By rank; ranks may have different numbers of tokens.
  std::vector<std::vector<std::int32_t>> expert_of;  // tokens x top_k; negative: dropped
  std::vector<std::vector<T>> x;                     // tokens x hidden
  std::vector<std::vector<float>> weights;           // tokens x top_k, or empty: 1
};

// By rank.
template <class T>
struct ClusterRun {
  Schedule schedule;
  std::vector<RankLayout> layouts;
  std::vector<std::vector<std::int32_t>> positions;
  std::vector<std::vector<T>> grouped;  // what the experts are given
  std::vector<std::vector<T>> y;        // tokens x hidden
};

// Replaces a row of `hidden` elements, as the expert there would.
template <class T>
using ExpertFunction = std::function<void(const Entry& where, T* row)>;

// Tokens of every rank for every expert, ranks x experts.
[[nodiscard]] std::vector<moe::Tokens> count_cluster(const std::vector<std::vector<std::int32_t>>& expert_of,
                                                     std::int32_t experts);

// Counts, schedule, scatter, exchange, regroup, experts, ungroup, exchange back, combine.
template <class T>
[[nodiscard]] ClusterRun<T> emulate_cluster(const Placement& placement, const ClusterInput<T>& input,
                                            const ExpertFunction<T>& expert);

}  // namespace goodput::gpu::reference
