// Lazarus: goes on after losses while every expert is held by somebody, grows, rebalances, else restarts.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/migration/reconfiguration.h"
#include "models/policy/policy_options.h"
#include "sim/base/random.h"
#include "tests/support/policy_case.h"
#include "tests/support/scripted_failures.h"

namespace goodput::testing {
namespace {

std::string lazarus_options(const std::string& more = "") {
  return round_elastic_options(R"("gather_s": 100)" + (more.empty() ? more : ", " + more));
}

// Loads that change at step 300, for good.
JobRouting two_windows() {
  std::vector<std::int64_t> loads;
  for (int row = 0; row < 2; ++row) {
    for (std::int64_t layer = 0; layer < 12; ++layer) {
      for (int expert = 0; expert < 8; ++expert) loads.push_back((row == 0 ? expert : 7 - expert) * 100 + 50);
    }
  }
  RoutingSelection selection;
  std::vector<std::int64_t> layers;
  for (std::int64_t layer = 0; layer < 12; ++layer) {
    layers.push_back(layer);
    selection.layers.push_back(static_cast<std::size_t>(layer));
  }
  selection.experts = 8;
  selection.top_at_iteration = 0;
  const RoutingTrace trace({0, 300}, layers, 8, loads);
  auto routing = JobRouting::from_trace(trace, selection);
  REQUIRE_MESSAGE(routing, (routing ? "" : routing.error().message()));
  return *std::move(routing);
}

std::vector<SimTime> times_of(const JobLog& log, Cause cause) {
  std::vector<SimTime> times;
  for (const JobInstant& instant : log.instants) {
    if (instant.kind == JobInstant::Kind::kCourse && instant.cause == cause) times.push_back(instant.time);
  }
  return times;
}

// Detection takes 10 to 20 s, regrouping 5 to 15 s, and nothing else takes time.
std::string drawn_options(const std::string& more = "") {
  return R"({"gather_s": 100, "migration": {"detect_s": {"uniform": [10, 20]}, "regroup_s": {"uniform": [5, 15]},
      "plan_s": 0, "transfer_setup_s": 0, "node_gb_per_s": 1e12)" +
         more + "}, " + kRoundRestart + "}";
}

// The first times of a run.
std::vector<ReconfigurationTimes> drawn_times(const RunKey& run) {
  ReconfigurationTiming timing{.detect = {seconds{10}, seconds{20}}, .regroup = {seconds{5}, seconds{15}}};
  ReconfigurationDraws draws(run.seed, run.trial);
  std::vector<ReconfigurationTimes> times;
  for (int n = 0; n < 3; ++n) times.push_back(draws.next(timing, true));
  return times;
}

JobResult run_as(const PolicyCase& job, const RunKey& key, const JobGoal& goal, const NodeEvents& events) {
  ScriptedFailures failures(events);
  const std::unique_ptr<RecoveryPolicy> policy = job.prepared().start_run(key);
  return run_job(goal, {}, failures, *policy);
}

}  // namespace

TEST_CASE("lazarus policy: a loss costs the step at hand and a reconfiguration of all that are left") {
  PolicyCase job("lazarus", lazarus_options());
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  const SimDuration fails = ten * 25 + ten / 2;
  JobLog log;
  const JobResult result = job.run(steps(50), held(10, {lost(fails, 3)}), &log);
  CHECK(courses_of(log) == "start reconfiguration");
  CHECK(result.steps_lost == 0);
  CHECK(time_in(result, kWasted) == ten / 2);
  CHECK(time_in(result, kRecovery) == seconds{15});
  CHECK(time_in(result, TimeBucket::kElasticSliceDown) == seconds{10});
  CHECK(result.end == at(fails + kReconfiguration + nine * 25));
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 1, 2, 4, 5, 6, 7, 8, 9});
  CHECK(metric(result, "longest_reconfiguration_s") == 25);
}

TEST_CASE("lazarus policy: losses during a reconfiguration begin it anew") {
  PolicyCase job("lazarus", lazarus_options());
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const SimDuration fails = ten * 25;
  const JobResult result = job.run(steps(50), held(10, {lost(fails, 3), lost(fails + seconds{20}, 4)}));
  CHECK(result.count(Cause::kReconfiguration) == 2);
  CHECK(result.count(Cause::kRestart) == 0);
  CHECK(result.steps_lost == 0);
  CHECK(result.end == at(fails + seconds{20} + kReconfiguration + eight * 25));
}

