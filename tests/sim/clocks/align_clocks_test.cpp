// When recordings are aligned, and what is said about it.
#include "sim/clocks/align_clocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/base/float32.h"
#include "sim/cleaning/trace_cleaning.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/clock_skew.h"
#include "tests/support/random_cases.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;

// One replica of two stages, whose second clock is 50 ms late; without noise, so that figures are exact.
AnalysedTrace two_clocks(double off_s) {
  testing::TraceSpec spec;
  spec.dp = 1;
  spec.data_parallel_ops = false;
  spec.jitter = 0;
  return testing::analysed(testing::skewed(
      generate_trace(spec), [off_s](int, int stage, std::int64_t) { return stage == 1 ? off_s : 0.0; }));
}

struct Outcome {
  bool are_aligned = false;
  std::vector<std::string> notes;
};

Outcome outcome(AnalysedTrace trace, ClockAlignment alignment) {
  Outcome result;
  result.are_aligned = align_clocks(trace.recording, trace.graph, alignment, result.notes).are_aligned;
  return result;
}

}  // namespace

TEST_CASE("align clocks: beyond 5 ms they are aligned unless kept, below unless asked for") {
  const std::string aligned =
      "clocks are up to 50.0 ms off and were aligned; to keep the recorded times, turn clock alignment off";
  CHECK(outcome(two_clocks(0.05), ClockAlignment::kAuto).notes == std::vector<std::string>{aligned});
  CHECK(outcome(two_clocks(0.05), ClockAlignment::kOn).are_aligned);
  CHECK(outcome(two_clocks(2), ClockAlignment::kOff).notes ==
        std::vector<std::string>{"clocks are up to 2.000 s off and were not aligned, so transfers and launch "
                                 "delays between workers are wrong by the same amount"});
  CHECK_FALSE(outcome(two_clocks(2), ClockAlignment::kOff).are_aligned);
  CHECK(outcome(two_clocks(0.004), ClockAlignment::kAuto).notes.empty());
  CHECK_FALSE(outcome(two_clocks(0.004), ClockAlignment::kAuto).are_aligned);
  CHECK(outcome(two_clocks(0.004), ClockAlignment::kOn).are_aligned);
}

TEST_CASE(
    "align clocks: what is kept is the recording bit for bit, what is aligned has the times of right "
    "clocks") {
  const AnalysedTrace right = two_clocks(0);
  AnalysedTrace kept = two_clocks(0);
  std::vector<std::string> notes;
  (void)align_clocks(kept.recording, kept.graph, ClockAlignment::kAuto, notes);
  CHECK(kept.recording.float32_times);
  AnalysedTrace aligned = two_clocks(-0.5);
  (void)align_clocks(aligned.recording, aligned.graph, ClockAlignment::kAuto, notes);
  for (std::size_t i = 0; i < right.recording.blocks.size(); ++i) {
    const StepBlock& truth = right.recording.blocks[i];
    CHECK(kept.recording.blocks[i].start_s == truth.start_s);
    CHECK(kept.recording.blocks[i].value_s == truth.value_s);
    double worst = 0;
    for (std::size_t at = 0; at < truth.value_s.size(); ++at)
      worst = std::max(worst, std::abs(aligned.recording.blocks[i].value_s[at] - truth.value_s[at]));
    CHECK(worst < 1e-6);  // float32 of 0.5 s
  }
}

// Two stages, six steps 10 s apart, stage 1's clock 50 ppm fast: 2.5 ms after 50 s.
AnalysedTrace drifting_clocks(double origin_s, double drift) {
  testing::TraceSpec spec;
  spec.dp = 1;
  spec.data_parallel_ops = false;
  spec.jitter = 0;
  spec.steps = 6;
  return testing::analysed(testing::drifting(generate_trace(spec), origin_s, 10,
                                             [drift](int, int stage) { return stage == 1 ? drift : 0.0; }));
}

TEST_CASE("align clocks: drifts are taken off also where offsets stay below 5 ms") {
  const Outcome result = outcome(drifting_clocks(0, 50e-6), ClockAlignment::kAuto);
  CHECK(result.are_aligned);
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0].starts_with("clocks are up to "));
  CHECK(
      result.notes[0].ends_with(" ms off (drifting by up to 50.0 ppm) and were aligned; to keep the recorded "
                                "times, turn clock alignment off"));
}

TEST_CASE("align clocks: what rounding to float32 looks like is kept unless asked for, and said") {
  // Float32 values around 2e5 s are 1 / 64 s apart, those around 1e3 s 61 us.
  AnalysedTrace coarse = drifting_clocks(2e5, 0);
  coarse.recording.float32_times = true;
  coarse.recording.were_float32 = true;
  for (StepBlock& block : coarse.recording.blocks) {
    for (auto* array : {&block.start_s, &block.end_s}) {
      for (double& time : *array) time = round_to_float32(time + 0.03);
    }
  }
  AnalysedTrace skewed = two_clocks(0.05);
  skewed.recording.subtracted_s.assign(skewed.recording.steps.size(), 2e5);
  const std::string note =
      "clocks look up to 50.0 ms off but were not aligned, because float32 times that are rounded to 15.6 ms "
      "look the same; write times as float64 or relative to the start of each step, or turn clock alignment "
      "on";
  CHECK(outcome(skewed, ClockAlignment::kAuto).notes == std::vector<std::string>{note});
  CHECK_FALSE(outcome(skewed, ClockAlignment::kAuto).are_aligned);
  CHECK(outcome(skewed, ClockAlignment::kOn).are_aligned);
  CHECK_FALSE(outcome(coarse, ClockAlignment::kAuto).are_aligned);
  skewed.recording.subtracted_s.assign(skewed.recording.steps.size(), 1e3);
  CHECK(outcome(skewed, ClockAlignment::kAuto).are_aligned);
}

