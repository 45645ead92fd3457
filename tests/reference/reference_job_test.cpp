// release-too: ten thousand jobs, exact to the nanosecond.
// The job engine against the slow reference, on jobs at random.
#include "tests/reference/reference_job.h"
#include "tests/reference/same_results.h"
#include "tests/support/random_cases.h"

#include <doctest/doctest.h>

#include "tests/support/hand_job.h"
#include "tests/support/random_job.h"

namespace goodput::testing {
namespace {

using Engine = JobResult (*)(const RandomJob&, ScriptedFailures&, RandomPolicy&);

JobResult run_with(Engine engine, const RandomJob& job, std::uint64_t seed) {
  ScriptedFailures failures(job.events, job.trace_end);
  RandomPolicy policy(seed);
  return engine(job, failures, policy);
}
JobResult leap(const RandomJob& job, ScriptedFailures& failures, RandomPolicy& policy) {
  const PricedNodes pool{0, job.prices, Billing::kHeld};
  return run_job(job.goal, {&pool, 1}, failures, policy);
}
JobResult walk(const RandomJob& job, ScriptedFailures& failures, RandomPolicy& policy) {
  return reference::run_job_step_by_step(job.goal, job.prices, failures, policy);
}

}  // namespace

TEST_CASE("job engine: agrees with the step-by-step reference on 10,000 jobs at random, to the nanosecond") {
  for (std::uint64_t seed = 1; seed <= testing::cases(10'000); ++seed) {
    CAPTURE(seed);
    const RandomJob job = random_job(seed);
    check_same(run_with(leap, job, seed), run_with(walk, job, seed));
  }
}

TEST_CASE("job engine: a log changes nothing, and its spans tile the time of 2000 jobs at random") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const RandomJob job = random_job(seed);
    JobLog log;
    ScriptedFailures failures(job.events, job.trace_end);
    RandomPolicy policy(seed);
    const PricedNodes pool{0, job.prices, Billing::kHeld};
    const JobResult result = run_job(job.goal, {&pool, 1}, failures, policy, &log);
    check_same(result, run_with(leap, job, seed));
    SimTime now{};
    SimDuration saved{};
    for (const JobSpan& span : log.spans) {
      REQUIRE(span.begin == now);
      REQUIRE(span.begin < span.end);
      REQUIRE(span.nodes < log.node_sets.size());
      REQUIRE(span.steps * span.step + span.saving <= span.end - span.begin);
      saved += span.bucket == TimeBucket::kCheckpointSave ? span.end - span.begin : span.saving;
      now = span.end;
    }
    REQUIRE(now == result.end);
    REQUIRE(saved == result.ledger.time[index(TimeBucket::kCheckpointSave)]);
  }
}

TEST_CASE("job engine: a checkpoint that is not written counts no bytes") {
  PlainRestartTimes plan = saving_every(10, seconds{5});
  plan.checkpoints[1].bytes = Bytes{7};
  CHECK(run(plan, steps(11), held(1)).stored_bytes == 7);
  // The job is done with the step, and the checkpoint after it is not begun.
  CHECK(run(plan, steps(10), held(1)).stored_bytes == 0);
  // The loss at 103 s cuts the checkpoint after step 10 short; all ten steps are trained again, and it is
  // written.
  CHECK(run(plan, steps(15), held(2, {lost(seconds{103}, 0)})).stored_bytes == 7);
}

}  // namespace goodput::testing