TEST_CASE("lazarus policy: an expert that is lost with all replicas means a restart") {
  // One slot a node: of 8 experts on 10 nodes two have a second replica. Four nodes can be spared.
  int restarts = 0;
  for (NodeId node = 0; node < 10; ++node) {
    PolicyCase job("lazarus", lazarus_options(R"("slots_per_gpu": 1, "min_replicas": 1)"));
    const SimDuration ten = job.step(10);
    const JobResult result = job.run(steps(50), held(10, {lost(ten * 25, node)}));
    CHECK(result.finished);
    CHECK(result.steps_lost == (result.count(Cause::kRestart) > 0 ? 5 : 0));
    CHECK(result.count(Cause::kRestart) + result.count(Cause::kReconfiguration) == 1);
    restarts += static_cast<int>(result.count(Cause::kRestart));
  }
  CHECK(restarts == 6);
}

TEST_CASE("lazarus policy: without slots for all experts it waits, and restarts from a checkpoint") {
  PolicyCase job("lazarus", lazarus_options());
  const SimDuration two = job.step(2);
  JobLog log;
  const JobResult result =
      job.run(steps(50), held(2, {lost(two * 25, 0), joined(two * 25 + seconds{10}, 0)}), &log);
  CHECK(courses_of(log) == "start wait restart");
  CHECK(result.steps_lost == 5);
  // Back before the loss was noticed.
  CHECK(result.end == at(two * 25 + kRestart + two * 30));
  CHECK(job.run(steps(50), held(2, {lost(two * 25, 0)})).stopped ==
        "the job needs 2 nodes, has 1, and no more node changes are coming");
}

TEST_CASE("lazarus policy: without checkpoints a restart begins again") {
  PolicyCase job("lazarus", "{}");
  const SimDuration two = job.step(2);
  const JobResult result = job.run(steps(50), held(2, {lost(two * 25, 0), joined(two * 25, 0)}));
  CHECK(result.count(Cause::kReconfiguration) + result.count(Cause::kRestart) == 1);
  const JobResult gone = job.run(steps(50), held(3, {lost(two * 25, 0), lost(two * 25, 1), lost(two * 25, 2),
                                                     joined(two * 26, 0), joined(two * 26, 1)}));
  CHECK(gone.count(Cause::kRestart) == 1);
  CHECK(gone.steps_lost > 10);
}

TEST_CASE("lazarus policy: who is back at the moment of its loss holds nothing") {
  // One slot a node, 8 nodes: its expert is nowhere else.
  PolicyCase job("lazarus", lazarus_options(R"("slots_per_gpu": 1)"), gpt_s(8));
  const SimDuration eight = job.step(8);
  const JobResult result = job.run(steps(50), held(8, {lost(eight * 25, 3), joined(eight * 25, 3)}));
  CHECK(result.count(Cause::kRestart) == 1);
  CHECK(result.end == at(eight * 25 + kRestart + eight * 30));
}

TEST_CASE("lazarus policy: a start that a loss interrupts is a restart") {
  PolicyCase job("lazarus", lazarus_options(), gpt_s(10, JobStart::kCold));
  JobLog log;
  const JobResult result = job.run(steps(10), held(10, {lost(seconds{30}, 3)}), &log);
  CHECK(courses_of(log) == "start restart");
  CHECK(time_in(result, TimeBucket::kProgramStartup) == seconds{30} + seconds{60});
  CHECK(time_in(result, kRecovery) == seconds{15});
}

TEST_CASE("lazarus policy: nodes that join are gathered and taken in at the end of a step") {
  PolicyCase job("lazarus", lazarus_options());
  const SimDuration eight = job.step(8);
  const SimDuration ten = job.step(10);
  const std::int64_t done = (eight * 2 + seconds{100}) / eight + 1;
  JobLog log;
  const JobResult result =
      job.run(steps(done + 5), held(8, {joined(eight * 2, 20), joined(eight * 4, 21)}), &log);
  CHECK(courses_of(log) == "start scale-up");
  CHECK(result.end == at(eight * done + seconds{10} + ten * 5));
  CHECK(time_in(result, kWasted) == SimDuration{});
}

