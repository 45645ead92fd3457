// When and why runs end, and what is left in the log.
#include "sim/job/job_engine.h"

#include <doctest/doctest.h>

#include "sim/base/errors.h"
#include "tests/support/hand_job.h"

namespace goodput::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

}  // namespace

TEST_CASE("job engine: a goal in steps is reached with the last step, and its checkpoint is not waited for") {
  const JobResult result = run(saving_every(4, seconds{3}), steps(8), held(2));
  CHECK(result.finished);
  CHECK(result.end == at(seconds{83}));
  CHECK(result.steps == 8);
  CHECK(in(result, kSave) == 3);
}

TEST_CASE("job engine: a goal in samples is reached with the step that exceeds it") {
  PlainRestartTimes plan = saving_every(5, seconds{3});
  plan.samples_per_step = 30;
  const JobResult result = run(plan, samples(601), held(2));
  // 21 steps, four saves.
  CHECK(result.steps == 21);
  CHECK(result.samples == 630);
  CHECK(result.end == at(seconds{222}));
}

TEST_CASE("job engine: samples are counted by the step that trained them") {
  Witness witness;
  witness.policy.decides = [&witness](const JobState& job) {
    return witness.policy.train(job, 10 * job.members->count());
  };
  // Two steps of 20 samples, then 10 a step: 55 takes four steps.
  const JobResult result = run(witness.policy, samples(55), held(2, {lost(seconds{20}, 1)}));
  CHECK(result.samples == 60);
  CHECK(result.end == at(seconds{40}));
}

TEST_CASE("job engine: a goal reached within the save of its last step is reached before it") {
  PlainRestartTimes plan = saving_every(4, seconds{30});
  JobGoal goal = until(seconds{50});
  goal.samples = 4;
  const JobResult result = run(plan, goal, held(2));
  CHECK(result.finished);
  CHECK(result.end == at(seconds{40}));
  CHECK(in(result, kSave) == 0);
}

TEST_CASE("job engine: a goal reached at the very end of the time is reached") {
  JobGoal goal = until(seconds{50});
  goal.steps = 5;
  CHECK(run(ten_second_steps(), goal, held(2)).finished);
  goal.until = at(seconds{50} - nanoseconds{1});
  const JobResult late = run(ten_second_steps(), goal, held(2));
  CHECK_FALSE(late.finished);
  CHECK(late.steps == 4);
}

TEST_CASE("job engine: a goal of nothing is reached when training could begin") {
  PlainRestartTimes plan = ten_second_steps();
  plan.start = seconds{7};
  const JobResult result = run(plan, steps(0), held(2));
  CHECK(result.finished);
  CHECK(result.end == at(seconds{7}));
}

TEST_CASE("job engine: a run ends where the trace of its nodes ends, and says so") {
  ScriptedFailures failures(held(2), at(seconds{45}));
  PlainRestarts policy(ten_second_steps());
  const JobResult result = run_job(until(seconds{60}), {}, failures, policy);
  CHECK(result.end == at(seconds{45}));
  CHECK(result.stopped == "the node trace ends here");
  CHECK(result.steps == 4);
  CHECK(in(result, kWasted) == 5);
}

TEST_CASE("job engine: a run that ends when it was meant to does not blame the trace") {
  ScriptedFailures failures(held(2), at(seconds{45}));
  PlainRestarts policy(ten_second_steps());
  CHECK(run_job(until(seconds{45}), {}, failures, policy).stopped.empty());
}

TEST_CASE(
    "job engine: a job that waits when nothing will happen any more stops, with all time accounted for") {
  PlainRestartTimes plan = ten_second_steps();
  plan.least_nodes = 4;
  const NodeEvents events = held(4, {lost(seconds{30}, 0), lost(seconds{40}, 1), joined(seconds{50}, 0)});
  const JobResult result = run(plan, steps(100), events);
  CHECK(result.stopped == "the job needs 4 nodes, has 3, and no more node changes are coming");
  CHECK(result.end == at(seconds{50}));
  CHECK(in(result, kRecovery) == 20);
  CHECK_FALSE(result.finished);
}

TEST_CASE("job engine: a policy may give up") {
  FunctionPolicy policy;
  policy.decides = [](const JobState&) {
    Course course;
    course.kind = Course::Kind::kGiveUp;
    course.reason = "cannot hold its experts";
    return course;
  };
  CHECK(run(policy, steps(1), held(2)).stopped == "the job cannot hold its experts");
}

TEST_CASE("job engine: a job that loses more than it trains stops") {
  // A node is replaced every 15 s, and there is a checkpoint every two steps, 20 s.
  NodeEvents events = held(2);
  for (std::int64_t i = 1; i <= kMostVainDecisions + 10; ++i) {
    events.push_back(lost(seconds{15 * i}, 0));
    events.push_back(joined(seconds{15 * i}, 0));
  }
  const JobResult result = run(saving_every(2, {}), steps(100), events);
  CHECK(result.stopped == "the job does not get past step 0: 10000 recoveries in a row made no progress");
  CHECK(result.end == at(seconds{15 * kMostVainDecisions}));
  CHECK(result.steps == 0);
}

TEST_CASE("job engine: any number of decisions is fine as long as the job gets on") {
  Witness witness;
  witness.policy.decides = [&witness](const JobState& job) {
    Course course = witness.policy.train(job);
    course.decide_at_step = job.step + 1;
    return course;
  };
  CHECK(run(witness.policy, steps(2 * kMostVainDecisions), held(1)).finished);
}

