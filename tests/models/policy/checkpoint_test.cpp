// Plain checkpoint-restart, and what all policies that restart have in common.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

// Restarting with what joined, 100 s after.
constexpr const char* kGathered = R"("absorb": "gathered", "gather_s": 100)";
constexpr SimDuration kDetect = seconds{15};
constexpr SimDuration kStartup = seconds{60};

std::string slow_nodes(const std::string& action) {
  return R"("slow_nodes": {"action": ")" + action + R"(", "threshold": 0.8})";
}

}  // namespace

TEST_CASE("checkpoint policy: a loss costs what was done since the last checkpoint, and a restart") {
  PolicyCase job("checkpoint", round_options());
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  // 25 steps and a half; from step 20 on with 8 nodes, two whole groups of 2 fewer than 9: 30 more steps.
  const SimTime lost_at = at(ten * 25 + ten / 2);
  JobLog log;
  const JobResult result = job.run(steps(50), held(10, {lost(lost_at.time_since_epoch(), 3)}), &log);
  CHECK(courses_of(log) == "start restart");
  CHECK(result.steps_lost == 5);
  CHECK(result.end == lost_at + kDetect + kStartup + eight * 30);
  CHECK(time_in(result, kWasted) == ten * 5 + ten / 2);
  CHECK(time_in(result, kRecovery) == kDetect);
  CHECK(time_in(result, TimeBucket::kProgramStartup) == kStartup);
  CHECK(result.samples == 20 * 40 + 30 * 32);
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 1, 2, 4, 5, 6, 7, 8});
}

TEST_CASE("checkpoint policy: an idle node is lost without any effect") {
  PolicyCase job("checkpoint", round_options());
  const SimDuration ten = job.step(10);
  const JobResult result = job.run(steps(50), held(11, {lost(ten * 3 + ten / 2, 10)}));
  CHECK(result.end == at(ten * 50));
  CHECK(result.nodes_lost == 1);
  CHECK(result.count(Cause::kRestart) == 0);
}

TEST_CASE("checkpoint policy: a loss during the restart is noticed anew and begins it anew") {
  PolicyCase job("checkpoint", round_options());
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const SimDuration first = ten * 10;
  const JobResult result = job.run(steps(20), held(10, {lost(first, 0), lost(first + seconds{20}, 1)}));
  // 20 s of the first attempt: noticed, and 5 s of the start. 8 nodes are left.
  CHECK(result.end == at(first + seconds{20} + kDetect + kStartup + eight * 10));
  CHECK(time_in(result, kRecovery) == 2 * kDetect);
  CHECK(time_in(result, TimeBucket::kProgramStartup) == seconds{5} + kStartup);
  CHECK(result.count(Cause::kRestart) == 2);
  CHECK(result.steps_lost == 0);
}

TEST_CASE(
    "checkpoint policy: the start is no different, and a job that waits for its first nodes starts late") {
  PolicyCase job("checkpoint", round_options(), gpt_s(10, JobStart::kCold));
  JobLog log;
  // Starts at 40 s with 2 nodes, one of which is lost 10 s later; comes back 5 s after that.
  const JobResult result = job.run(
      steps(1), {joined(seconds{0}, 0), joined(seconds{40}, 1), lost(seconds{50}, 1), joined(seconds{55}, 1)},
      &log);
  CHECK(courses_of(log) == "wait start wait restart");
  const SimDuration two = time_in(result, kProductive);
  // The loss is noticed 15 s after it: 10 s of waiting are left when the node is back.
  CHECK(result.end == at(seconds{55} + seconds{10} + kStartup + two));
  CHECK(result.waited == seconds{40} + seconds{5});
}

