// Which of the nodes that are there a job uses, fail-slow ones in particular.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config.h"
#include "sim/nodes/membership.h"

namespace goodput {

// What is done about a node that runs below its speed.
enum class SlowNodeAction : std::uint8_t {
  kKeep,   // all wait for it
  kEvict,  // below the threshold it is treated as if it had failed, until it is back to speed
  kSwap,   // below the threshold it makes room for a healthy node, if there is an idle one
};
inline constexpr std::string_view kSlowNodeActionNames[] = {"keep", "evict", "swap"};

struct SlowNodeRule {
  SlowNodeAction action = SlowNodeAction::kKeep;
  double threshold = 0.8;  // of a healthy node's speed
};
[[nodiscard]] config::Fields config_fields(SlowNodeRule& rule);

// For those who wait: "needs 4 nodes", and what counts as one where some are evicted.
[[nodiscard]] std::string nodes_needed(std::int32_t nodes, bool some_are_evicted);

// What a change means to those who use some of the nodes.
struct ChangeImpact {
  bool loses = false;   // one of those in use
  bool slows = false;   // one of those in use has another speed now
  bool offers = false;  // others joined, or are back to speed
};
[[nodiscard]] ChangeImpact impact_of(const NodeChange& change, std::span<const NodeId> used);

class NodeChoice {
 public:
  explicit NodeChoice(const SlowNodeRule& rule) : rule_(rule) {}

  // Whether it is there, and not evicted.
  [[nodiscard]] bool may_use(const Membership& members, NodeId node) const;
  // How many nodes may be used.
  [[nodiscard]] std::int32_t available(const Membership& members) const;

  // `count` of them, ascending: with kSwap healthy ones first, then those of `kept`, which hold something,
  // then by id. REQUIRES: count <= available(); `kept` ascends and is not `chosen`.
  void choose(const Membership& members, std::int32_t count, std::span<const NodeId> kept,
              std::vector<NodeId>& chosen) const;

 private:
  [[nodiscard]] bool is_slow(const Membership& members, NodeId node) const {
    return members.speed(node) < rule_.threshold;
  }

  SlowNodeRule rule_;
};

}  // namespace goodput
