// What losses, waiting and nodes cost a job, second by second.
#include "sim/job/job_engine.h"

#include <doctest/doctest.h>

#include "sim/base/errors.h"
#include "tests/support/hand_job.h"

namespace goodput::testing {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::nanoseconds;

}  // namespace

TEST_CASE("job engine: without failures all time is productive") {
  const JobResult result = run(ten_second_steps(), until(seconds{100}), held(4));
  CHECK(result.steps == 10);
  CHECK(result.samples == 10);
  CHECK(in(result, kProductive) == 100);
  CHECK(node_time_in(result, kProductive) == 400);
  CHECK(goodput_of(result) == 1);
  CHECK_FALSE(result.finished);
  CHECK(result.stopped.empty());
  CHECK(result.count(Cause::kStart) == 1);
}

TEST_CASE("job engine: a step cut short by a loss is lost") {
  Witness witness;
  const JobResult result = run(witness.policy, until(seconds{65}), held(2, {lost(seconds{35}, 1)}));
  // Three steps, 5 s of the fourth, three more steps with one node.
  CHECK(witness.states[1].step == 3);
  CHECK(result.steps == 6);
  CHECK(in(result, kProductive) == 60);
  CHECK(in(result, kWasted) == 5);
  CHECK(node_time_in(result, kProductive) == 30 * 2 + 30);
  CHECK(node_time_in(result, kWasted) == 5 * 2);
  CHECK(result.steps_lost == 0);
  CHECK(result.nodes_lost == 1);
}

TEST_CASE("job engine: what is finished at the very moment of a loss counts") {
  Witness witness;
  const JobResult result = run(witness.policy, until(seconds{60}), held(2, {lost(seconds{30}, 1)}));
  CHECK(witness.states[1].step == 3);
  CHECK(result.steps == 6);
  CHECK(in(result, kWasted) == 0);
}

TEST_CASE("job engine: a restart goes back to the last checkpoint and trains the steps since again") {
  PlainRestartTimes plan = saving_every(3, seconds{2});
  plan.restart = seconds{20};
  plan.restore = seconds{5};
  const JobResult result = run(plan, until(seconds{200}), held(2, {lost(seconds{95}, 0)}));
  // Nine steps and three saves take 96 s; at 95 nine steps are done and the third save is being written. Back
  // to step 6: steps 7 to 9 are lost with it. 20 + 5 s to restart; 80 s are left for two rounds of 32 s,
  // another step, and 6 s of the next one.
  CHECK(result.steps_lost == 3);
  CHECK(result.steps == 6 + 3 + 3 + 1);
  CHECK(in(result, kProductive) == 130);
  CHECK(in(result, kSave) == 2 * 2 + 1 + 2 * 2);
  CHECK(in(result, kWasted) == 20 + 10 + 6);
  CHECK(in(result, kRecovery) == 20);
  CHECK(in(result, TimeBucket::kCheckpointRestore) == 5);
  CHECK(node_time_in(result, kProductive) == 60 * 2 + 70);
  CHECK(node_time_in(result, kWasted) == 30 * 2 + 6);
  CHECK(result.count(Cause::kRestart) == 1);
}

TEST_CASE(
    "job engine: a checkpoint whose writing ends at the loss counts, one that is being written does not") {
  // Steps 1 to 3 and their save end at 32 s.
  const auto resumed_from = [](SimDuration loss) {
    JobLog log;
    const JobResult result =
        run(saving_every(3, seconds{2}), until(seconds{40}), held(2, {lost(loss, 0)}), &log);
    CHECK(result.count(Cause::kRestart) == 1);
    return log.spans.back().first_step;
  };
  CHECK(resumed_from(seconds{32}) == 3);
  CHECK(resumed_from(seconds{32} - nanoseconds{1}) == 0);
  CHECK(resumed_from(seconds{30}) == 0);
}

TEST_CASE("job engine: nodes that are lost at the same moment are one loss") {
  PlainRestartTimes plan = saving_every(1, {});
  plan.restart = seconds{10};
  const NodeEvents events = held(4, {lost(seconds{20}, 1), lost(seconds{20}, 3), joined(seconds{20}, 1)});
  const JobResult result = run(plan, until(seconds{60}), events);
  CHECK(result.count(Cause::kRestart) == 1);
  CHECK(result.nodes_lost == 2);
  CHECK(result.steps == 2 + 3);
  CHECK(node_time_in(result, kProductive) == 20 * 4 + 30 * 3);
}

TEST_CASE("job engine: the loss of a node that the job does not use costs it nothing") {
  PlainRestartTimes plan = ten_second_steps();
  plan.most_nodes = 2;
  const JobResult result = run(plan, until(seconds{100}), held(3, {lost(seconds{45}, 2)}));
  CHECK(result.steps == 10);
  CHECK(result.nodes_lost == 1);
  CHECK(result.count(Cause::kRestart) == 0);
  CHECK(node_time_in(result, kIdle) == 45);
}

TEST_CASE("job engine: a policy that trains on with a lost node is stopped") {
  Witness witness;
  witness.policy.changes = [](const JobView&, const NodeChange&) { return Response::kAtStepEnd; };
  CHECK_THROWS_AS(run(witness.policy, until(seconds{60}), held(2, {lost(seconds{35}, 1)})), InternalError);
}