TEST_CASE("lazarus policy: nodes that join fetch the dense state too, unless told not to") {
  const auto options = [](const char* dense_state) {
    return std::string(R"({"gather_s": 100, "migration": {"transfer_setup_s": 0, "node_gb_per_s": 0.001,
        "dense_state": )") +
           dense_state + "}}";
  };
  PolicyCase all("lazarus", options("true"));
  PolicyCase experts("lazarus", options("false"));
  const ModuleBytes bytes = checkpoint_modules(all.job(), {});
  const SimDuration eight = all.step(8);
  const std::int64_t done = (eight * 2 + seconds{100}) / eight + 1;
  const NodeEvents grows = held(8, {joined(eight * 2, 20), joined(eight * 2, 21)});
  const JobResult with = all.run(steps(done + 5), grows);
  const JobResult without = experts.run(steps(done + 5), grows);
  // Each of the two newcomers receives more than any node sends: one GPU a node holds all of the model.
  CHECK(time_in(with, TimeBucket::kElasticReinitialization) -
            time_in(without, TimeBucket::kElasticReinitialization) ==
        bytes.dense_total() / BytesPerSecond{1e6});
  CHECK(with.end - without.end == bytes.dense_total() / BytesPerSecond{1e6});
  // After a loss without newcomers it makes no difference.
  const NodeEvents shrinks = held(10, {lost(eight * 2, 3)});
  CHECK(all.run(steps(9), shrinks).end == experts.run(steps(9), shrinks).end);
}

TEST_CASE("lazarus policy: nodes beyond the most it uses are spares, not a reason to grow") {
  PolicyCase job("lazarus", lazarus_options());
  const SimDuration ten = job.step(10);
  const JobResult result = job.run(steps(2000), held(10, {joined(ten, 10), joined(ten * 500, 11)}));
  CHECK(result.count(Cause::kScaleUp) == 0);
  CHECK(result.end == at(ten * 2000));
  // They step in when one is lost.
  JobLog log;
  (void)job.run(steps(20), held(11, {lost(ten * 5, 3)}), &log);
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 1, 2, 4, 5, 6, 7, 8, 9, 10});
}

TEST_CASE("lazarus policy: nodes that are gone again before the step ends are no reason to grow") {
  PolicyCase job("lazarus", lazarus_options());
  const SimDuration eight = job.step(8);
  const SimDuration wakes = eight * 2 + seconds{100};
  REQUIRE(wakes % eight > SimDuration{});
  REQUIRE(wakes % eight < eight - SimDuration{2});
  const JobResult result =
      job.run(steps(1000), held(8, {joined(eight * 2, 8), lost(wakes + SimDuration{1}, 8)}));
  CHECK(result.count(Cause::kScaleUp) == 0);
  CHECK(result.end == at(eight * 1000));
}

TEST_CASE("lazarus policy: a newcomer that is lost while the job grows is noticed, and not later again") {
  PolicyCase job("lazarus", lazarus_options());
  const SimDuration eight = job.step(8);
  const SimDuration nine = job.step(9);
  const std::int64_t done = (eight * 2 + seconds{100}) / eight + 1;
  const SimDuration grows = eight * done;
  const SimDuration again = grows + seconds{5} + kReconfiguration;  // trains on with eight
  JobLog log;
  const JobResult result = job.run(
      steps(done + 1000),
      held(8, {joined(eight * 2, 8), lost(grows + seconds{5}, 8), joined(again + seconds{1}, 9)}), &log);
  CHECK(courses_of(log) == "start scale-up reconfiguration scale-up");
  CHECK(time_in(result, kRecovery) == seconds{15});
  CHECK(time_in(result, TimeBucket::kElasticScaleUp) == seconds{5} + seconds{10});
  CHECK(result.steps_lost == 0);
  CHECK(nine != eight);
}

TEST_CASE("lazarus policy: experts move where loads have changed, at the next step that is due") {
  PolicyCase job("lazarus", lazarus_options(R"("rebalance_steps": 200)"),
                 job_of(gpt_s_plan(10), two_windows(), JobStart::kRunning));
  JobLog log;
  const JobResult result = job.run(steps(1000), held(10), &log);
  CHECK(courses_of(log) == "start rebalancing");
  // At step 400. The loads themselves change at step 300, and the step time with them.
  SimDuration first_400{};
  for (const JobSpan& span : log.spans) {
    if (span.first_step < 400) first_400 += span.end - span.begin;
  }
  CHECK(times_of(log, Cause::kRebalancing) == std::vector<SimTime>{at(first_400)});
  CHECK(metric(result, "experts_moved") > 0);
  CHECK(time_in(result, TimeBucket::kExpertRebalancing) == SimDuration{});  // in no time, as options say
  PolicyCase never("lazarus", lazarus_options(R"("rebalance_steps": 0)"),
                   job_of(gpt_s_plan(10), two_windows(), JobStart::kRunning));
  CHECK(never.run(steps(1000), held(10)).count(Cause::kRebalancing) == 0);
}

