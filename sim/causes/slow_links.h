// Links between stages whose messages take longer than those of other links, in all steps or in a window.
//
// A message takes as long as its transfer in NDTimeline's traces, whatever its ends waited for. What is usual
// on a link is what the fastest quarter of its replicas and steps take; where that is long itself, in every
// replica, what is usual on the other links of the pipeline (the lower median: of two links the faster).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/causes/remedy.h"
#include "sim/causes/time_pattern.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

inline constexpr double kSlowLink = 2;  // of its messages, over what is usual

struct LinkFault {
  std::size_t stage = 0;  // the lower one
  std::size_t peer_stage = 0;
  std::optional<std::size_t> dp_rank;  // none: in all replicas, of several
  double factor = 1;                   // over what is usual, mean over the steps in which it is slow
  TimePattern time;                    // of the factor
};

// All links of a recording, and which are slow.
struct LinkPace {
  std::vector<LinkFault> slow;  // the slowest first
  std::vector<Patch> repaired;  // messages of slow links, in the steps in which they are: over the factor
  std::size_t links = 0;        // between stages, of one replica

  // How many times as long as usual the messages of a slow link take in a step; 1 elsewhere.
  [[nodiscard]] double factor(const OpGraph::Unit& unit, std::size_t dp_rank, std::size_t step) const;

  // By op, of messages between stages: 2 * link + 1 if they go backwards; else -1.
  std::vector<std::int32_t> direction_of_op;
  // At (direction_of_op * replicas + replica) * steps + step; empty: all are 1.
  std::vector<double> factors;
  std::size_t replicas = 0;
  std::size_t steps = 0;
};

// Messages of a slow link take at least 2x as long as usual in one direction, beyond noise, in two steps or
// more (in the one there is).
[[nodiscard]] LinkPace find_slow_links(const OpGraph& graph, const Recording& recording);

}  // namespace goodput
