// Policies that train on a fixed number of nodes: Gemini and hot spares.
#include <doctest/doctest.h>

#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

// Four nodes in two groups: places 0 and 1, 2 and 3. A checkpoint in memory after every step, in storage
// after every 10th.
PolicyCase gemini_of_four(const std::string& more = "") {
  return {"gemini",
          round_options(R"("nodes": 4, "memory_gb_per_s": 1e12)" + (more.empty() ? more : ", " + more))};
}

}  // namespace

TEST_CASE("gemini policy: what memory leaves out of the checkpoints for storage is said, and not skipped") {
  // Every 4th step in memory; storage takes 7.3 s for one at 1 GB/s, 19 steps and some, so every 20th.
  PolicyCase job("gemini",
                 R"({"nodes": 4, "memory_interval_steps": 4, "checkpoint": {"interval_steps": 2}})");
  CHECK(
      job.prepared().warnings() ==
      std::vector<std::string>{"checkpoints are copied to storage from memory, which gets one every 4 steps "
                               "(memory_interval_steps), so storage gets one every 4 steps, not every 2"});
  const std::int64_t every = 4 * ((std::chrono::nanoseconds(7'296'769'536) / job.step(4) + 4) / 4);
  const JobResult result = job.run(steps(10 * every), held(4));
  CHECK(result.saves_skipped == 10 * every / 4 - 10);
}

TEST_CASE("gemini policy: a group that keeps a member loses no more than the step at hand") {
  PolicyCase job = gemini_of_four();
  const SimDuration four = job.step(4);
  const SimDuration fails = four * 25 + four / 2;
  JobLog log;
  const JobResult result = job.run(steps(50), held(6, {lost(fails, 0), lost(fails, 2)}), &log);
  CHECK(courses_of(log) == "start restart");
  CHECK(result.steps_lost == 0);
  CHECK(time_in(result, kWasted) == four / 2);
  CHECK(result.end == at(fails + kRestart + four * 25));
  CHECK(log.node_sets.back() == std::vector<NodeId>{1, 3, 4, 5});
}

TEST_CASE("gemini policy: a group that is lost goes back to storage, also when it is lost bit by bit") {
  PolicyCase job = gemini_of_four();
  const SimDuration four = job.step(4);
  const SimDuration fails = four * 25;
  CHECK(job.run(steps(50), held(6, {lost(fails, 0), lost(fails, 1)})).steps_lost == 5);
  // The other of the group during the restart, before the spare has its copy.
  const JobResult second = job.run(steps(50), held(6, {lost(fails, 0), lost(fails + seconds{20}, 1)}));
  CHECK(second.steps_lost == 5);
  CHECK(second.end == at(fails + seconds{20} + kRestart + four * 30));
  // One of the other group: two copies are left.
  CHECK(job.run(steps(50), held(6, {lost(fails, 0), lost(fails + seconds{20}, 2)})).steps_lost == 0);
  // The other one once training goes on: the spare has the copy by then.
  const SimDuration later = fails + kRestart + four * 3;
  CHECK(job.run(steps(50), held(6, {lost(fails, 0), lost(later, 1)})).steps_lost == 0);
  // Spares that were lost do not matter.
  CHECK(job.run(steps(50), held(7, {lost(fails, 0), lost(fails + seconds{20}, 6)})).steps_lost == 0);
}

TEST_CASE("gemini policy: without a spare it waits, and copies may be lost while it does") {
  PolicyCase job = gemini_of_four();
  const SimDuration four = job.step(4);
  const SimDuration fails = four * 25;
  const JobResult kept = job.run(steps(50), held(4, {lost(fails, 0), joined(fails + seconds{100}, 0)}));
  CHECK(kept.steps_lost == 0);
  CHECK(kept.waited == seconds{100});
  CHECK(kept.end == at(fails + seconds{100} + seconds{60} + four * 25));
  const JobResult lost_both =
      job.run(steps(50), held(4, {lost(fails, 0), lost(fails + seconds{50}, 1),
                                  joined(fails + seconds{100}, 0), joined(fails + seconds{100}, 1)}));
  CHECK(lost_both.steps_lost == 5);
  // Back under its name it holds nothing.
  const JobResult returned =
      job.run(steps(50), held(4, {lost(fails, 0), lost(fails + seconds{50}, 1),
                                  joined(fails + seconds{50}, 1), joined(fails + seconds{100}, 0)}));
  CHECK(returned.steps_lost == 5);
  CHECK(job.run(steps(50), held(4, {lost(fails, 0)})).stopped ==
        "the job needs 4 nodes, has 3, and no more node changes are coming");
}

TEST_CASE("gemini policy: who is left over joins the last group, with copies on the next nodes around it") {
  // Five nodes, three copies: one group, places 0 to 4 in a ring. Three neighbours lose a checkpoint, any
  // other three do not.
  TrainingPlan plan = gpt_s_plan(10);
  plan.parallel.ep = 1;
  PolicyCase job("gemini", round_options(R"("nodes": 5, "replicas": 3, "memory_gb_per_s": 1e12)"),
                 job_of(plan));
  const SimDuration fails = job.step(5) * 25;
  const auto lost_steps = [&](const std::vector<NodeId>& nodes) {
    NodeEvents events = held(8);
    for (const NodeId node : nodes) events.push_back(lost(fails, node));
    return job.run(steps(50), events).steps_lost;
  };
  CHECK(lost_steps({0, 1, 2}) == 5);
  CHECK(lost_steps({0, 3, 4}) == 5);
  CHECK(lost_steps({0, 1, 3}) == 0);
  CHECK(lost_steps({1, 2, 4}) == 0);
  CHECK(lost_steps({4}) == 0);
  // Seven nodes, two copies: groups of two, two and three.
  PolicyCase odd("gemini", round_options(R"("nodes": 7, "memory_gb_per_s": 1e12)"), job_of(plan));
  CHECK(odd.run(steps(50), held(8, {lost(odd.step(7) * 25, 6)})).steps_lost == 0);
}

TEST_CASE("gemini policy: hot spares take swap_s in place of a start-up, nodes that it waited for do not") {
  PolicyCase job = gemini_of_four(R"("spares": "hot", "swap_s": 20)");
  const SimDuration four = job.step(4);
  const SimDuration fails = four * 25;
  CHECK(job.run(steps(50), held(5, {lost(fails, 0)})).end == at(four * 50 + seconds{15 + 20}));
  CHECK(job.run(steps(50), held(4, {lost(fails, 0), joined(fails + seconds{100}, 0)})).end ==
        at(four * 50 + seconds{100 + 60}));
}

TEST_CASE("gemini policy: one node after the other may be evicted, copies are made anew in between") {
  PolicyCase job = gemini_of_four(R"("slow_nodes": {"action": "evict"})");
  const SimDuration four = job.step(4);
  NodeEvents events = held(8);
  for (NodeId node = 0; node < 4; ++node)
    events.push_back(slowed(std::chrono::minutes{5} * (node + 1), node, 0.5));
  const JobResult result = job.run(until(std::chrono::minutes{30}), events);
  CHECK(result.count(Cause::kRestart) == 4);
  CHECK(result.steps_lost == 0);
  CHECK(result.steps > 4 * (std::chrono::minutes{4} / four));
}

TEST_CASE("gemini policy: a slow node is swapped after all of its state was saved") {
  PolicyCase job = gemini_of_four(R"("slow_nodes": {"action": "swap"})");
  const SimDuration four = job.step(4);
  const JobResult result = job.run(steps(50), held(5, {slowed(four * 14 + four / 2, 2, 0.5)}));
  CHECK(result.count(Cause::kRestart) == 1);
  CHECK(result.steps_lost == 0);
  CHECK(result.end == at(four * 15 + seconds{60} + four * 35));
}

TEST_CASE("gemini policy: storage takes every n-th checkpoint of memory's") {
  // 10 is no multiple of 4: every 12 steps. Memory is as good as nothing when all are lost.
  PolicyCase job = gemini_of_four(R"("memory_interval_steps": 4)");
  const SimDuration four = job.step(4);
  NodeEvents events = held(4);
  for (NodeId node = 0; node < 4; ++node) events.push_back(lost(four * 14, node));
  for (NodeId node = 0; node < 4; ++node) events.push_back(joined(four * 14, node));
  CHECK(job.run(steps(50), events).steps_lost == 2);
  // One is lost after step 19: from 16 on.
  CHECK(job.run(steps(50), held(5, {lost(four * 19, 0)})).steps_lost == 3);
}

TEST_CASE("gemini policy: coming back from memory takes what a node fetches, from storage all of it") {
  PolicyCase job("gemini", R"({"nodes": 4, "memory_gb_per_s": 2, "memory_stall_s": 0.5,
                               "checkpoint": {"interval_steps": 0}})");
  const SimDuration four = job.step(4);
  const Bytes whole = module_bytes(job.job().modules(), 14).total();
  const JobResult result = job.run(steps(3), held(5, {lost(four, 0)}));
  CHECK(time_in(result, TimeBucket::kCheckpointRestore) == Bytes{whole.value / 4} / BytesPerSecond{2e9});
  // The loss interrupts the first step's checkpoint; two more, of which the last one is not waited for.
  const JobResult quiet = job.run(steps(3), held(4));
  CHECK(time_in(quiet, kSave) == seconds{1});
  const JobResult stored = job.run(steps(3), held(6, {lost(four, 0), lost(four, 1)}));
  CHECK(time_in(stored, TimeBucket::kCheckpointRestore) == whole / BytesPerSecond{1e9});
}

TEST_CASE("hot spare policy: a spare that runs already replaces a lost node, from the last checkpoint") {
  PolicyCase job("hot_spare", round_options(R"("nodes": 4, "swap_s": 20)"));
  const SimDuration four = job.step(4);
  const SimDuration fails = four * 25;
  const JobResult result = job.run(steps(50), held(5, {lost(fails, 0)}));
  CHECK(result.steps_lost == 5);
  CHECK(time_in(result, TimeBucket::kElasticReinitialization) == seconds{20});
  CHECK(time_in(result, TimeBucket::kProgramStartup) == SimDuration{});
  CHECK(result.end == at(fails + seconds{15} + seconds{20} + four * 30));
  // Without spares it waits, for a node whose processes have to start.
  const JobResult waits = job.run(steps(50), held(4, {lost(fails, 0), joined(fails + seconds{40}, 9)}));
  CHECK(waits.end == at(fails + seconds{40} + seconds{60} + four * 30));
}

TEST_CASE("hot spare policy: a cold start takes a start-up, a spare does not") {
  PolicyCase job("hot_spare", round_options(R"("nodes": 4)"), gpt_s(10, JobStart::kCold));
  CHECK(time_in(job.run(steps(1), held(5)), TimeBucket::kProgramStartup) == seconds{60});
}

TEST_CASE("fixed size: all nodes beyond the number are spares") {
  PolicyCase job("hot_spare", round_options(R"("nodes": 4)"));
  const SimDuration four = job.step(4);
  const JobResult result = job.run(steps(1000), held(4, {joined(four, 4), joined(four, 5)}));
  CHECK(result.end == at(four * 1000));
  CHECK(result.count(Cause::kRestart) == 0);
}

TEST_CASE("fixed size: the number of nodes is what replicas fill") {
  const JobPointer job = gpt_s();
  CHECK(
      refusal("gemini", R"({"nodes": 3})", *job) ==
      "/nodes: must be a number of nodes that holds whole replicas, such as 2, not 3 (the job has 10 nodes)");
  CHECK(refusal("hot_spare", R"({"nodes": 12})", *job) ==
        "/nodes: must be a number of nodes that holds whole replicas, such as 10, not 12 (the job has 10 "
        "nodes)");
  CHECK(refusal("gemini", R"({"replicas": 0})", *job) ==
        "s.json /policies/gemini/replicas: must be an integer from 1 to 64, not 0");
  CHECK(refusal("hot_spare", R"({"swap_s": -1})", *job) ==
        "s.json /policies/hot_spare/swap_s: must be a number from 0 to 10000000, not -1");
  CHECK(refusal("gemini", "{}", *job) == "");  // the plan's ten
}

}  // namespace goodput::testing
