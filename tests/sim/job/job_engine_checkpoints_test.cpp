// Which checkpoint a job can go back to, and when.
#include "sim/job/job_engine.h"

#include <doctest/doctest.h>

#include "tests/support/hand_job.h"

namespace goodput::testing {
namespace {

using std::chrono::nanoseconds;

}  // namespace

TEST_CASE("job engine: an asynchronous checkpoint can be used once it has arrived") {
  // Saved after step 2, at 20 s; there at 27 s.
  const auto steps_lost = [](SimDuration loss) {
    return run(saving_every(2, {}, seconds{7}), until(seconds{39}), held(2, {lost(loss, 0)})).steps_lost;
  };
  CHECK(steps_lost(seconds{27}) == 0);
  CHECK(steps_lost(seconds{27} - nanoseconds{1}) == 2);
  CHECK(steps_lost(seconds{35}) == 1);  // the third
}

TEST_CASE("job engine: checkpoints may follow each other faster than they arrive") {
  // Saved at 10, 20, 30, ...; there at 45, 55, 65, ... A loss at 58 finds the second, and five steps done.
  Witness witness;
  witness.policy.decides = [&witness](const JobState& job) {
    witness.states.push_back(job);
    Course course = witness.policy.train(job);
    course.checkpoints[1] = {1, {}, seconds{35}};
    return course;
  };
  // A new pace every step: a stretch of its own.
  witness.policy.paces = [](std::int64_t step) { return Pace{seconds{10}, step + 1}; };
  (void)run(witness.policy, until(seconds{60}), held(2, {lost(seconds{58}, 0)}));
  CHECK(witness.states[1].step == 5);
  CHECK(witness.states[1].checkpoints[1] == 2);
}

TEST_CASE("job engine: a checkpoint that arrives behind a newer one changes nothing") {
  // Step 1 is on its way from 10 s to 110 s; after the decision at step 2 checkpoints arrive at once.
  Witness witness;
  witness.policy.decides = [&witness](const JobState& job) {
    witness.states.push_back(job);
    Course course = witness.policy.train(job);
    const bool is_first = witness.states.size() == 1;
    course.checkpoints[1] = {1, {}, seconds{is_first ? 100 : 0}};
    if (is_first) course.decide_at_step = 2;
    return course;
  };
  (void)run(witness.policy, until(seconds{160}), held(2, {lost(seconds{155}, 0)}));
  CHECK(witness.states[1].checkpoints[1] == 0);
  CHECK(witness.states[2].checkpoints[1] == 15);
}

TEST_CASE("job engine: a checkpoint that arrives while the job reconfigures can be used from then on") {
  // Saved at 20 s, there at 35 s; phases from 20 to 50 s, interrupted at 40 or at 30.
  const auto found = [](SimDuration loss) {
    Witness witness;
    witness.policy.decides = [&witness](const JobState& job) {
      witness.states.push_back(job);
      Course course = witness.policy.train(job);
      course.checkpoints[1] = {2, {}, seconds{15}};
      if (witness.states.size() == 1) course.decide_at_step = 2;
      if (witness.states.size() == 2) course.phases.add(TimeBucket::kElasticScaleUp, seconds{30});
      return course;
    };
    (void)run(witness.policy, until(seconds{60}), held(2, {lost(loss, 0)}));
    REQUIRE(witness.states.size() == 3);
    CHECK(witness.states[2].was_interrupted);
    return witness.states[2].checkpoints[1];
  };
  CHECK(found(seconds{40}) == 2);
  CHECK(found(seconds{30}) == 0);
}

TEST_CASE("job engine: a checkpoint that a loss overtakes during a reconfiguration never arrives") {
  // Saved at 20 s, due at 35 s; a loss at 30 s, another at 50 s.
  Witness witness;
  witness.policy.decides = [&witness](const JobState& job) {
    witness.states.push_back(job);
    Course course = witness.policy.train(job);
    if (witness.states.size() == 1) {
      course.checkpoints[1] = {2, {}, seconds{15}};
      course.decide_at_step = 2;
    }
    course.phases.add(TimeBucket::kElasticScaleUp, witness.states.size() > 1 ? seconds{30} : seconds{0});
    return course;
  };
  (void)run(witness.policy, until(seconds{60}), held(3, {lost(seconds{30}, 0), lost(seconds{50}, 1)}));
  CHECK(witness.states[3].checkpoints[1] == 0);
}

TEST_CASE("job engine: memory holds newer steps than storage, and is gone after a return to storage") {
  std::vector<ResumeFrom> from = {ResumeFrom::kHere, ResumeFrom::kMemory, ResumeFrom::kStorage,
                                  ResumeFrom::kMemory};
  Witness witness;
  witness.policy.decides = [&](const JobState& job) {
    Course course = witness.policy.train(job);
    course.from = from[witness.states.size()];
    witness.states.push_back(job);
    course.checkpoints[0] = {2, {}, {}};
    course.checkpoints[1] = {6, {}, {}};
    return course;
  };
  // At 95 s: nine steps, memory has 8, storage 6. From 8 on; at 108 one more is done.
  // From storage: 6; at 109 nothing has been done, and memory holds no more than storage.
  const NodeEvents events = held(4, {lost(seconds{95}, 0), lost(seconds{108}, 1), lost(seconds{109}, 2)});
  const JobResult result = run(witness.policy, until(seconds{119}), events);
  CHECK(witness.states[1].checkpoints == std::array<std::int64_t, 2>{8, 6});
  CHECK(witness.states[2].checkpoints == std::array<std::int64_t, 2>{8, 6});
  CHECK(witness.states[2].step == 9);
  CHECK(witness.states[3].checkpoints == std::array<std::int64_t, 2>{6, 6});
  CHECK(result.steps_lost == 1 + 3);
  CHECK(result.steps == 7);
}

TEST_CASE("job engine: where storage is newer than memory, memory stands for storage") {
  Witness witness;
  witness.policy.decides = [&witness](const JobState& job) {
    witness.states.push_back(job);
    Course course = witness.policy.train(job);
    course.checkpoints[1] = {2, {}, {}};
    return course;
  };
  (void)run(witness.policy, until(seconds{60}), held(2, {lost(seconds{55}, 0)}));
  CHECK(witness.states[1].checkpoints == std::array<std::int64_t, 2>{4, 4});
}

}  // namespace goodput::testing