TEST_CASE("checkpoint policy: nodes that are lost and back at the same moment have lost their memory") {
  PolicyCase job("checkpoint", round_options());
  const SimDuration ten = job.step(10);
  JobLog log;
  const JobResult result = job.run(steps(40), held(10, {lost(ten * 15, 4), joined(ten * 15, 4)}), &log);
  CHECK(courses_of(log) == "start restart");
  CHECK(result.steps_lost == 5);
  CHECK(result.end == at(ten * 15 + kDetect + kStartup + ten * 30));
  CHECK(log.node_sets.back().size() == 10);
}

TEST_CASE("checkpoint policy: with fewer nodes than a replica needs the job waits, and says for how many") {
  PolicyCase job("checkpoint", round_options());
  const SimDuration two = job.step(2);
  const NodeEvents events = held(2, {lost(two * 15, 0), joined(two * 15 + seconds{1000}, 7)});
  JobLog log;
  const JobResult result = job.run(steps(20), events, &log);
  CHECK(courses_of(log) == "start wait restart");
  CHECK(result.waited == seconds{1000});
  CHECK(result.end == at(two * 15 + seconds{1000} + kStartup + two * 10));
  CHECK(std::count_if(log.instants.begin(), log.instants.end(),
                      [](const JobInstant& instant) { return instant.text == "needs 2 nodes"; }) == 1);
  const JobResult never = job.run(steps(20), held(2, {lost(two * 15, 0)}));
  CHECK_FALSE(never.finished);
  CHECK(never.stopped == "the job needs 2 nodes, has 1, and no more node changes are coming");
  CHECK(never.steps == 10);
}

TEST_CASE("checkpoint policy: the whole fleet may be gone for four days") {
  PolicyCase job("checkpoint", round_options(), gpt_s(16));
  const SimDuration sixteen = job.step(16);
  NodeEvents events;
  for (NodeId node = 0; node < 16; ++node) events.push_back(lost(sixteen * 37, node));
  const SimDuration back = sixteen * 37 + std::chrono::hours{96};
  for (NodeId node = 0; node < 16; ++node) events.push_back(joined(back, node));
  const JobResult result = job.run(steps(100), held(16, events));
  CHECK(result.finished);
  CHECK(result.end == at(back + kStartup + sixteen * 70));
  CHECK(result.waited == std::chrono::hours{96});
}

TEST_CASE("checkpoint policy: nodes that join wait for the next restart") {
  PolicyCase job("checkpoint", round_options());
  const SimDuration eight = job.step(8);
  const SimDuration ten = job.step(10);
  const NodeEvents events =
      held(8, {joined(eight * 2, 8), joined(eight * 2, 9), lost(eight * 20, 0), joined(eight * 20, 0)});
  const JobResult result = job.run(steps(30), events);
  CHECK(result.end == at(eight * 20 + kDetect + kStartup + ten * 10));
}

TEST_CASE("checkpoint policy: gathered nodes are used after a planned restart that loses nothing") {
  PolicyCase job("checkpoint", round_options(kGathered));
  const SimDuration eight = job.step(8);
  const SimDuration ten = job.step(10);
  // The first of the two joins after 2 steps; 100 s later the step at hand is done before the restart.
  const SimDuration joins = eight * 2;
  const std::int64_t done = (joins + seconds{100}) / eight + 1;
  JobLog log;
  const JobResult result =
      job.run(steps(done + 7), held(8, {joined(joins, 8), joined(joins + seconds{60}, 9)}), &log);
  CHECK(courses_of(log) == "start restart");
  CHECK(result.steps_lost == 0);
  CHECK(time_in(result, kRecovery) == SimDuration{});
  CHECK(result.end == at(eight * done + kStartup + ten * 7));
}

