// Correlated losses: a switch, a power feed or a market takes all nodes of a group at once, and they come
// back together. A burst that strikes a group that is out already changes nothing.
#include "models/failure/bursts.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/failure/failure_fields.h"
#include "models/failure/failure_setup.h"
#include "sim/base/event_queue.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// Neighbours that are lost together.
struct BurstFailures {
  enum class Kind : std::uint8_t { kRack, kZone, kFleet };
  NodeId nodes = 0;  // 0: those of the other models
  Kind kind = Kind::kRack;
  NodeId group_size = 0;  // nodes of consecutive ids; not of a fleet, which is all of them
  double per_hour = 0;    // bursts, of the whole cluster; each strikes one group
  SimDuration outage_time{};
};

NodeId nodes_of_group(const BurstFailures& failures, NodeId nodes) {
  const bool is_fleet = failures.kind == BurstFailures::Kind::kFleet || failures.group_size == 0;
  return is_fleet ? nodes : std::min(failures.group_size, nodes);
}

class GroupBursts final : public FailureModel {
 public:
  GroupBursts(const BurstFailures& failures, NodeId nodes, const FailureKey& key)
      : nodes_(nodes),
        group_size_(nodes_of_group(failures, nodes)),
        rate_per_s_(failures.per_hour / 3600),
        outage_time_(failures.outage_time),
        random_(key.stream(kWholeCluster)),
        is_out_(index((nodes + group_size_ - 1) / group_size_), false) {
    draw_burst();
  }

  [[nodiscard]] NodeId nodes() const override { return nodes_; }

  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (told_.first == told_.last && !begin_change()) return std::nullopt;
    return NodeEvent{told_.time, told_.kind, told_.first++, 1};
  }

 private:
  using Kind = NodeEvent::Kind;
  // What happens to the nodes first .. last-1, to be told one by one. First of all, all of them join.
  struct Change {
    SimTime time{};
    Kind kind = Kind::kAdd;
    NodeId first = 0;
    NodeId last = 0;
  };

  // False: nothing will happen any more.
  bool begin_change() {
    while (!pending_.empty()) {
      const auto event = pending_.pop();
      const NodeId group = event.payload;
      if (event.priority == Kind::kRemove) draw_burst_after(event.time);
      if (event.priority == Kind::kRemove && is_out_[index(group)]) continue;
      is_out_[index(group)] = event.priority == Kind::kRemove;
      out_ += event.priority == Kind::kRemove ? 1 : -1;
      if (event.priority == Kind::kRemove) pending_.push(event.time + outage_time_, Kind::kAdd, group);
      const NodeId first = group * group_size_;
      told_ = {event.time, event.priority, first, std::min(nodes_, first + group_size_)};
      return true;
    }
    return false;
  }

  // When the first group is back, if none is there. Only returns are pending between two bursts.
  [[nodiscard]] SimTime all_out_until() const {
    return out_ < static_cast<std::ptrdiff_t>(is_out_.size()) ? SimTime{} : pending_.next_time();
  }

  void draw_burst() { draw_burst_after(SimTime{}); }
  void draw_burst_after(SimTime time) {
    if (rate_per_s_ == 0) return;
    // What strikes while all are out changes nothing, and the next burst has no memory of it.
    const SimTime next = later(std::max(time, all_out_until()), random_.exponential(rate_per_s_));
    const auto group = static_cast<NodeId>(random_.below(is_out_.size()));
    if (next < kFailureHorizon) pending_.push(next, Kind::kRemove, group);
  }

  NodeId nodes_;
  NodeId group_size_;
  double rate_per_s_;
  SimDuration outage_time_;
  RandomStream random_;
  std::vector<bool> is_out_;          // by group
  std::ptrdiff_t out_ = 0;            // groups that are
  EventQueue<Kind, NodeId> pending_;  // of groups: the next burst, and a return for each that is out
  Change told_{SimTime{}, Kind::kAdd, 0, nodes_};
};

