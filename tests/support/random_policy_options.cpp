#include "tests/support/random_policy_options.h"

#include <fmt/format.h>

#include <vector>

namespace goodput::testing {

std::string seconds_of(SimDuration time) {
  return fmt::format("{}.{:09}", time.count() / 1'000'000'000, time.count() % 1'000'000'000);
}

SimDuration RandomPolicyOptions::duration(std::uint64_t most_steps) {
  SimDuration duration = static_cast<std::int64_t>(random_.below(most_steps + 1)) * step_;
  if (!whole_steps_) duration += SimDuration{static_cast<std::int64_t>(random_.uniform() * 1e9)};
  return duration;
}

void RandomPolicyOptions::add(const std::string& key, const std::string& value) {
  json_ += fmt::format(R"({}"{}": {})", json_.empty() || json_.back() == '{' ? "" : ", ", key, value);
}

SimDuration RandomPolicyOptions::time(const std::string& key, std::uint64_t most_steps) {
  const SimDuration time = duration(most_steps);
  add(key, seconds_of(time));
  return time;
}

BytesPerSecond RandomPolicyOptions::rate(const std::string& key, Bytes bytes, double most_steps) {
  double gb_per_s = 1e12;
  if (!whole_steps_) {
    const double time_s = random_.uniform(0.01, most_steps) * to_seconds(step_);
    gb_per_s = static_cast<double>(bytes.value) / 1e9 / time_s;
  }
  add(key, fmt::format("{:.17g}", gb_per_s));
  return BytesPerSecond{gb_per_s * 1e9};
}

NodeEvents random_node_history(RandomStream& random, NodeId nodes, const RandomPolicyOptions& options,
                               double slowing) {
  std::vector<bool> is_there(static_cast<std::size_t>(nodes), false);
  const auto change = [&](SimDuration now, double loss, double joining, NodeEvents& events) {
    for (NodeId node = 0; node < nodes; ++node) {
      if (!is_there[static_cast<std::size_t>(node)] || random.uniform() >= loss) continue;
      is_there[static_cast<std::size_t>(node)] = false;
      events.push_back(lost(now, node));
    }
    for (NodeId node = 0; node < nodes; ++node) {
      if (is_there[static_cast<std::size_t>(node)] || random.uniform() >= joining) continue;
      is_there[static_cast<std::size_t>(node)] = true;
      events.push_back(joined(now, node));
    }
    for (NodeId node = 0; slowing > 0 && node < nodes; ++node) {
      if (!is_there[static_cast<std::size_t>(node)] || random.uniform() >= slowing) continue;
      events.push_back(slowed(now, node, 0.5 * static_cast<double>(1 + random.below(2))));
    }
  };
  NodeEvents events;
  change(SimDuration{}, 0, random.below(3) == 0 ? 0.6 : 1, events);
  const double longest_gap = random.uniform(1, 40);  // steps
  SimDuration now{};
  for (std::uint64_t moments = random.below(40); moments > 0; --moments) {
    const double gap = random.uniform(0.01, longest_gap);
    now += options.whole_steps() ? (1 + static_cast<std::int64_t>(gap)) * options.step()
                                 : from_seconds(gap * to_seconds(options.step()));
    const bool is_burst = random.below(6) == 0;
    change(now, is_burst ? 0.5 : 1.0 / nodes, random.below(3) == 0 ? 0.5 : 0.1, events);
  }
  return events;
}

JobGoal random_policy_goal(RandomStream& random, SimDuration step) {
  JobGoal goal;
  goal.steps = 1 + static_cast<std::int64_t>(random.below(200));
  if (random.below(3) == 0) goal.until = SimTime{step * (1 + static_cast<std::int64_t>(random.below(400)))};
  return goal;
}

}  // namespace goodput::testing
