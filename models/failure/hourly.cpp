// The spot market of Bamboo's simulator: at the start of every hour each node that was granted is lost with
// one probability, and each missing one granted again with another, at a uniform second of that hour; a
// granted node boots for a while. A node that is lost while it boots was never there. Bamboo draws the second
// probability for every hour of the day; kHourOfDay does the same.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/failure/failure_fields.h"
#include "models/failure/failure_setup.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// The spot market of Bamboo's simulator (Thorpe et al., NSDI'23): lots are drawn once an hour.
enum class ReturnVariation { kConstant, kHourOfDay };
constexpr std::array<std::string_view, 2> kReturnVariations{"constant", "hour_of_day"};

struct HourlyFailures {
  NodeId nodes = 0;                       // the most there can be; 0: as many as the job uses
  std::optional<NodeId> initial_nodes{};  // none: all
  double loss_probability = 0;            // of a node, an hour
  double return_probability = 0;          // of a missing one; the mean where it varies
  ReturnVariation return_variation = ReturnVariation::kConstant;
  SimDuration boot{std::chrono::seconds{45}};
};

constexpr SimDuration kHour = std::chrono::hours{1};

// Of every hour of the day. Drawn ones are uniform on the widest interval around the mean that 0 and 1 allow.
std::array<double, 24> return_probabilities(const HourlyFailures& failures, const FailureKey& key) {
  const double mean = failures.return_probability;
  std::array<double, 24> drawn{};
  drawn.fill(mean);
  if (failures.return_variation == ReturnVariation::kConstant) return drawn;
  RandomStream random = key.stream(kReturnOfHour);
  const double reach = std::min(mean, 1 - mean);
  for (double& probability : drawn) probability = mean + reach * (2 * random.uniform() - 1);
  return drawn;
}

class HourlyMarket final : public FailureModel {
 public:
  HourlyMarket(const HourlyFailures& failures, const FailureKey& key)
      : failures_(failures),
        initial_(failures.initial_nodes.value_or(failures.nodes)),
        granted_(initial_),
        return_probability_(return_probabilities(failures, key)) {
    nodes_.reserve(index(failures.nodes));
    for (NodeId node = 0; node < failures.nodes; ++node) {
      const SimTime ready = node < initial_ ? SimTime{} : kMissing;
      nodes_.push_back({key.stream(node), ready});
    }
    events_.reserve(2 * nodes_.size());
  }

  [[nodiscard]] NodeId nodes() const override { return failures_.nodes; }

  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (joined_ < initial_) return NodeEvent{SimTime{}, Kind::kAdd, joined_++, 1};
    while (next_event_ == events_.size()) {
      if (is_over()) return std::nullopt;
      draw_hour();
    }
    return unpacked(events_[next_event_++]);
  }

 private:
  using Kind = NodeEvent::Kind;
  static constexpr SimTime kMissing = SimTime::max();
  struct Node {
    RandomStream random;
    SimTime ready;  // when it joined or will join
  };

  // An event of the hour as a number that sorts by time, kind and node: at most 2^42 ns, then a bit, then 20.
  static constexpr int kNodeBits = 20;
  static_assert(kMostNodes <= 1 << kNodeBits && kHour.count() < std::int64_t{1} << 42);
  [[nodiscard]] std::uint64_t packed(SimTime time, Kind kind, NodeId node) const {
    const auto since = static_cast<std::uint64_t>((time - hour_).count());
    return (since << 1 | static_cast<std::uint64_t>(kind)) << kNodeBits | static_cast<std::uint64_t>(node);
  }
  [[nodiscard]] NodeEvent unpacked(std::uint64_t event) const {
    const SimDuration since{static_cast<std::int64_t>(event >> (kNodeBits + 1))};
    const auto node = static_cast<NodeId>(event & ((1U << kNodeBits) - 1));
    return {hour_ + since, static_cast<Kind>(event >> kNodeBits & 1U), node, 1};
  }

  // Whether nothing can happen any more.
  [[nodiscard]] bool is_over() const {
    const bool is_lost_for_ever = granted_ == 0 && failures_.return_probability == 0;
    const bool is_safe_for_ever = failures_.loss_probability == 0 && next_hour_ >= last_ready_ &&
                                  (granted_ == failures_.nodes || failures_.return_probability == 0);
    return is_lost_for_ever || is_safe_for_ever || next_hour_ > kFailureHorizon;
  }

  // Seconds count from 1: at time 0 nodes join, and what happens on the full hour belongs to the one before.
  [[nodiscard]] SimTime uniform_second(RandomStream& random) const {
    return hour_ + std::chrono::seconds{1 + static_cast<std::int64_t>(random.uniform() * 3600)};
  }

  void draw_hour() {
    hour_ = next_hour_;
    next_hour_ += kHour;
    events_.clear();
    next_event_ = 0;
    granted_ = 0;
    const double returns = return_probability_[index(hour_.time_since_epoch() / kHour % 24)];
    for (NodeId n = 0; n < failures_.nodes; ++n) {
      Node& node = nodes_[index(n)];
      if (node.ready == kMissing) {
        draw_return(node, n, returns);
      } else {
        draw_loss(node, n);
      }
      if (node.ready != kMissing) ++granted_;
    }
    std::sort(events_.begin(), events_.end());
  }

  void draw_return(Node& node, NodeId n, double probability) {
    if (node.random.uniform() >= probability) return;
    node.ready = uniform_second(node.random) + failures_.boot;
    last_ready_ = std::max(last_ready_, node.ready);
    tell_join(node, n);
  }

  void draw_loss(Node& node, NodeId n) {
    const bool is_lost = node.random.uniform() < failures_.loss_probability;
    const SimTime lost = is_lost ? uniform_second(node.random) : kMissing;
    const bool is_booting = node.ready > hour_;
    if (is_booting && node.ready < lost) tell_join(node, n);
    if (!is_lost) return;
    if (node.ready < lost) events_.push_back(packed(lost, Kind::kRemove, n));
    node.ready = kMissing;
  }

  // If it is in this hour.
  void tell_join(const Node& node, NodeId n) {
    if (node.ready <= next_hour_) events_.push_back(packed(node.ready, Kind::kAdd, n));
  }

  HourlyFailures failures_;
  NodeId initial_;
  NodeId granted_;                             // at the end of the hour
  std::array<double, 24> return_probability_;  // by hour of the day; the job starts at 0
  std::vector<Node> nodes_;
  SimTime hour_{};  // the start of the hour of events_
  SimTime next_hour_{};
  SimTime last_ready_{};
  std::vector<std::uint64_t> events_;  // of one hour
  std::size_t next_event_ = 0;
  NodeId joined_ = 0;
};

