// release-too: the rules of the cleaning pass.
#include "sim/cleaning/trace_cleaning.h"

#include <doctest/doctest.h>

#include "sim/cleaning/step_selection.h"
#include "tests/support/clock_skew.h"
#include "tests/support/trace_edits.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

using testing::append_all;
using testing::changed;
using testing::filtered;
using testing::only;

OpTrace trace_of(int dp, int pp, int steps, int vpp = 1) {
  testing::TraceSpec spec;
  spec.dp = dp;
  spec.pp = pp;
  spec.vpp = vpp;
  spec.type2_noops = vpp > 1;
  spec.schedule = vpp > 1 ? testing::Schedule::kInterleaved : testing::Schedule::kOneFOneB;
  spec.steps = steps;
  spec.data_parallel_ops = dp > 1;
  return testing::generate_trace(spec);
}

std::string refusal(const OpTrace& trace, const CleaningOptions& options = {}) {
  const Result<CleanTrace> clean = clean_trace(trace, {}, options);
  return clean ? "accepted"
               : clean.error().message([](std::string_view key) { return "--" + std::string(key); });
}

CleanTrace cleaned(const OpTrace& trace, const std::vector<CleaningFinding>& findings = {},
                   const CleaningOptions& options = {}) {
  Result<CleanTrace> clean = clean_trace(trace, findings, options);
  REQUIRE(clean);
  return *std::move(clean);
}

bool is(const OpRow& row, std::int64_t step, std::int64_t dp, OpType type) {
  return row.step == step && row.dp_rank == dp && row.stage == 0 && row.optype == type && row.seq_id == 0;
}

}  // namespace

