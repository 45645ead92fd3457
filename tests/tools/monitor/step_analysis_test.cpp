#include "tools/monitor/step_analysis.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/analysis/verdict_json.h"
#include "sim/base/json.h"
#include "sim/ops/trace_index.h"
#include "tests/support/trace_generator.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"
#include "tools/trace/write_trace.h"
#include "traces/op/raw_log.h"
#include "traces/op/trace_intake.h"

namespace goodput {
namespace {

// The rows of one step, in their order.
OpTrace rows_of_step(const OpTrace& trace, std::int64_t step) {
  std::vector<bool> kept;
  for (const std::int64_t of_row : trace.step) kept.push_back(of_row == step);
  OpTrace rows = trace;
  keep_rows(rows, 0, kept);
  return rows;
}

void write_rows(const OpTrace& rows, const std::string& path) {
  const Result<OpTraceFormat> format = output_format(path, "");
  REQUIRE(format);
  REQUIRE(write_trace(rows, *format, path));
}

// What `goodput whatif` says of a file, with numbers as doubles; null where it refuses.
Json whatif_of(const std::string& trace, const std::vector<std::string>& options) {
  std::ostringstream out;
  std::ostringstream err;
  std::vector<std::string> arguments{"whatif", trace, "--json", "-"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const ExitCode code = run_command_line(builtin_commands(), arguments, out, err);
  return code == ExitCode::kOk ? Json::parse(out.str()) : Json();
}

GatheredStep gathered(OpTrace rows) {
  GatheredStep step;
  step.id = {0, rows.step.front()};
  step.ops = static_cast<std::int64_t>(rows.size());
  step.rows = std::move(rows);
  return step;
}

// As the reader delivers them: what a monitor would have taken in.
OpTrace rows_of_file(const std::string& path) {
  std::ifstream file(path);
  TraceIntake intake;
  std::size_t number = 0;
  RawLogReading reading;
  for (std::string line; std::getline(file, line);)
    REQUIRE(!append_raw_log_line(line, Position::line(++number), intake, reading));
  return intake.take_rows();
}

void check_same(const StepResult& step, const Json& whatif) {
  CHECK(Json::parse(verdict_json(step.verdict).dump()) == whatif["verdict"]);
  const StepTotals& totals = step.totals;
  REQUIRE(totals.status == StepStatus::kAnalysed);
  CHECK(totals.slowdown == whatif["slowdown"]);
  CHECK(totals.waste() == whatif["waste"]);
  CHECK(totals.discrepancy == whatif["discrepancy"]);
  CHECK(totals.launch_slowdown == whatif["launch_slowdown"]);
  const auto stages = static_cast<std::size_t>(step.layout.pp_size);
  for (std::size_t worker = 0; worker < step.worker_slowdown.size(); ++worker) {
    const std::string key = fmt::format("{}:{}", worker / stages, worker % stages);
    CHECK(step.worker_slowdown[worker] == whatif["slowdown_by_worker"][key]);
  }
  for (std::size_t stage = 0; stage < step.by_stage.size(); ++stage)
    CHECK(step.by_stage[stage] == whatif["slowdown_by_stage"][std::to_string(stage)]);
  for (std::size_t dp_rank = 0; dp_rank < step.by_dp_rank.size(); ++dp_rank)
    CHECK(step.by_dp_rank[dp_rank] == whatif["slowdown_by_dp_rank"][std::to_string(dp_rank)]);
  for (const LabelledSlowdown& part : step.by_optype)
    CHECK(part.slowdown == whatif["slowdown_by_optype"][part.label]);
  const Json& causes = whatif["root_causes"];
  REQUIRE(step.causes.size() == causes.size());
  for (std::size_t i = 0; i < causes.size(); ++i) {
    CHECK(step.causes[i].name == causes[i]["cause"]);
    CHECK(step.causes[i].is_likely == causes[i]["likely"]);
    if (step.causes[i].gain)
      CHECK(*step.causes[i].gain == causes[i]["gain"]);
    else
      CHECK(causes[i]["gain"].is_null());
    CHECK(step.causes[i].fix == causes[i]["fix"]);
    CHECK(step.causes[i].evidence == causes[i]["evidence"]);
  }
}

}  // namespace

TEST_CASE("step analysis: what whatif says of the same rows, bit for bit") {
  std::size_t analysed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const testing::TraceSpec spec = testing::random_spec(seed);
    CAPTURE(testing::to_string(spec));
    const OpTrace trace = testing::generate_trace(spec);
    const OpTrace rows = rows_of_step(trace, trace.step.back());
    const TemporaryFile file("job.csv");
    write_rows(rows, file.path());
    const TemporaryFile meta("meta.yaml", fmt::format("dsp_size: {}\n", spec.dsp_size));
    const Json whatif = whatif_of(file.path(), {"--meta", meta.path()});
    JobFacts job;
    job.name = "job";
    job.metadata.dsp_size = spec.dsp_size;
    const AnalysedStep step = analyse_step(gathered(rows), job, 2);
    if (whatif.is_null()) {
      CHECK(step.result.totals.status == StepStatus::kRefused);
      CHECK(!step.result.problem.empty());
      continue;
    }
    check_same(step.result, whatif);
    ++analysed;
  }
  CHECK(analysed >= 30);  // some of the random jobs have nothing to analyse in one step
}

TEST_CASE("step analysis: of a raw log too, and the rows that are kept come to the same") {
  testing::TraceSpec spec;
  spec.dp = 3;
  spec.pp = 4;
  spec.micro_batches = 8;
  spec.slow_worker_factor = 1.4;
  spec.slow_dp_rank = 2;
  spec.slow_stage = 1;
  const OpTrace trace = testing::generate_trace(spec);
  const TemporaryFile log("job.log");
  write_rows(rows_of_step(trace, trace.step.back()), log.path());
  JobFacts job;
  job.name = "job";
  const AnalysedStep step = analyse_step(gathered(rows_of_file(log.path())), job, 1);
  check_same(step.result, whatif_of(log.path(), {}));
  CHECK(place_of(step.result.layout, step.result.totals.worst_worker).dp_rank == 2);
  CHECK(place_of(step.result.layout, step.result.totals.worst_worker).stage == 1);
  CHECK(step.result.totals.cause == "worker-fault");
  const TemporaryFile kept("kept.csv");
  write_rows(step.rows, kept.path());
  check_same(step.result, whatif_of(kept.path(), {}));
}

// Six steps with one slow worker, dp 1 stage 1.
std::vector<OpTrace> slow_steps(const OpTrace& trace) {
  std::vector<OpTrace> steps;
  for (std::int64_t number = 1; number <= 6; ++number) steps.push_back(rows_of_step(trace, number));
  return steps;
}

OpTrace slow_trace() {
  testing::TraceSpec spec;
  spec.dp = 2;
  spec.pp = 2;
  spec.steps = 6;
  spec.slow_worker_factor = 1.5;
  return testing::generate_trace(spec);
}

TEST_CASE("step analysis: a closer look at a fault says what whatif says of the same steps together") {
  const OpTrace trace = slow_trace();
  JobFacts job;
  job.name = "job";
  const AnalysedStep step = analyse_step(gathered(rows_of_step(trace, 6)), job, 1);
  REQUIRE(step.result.faults.size() == 1);
  CHECK(step.result.faults[0].verdict.subject == step.result.verdict->subject);
  const TemporaryFile file("job.csv");
  write_rows(trace, file.path());
  const Json whatif = whatif_of(file.path(), {});
  const Verdict closer = look_closer(step.result.faults[0].verdict, slow_steps(trace), job, 1);
  CHECK(Json::parse(verdict_text(closer)) == whatif["verdict"]);
}

TEST_CASE("step analysis: a closer look at one of several workers says what the fix of it alone gains") {
  const OpTrace trace = slow_trace();
  const TemporaryFile file("job.csv");
  write_rows(trace, file.path());
  Verdict known;
  known.kind = kUnexplained;
  known.subject = {"worker", "worker:1:0"};
  known.workers = {{1, 0, 2, ""}};
  known.fix = {"worker=1:0"};
  known.sentence = "One worker costs most.";
  const Json whatif = whatif_of(file.path(), {"--fix", "worker=1:0"});
  const double gain = whatif["interventions"][0]["speedup"].get<double>();
  const Verdict closer = look_closer(known, slow_steps(trace), JobFacts{.name = "job"}, 1);
  CHECK(closer.subject == known.subject);
  REQUIRE(closer.cost.has_value());
  CHECK(closer.cost->gain == gain);
  CHECK(closer.sentence.find("One worker costs most. Without its delays a step would take ") == 0);
}

TEST_CASE("step analysis: a closer look that finds nothing leaves the verdict as it was") {
  Verdict known;
  known.kind = "gc-pauses";
  known.subject = {"job", "job"};
  known.fix = {"cause=gc-pauses"};
  known.sentence = "Pauses.";
  CHECK(look_closer(known, {}, JobFacts{.name = "job"}, 1) == known);  // no rows at all
  const Verdict closer = look_closer(known, slow_steps(slow_trace()), JobFacts{.name = "job"}, 1);
  CHECK(closer.sentence == "Pauses.");
  CHECK(closer.kind == "gc-pauses");
}

TEST_CASE("step analysis: an incomplete step stays what it is, and its workers get their hosts") {
  GatheredStep step;
  step.status = StepStatus::kIncomplete;
  step.problem = "no rows arrived from 1 of 4 workers: dp 1 stage 0 (rank 8)";
  step.missing = {{1, 0, 8, ""}};
  JobFacts job;
  job.hosts[8] = "10.0.0.9";
  const AnalysedStep analysed = analyse_step(std::move(step), job, 1);
  CHECK(analysed.result.totals.status == StepStatus::kIncomplete);
  CHECK(analysed.result.missing.front().host == "10.0.0.9");
  CHECK(analysed.rows.size() == 0);
}

}  // namespace goodput
