#include "tools/whatif/whatif_by_step.h"

#include <doctest/doctest.h>

#include "models/analysis/analyze.h"
#include "sim/base/json.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

testing::AnalysedTrace trace_of(int steps) {
  testing::TraceSpec spec;
  spec.dp = 2;
  spec.pp = 1;
  spec.micro_batches = 2;
  spec.steps = steps;
  return testing::analysed(testing::generate_trace(spec));
}

Analysis analysis_of(int steps) {
  testing::AnalysedTrace trace = trace_of(steps);
  const ArrangedJob job{
      std::move(trace.graph), std::move(trace.recording), {.trial_name = "job"}, {}, {}, {}, {}};
  return testing::value_or_throw(analyze(job, {.whatif = {.by_step = true}}));
}

}  // namespace

TEST_CASE("whatif by step: of many steps 40 are drawn unasked, among them the first and the last") {
  const Analysis analysis = analysis_of(50);
  const auto strip = step_heatmaps(analysis, "");
  REQUIRE(strip.has_value());
  REQUIRE(strip->panels.size() == 40);
  CHECK(strip->panels.front().title.starts_with("step 1: S = "));
  CHECK(strip->panels.back().title.starts_with("step 50: S = "));
  CHECK(strip->title == "job: slowdown caused by each worker alone, by step");
  CHECK(strip->subtitle.starts_with("40 of 50 steps shown; "));
  CHECK(strip->panels.back().slowdown == analysis.whatif.worker_step_slowdown.back());
}

TEST_CASE("whatif by step: a list of steps is drawn as it says") {
  const auto strip = step_heatmaps(analysis_of(6), "2,4-5");
  REQUIRE(strip.has_value());
  REQUIRE(strip->panels.size() == 3);
  CHECK(strip->panels[1].title.starts_with("step 4: "));
}

TEST_CASE("whatif by step: a worker is noted with its rank, and with its host where that is known") {
  testing::AnalysedTrace trace = trace_of(1);
  CHECK(worker_notes(trace.recording) == std::vector<std::string>{"rank 0", "rank 1"});
  trace.recording.places = {{"host", {"node7", ""}}, {"rack", {"r1", "r1"}}};
  CHECK(worker_notes(trace.recording) == std::vector<std::string>{"rank 0, host node7", "rank 1"});
}

TEST_CASE("whatif by step: only who asks for it pays for it") {
  const testing::AnalysedTrace trace = trace_of(2);
  const WhatIf result = testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
  CHECK(result.worker_step_slowdown.empty());
}

}  // namespace goodput
