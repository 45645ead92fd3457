// Failures that take down all nodes of a group at once: a model of its own, and a part of models of single
// nodes.
#pragma once

#include <memory>

#include "models/failure/failure_draws.h"
#include "models/failure/failure_setup.h"
#include "sim/base/units.h"
#include "sim/config/config.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

// Groups are nodes of consecutive ids; each burst strikes one of them.
struct NodeBursts {
  double per_1000_node_days = 0;  // bursts, not nodes that are lost
  NodeId group_size = 0;
  SimDuration outage_time{};
};
[[nodiscard]] config::Fields config_fields(NodeBursts& bursts);

// REQUIRES for both: nodes > 0.
[[nodiscard]] std::unique_ptr<FailureModel> make_bursts(const NodeBursts& bursts, NodeId nodes,
                                                        const FailureKey& key);
// How often a burst strikes nodes of a job.
[[nodiscard]] InterruptionRate burst_rate(const NodeBursts& bursts, NodeId nodes);

}  // namespace goodput