TEST_CASE("lazarus policy: what is decided between two rebalancings does not put the next one off") {
  PolicyCase job("lazarus", lazarus_options(R"("rebalance_steps": 200)"),
                 job_of(gpt_s_plan(10), two_windows(), JobStart::kRunning));
  JobLog quiet;
  (void)job.run(steps(1000), held(10), &quiet);
  const SimTime due = times_of(quiet, Cause::kRebalancing).front();
  // Between step 300 and 400 a node is a little slow for a while.
  const SimDuration slow = due.time_since_epoch() * 7 / 8;
  JobLog log;
  const JobResult result =
      job.run(steps(1000), held(10, {slowed(slow, 3, 0.95), slowed(slow + seconds{3}, 3, 1)}), &log);
  CHECK(result.count(Cause::kRebalancing) == 1);
  CHECK(times_of(log, Cause::kRebalancing).front() > due);
  CHECK(times_of(log, Cause::kRebalancing).front() < due + seconds{3});
}

TEST_CASE("lazarus policy: an evicted node is left out, and taken in again when it is well") {
  PolicyCase job("lazarus", lazarus_options(R"("slow_nodes": {"action": "evict"})"));
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  JobLog log;
  const NodeEvents events =
      held(10, {slowed(ten * 14 + ten / 2, 3, 0.5), slowed(ten * 14 + seconds{300}, 3, 1)});
  const JobResult result = job.run(steps(2000), events, &log);
  CHECK(courses_of(log) == "start reconfiguration scale-up");
  CHECK(time_in(result, kRecovery) == SimDuration{});
  const JobResult alone = job.run(steps(50), held(10, {slowed(ten * 14 + ten / 2, 3, 0.5)}));
  CHECK(alone.end == at(ten * 15 + seconds{10} + nine * 35));
}

TEST_CASE("lazarus policy: as many slow nodes are swapped as there are healthy spares") {
  PolicyCase job("lazarus", lazarus_options(R"("slow_nodes": {"action": "swap"})"));
  const SimDuration ten = job.step(10);
  JobLog log;
  const SimDuration slow = ten * 14 + ten / 2;
  const JobResult result =
      job.run(steps(50), held(11, {slowed(slow, 1, 0.5), slowed(slow, 2, 0.5), slowed(slow, 3, 0.5)}), &log);
  CHECK(courses_of(log) == "start reconfiguration");
  CHECK(result.steps_lost == 0);
  REQUIRE(log.node_sets.size() == 2);
  const std::vector<NodeId>& used = log.node_sets[1];
  CHECK(used.size() == 10);
  CHECK(std::count_if(used.begin(), used.end(), [](NodeId node) { return 1 <= node && node <= 3; }) == 2);
  CHECK(used.back() == 10);
  // A spare that comes later is used for the next one; no other node has to move.
  const JobResult later =
      job.run(steps(50), held(10, {slowed(slow, 1, 0.5), joined(ten * 20 + ten / 2, 12)}), &log);
  CHECK(later.count(Cause::kReconfiguration) == 1);
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 2, 3, 4, 5, 6, 7, 8, 9, 12});
}

TEST_CASE("lazarus policy: a slow node that alone holds an expert is not swapped") {
  PolicyCase job("lazarus", lazarus_options(R"("slots_per_gpu": 1, "slow_nodes": {"action": "swap"})"),
                 gpt_s(8));
  const SimDuration eight = job.step(8);
  const JobResult result = job.run(steps(50), held(9, {slowed(eight * 14, 3, 0.5)}));
  CHECK(result.finished);
  CHECK(result.count(Cause::kRestart) == 0);
  CHECK(result.count(Cause::kReconfiguration) == 0);
}

TEST_CASE("lazarus policy: four days without a single node") {
  PolicyCase job("lazarus", lazarus_options(), gpt_s(16));
  const SimDuration sixteen = job.step(16);
  NodeEvents events;
  for (NodeId node = 0; node < 16; ++node) events.push_back(lost(sixteen * 37, node));
  const SimDuration back = sixteen * 37 + std::chrono::hours{96};
  for (NodeId node = 0; node < 16; ++node) events.push_back(joined(back, node));
  const JobResult result = job.run(steps(100), held(16, events));
  CHECK(result.end == at(back + seconds{60} + sixteen * 70));
}