TEST_CASE("job engine: below its minimum the job waits, and the nodes that are left are idle") {
  PlainRestartTimes plan = saving_every(1, {});
  plan.least_nodes = 2;
  plan.restart = seconds{10};
  const NodeEvents events = held(2, {lost(seconds{25}, 0), joined(seconds{70}, 5)});
  const JobResult result = run(plan, until(seconds{100}), events);
  CHECK(in(result, kRecovery) == 45 + 10);
  CHECK(result.waited == seconds{45});
  CHECK(goodput_of(result) == 0.4);
  CHECK(running_goodput(result) == 40.0 / 55);
  CHECK(node_time_in(result, kIdle) == 45);
  CHECK(node_time_in(result, kRecovery) == 10 * 2);
  CHECK(in(result, kWasted) == 5);
  CHECK(result.steps == 2 + 2);
}

TEST_CASE("job engine: the loss of all 16 nodes for four days is waited for") {
  PlainRestartTimes plan = saving_every(1, {});
  NodeEvents events = held(16);
  for (NodeId node = 0; node < 16; ++node) events.push_back(lost(seconds{100}, node));
  for (NodeId node = 0; node < 16; ++node) events.push_back(joined(seconds{100} + days{4}, node));
  const JobResult result = run(plan, until(seconds{200} + days{4}), events);
  CHECK(in(result, kRecovery) == 4 * 86'400);
  CHECK(node_time_in(result, kRecovery) == 0);
  CHECK(node_time_in(result, kIdle) == 0);
  CHECK(node_time_in(result, kProductive) == 200 * 16);
  CHECK(result.steps == 20);
  CHECK(goodput_of(result) == doctest::Approx(200.0 / (200 + 4 * 86'400)).epsilon(1e-15));
}

TEST_CASE("job engine: a job that never gets a node has spent its time waiting") {
  const JobResult result = run(ten_second_steps(), until(seconds{50}), {});
  CHECK(in(result, kRecovery) == 50);
  CHECK(result.waited == seconds{50});
  CHECK(goodput_of(result) == 0);
  CHECK(running_goodput(result) == 0);
  CHECK(result.steps == 0);
}

TEST_CASE("job engine: a run of no time has a goodput of nothing") {
  const JobResult result = run(ten_second_steps(), until(seconds{0}), held(2));
  CHECK(result.end == SimTime{});
  CHECK(goodput_of(result) == 0);
}

TEST_CASE("job engine: every node-second is in one bucket") {
  PlainRestartTimes plan = saving_every(2, seconds{1});
  plan.most_nodes = 3;
  plan.start = seconds{7};
  plan.restart = seconds{9};
  const NodeEvents events = held(4, {lost(seconds{40}, 1), joined(seconds{60}, 7), lost(seconds{90}, 3)});
  const JobResult result = run(plan, until(seconds{123}), events);
  const auto nodes = static_cast<std::int64_t>(result.ledger.node_total() / 1'000'000'000);
  CHECK(nodes == 40 * 4 + 20 * 3 + 30 * 4 + 33 * 3);
  CHECK(result.ledger.total() == seconds{123});
}

TEST_CASE("job engine: all nodes that are held are paid for, at the price of the moment") {
  // 2 nodes for an hour at 1 USD, for half an hour at 3; then 1 node for half an hour at 3.
  const std::vector<SpotPrice> prices = {{at(hours{0}), 1}, {at(hours{1}), 3}};
  PlainRestartTimes plan = ten_second_steps();
  plan.most_nodes = 1;
  ScriptedFailures failures(held(2, {lost(seconds{5400}, 1)}));
  PlainRestarts policy(plan);
  const PricedNodes pool{2, PriceSchedule(prices), Billing::kHeld};
  const JobResult result = run_job(until(hours{2}), {&pool, 1}, failures, policy);
  CHECK(result.cost_usd == doctest::Approx(2 * 1 + 2 * 1.5 + 1.5).epsilon(1e-14));
}

TEST_CASE("job engine: reserved nodes are paid for while they are gone, and waste no time of the job") {
  // Node 1 is gone for half an hour; 2 nodes for 2 hours at 1 USD and then 3.
  const std::vector<SpotPrice> prices = {{at(hours{0}), 1}, {at(hours{1}), 3}};
  PlainRestartTimes plan = ten_second_steps();
  plan.most_nodes = 1;
  ScriptedFailures failures(held(2, {lost(seconds{2700}, 1), joined(seconds{4500}, 1)}));
  PlainRestarts policy(plan);
  const PricedNodes pool{2, PriceSchedule(prices), Billing::kReserved};
  const JobResult result = run_job(until(hours{2}), {&pool, 1}, failures, policy);
  CHECK(result.cost_usd == doctest::Approx(2 * (1 + 3)).epsilon(1e-14));
  CHECK(result.missing_paid_time == NodeTime{1800} * 1'000'000'000);
  CHECK(result.ledger.node_total() == NodeTime{2 * 7200 - 1800} * 1'000'000'000);
}

TEST_CASE("job engine: two runs in one process, one within the other, do not disturb each other") {
  PlainRestartTimes plan = saving_every(2, seconds{1});
  plan.restart = seconds{9};
  const NodeEvents events = held(2, {lost(seconds{55}, 1)});
  const JobResult alone = run(plan, until(seconds{100}), events);
  Witness outer;
  JobResult inner;
  outer.policy.decides = [&](const JobState& job) {
    inner = run(plan, until(seconds{100}), events);
    return outer.policy.train(job);
  };
  CHECK(run(outer.policy, until(seconds{60}), held(2, {lost(seconds{35}, 1)})).steps == 5);
  CHECK(inner.ledger.time == alone.ledger.time);
  CHECK(inner.ledger.node_time == alone.ledger.node_time);
  CHECK(inner.steps == alone.steps);
}

}  // namespace goodput::testing
