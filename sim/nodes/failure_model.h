// What happens to the nodes of a cluster: who joins, who is lost, who slows down. Traces are replayed and
// failures drawn behind one interface (models/failure/failure_models.def lists them).
//
// The stream of events never depends on what a job does with its nodes: rival policies face the same failures
// (common random numbers).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/units.h"

namespace goodput {

using NodeId = std::int32_t;

struct NodeEvent {
  // In the order in which events of one moment are told.
  enum class Kind : std::uint8_t {
    kRemove,  // the node is gone, with all it held in memory: it failed or was preempted
    kAdd,     // the node can be used from now on; it holds nothing
    kSpeed,   // the node, which is there, runs at `speed` from now on; a node joins at full speed
  };
  SimTime time{};
  Kind kind = Kind::kAdd;
  NodeId node = 0;
  double speed = 1;  // of a healthy node's; (0, 1]

  friend bool operator==(const NodeEvent&, const NodeEvent&) = default;
};

class FailureModel {
 public:
  virtual ~FailureModel() = default;

  // Ids are in [0, nodes()). A node that was lost may come back under its id.
  [[nodiscard]] virtual NodeId nodes() const = 0;

  // A bound on how many of them are there at the same time.
  [[nodiscard]] virtual NodeId most_held() const { return nodes(); }

  // The next event; times never decrease, and events of one time come by kind. Nodes that are there from the
  // start are added at time 0. Only absent nodes are added, only present ones removed or slowed. Nothing:
  // there will be no more events, ever.
  [[nodiscard]] virtual std::optional<NodeEvent> next() = 0;

  // Where a recording ends: nobody knows what happened afterwards. None: the model goes on for ever.
  [[nodiscard]] virtual std::optional<SimTime> end() const { return std::nullopt; }
};

}  // namespace goodput
