// Lazarus on plans with pipeline stages. GPT-S with 8 experts in 12 layers, two stages of six layers, nodes
// of one GPU with 6 slots unless said otherwise: of 8 nodes the first four are the first stage, the others
// the second. Two nodes hold all experts of a stage.
#include "models/policy/lazarus_stages.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <numeric>

#include "models/job/stage_layers.h"
#include "sim/base/random.h"
#include "tests/support/policy_case.h"
#include "tests/support/policy_contract.h"

namespace goodput::testing {
namespace {

TrainingPlan two_stages_plan(std::int32_t nodes) {
  TrainingPlan plan = gpt_s_plan(nodes);
  plan.parallel.pp = 2;
  plan.parallel.dp = nodes / 2;
  plan.parallel.ep = 1;
  plan.parallel.global_batch = 4 * std::int64_t{plan.parallel.dp};
  return plan;
}

JobPointer two_stages(std::int32_t nodes = 8, JobStart start = JobStart::kRunning) {
  return job_of(two_stages_plan(nodes), start);
}

std::string staged_options(const std::string& more = "") {
  return round_elastic_options(R"("gather_s": 100)" + (more.empty() ? more : ", " + more));
}

LazarusPlacements placements_on(const JobModel& job, Bytes dense = {}) {
  LazarusRules rules;
  rules.min_replicas = 1;
  return {job, rules, {}, {.node = BytesPerSecond{1e9}}, Bytes{1'000'000'000}, dense};
}

std::vector<NodeId> first_nodes(NodeId count) {
  std::vector<NodeId> nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

// What each stage has, in any order.
std::vector<std::vector<NodeId>> nodes_by_stage(const ExpertHolders& held) {
  std::vector<std::vector<NodeId>> nodes;
  for (const StageHolders& stage : held.stages) {
    nodes.push_back(stage.nodes);
    std::ranges::sort(nodes.back());
  }
  return nodes;
}

using Nodes = std::vector<std::vector<NodeId>>;

}  // namespace

TEST_CASE("lazarus stages: all stages get as many nodes, and the rest goes where most are left") {
  const JobPointer job = two_stages(9);
  const LazarusPlacements placements = placements_on(*job);
  using Shares = std::vector<std::int32_t>;
  CHECK(placements.stages() == 2);
  CHECK(placements.least_nodes() == 4);  // two nodes a stage hold 12 slots for 8 experts
  CHECK(placements.usable(3) == 0);
  CHECK(placements.usable(7) == 7);
  CHECK(placements.usable(20) == 9);  // the job has no more
  CHECK(placements.narrowest(7) == 3);
  CHECK(placements.share_out(8, {0, 0}) == Shares{4, 4});
  CHECK(placements.share_out(7, {3, 4}) == Shares{3, 4});
  CHECK(placements.share_out(7, {4, 3}) == Shares{4, 3});
  CHECK(placements.share_out(7, {3, 3}) == Shares{4, 3});
}

TEST_CASE("lazarus stages: replicas of two nodes take part in stages of whole pairs") {
  TrainingPlan plan = two_stages_plan(12);
  plan.parallel.tp = 2;
  plan.parallel.dp = 3;
  plan.parallel.sequence_parallel = true;
  const JobPointer job = job_of(plan);
  const LazarusPlacements placements = placements_on(*job);
  CHECK(placements.usable(11) == 10);    // five pairs
  CHECK(placements.narrowest(10) == 4);  // two of them
  CHECK(placements.share_out(10, {0, 0}) == std::vector<std::int32_t>{6, 4});
  CHECK(placements.usable(5) == 4);
}

TEST_CASE("lazarus stages: a stage that lost a node goes on with the others, whose experts move among them") {
  const JobPointer job = two_stages();
  const LazarusPlacements placements = placements_on(*job);
  ExpertHolders held = load_all(placements, first_nodes(8), 0);
  CHECK(nodes_by_stage(held) == Nodes{{0, 1, 2, 3}, {4, 5, 6, 7}});
  held.forget(1);
  CHECK_FALSE(held.are_whole());
  CHECK(held.left_by_stage() == std::vector<std::int32_t>{3, 4});
  const StageMoves moves = move_stages(placements, held, {}, 7, 0);
  REQUIRE(moves.are_possible);
  CHECK(nodes_by_stage(moves.next) == Nodes{{0, 2, 3}, {4, 5, 6, 7}});
  // As if the first stage were alone.
  const auto four = placements.placement(4, 0);
  const auto three = placements.placement(3, 0);
  const LazarusPlacements::Move alone = placements.move(0, four, {true, false, true, true}, 0, three);
  CHECK(moves.experts == alone.experts);
  CHECK(moves.transfer == alone.time.transfer);
}

TEST_CASE("lazarus stages: a node of the stage that has more makes up for a loss, and fetches all state") {
  const JobPointer job = two_stages();
  const Bytes dense{8'000'000'000};
  const LazarusPlacements placements = placements_on(*job, dense);
  ExpertHolders held = load_all(placements, first_nodes(8), 0);
  held.forget(1);
  held.forget(2);
  const StageMoves moves = move_stages(placements, held, {}, 6, 0);
  REQUIRE(moves.are_possible);
  const Nodes nodes = nodes_by_stage(moves.next);
  CHECK(nodes[0].size() == 3);
  CHECK(nodes[1].size() == 3);
  CHECK(nodes[0][0] == 0);
  CHECK(nodes[0][1] == 3);
  CHECK(nodes[0][2] >= 4);  // it came from the second stage
  // It has at most 6 layers x 6 experts to fetch, and the first stage's share of the rest: half of the layers
  // and the embedding.
  const StageMoves experts_only = move_stages(placements_on(*job), held, {}, 6, 0);
  const double share = layers_by_stage(job->plan())[0].dense_share;
  CHECK(share > 0.5);
  const auto more = moves.transfer - experts_only.transfer;
  CHECK(more <= from_seconds(8 * share) + SimDuration{1});
  CHECK(more > from_seconds(8 * share - 36));  // another node may have been the busiest with experts
  CHECK(more > SimDuration{});
}

TEST_CASE("lazarus stages: nodes that joined fill the stages that lack some, the lowest first") {
  const JobPointer job = two_stages();
  const LazarusPlacements placements = placements_on(*job);
  ExpertHolders held = load_all(placements, first_nodes(8), 0);
  held.forget(0);
  held.forget(5);
  const StageMoves moves = move_stages(placements, held, {8, 9}, 8, 0);
  REQUIRE(moves.are_possible);
  CHECK(nodes_by_stage(moves.next) == Nodes{{1, 2, 3, 8}, {4, 6, 7, 9}});
}

TEST_CASE("lazarus stages: without an expert, or a whole stage, nothing can be moved") {
  const JobPointer job = two_stages();
  const LazarusPlacements placements = placements_on(*job);
  ExpertHolders held = load_all(placements, first_nodes(8), 0);
  CHECK(hold_every_expert(placements, held));
  for (const NodeId node : {0, 1, 2}) held.forget(node);  // one node has at most 6 of 8 experts
  CHECK_FALSE(hold_every_expert(placements, held));
  CHECK_FALSE(move_stages(placements, held, {}, 4, 0).are_possible);
  held.forget(3);
  CHECK_FALSE(move_stages(placements, held, {8, 9, 10, 11}, 8, 0).are_possible);
}

TEST_CASE("lazarus stages: whatever happens, every stage has nodes of its own and no more than a unit more") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "stages");
    TrainingPlan plan = two_stages_plan(24);
    const std::int32_t stages = 1 << random.below(3);
    plan.parallel.pp = stages;
    plan.parallel.dp = 24 / stages;
    plan.parallel.global_batch = 4 * std::int64_t{plan.parallel.dp};
    const JobPointer job = job_of(plan);
    const LazarusPlacements placements = placements_on(*job);
    NodeId next_id = 24;
    ExpertHolders held = load_all(placements, first_nodes(24), 0);
    for (int change = 0; change < 20; ++change) {
      std::vector<NodeId> left = held.left();
      const std::size_t losses = random.below(4);
      for (std::size_t i = 0; i < losses && !left.empty(); ++i) {
        held.forget(left[random.below(left.size())]);
        left = held.left();
      }
      std::vector<NodeId> joined;
      for (std::size_t i = random.below(4); i > 0; --i) joined.push_back(next_id++);
      const auto there = static_cast<std::int32_t>(left.size() + joined.size());
      const std::int32_t nodes = placements.usable(there);
      if (nodes == 0) break;
      if (static_cast<std::int32_t>(left.size()) >= nodes)
        joined.clear();
      else
        joined.resize(static_cast<std::size_t>(nodes) - left.size());
      const StageMoves moves = move_stages(placements, held, joined, nodes, 0);
      if (!moves.are_possible) break;
      std::vector<NodeId> used = moves.next.left();
      CHECK(static_cast<std::int32_t>(used.size()) == nodes);
      CHECK(std::ranges::adjacent_find(used) == used.end());
      left.insert(left.end(), joined.begin(), joined.end());
      std::ranges::sort(left);
      CHECK(std::ranges::includes(left, used));
      const auto sizes = moves.next.left_by_stage();
      CHECK(std::ranges::max(sizes) - std::ranges::min(sizes) <= 1);
      CHECK(std::ranges::min(sizes) == placements.narrowest(nodes));
      held = moves.next;
    }
  }
}

TEST_CASE("lazarus policy: with pipeline stages the smallest stage sets the pace after a loss") {
  PolicyCase job("lazarus", staged_options(), two_stages());
  const SimDuration eight = job.step(8);
  const SimDuration six = job.step(6);
  CHECK(job.step(7) == six);
  CHECK(six != eight);
  const SimDuration fails = eight * 25 + eight / 2;
  JobLog log;
  const JobResult result = job.run(steps(50), held(8, {lost(fails, 1)}), &log);
  CHECK(courses_of(log) == "start reconfiguration");
  CHECK(result.steps_lost == 0);
  CHECK(time_in(result, kWasted) == eight / 2);
  CHECK(result.end == at(fails + kReconfiguration + six * 25));
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("lazarus policy: a stage that loses an expert sends all stages back to the checkpoint") {
  // Two slots a node: 8 slots a stage for 8 experts, each of them once.
  PolicyCase job("lazarus", staged_options(R"("slots_per_gpu": 2, "min_replicas": 1)"), two_stages(10));
  const SimDuration ten = job.step(10);
  // Five nodes a stage have 10 slots: two experts have a second replica. One with both of them can be lost.
  int restarts = 0;
  for (NodeId node = 0; node < 10; ++node) {
    JobLog log;
    const JobResult result = job.run(steps(50), held(10, {lost(ten * 25, node)}), &log);
    CHECK(result.count(Cause::kRestart) + result.count(Cause::kReconfiguration) == 1);
    CHECK(result.steps_lost == (result.count(Cause::kRestart) > 0 ? 5 : 0));
    restarts += static_cast<int>(result.count(Cause::kRestart));
  }
  CHECK(restarts >= 6);
  CHECK(restarts % 2 == 0);  // both stages are placed alike
}

TEST_CASE("lazarus policy: with pipeline stages the job grows when its smallest stage can") {
  PolicyCase job("lazarus", staged_options(), two_stages());
  const SimDuration six = job.step(6);
  const SimDuration eight = job.step(8);
  const std::int64_t done = (six * 2 + seconds{100}) / six + 1;
  // One more makes no stage faster, and waits as a spare.
  JobLog log_of_one;
  const JobResult one = job.run(steps(done + 5), held(6, {joined(six * 2, 20)}), &log_of_one);
  CHECK(courses_of(log_of_one) == "start");
  CHECK(one.end == at(six * (done + 5)));
  JobLog log_of_two;
  const JobResult two =
      job.run(steps(done + 5), held(6, {joined(six * 2, 20), joined(six * 2, 21)}), &log_of_two);
  CHECK(courses_of(log_of_two) == "start scale-up");
  CHECK(two.end == at(six * done + seconds{10} + eight * 5));
  // The spare takes part after a loss: six nodes are left.
  JobLog log;
  const JobResult loss = job.run(steps(50), held(6, {joined(six * 2, 20), lost(six * 25, 0)}), &log);
  CHECK(courses_of(log) == "start reconfiguration");
  CHECK(log.node_sets.back() == std::vector<NodeId>{1, 2, 3, 4, 5, 20});
  CHECK(loss.end == at(six * 25 + kReconfiguration + six * 25));
}

TEST_CASE("lazarus policy: with pipeline stages it waits until every stage can hold its experts") {
  PolicyCase job("lazarus", staged_options(), two_stages());
  const SimDuration four = job.step(4);
  JobLog log;
  const JobResult result =
      job.run(steps(50), held(4, {lost(four * 25, 0), joined(four * 25 + seconds{10}, 0)}), &log);
  CHECK(courses_of(log) == "start wait restart");
  CHECK(result.steps_lost == 5);
  CHECK(job.run(steps(50), held(4, {lost(four * 25, 0)})).stopped ==
        "the job needs 4 nodes, has 3, and no more node changes are coming");
}

TEST_CASE("lazarus policy: with pipeline stages too few nodes are named") {
  CHECK(refusal("lazarus", R"({"slots_per_gpu": 1})", *two_stages(8)) ==
        ": 8 nodes cannot hold all experts of 2 pipeline stages, which need 16 nodes with slots_per_gpu 1");
}

TEST_CASE("lazarus policy: with pipeline stages time adds up and runs repeat, whatever happens to the nodes" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomStream random(seed, "options");
    const std::vector<std::string> actions = {"keep", "evict", "swap"};
    const std::string options =
        fmt::format(R"({{"slow_nodes": {{"action": "{}"}}, "gather_s": {}, "slots_per_gpu": {}}})",
                    actions[random.below(3)], random.below(2) * 120, 2 + random.below(5));
    const std::int64_t trained = check_contract(
        [&](JobStart start) { return PolicyCase("lazarus", options, two_stages(10, start)); }, seed);
    CHECK(trained >= 0);
  }
}

TEST_CASE("lazarus policy: with pipeline stages a fixed batch stays the plan's on any number of nodes") {
  TrainingPlan plan = two_stages_plan(16);
  plan.parallel.global_batch = 40;
  plan.parallel.micro_batch = 1;
  PolicyCase job("lazarus", "{}",
                 job_of(plan, JobRouting::balanced(12, 8), JobStart::kRunning, BatchRule::kFixed));
  for (const std::int32_t nodes : {4, 5, 8, 11, 16}) {
    CAPTURE(nodes);
    CHECK(job.run(steps(10), held(nodes)).samples == 400);
  }
  // 40 samples on 8 replicas are 5 each, on 7 they are 6: more than 7 replicas a stage need has no use there.
  CHECK(job.step(15) == job.step(14));
  CHECK(job.step(16) < job.step(14));
}

}  // namespace goodput::testing
