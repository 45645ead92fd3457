// release-too: the rules of the cleaning pass.
#include "sim/cleaning/plausible_times.h"

#include <doctest/doctest.h>

#include "sim/cleaning/trace_cleaning.h"
#include "tests/support/trace_edits.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

using testing::changed;

// Eight steps of two replicas and two stages.
OpTrace job() {
  testing::TraceSpec spec;
  spec.dp = 2;
  spec.pp = 2;
  spec.steps = 8;
  return testing::generate_trace(spec);
}

void scale(OpRow& row, double factor) {
  row.start_s *= factor;
  row.duration_s *= factor;
}

std::string refusal_of_times(const OpTrace& trace, const CleaningOptions& options = {}) {
  const Result<CleanTrace> clean = clean_trace(trace, {}, options);
  return clean ? "accepted"
               : clean.error().message([](std::string_view key) { return "--" + std::string(key); });
}

// The only finding, and the steps that are left.
struct LeftOut {
  std::string rule;
  std::string detail;
  std::vector<std::int64_t> steps;
};
LeftOut left_out(const OpTrace& trace) {
  const Result<CleanTrace> clean = clean_trace(trace, {}, {});
  REQUIRE(clean);
  REQUIRE(clean->findings.size() == 1);
  CHECK(clean->selected.size() == clean->index.steps.size());
  CHECK(refusal_of_times(trace, {true, {}}) == clean->findings[0].detail);
  return {std::string(info(clean->findings[0].rule).name), clean->findings[0].detail, clean->index.steps};
}
const std::vector<std::int64_t> kWithoutStep5 = {1, 2, 3, 4, 6, 7, 8};

}  // namespace

TEST_CASE("plausible times: one worker that writes milliseconds is named, with its unit") {
  const OpTrace trace = changed(job(), [](OpRow& row) {
    if (row.dp_rank == 1 && row.stage == 0) scale(row, 1000);
  });
  const std::string message = refusal_of_times(trace);
  CHECK(message.find("(dp_rank 1, stage 0) is ") != std::string::npos);
  CHECK(message.find("times as long as on the other workers, so the times of this worker are in a different "
                     "unit, probably milliseconds; convert them") != std::string::npos);
}

TEST_CASE("plausible times: a worker that takes 15x as long is slow, not in another unit") {
  // The others wait for it: their spans are as long.
  testing::TraceSpec spec;
  spec.dp = 2;
  spec.pp = 1;
  spec.steps = 4;
  OpTrace trace = testing::generate_trace(spec);
  CHECK(refusal_of_times(changed(trace, [](OpRow& row) {
          if (row.dp_rank == 1) scale(row, 15);
        })) == "accepted");
}

TEST_CASE("plausible times: a step in another unit is left out") {
  const LeftOut found = left_out(changed(job(), [](OpRow& row) {
    if (row.step == 5) scale(row, 1000);
  }));
  CHECK(found.rule == "other-units");
  CHECK(found.steps == kWithoutStep5);
  CHECK(found.detail.find("times as long as the median step, so the times of this step are in a different "
                          "unit, probably milliseconds") != std::string::npos);
}

TEST_CASE("plausible times: a step that is named singly is refused with the reason") {
  const OpTrace trace = changed(job(), [](OpRow& row) {
    if (row.step == 5) row.start_s = 0;
  });
  CHECK(refusal_of_times(trace, {false, {{5, 5}, {6, 8}}})
            .starts_with("step 5 cannot be analyzed: all operations of rank 0 (dp_rank 0, stage 0) start at "
                         "the same time in step 5"));
  CHECK(refusal_of_times(trace, {false, {{6, 8}}}) == "accepted");
}

TEST_CASE("plausible times: units that change in half of the steps are refused") {
  const std::string message = refusal_of_times(changed(job(), [](OpRow& row) {
    if (row.step > 4) scale(row, 1000);
  }));
  CHECK(message.starts_with("the times of 4 of 8 steps are unusable: step 5 is "));
  CHECK(message.ends_with("; select the good steps with --steps"));
}

