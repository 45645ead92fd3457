// When policies are asked what to do, and what they are told.
#include "sim/job/job_engine.h"

#include <doctest/doctest.h>

#include "sim/base/errors.h"
#include "tests/support/hand_job.h"

namespace goodput::testing {

TEST_CASE("job engine: a decision at the end of a step loses nothing") {
  Witness witness;
  witness.policy.changes = [](const JobView&, const NodeChange&) { return Response::kAtStepEnd; };
  const JobResult result = run(witness.policy, until(seconds{100}), held(2, {joined(seconds{35}, 2)}));
  CHECK(witness.decided_at() == Times{0, 40});
  CHECK(result.steps == 10);
  CHECK(node_time_in(result, kProductive) == 40 * 2 + 60 * 3);
  CHECK(node_time_in(result, kIdle) == 5);
}

TEST_CASE("job engine: the end of a step includes what is saved after it") {
  Witness witness;
  witness.policy.changes = [](const JobView&, const NodeChange&) { return Response::kAtStepEnd; };
  witness.policy.decides = [&witness](const JobState& job) {
    witness.states.push_back(job);
    Course course = witness.policy.train(job);
    course.checkpoints[1] = {2, seconds{5}, {}};
    return course;
  };
  (void)run(witness.policy, until(seconds{100}), held(2, {joined(seconds{22}, 2)}));
  CHECK(witness.decided_at() == Times{0, 25});
  CHECK(witness.states[1].checkpoints[1] == 2);
}

TEST_CASE("job engine: a change between two steps is decided upon after the second") {
  Witness witness;
  witness.policy.changes = [](const JobView&, const NodeChange&) { return Response::kAtStepEnd; };
  (void)run(witness.policy, until(seconds{100}), held(2, {joined(seconds{30}, 2)}));
  CHECK(witness.decided_at() == Times{0, 40});
}

TEST_CASE("job engine: a decision for the end of the step waits for the end of the phases") {
  Witness witness;
  witness.policy.changes = [](const JobView&, const NodeChange&) { return Response::kAtStepEnd; };
  witness.policy.decides = [&witness](const JobState& job) {
    witness.states.push_back(job);
    Course course = witness.policy.train(job);
    if (witness.states.size() == 1) {
      course.phases.add(TimeBucket::kProgramStartup, seconds{20});
      course.phases.add(TimeBucket::kCheckpointRestore, seconds{30});
    }
    return course;
  };
  const JobResult result = run(witness.policy, until(seconds{100}), held(2, {joined(seconds{15}, 2)}));
  CHECK(witness.decided_at() == Times{0, 50});
  CHECK_FALSE(witness.states[1].was_interrupted);
  CHECK(in(result, TimeBucket::kProgramStartup) == 20);
  CHECK(in(result, TimeBucket::kCheckpointRestore) == 30);
  CHECK(node_time_in(result, kProductive) == 50 * 3);
}

TEST_CASE("job engine: phases interrupted by another loss begin anew, and cost what they took") {
  PlainRestartTimes plan = saving_every(1, {});
  plan.restart = seconds{20};
  plan.restore = seconds{10};
  const JobResult result =
      run(plan, until(seconds{100}), held(3, {lost(seconds{15}, 0), lost(seconds{40}, 1)}));
  // Step 1, half of the second, 20 s + 5 s of the first attempt, 30 s of the second, three steps.
  CHECK(in(result, kRecovery) == 20 + 20);
  CHECK(in(result, TimeBucket::kCheckpointRestore) == 5 + 10);
  CHECK(node_time_in(result, kRecovery) == 20 * 2 + 20);
  CHECK(node_time_in(result, TimeBucket::kCheckpointRestore) == 5 * 2 + 10);
  CHECK(in(result, kWasted) == 5);
  CHECK(result.steps == 4);
  CHECK(result.count(Cause::kRestart) == 2);
}

TEST_CASE("job engine: a policy is asked at the step for which it planned") {
  Witness witness;
  witness.policy.decides = [&witness](const JobState& job) {
    witness.states.push_back(job);
    Course course = witness.policy.train(job);
    course.decide_at_step = job.step + 4;
    return course;
  };
  const JobResult result = run(witness.policy, until(seconds{100}), held(2));
  CHECK(witness.decided_at() == Times{0, 40, 80});
  CHECK(result.steps == 10);
}

TEST_CASE("job engine: the pace changes at the step for which it was announced") {
  Witness witness;
  // Three steps of 10 s, then 20 s each.
  witness.policy.paces = [](std::int64_t step) {
    return step < 3 ? Pace{seconds{10}, 3} : Pace{seconds{20}};
  };
  CHECK(run(witness.policy, until(seconds{90}), held(2)).steps == 3 + 3);
}

TEST_CASE("job engine: a policy is woken when it asked to be, and may interrupt or wait for the step's end") {
  const auto decided_at = [](Response response) {
    Witness witness;
    witness.policy.wake = at(seconds{32});
    witness.policy.wakes = [response](const JobView& job) {
      CHECK(job.now == at(seconds{32}));
      return response;
    };
    (void)run(witness.policy, until(seconds{100}), held(2));
    return witness.decided_at();
  };
  CHECK(decided_at(Response::kIgnore) == Times{0});
  CHECK(decided_at(Response::kAtStepEnd) == Times{0, 40});
  CHECK(decided_at(Response::kInterrupt) == Times{0, 32});
}

TEST_CASE("job engine: a policy sees whether the job trains, recovers or waits") {
  Witness witness;
  std::vector<bool> is_training;
  witness.policy.changes = [&is_training](const JobView& job, const NodeChange&) {
    is_training.push_back(job.is_training);
    return is_training.size() == 3 ? Response::kInterrupt : Response::kIgnore;
  };
  witness.policy.decides = [&witness](const JobState& job) {
    witness.states.push_back(job);
    if (witness.states.size() == 2) return wait("is tired");
    Course course = witness.policy.train(job);
    course.phases.add(TimeBucket::kProgramStartup, seconds{20});
    return course;
  };
  // Starts until 20 s, trains, waits from 40 s on.
  const NodeEvents events = held(
      2, {joined(seconds{10}, 2), joined(seconds{30}, 3), joined(seconds{40}, 4), joined(seconds{50}, 5)});
  (void)run(witness.policy, until(seconds{60}), events);
  CHECK(is_training == std::vector<bool>{false, true, true, false});
}

TEST_CASE("job engine: changes of a moment are told before the alarm that is due at it") {
  Witness witness;
  std::string order;
  witness.policy.wake = at(seconds{30});
  witness.policy.wakes = [&order](const JobView& job) {
    CHECK(job.members->count() == 3);
    order += "wake ";
    return Response::kIgnore;
  };
  witness.policy.changes = [&order](const JobView&, const NodeChange&) {
    order += "change ";
    return Response::kIgnore;
  };
  (void)run(witness.policy, until(seconds{100}), held(2, {joined(seconds{30}, 2)}));
  CHECK(order == "change wake ");
}

TEST_CASE("job engine: an alarm in the past is a policy's mistake") {
  Witness witness;
  witness.policy.changes = [&witness](const JobView&, const NodeChange&) {
    witness.policy.wake = at(seconds{29});
    return Response::kIgnore;
  };
  CHECK_THROWS_AS(run(witness.policy, until(seconds{60}), held(2, {joined(seconds{30}, 2)})), InternalError);
}

TEST_CASE("job engine: nodes that change speed are told, with those that join slow at full speed first") {
  Witness witness;
  JobLog log;
  std::vector<NodeId> changed;
  witness.policy.changes = [&changed](const JobView& job, const NodeChange& change) {
    changed = change.changed_speed;
    CHECK(job.members->slowest() == 0.25);
    return Response::kAtStepEnd;
  };
  const NodeEvents events =
      held(2, {joined(seconds{30}, 2), slowed(seconds{30}, 0, 0.5), slowed(seconds{30}, 2, 0.25)});
  (void)run(witness.policy, until(seconds{60}), events, &log);
  CHECK(changed == std::vector<NodeId>{0});
  std::vector<double> speeds;
  for (const JobInstant& instant : log.instants) {
    if (instant.kind == JobInstant::Kind::kSpeed) speeds.push_back(instant.speed);
  }
  CHECK(speeds == std::vector<double>{0.5, 0.25});
}

}  // namespace goodput::testing
