// Links between stages whose messages take longer than those of other links, in all steps or in a window.
//
// The duration of a message is that of its transfer, without the time that its ends waited (NDTimeline). The
// usual duration on a link is the lower quartile over its replicas and steps. If that is itself long compared
// with the other links of the pipeline, theirs is used: the lower median, so the faster one of two links.
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

inline constexpr double kSlowLink = 2;  // min mean factor of a slow link

struct LinkFault {
  std::size_t stage = 0;  // the lower one
  std::size_t peer_stage = 0;
  std::optional<std::size_t> dp_rank;  // none: all replicas (of at least two)
  double factor = 1;                   // over the usual duration; mean over the slow steps
  TimePattern time;                    // of the factor
};

// All links of a recording, and which are slow.
struct LinkPace {
  std::vector<LinkFault> slow;  // the slowest first
  std::vector<Patch> repaired;  // messages of slow links in slow steps, divided by the factor
  std::size_t links = 0;        // between stages, of one replica

  // How many times as long as usual the messages of a link take in a step; 1 if the link is not slow then.
  [[nodiscard]] double factor(const OpGraph::Unit& unit, std::size_t dp_rank, std::size_t step) const;

  // By op: 2 * link for a forward message between stages, 2 * link + 1 for a backward one, -1 for other ops.
  std::vector<std::int32_t> direction_of_op;
  // At (direction_of_op * replicas + replica) * steps + step; empty: all are 1.
  std::vector<double> factors;
  std::size_t replicas = 0;
  std::size_t steps = 0;
};

// A link is slow if its messages in one direction take at least 2x as long as usual, beyond noise, in at
// least two steps (in one step if the recording has only one).
[[nodiscard]] LinkPace find_slow_links(const OpGraph& graph, const Recording& recording);

}  // namespace goodput