TEST_CASE("checkpoint policy: a planned restart writes a checkpoint first, and reads it") {
  // A whole checkpoint of the job is written in d and read in 2 d.
  const std::string options =
      R"({"restart": {"detect_s": 15, "startup_s": 60}, "absorb": "gathered", "gather_s": 0,
          "checkpoint": {"interval_steps": 0, "write_gb_per_s": 2, "read_gb_per_s": 1}})";
  PolicyCase job("checkpoint", options);
  const Bytes whole = module_bytes(job.job().modules(), 14).total();
  const SimDuration eight = job.step(8);
  const JobResult result = job.run(steps(10), held(8, {joined(eight / 2, 8), joined(eight / 2, 9)}));
  CHECK(time_in(result, kSave) == whole / BytesPerSecond{2e9});
  CHECK(time_in(result, TimeBucket::kCheckpointRestore) == whole / BytesPerSecond{1e9});
  CHECK(result.steps_lost == 0);
  CHECK(result.steps == 10);
}

TEST_CASE(
    "checkpoint policy: a checkpoint has the bytes of the plan's weights and optimizer, or those given") {
  const auto bytes_of = [](Dtype dtype, std::int32_t optimizer_bytes, std::int32_t given) {
    ParallelPlan plan;
    plan.dtype = dtype;
    plan.optimizer_bytes = optimizer_bytes;
    CheckpointSettings settings;
    settings.bytes_per_parameter = given;
    return bytes_per_parameter(settings, plan);
  };
  CHECK(bytes_of(Dtype::kBf16, 0, 0) == 2 + 12);  // and a master copy beside two moments
  CHECK(bytes_of(Dtype::kFp8, 0, 0) == 2 + 12);   // 8 bits only where they are multiplied
  CHECK(bytes_of(Dtype::kFp32, 0, 0) == 4 + 8);
  CHECK(bytes_of(Dtype::kTf32, 0, 0) == 4 + 8);
  CHECK(bytes_of(Dtype::kBf16, 6, 0) == 2 + 6);
  CHECK(bytes_of(Dtype::kBf16, 6, 10) == 10);

  // What a planned restart writes is of that size.
  TrainingPlan plan = gpt_s_plan(10);
  plan.parallel.optimizer_bytes = 6;
  PolicyCase job(
      "checkpoint",
      R"({"absorb": "gathered", "gather_s": 0, "checkpoint": {"interval_steps": 0, "write_gb_per_s": 2}})",
      job_of(plan));
  const JobResult result =
      job.run(steps(10), held(8, {joined(job.step(8) / 2, 8), joined(job.step(8) / 2, 9)}));
  CHECK(time_in(result, kSave) == module_bytes(job.job().modules(), 8).total() / BytesPerSecond{2e9});
}

TEST_CASE("checkpoint policy: a loss after a planned restart goes back to what that saved") {
  // No other checkpoint is ever written: without it all would be lost.
  const std::string options =
      R"({"restart": {"detect_s": 0, "startup_s": 0}, "absorb": "gathered", "gather_s": 0,
          "checkpoint": {"interval_steps": 0, "write_gb_per_s": 1e12, "read_gb_per_s": 1e12}})";
  PolicyCase job("checkpoint", options);
  const SimDuration eight = job.step(8);
  const SimDuration ten = job.step(10);
  // Restarts with ten nodes after 3 steps (writing and reading round to 0 or some ns); node 9 is lost in the
  // second step after that, and the third but one of all is trained again.
  const SimDuration lost_at = eight * 3 + ten + ten / 2;
  const JobResult result =
      job.run(steps(6), held(8, {joined(eight * 5 / 2, 8), joined(eight * 5 / 2, 9), lost(lost_at, 9)}));
  CHECK(result.count(Cause::kRestart) == 2);
  CHECK(result.steps_lost == 1);
  CHECK(result.steps == 6);
}

TEST_CASE("checkpoint policy: nodes that are gone again before the step ends are no reason to restart") {
  PolicyCase job("checkpoint", round_options(kGathered));
  const SimDuration eight = job.step(8);
  // 100 s after they joined the job wants to grow at the end of its step; a moment later they are gone.
  const SimDuration joins = eight * 2;
  const SimDuration wakes = joins + seconds{100};
  REQUIRE(wakes % eight < eight - SimDuration{2});
  REQUIRE(wakes % eight > SimDuration{});
  const NodeEvents events = held(8, {joined(joins, 8), joined(joins, 9), lost(wakes + SimDuration{1}, 8),
                                     lost(wakes + SimDuration{1}, 9)});
  const JobResult result = job.run(steps(1000), events);
  CHECK(result.count(Cause::kRestart) == 0);
  CHECK(result.end == at(eight * 1000));
}

