// Options of a policy at random, and what happens to the nodes of its job: for policies that run beside a
// slow reference.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/random.h"
#include "sim/base/units.h"
#include "sim/job/job_engine.h"
#include "tests/support/scripted_failures.h"

namespace goodput::testing {

// Options as JSON. Times and rates are drawn in proportion to a step of the job. In a third of all jobs they
// are whole steps, so that what takes time ends when nodes are lost.
class RandomPolicyOptions {
 public:
  RandomPolicyOptions(RandomStream& random, SimDuration step)
      : random_(random), step_(step), whole_steps_(random.below(3) == 0) {}

  [[nodiscard]] std::string json() const { return "{" + json_ + "}"; }
  [[nodiscard]] SimDuration step() const { return step_; }
  [[nodiscard]] bool whole_steps() const { return whole_steps_; }

  [[nodiscard]] bool chance() { return random_.below(2) == 0; }
  // Up to so many steps.
  [[nodiscard]] SimDuration duration(std::uint64_t most_steps);

  void add(const std::string& key, const std::string& value);  // JSON
  void open(const std::string& key) { add(key, "{"); }
  void close() { json_ += "}"; }
  SimDuration time(const std::string& key, std::uint64_t most_steps);
  // At which `bytes` take up to so many steps, or no time.
  BytesPerSecond rate(const std::string& key, Bytes bytes, double most_steps);

 private:
  RandomStream& random_;
  SimDuration step_;
  bool whole_steps_;
  std::string json_;
};

// To the nanosecond, as a number of JSON.
[[nodiscard]] std::string seconds_of(SimDuration time);

// Losses of single nodes and of about half of them; returns, some at the very moment of the loss. `slowing`:
// probability that a node has another speed, by node and moment.
[[nodiscard]] NodeEvents random_node_history(RandomStream& random, NodeId nodes,
                                             const RandomPolicyOptions& options, double slowing = 0);

// Steps, and sometimes a time.
[[nodiscard]] JobGoal random_policy_goal(RandomStream& random, SimDuration step);

}  // namespace goodput::testing
