// Nodes that fail and are repaired independently of each other, each at an age of its own.
//
// Every node has its own pending failure: the failure of one does not touch the ages of the others. (Drawing
// all nodes anew at each failure gives a mean time between failures that is off by a factor of 5 either way
// for Weibull shapes of 0.7 and 1.5.) A repaired node is as good as new.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/failure/bursts.h"
#include "models/failure/failure_draws.h"
#include "models/failure/failure_merge.h"
#include "models/failure/failure_setup.h"
#include "sim/base/event_queue.h"
#include "sim/base/index.h"
#include "sim/config/config.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

// Nodes that fail and are repaired, each by a clock of its own.
struct NodeLives {
  enum class Repair : std::uint8_t { kFixed, kExponential, kWeibull, kLognormal };
  NodeId nodes = 0;  // 0: as many as the job uses
  // Mean time from a node's start or repair to its failure: exactly one of these.
  std::optional<double> mtbf_hours{};
  std::optional<double> failures_per_1000_node_days{};
  SimDuration repair_time{};  // the mean
  Repair repair = Repair::kFixed;
  std::optional<double> repair_shape{};  // of Weibull the shape, of lognormal the deviation of the logarithm
  std::optional<NodeBursts> bursts{};    // that strike these nodes, too

  [[nodiscard]] bool has_shape() const { return repair == Repair::kWeibull || repair == Repair::kLognormal; }
};
[[nodiscard]] config::Fields config_fields(NodeLives& lives);
[[nodiscard]] Status config_finish(NodeLives& lives);

// Mean time from a node's start or repair to its failure.
// REQUIRES: config_finish(lives).
[[nodiscard]] double mtbf_seconds(const NodeLives& lives);

// Seconds that a repair takes. REQUIRES: a mean above 0.
[[nodiscard]] double draw_repair(const NodeLives& lives, RandomStream& random);

// Of a job whose nodes are there: each of them fails once in its mean time (the renewal theorem), whatever
// the distribution; bursts add to that.
[[nodiscard]] InterruptionRate renewal_rate(const NodeLives& lives);

// `Lifetime` draws seconds: draw_first(random) until the failure of a node that is there at the start,
// draw(random) from a repair to the next failure.
template <typename Lifetime>
class NodeRenewals final : public FailureModel {
 public:
  NodeRenewals(const NodeLives& lives, const Lifetime& lifetime, const FailureKey& key)
      : lives_(lives), lifetime_(lifetime) {
    for (NodeId node = 0; node < lives.nodes; ++node) {
      RandomStream& random = random_.emplace_back(key.stream(node));
      plan(later({}, lifetime.draw_first(random)), Kind::kRemove, node);
    }
  }

  [[nodiscard]] NodeId nodes() const override { return lives_.nodes; }

  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (joined_ < lives_.nodes) return NodeEvent{SimTime{}, Kind::kAdd, joined_++, 1};
    if (pending_.empty()) return std::nullopt;
    const auto event = pending_.pop();
    RandomStream& random = random_[index(event.payload)];
    if (event.priority == Kind::kRemove) {
      plan(repaired(event.time, random), Kind::kAdd, event.payload);
    } else {
      plan(later(event.time, lifetime_.draw(random)), Kind::kRemove, event.payload);
    }
    return NodeEvent{event.time, event.priority, event.payload, 1};
  }

 private:
  using Kind = NodeEvent::Kind;

  void plan(SimTime time, Kind kind, NodeId node) {
    if (time < kFailureHorizon) pending_.push(time, kind, node);
  }

  [[nodiscard]] SimTime repaired(SimTime failed, RandomStream& random) const {
    if (lives_.repair == NodeLives::Repair::kFixed || lives_.repair_time == SimDuration{}) {
      return failed + lives_.repair_time;
    }
    return later(failed, draw_repair(lives_, random));
  }

  NodeLives lives_;
  Lifetime lifetime_;
  std::vector<RandomStream> random_;  // by node
  EventQueue<Kind, NodeId> pending_;  // one a node
  NodeId joined_ = 0;
};

template <typename Lifetime>
[[nodiscard]] std::unique_ptr<FailureModel> make_renewals(const NodeLives& lives, const Lifetime& lifetime,
                                                          const FailureKey& key) {
  auto renewals = std::make_unique<NodeRenewals<Lifetime>>(lives, lifetime, key);
  if (!lives.bursts) return renewals;
  std::vector<std::unique_ptr<FailureModel>> both;
  both.push_back(std::move(renewals));
  both.push_back(make_bursts(*lives.bursts, lives.nodes, key));
  return merge_failures(std::move(both));
}

}  // namespace goodput