TEST_CASE("checkpoint policy: a loss while nodes are gathered takes those in at once") {
  PolicyCase job("checkpoint", round_options(kGathered));
  const SimDuration eight = job.step(8);
  const SimDuration ten = job.step(10);
  const SimDuration fails = eight * 10;
  const NodeEvents events =
      held(8, {joined(eight * 9, 8), joined(eight * 9, 9), joined(eight * 9, 10), lost(fails, 0)});
  const JobResult result = job.run(steps(2000), events);
  CHECK(result.count(Cause::kRestart) == 1);  // nobody is left to be gathered
  CHECK(result.end == at(fails + kDetect + kStartup + ten * 1990));
}

TEST_CASE("checkpoint policy: a slow node that is kept slows all down, from the next step on") {
  PolicyCase job("checkpoint", round_options(slow_nodes("keep")));
  const SimDuration ten = job.step(10);
  const JobResult result =
      job.run(steps(20), held(10, {slowed(ten * 4 + ten / 2, 3, 0.5), slowed(ten * 4 + ten * 2, 3, 1)}));
  // The fifth step is as it was; the next one, or more, are slow; then all are well again.
  const SimDuration slow = time_in(result, kProductive) - ten * 20;
  CHECK(slow > ten / 4);
  CHECK(slow < ten);  // one step: it takes at most twice as long
  CHECK(result.count(Cause::kRestart) == 0);
}

TEST_CASE("checkpoint policy: a slow node that is evicted counts as failed until it is well") {
  PolicyCase job("checkpoint", round_options(slow_nodes("evict")));
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  JobLog log;
  const NodeEvents events = held(10, {slowed(ten * 14 + ten / 2, 3, 0.5)});
  const JobResult result = job.run(steps(50), events, &log);
  // At the end of step 15, without a detection; from the checkpoint of step 10 on.
  CHECK(courses_of(log) == "start restart");
  CHECK(result.steps_lost == 5);
  CHECK(result.end == at(ten * 15 + kStartup + eight * 40));
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 1, 2, 4, 5, 6, 7, 8});
  // Above the threshold nothing happens but that it is slow.
  CHECK(job.run(steps(50), held(10, {slowed(ten, 3, 0.9)})).count(Cause::kRestart) == 0);
}

TEST_CASE("checkpoint policy: a job whose nodes are all evicted says what it waits for") {
  PolicyCase job("checkpoint", round_options(slow_nodes("evict")));
  const JobResult result = job.run(steps(50), held(2, {slowed(seconds{1}, 0, 0.5)}));
  CHECK(result.stopped ==
        "the job needs 2 nodes that are not slow, has 2, and no more node changes are coming");
}

TEST_CASE("checkpoint policy: a slow node is swapped for an idle healthy one, which is planned") {
  PolicyCase job("checkpoint", round_options(slow_nodes("swap")));
  const SimDuration ten = job.step(10);
  JobLog log;
  const JobResult result = job.run(steps(50), held(11, {slowed(ten * 14 + ten / 2, 3, 0.5)}), &log);
  CHECK(courses_of(log) == "start restart");
  CHECK(result.steps_lost == 0);
  CHECK(result.end == at(ten * 15 + kStartup + ten * 35));
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 1, 2, 4, 5, 6, 7, 8, 9, 10});
  // Nobody is there to swap with: kept.
  CHECK(job.run(steps(50), held(10, {slowed(ten, 3, 0.5)})).count(Cause::kRestart) == 0);
  // Nor is one that is slow itself, whatever its number.
  const NodeEvents slow_spare = held(11, {slowed(ten, 10, 0.5), slowed(ten * 2 + ten / 2, 3, 0.5)});
  CHECK(job.run(steps(50), slow_spare).count(Cause::kRestart) == 0);
  // One that joins later takes the slow one's place.
  const NodeEvents later = held(10, {slowed(ten, 3, 0.5), joined(ten * 10 + ten / 2, 10)});
  CHECK(job.run(steps(50), later).count(Cause::kRestart) == 1);
}