config::Fields config_fields(BurstFailures& failures) {
  using config::Need;
  static constexpr std::array<std::string_view, 3> kKindNames = {"rack", "zone", "fleet"};
  const auto no_bursts = [&failures] { return failures.per_hour == 0 ? "per_hour is 0" : ""; };
  return {
      {"nodes", Need::kOptional, config::integer(failures.nodes, 0, kMostNodes),
       "number of nodes; 0: the number of nodes of the other failure models"},
      {"kind", Need::kOptional, config::choice(failures.kind, kKindNames),
       "which nodes a burst takes down: those of a rack, those of a zone, or all nodes (fleet)", no_bursts},
      {"group_size", Need::kOptional, config::integer(failures.group_size, 0, kMostNodes),
       "number of nodes per rack or zone, with consecutive ids; the last rack or zone may be smaller",
       [&failures, no_bursts] {
         return failures.kind == BurstFailures::Kind::kFleet ? "kind is \"fleet\"" : no_bursts();
       }},
      {"per_hour", Need::kRequired, config::number(failures.per_hour, config::between(0, 3600)),
       "number of failure bursts per hour in the whole cluster; each burst hits a random rack, a random zone "
       "or all nodes, depending on kind"},
      {"outage_s", Need::kRequired,
       seconds_value(failures.outage_time, config::between(0, kMostFailureSeconds)),
       "time from a burst until the failed nodes return"}};
}

Status config_finish(BurstFailures& failures) {
  const bool is_fleet = failures.kind == BurstFailures::Kind::kFleet;
  if (is_fleet || failures.group_size > 0 || failures.per_hour == 0) return Ok{};
  return Error{"is missing; set the number of nodes per rack or zone", {.pointer = "/group_size"}};
}

NodeId nodes_of_others(const BurstFailures& failures) {
  return failures.nodes;
}

// A burst strikes any group; those with the lowest ids are the job's.
InterruptionRate rate_of_bursts(const BurstFailures& failures, NodeId nodes) {
  const NodeId size = nodes_of_group(failures, nodes);
  const auto groups = [size](NodeId count) { return (count + size - 1) / size; };
  return [=, per_s = failures.per_hour / 3600](NodeId used) {
    return per_s * groups(std::min(used, nodes)) / groups(nodes);
  };
}

InterruptionRate interruption_rate(const BurstFailures& failures, const FailureInputs& inputs) {
  return rate_of_bursts(failures, failures.nodes == 0 ? inputs.cluster_nodes : failures.nodes);
}

Result<std::unique_ptr<FailureModel>> make_failures(const BurstFailures& failures,
                                                    const FailureInputs& inputs) {
  const NodeId nodes = failures.nodes == 0 ? inputs.cluster_nodes : failures.nodes;
  return std::unique_ptr<FailureModel>(std::make_unique<GroupBursts>(failures, nodes, inputs.key));
}

BurstFailures on_nodes(const NodeBursts& bursts, NodeId nodes) {
  constexpr double kHoursPerRate = 1000.0 * 24;
  return {.nodes = nodes,
          .group_size = bursts.group_size,
          .per_hour = bursts.per_1000_node_days * nodes / kHoursPerRate,
          .outage_time = bursts.outage_time};
}

}  // namespace

config::Fields config_fields(NodeBursts& bursts) {
  using config::Need;
  return {{"per_1000_node_days", Need::kRequired,
           config::number(bursts.per_1000_node_days, config::between(0, 1e6)),
           "number of bursts per 1000 node-days; each hits a random group"},
          {"group_size", Need::kRequired, config::integer(bursts.group_size, 1, kMostNodes),
           "number of nodes per group, with consecutive ids; the last group may be smaller",
           [&bursts] { return bursts.per_1000_node_days == 0 ? "per_1000_node_days is 0" : ""; }},
          {"outage_s", Need::kRequired,
           seconds_value(bursts.outage_time, config::between(0, kMostFailureSeconds)),
           "time from a burst until the failed nodes return",
           [&bursts] { return bursts.per_1000_node_days == 0 ? "per_1000_node_days is 0" : ""; }}};
}

std::unique_ptr<FailureModel> make_bursts(const NodeBursts& bursts, NodeId nodes, const FailureKey& key) {
  return std::make_unique<GroupBursts>(on_nodes(bursts, nodes), nodes, key);
}

InterruptionRate burst_rate(const NodeBursts& bursts, NodeId nodes) {
  return rate_of_bursts(on_nodes(bursts, nodes), nodes);
}

FailureModelInfo failure_bursts() {
  return {
      .name = "bursts",
      .summary = "all nodes of a rack, a zone or the fleet fail at once",
      .example =
          R"({"model": "bursts", "nodes": 64, "kind": "rack", "group_size": 8, "per_hour": 0.05, "outage_s": 1200})",
      .make = make_failure_setup<BurstFailures>};
}

}  // namespace goodput
