// Several failure models as one: who is there, at which speed, in which order it is told.
#include "models/failure/failure_merge.h"

#include <doctest/doctest.h>

#include "tests/models/failure/failure_stream.h"

namespace goodput::testing {
namespace {

using Kind = NodeEvent::Kind;

class Scripted final : public FailureModel {
 public:
  Scripted(NodeId nodes, NodeEvents events, std::optional<SimTime> end = {})
      : nodes_(nodes), events_(std::move(events)), end_(end) {}
  [[nodiscard]] NodeId nodes() const override { return nodes_; }
  [[nodiscard]] std::optional<SimTime> end() const override { return end_; }
  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (next_ == events_.size()) return std::nullopt;
    return events_[next_++];
  }

 private:
  NodeId nodes_;
  NodeEvents events_;
  std::optional<SimTime> end_;
  std::size_t next_ = 0;
};

// Node 0 is there, and changes its speed every second for ever.
class Restless final : public FailureModel {
 public:
  explicit Restless(NodeId nodes) : nodes_(nodes) {}
  [[nodiscard]] NodeId nodes() const override { return nodes_; }
  [[nodiscard]] std::optional<NodeEvent> next() override {
    const std::int64_t second = told_++;
    if (second < nodes_) return NodeEvent{at_s(0), Kind::kAdd, static_cast<NodeId>(second), 1};
    return NodeEvent{at_s(static_cast<double>(second)), Kind::kSpeed, 0, second % 2 == 0 ? 1 : 0.5};
  }

 private:
  NodeId nodes_;
  std::int64_t told_ = 0;
};

NodeEvent add(double time_s, NodeId node) {
  return {at_s(time_s), Kind::kAdd, node, 1};
}
NodeEvent lose(double time_s, NodeId node) {
  return {at_s(time_s), Kind::kRemove, node, 1};
}
NodeEvent run_at(double time_s, NodeId node, double speed) {
  return {at_s(time_s), Kind::kSpeed, node, speed};
}

// What both together come to.
std::string merged(NodeId nodes_a, const NodeEvents& a, NodeId nodes_b, const NodeEvents& b) {
  std::vector<std::unique_ptr<FailureModel>> models;
  models.push_back(std::make_unique<Scripted>(nodes_a, a));
  models.push_back(std::make_unique<Scripted>(nodes_b, b));
  const auto model = merge_failures(std::move(models));
  CHECK(model->nodes() == std::max(nodes_a, nodes_b));
  return shown(check_stream(*model, SimTime::max()));
}

}  // namespace

TEST_CASE("merged failures: a node is there while all who know it say so") {
  // Node 2 is known to the first only. Node 0 is lost twice, by one and then by the other.
  CHECK(merged(3, {add(0, 0), add(0, 1), add(0, 2), lose(10, 0), add(30, 0)},  //
               2, {add(0, 0), add(5, 1), lose(20, 0), add(40, 0)}) == "0 +0 +2 | 5 +1 | 10 -0 | 40 +0");
}

TEST_CASE("merged failures: who is lost and returns at one moment is told so once") {
  // At 10 s both lose node 0 and have it back; at 20 s one has it back in the moment in which the other loses
  // it; at 30 s it is lost by one while it is gone for the other.
  CHECK(merged(1, {add(0, 0), lose(10, 0), add(10, 0), lose(20, 0), add(20, 0), lose(30, 0), add(30, 0)},  //
               1, {add(0, 0), lose(10, 0), add(10, 0), lose(20, 0), add(40, 0)}) ==
        "0 +0 | 10 -0 +0 | 20 -0 | 40 +0");
  // Node 1 returns for one as the other loses it: it never was there in between.
  CHECK(merged(2, {add(0, 0), add(10, 1)}, 2, {add(0, 0), add(0, 1), lose(10, 1)}) == "0 +0");
}

TEST_CASE("merged failures: losses of a moment come first, then those who join, then speeds") {
  CHECK(merged(3, {add(0, 0), add(0, 1), add(10, 2), run_at(10, 0, 0.5)},  //
               3, {add(0, 0), add(0, 1), add(0, 2), lose(10, 1)}) == "0 +0 +1 | 10 -1 +2 ~0@0.5");
}

