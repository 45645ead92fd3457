// The parts of a restarting policy, put together by hand. What whole policies make of them is in the tests of
// their own; what all restarts have in common in tests/models/policy/checkpoint_test.cpp.
#include "models/policy/restart_policy.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

// Writes down what it is told; loading takes 7 s, saving nothing.
class ListeningStore final : public CheckpointStore {
 public:
  explicit ListeningStore(std::vector<std::string>& told) : told_(&told) {}

  [[nodiscard]] SimDuration restore_time(ResumeFrom /*from*/, std::int32_t /*nodes*/) const override {
    return std::chrono::seconds{7};
  }
  [[nodiscard]] CheckpointRules rules(const StepTime& /*step*/, std::int32_t /*nodes*/,
                                      SimDuration restart) const override {
    told_->push_back(fmt::format("restart {} s", to_seconds(restart)));
    return {CheckpointRule{}, CheckpointRule{10, {}, {}}};
  }
  [[nodiscard]] SimDuration planned_save(std::int32_t /*nodes*/) const override { return {}; }
  [[nodiscard]] Bytes planned_bytes() const override { return {}; }

  void note_trained() override { told_->push_back("trained"); }
  void note_loss(const NodeChange& change) override {
    told_->push_back(fmt::format("lost {}", fmt::join(change.lost, " ")));
  }
  void note_stop(const Stop& stop) override {
    told_->push_back(fmt::format("stop {} left {}", fmt::join(stop.used, " "), fmt::join(stop.left, " ")));
  }
  void note_training(const Training& training) override {
    told_->push_back(fmt::format("train from {} on {}", training.from_step, fmt::join(training.used, " ")));
  }
  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override {
    return {{"asked_at", static_cast<double>(steps)}};
  }

 private:
  std::vector<std::string>* told_;
};

// GPT-S on 4 nodes.
struct FourNodes {
  JobPointer job = gpt_s(4);
  RestartJob restarts{};

  FourNodes() {
    RestartOptions options;
    options.timing = {std::chrono::seconds{15}, std::chrono::seconds{60}};
    Result<RestartJob> found = restart_job(*job, options);
    REQUIRE(found);
    restarts = *std::move(found);
  }
};

}  // namespace

TEST_CASE("restart policy: a store is told of losses, stops and starts, in turn") {
  const FourNodes four;
  std::vector<std::string> told;
  RestartParts parts;
  parts.store = std::make_unique<ListeningStore>(told);
  RestartPolicy policy(four.restarts, std::move(parts));
  NodeEvents events = held(4);
  events.push_back(lost(std::chrono::hours{1}, 2));
  ScriptedFailures failures(events);
  const JobResult result = run_job(until(std::chrono::hours{2}), {}, failures, policy, nullptr);
  // From a loss on: 15 s until it is noticed, 60 s to start, 7 s to load.
  REQUIRE(told.size() == 7);
  CHECK(told[0] == "restart 82 s");
  CHECK(told[1] == "train from 0 on 0 1 2 3");
  CHECK(told[2] == "trained");
  CHECK(told[3] == "lost 2");
  CHECK(told[4] == "stop 0 1 2 3 left 0 1 3");
  CHECK(told[5] == "restart 82 s");
  CHECK(told[6].starts_with("train from "));
  CHECK(told[6].ends_with("0 on 0 1"));  // from a multiple of 10; the plan's experts take pairs of nodes
  CHECK(time_in(result, TimeBucket::kCheckpointRestore) == std::chrono::seconds{7});
  CHECK(time_in(result, TimeBucket::kProgramStartup) == std::chrono::seconds{60});
  CHECK(metric(result, "asked_at") == static_cast<double>(result.steps));
}

TEST_CASE("restart policy: a fixed number of nodes waits for the last of them; spares start sooner") {
  const FourNodes four;
  RestartPolicy policy(four.restarts,
                       {.fixed_nodes = 3, .in_place = InPlaceRestart{std::chrono::seconds{5}}});
  NodeEvents events = held(4);
  events.push_back(lost(std::chrono::hours{1}, 0));                               // node 3 takes its place
  events.push_back(lost(std::chrono::hours{2}, 1));                               // two are left
  events.push_back(joined(std::chrono::hours{2} + std::chrono::minutes{30}, 1));  // and no spare now
  ScriptedFailures failures(events);
  const JobResult result = run_job(until(std::chrono::hours{3}), {}, failures, policy, nullptr);
  CHECK(result.count(Cause::kRestart) == 2);
  CHECK(time_in(result, TimeBucket::kElasticReinitialization) == std::chrono::seconds{5});
  CHECK(time_in(result, TimeBucket::kProgramStartup) == std::chrono::seconds{60});
  CHECK(result.waited == std::chrono::minutes{30});
}

}  // namespace goodput::testing