TEST_CASE("cleaning: a clean trace stays as it is, with its recorded sizes") {
  const OpTrace trace = trace_of(2, 3, 4);
  const CleanTrace clean = cleaned(trace, {}, {false, {{2, 3}}});
  CHECK(hash_rows(clean.trace) == hash_rows(trace));
  CHECK(clean.selected == std::vector<std::uint32_t>{1, 2});
  CHECK(clean.findings.empty());
  CHECK(clean.recorded_rows == trace.size());
  CHECK(clean.recorded_steps == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(clean.recorded_dp_size == 2);
  CHECK(clean.recorded_pp_size == 3);
}

TEST_CASE("cleaning: findings have the rule, a count, the steps and the first place") {
  OpTrace trace =
      filtered(trace_of(2, 2, 6), [](const OpRow& row) { return !is(row, 4, 1, OpType::kOptimizer); });
  append_all(trace, only(trace, {2}));
  const CleanTrace clean = cleaned(trace, {{CleaningRule::kUnclosedFiles, 1, {}, "a.json"}});
  REQUIRE(clean.findings.size() == 3);
  CHECK(info(clean.findings[0].rule).name == "repeated-rows");
  CHECK(clean.findings[0].count == only(trace, {2}).size() / 2);
  CHECK(clean.findings[0].steps == std::vector<std::int64_t>{2});
  CHECK(info(clean.findings[1].rule).name == "missing-ops");
  CHECK(clean.findings[1].count == 1);
  CHECK(clean.findings[1].steps == std::vector<std::int64_t>{4});
  CHECK(clean.findings[1].detail == "optimizer_0_0 is missing in step 4, dp_rank 1");
  CHECK(info(clean.findings[2].rule).name == "unclosed-files");
  CHECK(clean.index.steps == std::vector<std::int64_t>{1, 2, 3, 5, 6});
}

TEST_CASE("cleaning: half of the steps is enough, less is not, and the refusal says what to do") {
  OpTrace trace = trace_of(2, 2, 4);
  const auto cut = [&](std::int64_t from) {
    return filtered(
        trace, [&](const OpRow& row) { return !(row.step >= from && is(row, row.step, 1, OpType::kGc)); });
  };
  CHECK(refusal(cut(3)) == "accepted");
  CHECK(refusal(cut(2)) ==
        "only 1 of 4 steps are complete, but at least half must be: gc_0_0 is missing in step 2, dp_rank 1; "
        "to analyze only the complete steps, select them with --steps: 1");
  CHECK(refusal(cut(1)) ==
        "only 0 of 4 steps are complete, but at least half must be: gc_0_0 is missing in step 1, dp_rank 1");
  CHECK(refusal(cut(2), {false, {{1, 1}}}) == "accepted");
  CHECK(refusal(cut(2), {false, {{1, 1}, {3, 3}}}) ==
        "step 3 cannot be analyzed: gc_0_0 is missing in step 3, dp_rank 1");
}

TEST_CASE("cleaning: a step with damaged rows is left out, also when none of its rows is left") {
  const OpTrace trace = trace_of(2, 1, 4);
  const std::vector<CleaningFinding> damaged = {{CleaningRule::kDamagedRows, 2, {2, 9}, ""}};
  const CleanTrace clean = cleaned(trace, damaged);
  CHECK(clean.index.steps == std::vector<std::int64_t>{1, 3, 4});
  CHECK(clean.recorded_steps == std::vector<std::int64_t>{1, 2, 3, 4, 9});
  CHECK(clean_trace(trace, damaged, {false, {{9, 9}}}).error().what ==
        "step 9 cannot be analyzed: step 9 has damaged rows");
  CHECK(clean_trace(trace, {{CleaningRule::kDamagedRows, 4, {1, 2, 3}, ""}}, {})
            .error()
            .what.starts_with(
                "only 1 of 4 steps are complete, but at least half must be: step 1 has damaged rows"));
}

TEST_CASE("cleaning: strictly, what would be dropped or left out is refused, what loses nothing is not") {
  const OpTrace trace = trace_of(2, 1, 4);
  const auto strict = [&](CleaningRule rule, const std::string& detail) {
    const auto clean = clean_trace(trace, {{rule, 3, {2}, detail}}, {true, {}});
    return clean ? "accepted"
                 : clean.error().message([](std::string_view key) { return "--" + std::string(key); });
  };
  CHECK(strict(CleaningRule::kCutRecords, "a.log:7") ==
        "3 records cut short in a file: a.log:7; fix the trace or omit --strict");
  CHECK(strict(CleaningRule::kNegativeDurations, "") == "accepted");
  OpTrace twice = trace;
  append_all(twice, only(trace, {1}));
  CHECK(refusal(twice, {true, {}}).find(" is recorded twice in step 1, dp_rank 0;") != std::string::npos);
}

TEST_CASE("cleaning: other shapes are named with what they have") {
  OpTrace trace = only(trace_of(3, 1, 5), {1, 2});
  append_all(trace, filtered(trace_of(4, 1, 5), [](const OpRow& row) { return row.step > 2; }));
  const CleanTrace clean = cleaned(trace);
  REQUIRE(clean.findings.size() == 1);
  CHECK(clean.findings[0].detail ==
        "steps 1-2: 4 micro-batches, 3 replicas; kept: 4 micro-batches, 4 replicas");
  CHECK(refusal(trace, {false, {{2, 2}, {3, 5}}}) ==
        "step 2 cannot be analyzed: step 2 has 4 micro-batches, 3 replicas");
  CHECK(refusal(trace, {false, {{2, 2}}}) == "accepted");
}

TEST_CASE(
    "cleaning: the first step may reduce other buckets: most steps say what a step has, or those asked for") {
  OpTrace trace = trace_of(2, 1, 5);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.optype[i] == OpType::kGradsReduceScatter) last = std::max<std::int64_t>(last, trace.seq_id[i]);
  }
  trace = filtered(trace, [&](const OpRow& row) {
    return row.step == 1 || row.optype != OpType::kGradsReduceScatter || row.seq_id < last;
  });
  const CleanTrace clean = cleaned(changed(trace, [](OpRow& row) {
    if (row.step == 1) row.start_s *= 2;
  }));
  CHECK(clean.index.steps == std::vector<std::int64_t>{2, 3, 4, 5});
  REQUIRE(clean.findings.size() == 1);
  CHECK(info(clean.findings[0].rule).name == "warm-up");
  CHECK(clean.findings[0].detail.starts_with(
      "step 1 is a warm-up step: it takes longer than the others and has "));
  CHECK(clean_trace(trace, {}, {false, {{1, 1}}})->index.steps == std::vector<std::int64_t>{1});
}

