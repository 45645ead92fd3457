// What --fix makes of a recording: boxes of ops, and the remedies of causes.
#include "sim/causes/fix.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "sim/base/statistics.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/synthetic_case.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;
using Selectors = std::vector<std::string>;

// A trace with all that fixes need.
struct FixedJob {
  AnalysedTrace trace;
  WhatIf result;

  explicit FixedJob(const testing::SyntheticCase& job)
      : trace(testing::analysed(job.synthesize(Truth::kSlowdown).rows)),
        result(testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse())) {}

  [[nodiscard]] AnalysedJob job() const { return {trace.graph, trace.recording, result, 1}; }
  [[nodiscard]] Gain fix(const Selectors& selectors) const {
    const Patterns patterns = find_patterns(job());
    return gain_of(job(), testing::value_or_throw(remedy_of(job(), &patterns, selectors)));
  }
  [[nodiscard]] std::string refusal(const Selectors& selectors) const {
    const Patterns patterns = find_patterns(job());
    const auto remedy = remedy_of(job(), &patterns, selectors);
    return remedy ? "" : remedy.error().what;
  }
  [[nodiscard]] double recorded_s() const { return mean(result.base_s); }
  [[nodiscard]] double replayed_s() const { return mean(result.nodelay.span_s); }
};

testing::SyntheticCase job_with(std::vector<Straggler> stragglers, double jitter = 0) {
  return {{.dp = 4, .pp = 4, .micro_batches = 8}, std::move(stragglers), {6, jitter}, 1};
}

}  // namespace

TEST_CASE("fix: boxes become ideal, all of them at once") {
  const FixedJob job(job_with({SlowWorker{1, 2, 1.5}, SlowWorker{3, 0, 1.3}}, 0.01));
  WhatIfEngine engine(job.trace.graph, job.trace.recording, {});
  InstanceSet all;
  for (const char* selector : {"worker=1:2", "worker=3:0"})
    all.boxes.push_back(testing::value_or_throw(select(job.trace.recording, selector)));
  // What is not recorded alone is ideal: the same boxes from the other side.
  const Gain gain = job.fix({"worker=1:2", "worker=3:0"});
  CHECK(gain.gain == doctest::Approx(job.replayed_s() / gain.step_s).epsilon(1e-12));
  CHECK(gain.gain > 1.2);
  CHECK(job.fix({"worker=1:2"}).gain < gain.gain);
  CHECK(job.fix({"dp=0-3"}).step_s == doctest::Approx(mean(engine.simulate({}).span_s)).epsilon(1e-12));
}

TEST_CASE("fix: without launch delays the step is the replayed one, gained over the recorded") {
  const FixedJob job(job_with({LaunchDelays{LaunchDelays::Ops::kFirst, from_seconds(0.3)}}));
  const Gain gain = job.fix({"cause=launch-delay"});
  CHECK(gain.step_s == doctest::Approx(job.replayed_s()).epsilon(1e-12));
  CHECK(gain.gain == doctest::Approx(job.recorded_s() / job.replayed_s()).epsilon(1e-12));
}

TEST_CASE("fix: an even partition takes as long as if the work had been spread evenly") {
  // One stage of four at 1.8: all at 1.2. Without noise these are the same job, but for float32.
  const FixedJob uneven(job_with({StagePartition{3, 1.8}}));
  std::vector<Straggler> all;
  for (const std::int32_t stage : {0, 1, 2, 3}) all.emplace_back(StagePartition{stage, 1.2});
  const FixedJob even(job_with(all));
  CHECK(uneven.fix({"cause=stage-partition"}).step_s == doctest::Approx(even.replayed_s()).epsilon(1e-5));
}

TEST_CASE("fix: balanced micro-batches take as long as if all had been the same work") {
  const FixedJob lengths(job_with({SequenceLengths{500, 1.5, 0.6}}));
  const FixedJob even(job_with({}));
  // In all the lengths are as much work as without; steps differ, what is balanced is each of them.
  CHECK(lengths.fix({"cause=sequence-length"}).step_s == doctest::Approx(even.replayed_s()).epsilon(2e-3));
  CHECK(lengths.fix({"cause=sequence-length"}).gain > 1.1);
}

TEST_CASE("fix: without pauses passes take what their backward passes let expect") {
  const FixedJob pauses(job_with({GcPauses{3, from_seconds(0.5)}}));
  const FixedJob calm(job_with({}));
  CHECK(pauses.fix({"cause=gc-pauses"}).step_s == doctest::Approx(calm.replayed_s()).epsilon(1e-4));
}

TEST_CASE("fix: remedies and boxes go together, in any order and repeated") {
  const FixedJob job(job_with({StagePartition{3, 1.4}, SlowWorker{1, 0, 1.6}}, 0.01));
  const Gain both = job.fix({"cause=stage-partition", "worker=1:0"});
  CHECK(both.gain > job.fix({"cause=stage-partition"}).gain);
  CHECK(both.gain > job.fix({"worker=1:0"}).gain);
  CHECK(job.fix({"worker=1:0", "cause=stage-partition", "worker=1:0", "cause=stage-partition"}).gain ==
        both.gain);
}

TEST_CASE("fix: a remedy that is not known, or has nothing to go by, is refused") {
  testing::SyntheticCase flat = job_with({});
  flat.shape.pp = 1;
  const FixedJob job(flat);
  CHECK(job.refusal({"cause=gc-pause"}) ==
        "selector \"cause=gc-pause\": there is no fix for cause \"gc-pause\"; did you mean \"gc-pauses\"?; "
        "causes with a fix: launch-delay, stage-partition, sequence-length, gc-pauses, slow-link, "
        "communication-flap, worker-fault (alone, without other conditions); for any other cause, select the "
        "slow operations");
  CHECK(job.refusal({"cause=slow-link"}) ==
        "selector \"cause=slow-link\": no link between stages is slower than the others");
  CHECK(job.refusal({"cause=communication-flap"}) ==
        "selector \"cause=communication-flap\": no transfer takes several times as long as the median "
        "transfer of the same kind");
  CHECK(job.refusal({"cause=stage-partition"}) ==
        "selector \"cause=stage-partition\": the job has only one stage, so there are no layers to move");
  CHECK(job.refusal({"stage=0&cause=gc-pauses"}) ==
        "selector \"stage=0&cause=gc-pauses\": a cause cannot be combined with other conditions; give the "
        "cause as a separate selector");
  CHECK(job.refusal({"dp=9"}) == "selector \"dp=9\": selects no op in this trace");
  SUBCASE("without micro-batches") {
    OpTrace rows = job_with({}, 0.01).synthesize(Truth::kSlowdown).rows;
    std::fill(rows.mb_id.begin(), rows.mb_id.end(), kUnset);
    const AnalysedTrace trace = testing::analysed(std::move(rows));
    const WhatIf result = testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
    const AnalysedJob bare{trace.graph, trace.recording, result, 1};
    const Patterns patterns = find_patterns(bare);
    CHECK(remedy_of(bare, &patterns, {"cause=sequence-length"}).error().what ==
          "selector \"cause=sequence-length\": the trace has no micro-batches to compare (no mb_id), or all "
          "passes take equally long");
    CHECK(remedy_of(bare, &patterns, {"cause=gc-pauses"}).error().what ==
          "selector \"cause=gc-pauses\": the trace has no micro-batches to compare (no mb_id)");
  }
}

}  // namespace goodput