TEST_CASE("plausible times: durations in another unit than starts are refused") {
  CHECK(refusal_of_times(changed(job(), [](OpRow& row) { row.duration_s /= 1000; }))
            .find(" of the time between their starts, so durations and starts are in different units; write "
                  "both in seconds") != std::string::npos);
  CHECK(refusal_of_times(changed(job(), [](OpRow& row) {
          row.duration_s *= 1000;
        })).starts_with("the operations of every worker take "));
  CHECK(refusal_of_times(changed(job(), [](OpRow& row) {
          if (row.dp_rank == 1) row.duration_s /= 1000;
        })).starts_with("the operations of rank 1 (dp_rank 1, stage 0) take "));
  const LeftOut found = left_out(changed(job(), [](OpRow& row) {
    if (row.step == 5) row.duration_s /= 1000;
  }));
  CHECK(found.rule == "other-units");
  CHECK(found.steps == kWithoutStep5);
}

TEST_CASE("plausible times: passes without a duration and starts that are all equal are lost times") {
  const auto is_pass_of_1 = [](const OpRow& row) { return row.dp_rank == 1 && is_pass(row.optype); };
  const LeftOut passes = left_out(changed(job(), [&](OpRow& row) {
    if (row.step == 5 && is_pass_of_1(row)) row.duration_s = 0;
  }));
  CHECK(passes.rule == "lost-times");
  CHECK(passes.steps == kWithoutStep5);
  CHECK(passes.detail == "a pass of rank 1 (dp_rank 1, stage 0) has zero duration in step 5");
  CHECK(refusal_of_times(changed(job(),
                                 [&](OpRow& row) {
                                   if (is_pass_of_1(row)) row.duration_s = 0;
                                 })) ==
        "passes of rank 1 (dp_rank 1, stage 0) have zero duration in every step; record their durations");
  const LeftOut starts = left_out(changed(job(), [](OpRow& row) {
    if (row.step == 5 && row.dp_rank == 1 && row.stage == 1) row.start_s = 0;
  }));
  CHECK(starts.rule == "lost-times");
  CHECK(refusal_of_times(changed(job(), [](OpRow& row) { row.start_s = 0; })) ==
        "all operations of every worker start at the same time in every step; record their start times");
}

TEST_CASE("plausible times: a worker whose steps take as long as the next ones of the others is refused") {
  // Two replicas, of whose steps each takes longer by 3 % times a random number than the one before, both
  // alike.
  testing::TraceSpec spec;
  spec.dp = 2;
  spec.pp = 1;
  spec.steps = 9;
  const auto longer = [](std::int64_t step) { return 1 + 0.03 * static_cast<double>(step * step * 7 % 11); };
  const OpTrace trace =
      changed(testing::generate_trace(spec), [&](OpRow& row) { scale(row, longer(row.step)); });
  CHECK(refusal_of_times(trace) == "accepted");
  OpTrace off = changed(trace, [](OpRow& row) { row.step += row.dp_rank; });
  // Both record steps 2 to 9: their numbers do not tell.
  off = testing::filtered(off, [](const OpRow& row) { return row.step >= 2 && row.step <= 9; });
  CHECK(refusal_of_times(off).find("takes as long as the step with the next ") != std::string::npos);
}

TEST_CASE(
    "plausible times: a step in which only one worker is long, with nothing running, had its clock set") {
  const OpTrace trace = job();
  double middle = 0;
  double last = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.step[i] == 5) last = std::max(last, trace.start_s[i]);
  }
  middle = last / 2;
  const LeftOut found = left_out(changed(trace, [&](OpRow& row) {
    if (row.step == 5 && row.dp_rank == 1 && row.stage == 0 && row.start_s > middle) row.start_s += 3 * last;
  }));
  CHECK(found.rule == "clock-set");
  CHECK(found.steps == kWithoutStep5);
  CHECK(found.detail.ends_with("but no operation runs in the extra time: the clock of this worker jumped"));
}

TEST_CASE("plausible times: a clock that is hours off is no other unit") {
  CHECK(refusal_of_times(changed(job(), [](OpRow& row) {
          if (row.dp_rank == 1) row.start_s += 3 * 3600;
        })) == "accepted");
}

}  // namespace goodput