// Stage 1's clock is set by half a second inside each of these steps, where its messages are half over.
AnalysedTrace set_inside(const std::vector<std::int64_t>& steps) {
  testing::TraceSpec spec;
  spec.dp = 1;
  spec.pp = 3;
  spec.micro_batches = 8;
  spec.steps = 6;
  spec.data_parallel_ops = false;
  OpTrace rows = generate_trace(spec);
  for (const std::int64_t step : steps) {
    double last = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows.step[row] == step && rows.stage[row] != 1) last = std::max(last, rows.start_s[row]);
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const double so_far =
          0.5 * static_cast<double>(std::find(steps.begin(), steps.end(), step) - steps.begin());
      const bool later =
          rows.step[row] > step || (rows.step[row] == step && rows.start_s[row] - so_far > last / 2);
      if (later && rows.stage[row] == 1) rows.start_s[row] += 0.5;
    }
  }
  return testing::analysed(std::move(rows));
}

TEST_CASE("align clocks: a step inside which a clock is set is left out, unless clocks are kept") {
  AnalysedTrace trace = set_inside({3});
  std::vector<std::string> notes;
  const RecordedClocks clocks = align_clocks(trace.recording, trace.graph, ClockAlignment::kAuto, notes);
  REQUIRE(clocks.left_out.size() == 1);
  CHECK(clocks.left_out.front().rule == CleaningRule::kClockSets);
  CHECK(clocks.left_out.front().count == 1);
  CHECK(clocks.left_out.front().steps == std::vector<std::int64_t>{3});
  CHECK(std::count(trace.recording.steps.begin(), trace.recording.steps.end(), 3) == 0);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].starts_with("step 3 is left out because the clock of rank 1 jumped by "));
  CHECK(notes[0].ends_with(" ms during this step"));
  CHECK(clocks.are_aligned);
  AnalysedTrace kept = set_inside({3});
  const std::size_t steps = kept.recording.steps.size();
  CHECK(align_clocks(kept.recording, kept.graph, ClockAlignment::kOff, notes).left_out.empty());
  CHECK(kept.recording.steps.size() == steps);
}

TEST_CASE("align clocks: a change inside the first step is warm-up, without a note about clocks") {
  AnalysedTrace first = set_inside({1, 4});
  std::vector<std::string> notes;
  const RecordedClocks clocks = align_clocks(first.recording, first.graph, ClockAlignment::kAuto, notes);
  REQUIRE(clocks.left_out.size() == 2);
  CHECK(clocks.left_out[0].rule == CleaningRule::kWarmUp);
  CHECK(clocks.left_out[0].steps == std::vector<std::int64_t>{1});
  CHECK(clocks.left_out[0].detail.starts_with(
      "the first messages of rank 1 in step 1 have sender and receiver times "));
  CHECK(clocks.left_out[1].rule == CleaningRule::kClockSets);
  CHECK(notes.at(0).starts_with("step 4 is left out because "));
}

TEST_CASE("align clocks: of several sets the first is described, of too many nothing is left out") {
  AnalysedTrace two = set_inside({2, 4});
  std::vector<std::string> notes;
  const RecordedClocks clocks = align_clocks(two.recording, two.graph, ClockAlignment::kAuto, notes);
  REQUIRE(clocks.left_out.size() == 1);
  CHECK(clocks.left_out.front().steps == std::vector<std::int64_t>{2, 4});
  CHECK(notes.at(0).ends_with(" during this step; other steps left out for the same reason: 1"));
  AnalysedTrace most = set_inside({1, 2, 3, 4});
  notes.clear();
  CHECK(align_clocks(most.recording, most.graph, ClockAlignment::kAuto, notes).left_out.empty());
  CHECK(most.recording.steps.size() == 6);
  CHECK(notes.at(0).ends_with("steps, which is too many to leave out; fix the clocks and record again"));
}

TEST_CASE("align clocks: pairs that contradict each other are noted") {
  AnalysedTrace trace = two_clocks(0.05);
  trace.recording.places = {{"host", {"node-a", "node-a"}}};
  const Outcome result = outcome(std::move(trace), ClockAlignment::kAuto);
  CHECK(result.notes ==
        std::vector<std::string>{"clocks contradict each other: with any clock offsets, dp 0 stage 0 (rank "
                                 "0) and dp 0 stage 1 (rank 1) end the same ops 50.0 ms apart, so the "
                                 "offsets are uncertain; check the hosts in the metadata"});
}

TEST_CASE("clocks: in clean traces no rule finds anything, and clocks of five steps or more are kept") {
  for (std::uint64_t seed = 1; seed <= testing::cases(6000); ++seed) {
    testing::TraceSpec spec = testing::random_spec(seed);
    spec.clock_skew_s = 0;
    CAPTURE(testing::to_string(spec));
    const OpTrace trace = testing::generate_trace(spec);
    const Result<CleanTrace> clean = clean_trace(trace, {}, {});
    REQUIRE(clean);
    REQUIRE(clean->findings.empty());
    AnalysedTrace analysed = testing::analysed(trace);
    std::vector<std::string> notes;
    const RecordedClocks clocks =
        align_clocks(analysed.recording, analysed.graph, ClockAlignment::kAuto, notes);
    REQUIRE(clocks.left_out.empty());
    // The ends of few collectives that vary by 40 % are up to 20 ms apart, which looks like a clock.
    const bool may_be_aligned = spec.jitter > 0.3 && spec.steps < 5;
    REQUIRE((notes.empty() || may_be_aligned));
  }
}

}  // namespace goodput
