// Fail-slow nodes: each runs at a fraction of its speed for a while, now and then.
#include <fmt/format.h>

#include <algorithm>

#include "models/failure/failure_fields.h"
#include "models/failure/failure_setup.h"
#include "sim/base/event_queue.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// Nodes that run slow for a while.
struct SlowFailures {
  enum class Duration : std::uint8_t { kExponential, kFixed };
  NodeId nodes = 0;         // 0: those of the other models
  double per_node_day = 0;  // while the node is healthy
  // How slow: uniform between two speeds, or 1/S of a list of slowdowns S.
  std::optional<double> speed_min{};
  std::optional<double> speed_max{};
  std::vector<double> slowdowns{};
  std::string whatif{};  // a file of `goodput whatif --json` with such a list; empty: none
  SimDuration mean_duration{std::chrono::hours{1}};
  Duration duration = Duration::kExponential;
};

constexpr config::Range kSpeeds = config::between(kLeastSpeed, 1);

// Speeds drawn uniformly from a range, or from the slowdowns that were measured on the workers of a job.
struct SlowSpeeds {
  double least;
  double most;
  std::span<const double> slowdowns;  // empty: the range

  [[nodiscard]] double draw(RandomStream& random) const {
    if (slowdowns.empty()) return random.uniform(least, most);
    // A worker may come out a little faster than the ideal one.
    return 1 / std::clamp(slowdowns[random.below(slowdowns.size())], 1.0, 1 / kLeastSpeed);
  }
};

class SlowNodes final : public FailureModel {
 public:
  SlowNodes(const SlowFailures& failures, NodeId nodes, std::span<const double> slowdowns,
            const FailureKey& key)
      : nodes_(nodes),
        rate_per_s_(failures.per_node_day / 86400),
        mean_duration_s_(to_seconds(failures.mean_duration)),
        duration_(failures.duration),
        slowdowns_(slowdowns.begin(), slowdowns.end()),
        speeds_{failures.speed_min.value_or(1), failures.speed_max.value_or(1), slowdowns_} {
    for (NodeId node = 0; node < nodes; ++node) {
      random_.push_back(key.stream(node));
      draw_begin(SimTime{}, node);
    }
  }

  [[nodiscard]] NodeId nodes() const override { return nodes_; }

  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (joined_ < nodes_) return NodeEvent{SimTime{}, NodeEvent::Kind::kAdd, joined_++, 1};
    if (pending_.empty()) return std::nullopt;
    const auto event = pending_.pop();
    RandomStream& random = random_[index(event.payload)];
    double speed = 1;
    if (event.priority == Turn::kSlow) {
      speed = speeds_.draw(random);
      plan(later(event.time, draw_duration(random)), Turn::kHealthy, event.payload);
    } else {
      draw_begin(event.time, event.payload);
    }
    return NodeEvent{event.time, NodeEvent::Kind::kSpeed, event.payload, speed};
  }

 private:
  // Nodes do not care about each other, so the order of these does not matter.
  enum class Turn : std::uint8_t { kSlow, kHealthy };

  void draw_begin(SimTime from, NodeId node) {
    if (rate_per_s_ == 0) return;
    plan(later(from, random_[index(node)].exponential(rate_per_s_)), Turn::kSlow, node);
  }
  [[nodiscard]] double draw_duration(RandomStream& random) const {
    if (duration_ == SlowFailures::Duration::kFixed) return mean_duration_s_;
    return random.exponential(1 / mean_duration_s_);
  }
  void plan(SimTime time, Turn turn, NodeId node) {
    if (time < kFailureHorizon) pending_.push(time, turn, node);
  }

  NodeId nodes_;
  double rate_per_s_;
  double mean_duration_s_;
  SlowFailures::Duration duration_;
  std::vector<double> slowdowns_;
  SlowSpeeds speeds_;
  std::vector<RandomStream> random_;  // by node
  EventQueue<Turn, NodeId> pending_;  // one a node
  NodeId joined_ = 0;
};

