// A node is lost at fixed intervals.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "models/failure/failure_fields.h"
#include "models/failure/failure_setup.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// A node is lost at fixed intervals, as in the experiments of the Lazarus paper (section 6).
struct IntervalFailures {
  NodeId nodes = 0;  // 0: as many as the job uses
  SimDuration every{std::chrono::minutes{5}};
  NodeId floor_nodes = 0;                     // with so many left nothing is lost
  std::optional<SimDuration> return_after{};  // none: never
  std::vector<NodeId> victims{};              // in this order; after them, and where they are gone, any
};

class IntervalLosses final : public FailureModel {
 public:
  IntervalLosses(const IntervalFailures& failures, const FailureKey& key)
      : failures_(failures), random_(key.stream(kWholeCluster)), next_loss_(SimTime{} + failures.every) {
    held_.reserve(index(failures.nodes));
  }

  [[nodiscard]] NodeId nodes() const override { return failures_.nodes; }

  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (joined_ < failures_.nodes) {
      held_.push_back(joined_);
      return NodeEvent{SimTime{}, NodeEvent::Kind::kAdd, joined_++, 1};
    }
    while (next_loss_ < kFailureHorizon) {
      const bool is_return_next = !returning_.empty() && returning_.front().time < next_loss_;
      if (is_return_next) return take_back();
      if (index(failures_.floor_nodes) < held_.size()) return lose_one();
      if (returning_.empty()) return std::nullopt;
      skip_until_return();
    }
    return std::nullopt;
  }

 private:
  // Until then nothing may be lost.
  void skip_until_return() {
    const auto intervals = (returning_.front().time - next_loss_) / failures_.every;
    next_loss_ += failures_.every * (intervals + 1);
  }

  NodeEvent take_back() {
    const NodeEvent event = returning_.front();
    returning_.pop_front();
    held_.push_back(event.node);
    return event;
  }

  NodeEvent lose_one() {
    const auto victim = choose_victim();
    const NodeEvent event{next_loss_, NodeEvent::Kind::kRemove, *victim, 1};
    std::swap(*victim, held_.back());
    held_.pop_back();
    next_loss_ += failures_.every;
    if (failures_.return_after) {
      returning_.push_back({event.time + *failures_.return_after, NodeEvent::Kind::kAdd, event.node, 1});
    }
    return event;
  }

  std::vector<NodeId>::iterator choose_victim() {
    while (named_ < failures_.victims.size()) {
      const auto found = std::find(held_.begin(), held_.end(), failures_.victims[named_++]);
      if (found != held_.end()) return found;
    }
    return held_.begin() + static_cast<std::ptrdiff_t>(random_.below(held_.size()));
  }

  IntervalFailures failures_;
  RandomStream random_;
  SimTime next_loss_;
  std::vector<NodeId> held_;
  std::deque<NodeEvent> returning_;
  std::size_t named_ = 0;  // victims that had their turn
  NodeId joined_ = 0;
};

config::Fields config_fields(IntervalFailures& failures) {
  using config::Need;
  const auto nothing_lost = [&failures] {
    const bool is_known = failures.nodes > 0;
    return is_known && failures.floor_nodes == failures.nodes
               ? "no node is ever lost: floor_nodes equals nodes"
               : "";
  };
  const config::Range positive = {.least = 1e-3, .most = kMostFailureSeconds};
  return {{"nodes", Need::kOptional, config::integer(failures.nodes, 0, kMostNodes),
           "number of nodes, all available at the start; 0: as many as the job uses"},
          {"every_s", Need::kRequired, seconds_value(failures.every, positive),
           "time from the start to the first loss, and from each loss to the next"},
          {"floor_nodes", Need::kOptional, config::integer(failures.floor_nodes, 0, kMostNodes),
           "number of remaining nodes at which losses stop"},
          {"return_after_s", Need::kOptional, seconds_value(failures.return_after, positive),
           "time from the loss of a node until the node returns (default: never)", nothing_lost},
          {"victims", Need::kOptional, config::integers(failures.victims, 0, kMostNodes - 1),
           "list of nodes to lose, in this order; nodes that are already lost are skipped. After the end of "
           "the list, random nodes are lost",
           nothing_lost}};
}

Status config_finish(IntervalFailures& failures) {
  if (failures.nodes == 0) return Ok{};  // checked once they are known
  for (std::size_t i = 0; i < failures.victims.size(); ++i) {
    if (failures.victims[i] < failures.nodes) continue;
    return Error{fmt::format("is {}, but there are only {} nodes, numbered from 0", failures.victims[i],
                             failures.nodes),
                 {.pointer = fmt::format("/victims/{}", i)}};
  }
  if (failures.floor_nodes <= failures.nodes) return Ok{};
  return Error{
      fmt::format("must be at most the number of nodes ({1}), not {0}", failures.floor_nodes, failures.nodes),
      {.pointer = "/floor_nodes"}};
}

// While there are nodes to lose: any node is the victim.
InterruptionRate interruption_rate(const IntervalFailures& failures, const FailureInputs& /*inputs*/) {
  const double per_s = failures.floor_nodes < failures.nodes ? 1 / to_seconds(failures.every) : 0;
  return [nodes = failures.nodes, per_s](NodeId used) { return per_s * std::min(used, nodes) / nodes; };
}

NodeId& default_nodes(IntervalFailures& failures) {
  return failures.nodes;
}

Result<std::unique_ptr<FailureModel>> make_failures(const IntervalFailures& failures,
                                                    const FailureInputs& inputs) {
  GOODPUT_TRY_STATUS(check_node_count(failures.nodes));
  return std::unique_ptr<FailureModel>(std::make_unique<IntervalLosses>(failures, inputs.key));
}

}  // namespace

FailureModelInfo failure_interval() {
  return {.name = "interval",
          .summary = "a node is lost at fixed intervals until only floor_nodes are left",
          .example = R"({"model": "interval", "nodes": 10, "every_s": 300, "floor_nodes": 5})",
          .make = make_failure_setup<IntervalFailures>};
}

}  // namespace goodput
