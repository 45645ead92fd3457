// Failure models from their JSON, and the contract of FailureModel, checked on the events of one.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "models/failure/failure_models.h"
#include "sim/base/index.h"

namespace goodput::testing {

using NodeEvents = std::vector<NodeEvent>;

inline SimTime at_s(double seconds) {
  return SimTime{from_seconds(seconds)};
}

// The value of "failures" in a file folder/job.json.
Result<std::vector<FailureConfig>> read_failures(std::string_view text);

inline Result<std::unique_ptr<FailureModel>> try_failures(std::string_view text,
                                                          const FailureSources& sources = {},
                                                          std::uint64_t trial = 0) {
  GOODPUT_TRY(const auto configs, read_failures(text));
  return make_failure_model(configs, sources, 1, trial);
}

inline std::unique_ptr<FailureModel> failures_of(std::string_view text, const FailureSources& sources = {},
                                                 std::uint64_t trial = 0) {
  auto made = try_failures(text, sources, trial);
  REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message()));
  return *std::move(made);
}

// What is wrong with it, "" where nothing is.
inline std::string problem_of(std::string_view text, const FailureSources& sources = {}) {
  const auto made = try_failures(text, sources);
  return made ? "" : made.error().message();
}

// What a stream of events must keep to (sim/nodes/failure_model.h).
class StreamContract {
 public:
  explicit StreamContract(NodeId nodes) : is_there_(index(nodes)) {}

  // What is wrong with the next event, or "".
  [[nodiscard]] std::string check(const NodeEvent& event) {
    using Kind = NodeEvent::Kind;
    if (event.node < 0 || index(event.node) >= is_there_.size()) return "an id beyond nodes()";
    if (event.time < last_.time) return "time runs backwards";
    if (event.time == last_.time && event.kind < last_.kind) return "kinds of one moment out of order";
    if (event.time == SimTime{} && event.kind == Kind::kRemove) return "a loss at the start";
    if (!(event.speed > 0 && event.speed <= 1)) return "a speed out of (0, 1]";
    if (event.kind != Kind::kSpeed && event.speed != 1) return "a node that joins or leaves with a speed";
    if (is_there_[index(event.node)] != (event.kind != Kind::kAdd)) return "a node that is there, or is not";
    is_there_[index(event.node)] = event.kind != Kind::kRemove;
    last_ = event;
    return "";
  }

 private:
  std::vector<bool> is_there_;
  NodeEvent last_{SimTime{}, NodeEvent::Kind::kRemove, 0, 1};
};

// The events up to and including `until`.
inline NodeEvents check_stream(FailureModel& model, SimTime until) {
  NodeEvents events;
  StreamContract contract(model.nodes());
  while (const auto event = model.next()) {
    if (event->time > until) return events;
    const std::string problem = contract.check(*event);
    if (!problem.empty()) {
      FAIL("event " << events.size() << " at " << to_seconds(event->time) << " s, node " << event->node
                    << ": " << problem);
    }
    events.push_back(*event);
  }
  CHECK(!model.next());
  return events;
}

inline NodeEvents events_of(std::string_view text, double until_s, std::uint64_t trial = 0) {
  return check_stream(*failures_of(text, {}, trial), at_s(until_s));
}

inline std::size_t count_of(const NodeEvents& events, NodeEvent::Kind kind) {
  std::size_t count = 0;
  for (const NodeEvent& event : events) count += static_cast<std::size_t>(event.kind == kind);
  return count;
}

// `12 -3 -7 | 60 +3`: the nodes of every moment, in seconds.
inline std::string shown(const NodeEvents& events) {
  std::string text;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const NodeEvent& event = events[i];
    if (i == 0 || event.time != events[i - 1].time) {
      text += fmt::format("{}{}", i == 0 ? "" : " | ", to_seconds(event.time));
    }
    text += fmt::format(" {}{}", std::string_view("-+~")[static_cast<std::size_t>(event.kind)], event.node);
    if (event.kind == NodeEvent::Kind::kSpeed) text += fmt::format("@{}", event.speed);
  }
  return text;
}

}  // namespace goodput::testing