TEST_CASE("job engine: a wait that a million changes did not end stops, with all time accounted for") {
  FunctionPolicy policy;
  policy.decides = [](const JobState&) { return wait("needs a miracle"); };
  policy.changes = [](const JobView&, const NodeChange&) { return Response::kIgnore; };
  NodeEvents events;
  for (std::int64_t i = 0; i <= kMostVainEvents; ++i)
    events.push_back(i % 2 == 0 ? joined(seconds{1 + i}, 0) : lost(seconds{1 + i}, 0));
  const JobResult result = run(policy, steps(1), events);
  CHECK(result.stopped ==
        "the job needs a miracle; 1000000 node changes and policy wake-ups made no progress");
  CHECK(in(result, kRecovery) == 1 + kMostVainEvents);
}

TEST_CASE("job engine: a policy that waits and looks again for ever stops") {
  FunctionPolicy policy;
  policy.decides = [&policy](const JobState& job) {
    policy.wake = job.now + seconds{1};
    return wait("needs a miracle");
  };
  policy.wakes = [&policy](const JobView& job) {
    policy.wake = job.now + seconds{1};
    return Response::kInterrupt;
  };
  CHECK(run(policy, steps(1), held(1)).end == at(seconds{1 + kMostVainEvents}));
}

TEST_CASE("job engine: a million changes that do not concern the job are no reason to stop it") {
  NodeEvents events = held(1);
  for (std::int64_t i = 0; i <= kMostVainEvents; ++i)
    events.push_back(i % 2 == 0 ? joined(seconds{20 + i}, 1) : lost(seconds{20 + i}, 1));
  for (const std::int64_t stretch : {std::int64_t{1}, kMostVainEvents}) {
    Witness witness;
    witness.policy.changes = [](const JobView&, const NodeChange&) { return Response::kIgnore; };
    witness.policy.paces = [stretch](std::int64_t step) { return Pace{seconds{10}, step + stretch}; };
    CHECK(run(witness.policy, steps(kMostVainEvents / 9), events).finished);
  }
}

TEST_CASE("job engine: a plan of many steps ends when it does, however rare and long its saves are") {
  // 5 million steps of a second and a save of an hour every million: 292 years would not do for as many
  // saves.
  PlainRestartTimes plan = saving_every(1'000'000, hours{1});
  plan.step = seconds{1};
  const JobResult result = run(plan, steps(5'000'000), held(1));
  CHECK(result.finished);
  CHECK(result.end == at(seconds{5'000'000} + hours{4}));
}

TEST_CASE("job engine: a job without an end in sight stops after 292 years") {
  CHECK(run(ten_second_steps(), steps(1'000'000'000), held(1)).stopped ==
        "the job does not finish within 292 years, the longest time that the simulator can represent");
}

TEST_CASE("job engine: a run without an end is refused") {
  CHECK_THROWS_AS(run(ten_second_steps(), {}, held(1)), InternalError);
}

TEST_CASE("job engine: the spans of the log tile the time, and their parts add up to the ledger") {
  PlainRestartTimes plan = saving_every(2, seconds{1});
  plan.start = seconds{7};
  plan.restart = seconds{9};
  plan.least_nodes = 2;
  const NodeEvents events = held(2, {lost(seconds{45}, 1), joined(seconds{60}, 7), lost(seconds{65}, 7),
                                     joined(seconds{80}, 1), joined(seconds{90}, 4)});
  JobLog log;
  const JobResult result = run(plan, until(seconds{123}), events, &log);
  SimTime now{};
  SimDuration trained{};
  SimDuration saved{};
  for (const JobSpan& span : log.spans) {
    CHECK(span.begin == now);
    CHECK(span.begin < span.end);
    REQUIRE(span.nodes < log.node_sets.size());
    now = span.end;
    saved += span.saving;
    if (span.bucket == kProductive) trained += span.steps * span.step;
  }
  CHECK(now == result.end);
  CHECK(saved == result.ledger.time[index(kSave)]);
  // Steps that were trained again were trained twice.
  CHECK(trained == result.ledger.time[index(kProductive)] + result.steps_lost * seconds{10});
  CHECK(log.instants.back().kind == JobInstant::Kind::kEnd);
}

TEST_CASE("job engine: the log says what happened, when, to which nodes, and what it cost") {
  PlainRestartTimes plan = saving_every(2, seconds{1});
  plan.restart = seconds{9};
  JobLog log;
  const JobResult result = run(plan, until(seconds{100}), held(2, {lost(seconds{55}, 1)}), &log);
  // Five steps, two saves and 3 s; back to step 4; four steps and two saves, the second cut short.
  CHECK(result.steps == 7);
  REQUIRE(log.spans.size() == 3);
  CHECK(log.spans[0].steps == 5);
  CHECK(log.spans[0].saving == seconds{2});
  CHECK(log.spans[1].bucket == kRecovery);
  CHECK(log.spans[1].end == at(seconds{64}));
  CHECK(log.spans[2].first_step == 4);
  CHECK(log.spans[2].samples == 4);
  CHECK(log.node_sets[log.spans[0].nodes] == std::vector<NodeId>{0, 1});
  CHECK(log.node_sets[log.spans[2].nodes] == std::vector<NodeId>{0});
  using Kind = JobInstant::Kind;
  std::vector<Kind> kinds;
  for (const JobInstant& instant : log.instants) kinds.push_back(instant.kind);
  REQUIRE(kinds == std::vector<Kind>{Kind::kCourse, Kind::kLost, Kind::kCourse, Kind::kEnd});
  CHECK(log.instants[1].node == 1);
  CHECK(log.instants[2].cause == Cause::kRestart);
  CHECK(log.instants[2].lost_steps == 1);
  CHECK(log.instants[2].time == at(seconds{55}));
}

}  // namespace goodput::testing