TEST_CASE("checkpoint policy: what stays idle while nodes come and go does not change who trains") {
  // Node 0 comes back as a spare. When node 5 is lost it steps in; nobody else moves.
  PolicyCase job("checkpoint", round_options(), gpt_s(4));
  const SimDuration four = job.step(4);
  const SimDuration pause = seconds{100};
  const NodeEvents events =
      held(6, {lost(four * 10, 0), joined(four * 10 + pause, 0), lost(four * 20 + pause, 4)});
  JobLog log;
  (void)job.run(steps(400), events, &log);
  REQUIRE(log.node_sets.size() == 3);
  CHECK(log.node_sets[1] == std::vector<NodeId>{1, 2, 3, 4});
  CHECK(log.node_sets[2] == std::vector<NodeId>{0, 1, 2, 3});
}

TEST_CASE("checkpoint policy: a job that fails faster than it starts says so and stops") {
  PolicyCase job("checkpoint", round_options(), gpt_s(2));
  NodeEvents events = held(2);
  for (int i = 1; i <= 12'000; ++i) {
    events.push_back(lost(seconds{70} * i, 0));
    events.push_back(joined(seconds{70} * i, 0));
  }
  const JobResult result = job.run(steps(1000), events);
  CHECK_FALSE(result.finished);
  CHECK(result.stopped.find("10000 recoveries in a row made no progress") != std::string::npos);
}

TEST_CASE("checkpoint policy: bad options name their place") {
  const JobPointer job = gpt_s();
  CHECK(refusal("checkpoint", R"({"interval": 5})", *job) ==
        "s.json /policies/checkpoint/interval: unknown key; known keys: restart, checkpoint, slow_nodes, "
        "absorb, "
        "gather_s, step_overhead_s, tier, dispatch");
  CHECK(refusal("checkpoint", R"({"checkpoint": {"interval": "daly"}})", *job) ==
        "/checkpoint/mtbf_hours: is not given, and a failure model does not define how often it hits the "
        "job; give mtbf_hours, or set interval to \"fixed\"");
  CHECK(refusal("checkpoint", R"({"slow_nodes": {"action": "evikt"}})", *job) ==
        "s.json /policies/checkpoint/slow_nodes/action: must be one of \"keep\", \"evict\", \"swap\", not "
        "\"evikt\"; did you mean \"evict\"?");
  CHECK(refusal("checkpoint", R"({"slow_nodes": {"threshold": 1.5}})", *job) ==
        "s.json /policies/checkpoint/slow_nodes/threshold: must be a number above 0 and at most 1, not 1.5");
  CHECK(refusal("checkpoint", R"({"restart": {"detect_s": -1}})", *job) ==
        "s.json /policies/checkpoint/restart/detect_s: must be a number from 0 to 10000000, not -1");
  CHECK(refusal("checkpoint", R"({"absorb": "never"})", *job) ==
        "s.json /policies/checkpoint/absorb: must be one of \"at_restart\", \"gathered\", not \"never\"");
  CHECK(refusal("checkpoint", "{}", *job_of([] {
                  TrainingPlan plan = gpt_s_plan(4);
                  plan.cluster.nodes = 1;  // two nodes hold a group
                  return plan;
                }())) == ": 1 nodes of 1 GPUs cannot hold one expert-parallel group of 2 GPUs");
}

}  // namespace goodput::testing