TEST_CASE("merged failures: speeds multiply, and only changes are told") {
  CHECK(merged(1, {add(0, 0), run_at(10, 0, 0.5), run_at(30, 0, 1)},  //
               1, {add(0, 0), run_at(20, 0, 0.5), run_at(25, 0, 0.5), run_at(40, 0, 1)}) ==
        "0 +0 | 10 ~0@0.5 | 20 ~0@0.25 | 30 ~0@0.5 | 40 ~0@1");
}

TEST_CASE("merged failures: who returns is healthy") {
  // Slow from 10 s; lost at 20 s and back at 30 s at full speed, so that its recovery at 40 s is no news. A
  // slowness that begins at 60 s while it is gone is none.
  CHECK(merged(1,
               {add(0, 0), run_at(10, 0, 0.5), run_at(40, 0, 1), run_at(60, 0, 0.25), run_at(80, 0, 1)},  //
               1, {add(0, 0), lose(20, 0), add(30, 0), lose(50, 0), add(70, 0)}) ==
        "0 +0 | 10 ~0@0.5 | 20 -0 | 30 +0 | 50 -0 | 70 +0");
}

TEST_CASE("merged failures: the recording that ends first ends them all") {
  std::vector<std::unique_ptr<FailureModel>> models;
  models.push_back(std::make_unique<Scripted>(1, NodeEvents{add(0, 0)}));
  models.push_back(std::make_unique<Scripted>(1, NodeEvents{add(0, 0)}, at_s(70)));
  models.push_back(std::make_unique<Scripted>(1, NodeEvents{add(0, 0)}, at_s(60)));
  CHECK(merge_failures(std::move(models))->end() == at_s(60));
}

TEST_CASE("merged failures: nothing is told that happens after a recording ends") {
  std::vector<std::unique_ptr<FailureModel>> models;
  models.push_back(std::make_unique<Scripted>(1, NodeEvents{add(0, 0)}, at_s(3)));
  models.push_back(std::make_unique<Restless>(1));
  CHECK(shown(check_stream(*merge_failures(std::move(models)), SimTime::max())) ==
        "0 +0 | 1 ~0@0.5 | 2 ~0@1 | 3 ~0@0.5");
}

TEST_CASE("merged failures: with every node lost for ever there is nothing to look for") {
  std::vector<std::unique_ptr<FailureModel>> models;
  models.push_back(std::make_unique<Scripted>(2, NodeEvents{add(0, 0), add(0, 1), lose(4, 0), lose(4, 1)}));
  models.push_back(std::make_unique<Restless>(2));
  CHECK(shown(check_stream(*merge_failures(std::move(models)), SimTime::max())) ==
        "0 +0 +1 | 3 ~0@0.5 | 4 -0 -1");
}

TEST_CASE("merged failures: no node is slower than a hundredth of its speed") {
  CHECK(merged(1, {add(0, 0), run_at(10, 0, 0.05)}, 1, {add(0, 0), run_at(20, 0, 0.01)}) ==
        "0 +0 | 10 ~0@0.05 | 20 ~0@0.01");
}

TEST_CASE("merged failures: real models together keep to the contract") {
  const NodeEvents events = events_of(R"([
    {"model": "hourly", "nodes": 24, "initial_nodes": 20, "loss_probability": 0.2, "return_probability": 0.5},
    {"model": "exponential", "nodes": 32, "mtbf_hours": 20, "repair_s": 300},
    {"model": "bursts", "kind": "zone", "group_size": 7, "per_hour": 0.5, "outage_s": 900},
    {"model": "bursts", "kind": "fleet", "per_hour": 0.05, "outage_s": 0},
    {"model": "fail_slow", "per_node_day": 10, "speed_min": 0.2, "speed_max": 0.8},
    {"model": "fail_slow", "nodes": 8, "per_node_day": 30, "slowdowns": [1.5, 3], "duration_s": 600}])",
                                      1e6);
  CHECK(count_of(events, Kind::kRemove) > 1000);
  CHECK(count_of(events, Kind::kSpeed) > 1000);
}

}  // namespace goodput::testing