TEST_CASE("cleaning: a replica whose log ends early is missed where the job is known to have it") {
  const OpTrace trace =
      filtered(trace_of(2, 1, 8), [](const OpRow& row) { return row.dp_rank == 0 || row.step <= 2; });
  CHECK(refusal(trace, {false, {}, 2, 1}) ==
        "only 2 of 8 steps are complete, but at least half must be: dp_rank 1 is missing in step 3, but the "
        "job has 2 replicas; either its log is incomplete or dp_size in the metadata is wrong; to analyze "
        "only the complete steps, select them with --steps: 1-2");
  const CleanTrace clean = cleaned(trace, {}, {false, {{1, 2}}, 2, 1});
  CHECK(clean.index.dp_size == 2);
  CHECK(clean.selected.size() == 2);
  CHECK(cleaned(trace).index.dp_size == 1);  // nobody says that there were more
  const OpTrace stages =
      filtered(trace_of(1, 2, 8), [](const OpRow& row) { return row.stage == 0 || row.step <= 2; });
  CHECK(refusal(stages, {false, {}, 1, 2}).find("stage 1 is missing in step 3, but the job has 2 stages") !=
        std::string::npos);
}

TEST_CASE("cleaning: a worker that counts its steps one later than the others is refused") {
  const auto later = [](const OpTrace& trace) {
    return changed(trace, [](OpRow& row) {
      if (row.dp_rank == 1) ++row.step;
    });
  };
  const std::string message =
      "rank 1 (dp_rank 1, stage 0) records steps 2-9, but other workers record 1-8, so its step counter is "
      "off by 1; correct its step numbers";
  const OpTrace relative = trace_of(2, 1, 8);
  const OpTrace absolute = testing::drifting(relative, 0, 100, [](int, int) { return 0.0; });
  CHECK(refusal(later(relative)) == message);
  CHECK(refusal(later(absolute)) == message);
  // Its log ends early as well: the starts of its steps are those of the others' steps before them.
  const OpTrace cut = filtered(absolute, [](const OpRow& row) { return row.dp_rank == 0 || row.step < 6; });
  CHECK(refusal(later(cut)) ==
        "rank 1 (dp_rank 1, stage 0) records steps 2-6, but other workers record 1-8, so its step counter is "
        "off by 1; correct its step numbers");
  // Its log begins later and ends later: clocks tell that its steps are those of the others.
  const OpTrace shifted =
      filtered(absolute, [](const OpRow& row) { return row.dp_rank == 1 ? row.step > 1 : row.step < 8; });
  CHECK(cleaned(shifted).index.steps == std::vector<std::int64_t>{2, 3, 4, 5, 6, 7});
}

TEST_CASE("cleaning: absent workers are named, the first three of them") {
  const OpTrace trace = trace_of(4, 2, 2);
  CHECK(refusal(filtered(trace, [](const OpRow& row) { return row.dp_rank == 3 || row.dp_rank == 0; })) ==
        "there are no rows for some workers (dp_rank 1, stage 0; dp_rank 1, stage 1; dp_rank 2, stage 0; and "
        "1 more); give their files too, one per host");
}

TEST_CASE("cleaning: absent stages are named, by their rows or by what gmc counts") {
  const OpTrace trace = trace_of(2, 4, 2);
  const auto without_stages = [](const OpTrace& whole, std::int64_t first, std::int64_t last) {
    return filtered(whole, [&](const OpRow& row) { return row.stage < first || row.stage > last; });
  };
  CHECK(refusal(without_stages(trace, 0, 0)) ==
        "stage 0 of 4 is not recorded in any step; give the files of all stages");
  CHECK(refusal(without_stages(trace, 1, 2)) ==
        "stages 1 to 2 of 4 are not recorded in any step; give the files of all stages");
  CHECK(refusal(without_stages(trace, 3, 3)) ==
        "stage 0 reduces embedding gradients with the last stage, but the last recorded stage, 2, has no "
        "embedding-grads-all-reduce, so later stages are missing; give their files too");
  const OpTrace chunks = filtered(
      trace_of(2, 4, 2, 2), [](const OpRow& row) { return row.optype != OpType::kEmbeddingGradsAllReduce; });
  CHECK(refusal(without_stages(chunks, 2, 3)) ==
        "the gmc values imply 4 stages, but only stages 0 to 1 are recorded; give the files of stages 2 to 3 "
        "too");
  CHECK(refusal(without_stages(chunks, 1, 3)) ==
        "the gmc values imply 4 stages, but only stage 0 is recorded; give the files of stages 1 to 3 too");
}