TEST_CASE("lazarus policy: the n-th reconfiguration takes the n-th drawn times") {
  PolicyCase job("lazarus", drawn_options());
  const std::vector<ReconfigurationTimes> times = drawn_times({});
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  const SimDuration eight = job.step(8);
  const SimDuration second = ten * 5 + times[0].detect + times[0].regroup + nine * 5;
  const JobResult twice = job.run(steps(20), held(10, {lost(ten * 5, 3), lost(second, 4)}));
  CHECK(time_in(twice, kRecovery) == times[0].detect + times[1].detect);
  CHECK(time_in(twice, TimeBucket::kElasticSliceDown) == times[0].regroup + times[1].regroup);
  CHECK(twice.end == at(second + times[1].detect + times[1].regroup + eight * 10));
  // A node that joins in between: nothing is detected, and the next loss gets the third times.
  const std::int64_t waits = (seconds{100} / nine + 1) * 2;
  const SimDuration third = second + nine * waits + times[1].regroup;
  const JobResult grown =
      job.run(steps(waits + 30), held(10, {lost(ten * 5, 3), joined(second, 20), lost(third + ten, 4)}));
  CHECK(time_in(grown, kRecovery) == times[0].detect + times[2].detect);
  CHECK(time_in(grown, TimeBucket::kElasticScaleUp) == times[1].regroup);
  CHECK(time_in(grown, TimeBucket::kElasticSliceDown) == times[0].regroup + times[2].regroup);
}

TEST_CASE("lazarus policy: with overlap detection and regrouping take as long as the longer one") {
  PolicyCase job("lazarus", drawn_options(R"(, "overlap": true)"));
  const SimDuration ten = job.step(10);
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const ReconfigurationTimes times = drawn_times({5, trial})[0];
    const JobResult result = run_as(job, {5, trial}, steps(10), held(10, {lost(ten * 5, 3)}));
    CHECK(time_in(result, kRecovery) == times.detect);
    CHECK(time_in(result, TimeBucket::kElasticSliceDown) ==
          std::max(times.regroup - times.detect, SimDuration{}));
  }
}

TEST_CASE("lazarus policy: drawn times conserve time, repeat for a trial and differ between trials") {
  PolicyCase job("lazarus", drawn_options());
  const SimDuration ten = job.step(10);
  for (std::uint64_t trial = 0; trial < 50; ++trial) {
    INFO("seed 11, trial " << trial);
    RandomStream random(11, "lazarus test", trial);
    NodeEvents events;
    SimDuration time{};
    for (NodeId node = 0; node < 5; ++node) {
      time += seconds{random.below(60)} + ten;
      events.push_back(lost(time, node));
      if (random.below(2) == 0) events.push_back(joined(time + seconds{1}, node + 20));
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    const JobResult result = run_as(job, {11, trial}, steps(2'000), held(10, events));
    const auto& buckets = result.ledger.time;
    CHECK(std::accumulate(std::begin(buckets), std::end(buckets), SimDuration{}) == result.end - SimTime{});
    CHECK(run_as(job, {11, trial}, steps(2'000), held(10, events)).end == result.end);
    CHECK(run_as(job, {11, trial + 1}, steps(2'000), held(10, events)).end != result.end);
  }
}

TEST_CASE("lazarus policy: bad options name their place") {
  const JobPointer job = gpt_s();
  CHECK(refusal("lazarus", R"({"slots_per_gpu": 0})", *job) ==
        "s.json /policies/lazarus/slots_per_gpu: must be an integer from 1 to 1024, not 0");
  CHECK(refusal("lazarus", R"({"slots_per_gpu": 1})", *gpt_s(6)) ==
        ": 6 nodes cannot hold all experts, which need 8 nodes with slots_per_gpu 1");
  CHECK(refusal("lazarus", R"({"plan": "mor"})", *job) ==
        "s.json /policies/lazarus/plan: must be one of \"mro\", \"best\", \"spread\", \"compact\", \"eplb\", "
        "not \"mor\"; did you mean \"mro\"?");
  TrainingPlan dense = gpt_s_plan(4);
  dense.model.moe.reset();
  dense.parallel.ep = 1;
  CHECK(refusal("lazarus", "{}", *job_of(dense)) == ": the model has no experts; choose another policy");
  TrainingPlan wide = gpt_s_plan(8);
  wide.parallel.tp = 6;
  wide.parallel.sequence_length = 1020;
  wide.parallel.sequence_parallel = true;
  wide.parallel.dp = 1;
  wide.parallel.ep = 1;
  wide.parallel.global_batch = 4;
  wide.cluster.nodes = 4;
  CHECK(refusal("lazarus", "{}", *job_of(wide)) ==
        ": 4 nodes cannot hold a whole replica of the plan with all experts and its batch");
}

}  // namespace goodput::testing