// Why no node ever returns; empty: some may.
std::string_view no_return(const HourlyFailures& failures) {
  if (failures.return_probability == 0) return "return_probability is 0";
  const bool is_whole = failures.initial_nodes.value_or(failures.nodes) == failures.nodes;
  return is_whole && failures.loss_probability == 0 ? "no node is ever missing" : "";
}

std::string_view no_variation(const HourlyFailures& failures) {
  if (failures.return_probability == 1) return "return_probability is 1";
  return no_return(failures);
}

config::Fields config_fields(HourlyFailures& failures) {
  using config::Need;
  return {
      {"nodes", Need::kOptional, config::integer(failures.nodes, 0, kMostNodes),
       "maximum number of nodes; 0: as many as the job uses"},
      {"initial_nodes", Need::kOptional, optional_integer(failures.initial_nodes, 0, kMostNodes),
       "number of nodes available at the start (default: all)"},
      {"loss_probability", Need::kRequired, config::number(failures.loss_probability, config::between(0, 1)),
       "probability per hour that an available node is lost"},
      {"return_probability", Need::kRequired,
       config::number(failures.return_probability, config::between(0, 1)),
       "probability per hour that a missing node returns"},
      {"return_variation", Need::kOptional, config::choice(failures.return_variation, kReturnVariations),
       "how return_probability varies. constant: not at all; hour_of_day: each trial draws one for each "
       "of 24 hours, uniformly between 0 and 2 return_probability (above 0.5: between 2 return_probability - "
       "1 and "
       "1)",
       [&failures] { return std::string(no_variation(failures)); }},
      {"boot_s", Need::kOptional, seconds_value(failures.boot, config::between(0, 86400)),
       "time from a node's return until it can be used",
       [&failures] { return std::string(no_return(failures)); }}};
}

Status config_finish(HourlyFailures& failures) {
  if (failures.nodes == 0 || failures.initial_nodes.value_or(0) <= failures.nodes) return Ok{};
  return Error{fmt::format("must be at most the number of nodes ({1}), not {0}", *failures.initial_nodes,
                           failures.nodes),
               {.pointer = "/initial_nodes"}};
}

// A node that is there is lost with the same probability in every hour.
InterruptionRate interruption_rate(const HourlyFailures& failures, const FailureInputs& /*inputs*/) {
  return [nodes = failures.nodes, per_s = failures.loss_probability / 3600](NodeId used) {
    return std::min(used, nodes) * per_s;
  };
}

NodeId& default_nodes(HourlyFailures& failures) {
  return failures.nodes;
}

Result<std::unique_ptr<FailureModel>> make_failures(const HourlyFailures& failures,
                                                    const FailureInputs& inputs) {
  GOODPUT_TRY_STATUS(check_node_count(failures.nodes));
  return std::unique_ptr<FailureModel>(std::make_unique<HourlyMarket>(failures, inputs.key));
}

}  // namespace

FailureModelInfo failure_hourly() {
  return {
      .name = "hourly",
      .summary =
          "every hour, each node may be lost and each missing node may return, with given probabilities",
      .example = R"({"model": "hourly", "nodes": 32, "loss_probability": 0.1, "return_probability": 0.3})",
      .make = make_failure_setup<HourlyFailures>};
}

}  // namespace goodput