TEST_CASE("cleaning: a worker's rank is that of its latest step, a rank has one place") {
  const OpTrace trace = trace_of(2, 2, 4);
  const CleanTrace clean = cleaned(changed(trace, [](OpRow& row) {
    if (row.dp_rank == 1 && row.stage == 0 && row.step > 2) row.rank = 77;
  }));
  CHECK(clean.index.ranks == std::vector<std::int32_t>{0, 2, 77, 3});
  REQUIRE(clean.findings.size() == 1);
  CHECK(info(clean.findings[0].rule).name == "replaced-workers");
  CHECK(clean.findings[0].count == 1);
  CHECK(clean.findings[0].steps == std::vector<std::int64_t>{1, 2});
  CHECK(clean.findings[0].detail == "dp_rank 1, stage 0: now rank 77");
  CHECK(refusal(changed(trace, [](OpRow& row) { row.rank = row.rank == 3 ? 2 : row.rank; })) ==
        "rank 2 is recorded at dp_rank 0, stage 1 and at dp_rank 1, stage 1; every worker needs its own rank "
        "(do these files belong to one job?)");
}

TEST_CASE("cleaning: a replaced node's rows in one step are the later rank's where the times tell") {
  // All of step 3 once, and before it, on one worker only, the first passes of the node that was replaced.
  const OpTrace one = trace_of(2, 2, 4);
  const OpTrace trace = changed(one, [](OpRow& row) { row.start_s += 100 * static_cast<double>(row.step); });
  OpTrace both = trace;
  append_all(both, changed(filtered(trace,
                                    [](const OpRow& row) {
                                      return row.step == 3 && row.dp_rank == 0 && row.stage == 0 &&
                                             row.optype == OpType::kForwardCompute;
                                    }),
                           [](OpRow& row) {
                             row.start_s -= 30;
                             row.rank = 50;
                           }));
  const CleanTrace clean = cleaned(both);
  CHECK(hash_rows(clean.trace) == hash_rows(trace));
  REQUIRE(clean.findings.size() == 1);
  CHECK(info(clean.findings[0].rule).name == "repeated-steps");
}

TEST_CASE("cleaning: times that cannot be seconds are refused with what they show") {
  const OpTrace trace = trace_of(2, 1, 4);
  const auto scaled = [&](double factor) {
    return changed(trace, [&](OpRow& row) {
      row.start_s *= factor;
      row.duration_s *= factor;
    });
  };
  CHECK(refusal(scaled(1e6))
            .ends_with("s, but a training step takes from 10 us to 1 hour, so the times are not in seconds; "
                       "give the time unit with --time-unit ms, us or ns"));
  CHECK(refusal(scaled(1e-6)).ends_with("the times are not in seconds; give the time unit with --time-unit"));
  // From 2^30 on float32 values are 128 s apart.
  CHECK(refusal(changed(trace, [](OpRow& row) { row.start_s = 1.7e9; }))
            .starts_with(
                "start times near 1.7e+09 s are float32 values, 128 s apart, but the median op takes "));
  // 1.7e9 + 0.5 is no float32 value: these are resolved.
  CHECK(refusal(changed(trace, [](OpRow& row) { row.start_s += 1.7e9 + 0.1; })) == "accepted");
}

TEST_CASE("cleaning: steps asked for must be there") {
  const OpTrace trace = trace_of(1, 1, 2);
  const std::vector<NumberRange> absent = {{7, 7}};
  const std::vector<NumberRange> outside = {{7, 9}, {12, 12}};
  CHECK(check_asked_for(trace, {}, absent).error().what ==
        "step 7 is not in the trace; number of steps in the trace: 2 (from 1 to 2)");
  CHECK(check_asked_for(trace, {}, std::span(outside).first(1)).error().what ==
        "no step of the trace is in 7-9; number of steps in the trace: 2 (from 1 to 2)");
  CHECK(check_asked_for(trace, {}, {}));
  CHECK(refusal({}) == "contains no ops");
}

}  // namespace goodput