config::Fields config_fields(SlowFailures& failures) {
  using config::Need;
  static constexpr std::array<std::string_view, 2> kDurationNames = {"exponential", "fixed"};
  const auto never = [&failures] { return failures.per_node_day == 0 ? "per_node_day is 0" : ""; };
  return {{"nodes", Need::kOptional, config::integer(failures.nodes, 0, kMostNodes),
           "number of nodes; 0: the number of nodes of the other failure models"},
          {"per_node_day", Need::kRequired, config::number(failures.per_node_day, config::between(0, 1e5)),
           "number of times per day that a healthy node slows down"},
          {"speed_min", Need::kOptional, optional_number(failures.speed_min, kSpeeds),
           "lowest speed of a slow node, as a fraction of a healthy node's speed; speeds are drawn uniformly "
           "from speed_min to speed_max",
           never},
          {"speed_max", Need::kOptional, optional_number(failures.speed_max, kSpeeds),
           "highest speed of a slow node, as a fraction of a healthy node's speed", never},
          {"slowdowns", Need::kOptional,
           config::numbers(failures.slowdowns, config::between(1e-3, 1 / kLeastSpeed)),
           "list of slowdowns to draw from, instead of speed_min and speed_max; a node's speed is 1 / "
           "slowdown, at most 1",
           never},
          {"whatif", Need::kOptional, config::path(failures.whatif),
           "result file of `goodput whatif --json`, instead of speed_min and speed_max; slowdowns are drawn "
           "from `slowdown_by_worker` in the file",
           never},
          {"duration_s", Need::kOptional,
           seconds_value(failures.mean_duration, {.least = 1e-3, .most = kMostFailureSeconds}),
           "mean time for which a node stays slow", never},
          {"duration", Need::kOptional, config::choice(failures.duration, kDurationNames),
           "distribution of the times for which nodes stay slow", never}};
}

Status config_finish(SlowFailures& failures) {
  const bool has_range = failures.speed_min || failures.speed_max;
  const int ways = int{has_range} + int{!failures.slowdowns.empty()} + int{!failures.whatif.empty()};
  const bool is_needed = failures.per_node_day > 0;
  if (ways > 1 || (ways == 0 && is_needed)) {
    return Error{fmt::format(
        "{} how slow nodes get; give exactly one of speed_min with speed_max, slowdowns, or whatif",
        ways == 0 ? "does not define" : "defines in several ways")};
  }
  if (!has_range) return Ok{};
  if (!failures.speed_min) return Error{"is missing; speed_max requires it", {.pointer = "/speed_min"}};
  if (!failures.speed_max) return Error{"is missing; speed_min requires it", {.pointer = "/speed_max"}};
  if (*failures.speed_min <= *failures.speed_max) return Ok{};
  return Error{
      fmt::format("must be at most speed_max ({1}), not {0}", *failures.speed_min, *failures.speed_max),
      {.pointer = "/speed_min"}};
}

std::optional<FailureFile> file_of(const SlowFailures& failures) {
  if (failures.whatif.empty()) return std::nullopt;
  return FailureFile{.content = FailureFile::Content::kSlowdowns, .key = "whatif", .path = failures.whatif};
}

void forget_paths(SlowFailures& failures) {
  failures.whatif.clear();
}

bool may_slow_nodes(const SlowFailures& failures) {
  return failures.per_node_day > 0;
}

NodeId nodes_of_others(const SlowFailures& failures) {
  return failures.nodes;
}

// Slow nodes are there.
InterruptionRate interruption_rate(const SlowFailures& /*failures*/, const FailureInputs& /*inputs*/) {
  return [](NodeId /*used*/) { return 0.0; };
}

Result<std::unique_ptr<FailureModel>> make_failures(const SlowFailures& failures,
                                                    const FailureInputs& inputs) {
  const NodeId nodes = failures.nodes == 0 ? inputs.cluster_nodes : failures.nodes;
  const bool is_measured = !failures.whatif.empty();
  if (is_measured && inputs.source.slowdowns.empty()) {
    return Error{fmt::format("{} has no workers in slowdown_by_worker", failures.whatif),
                 {.pointer = "/whatif"}};
  }
  const std::span<const double> slowdowns = is_measured ? inputs.source.slowdowns : failures.slowdowns;
  return std::unique_ptr<FailureModel>(std::make_unique<SlowNodes>(failures, nodes, slowdowns, inputs.key));
}

}  // namespace

FailureModelInfo failure_fail_slow() {
  return {
      .name = "fail_slow",
      .summary = "nodes run at a fraction of their normal speed for a while",
      .example =
          R"({"model": "fail_slow", "nodes": 64, "per_node_day": 0.05, "speed_min": 0.3, "speed_max": 0.9})",
      .make = make_failure_setup<SlowFailures>};
}

}  // namespace goodput
