#include "tools/monitor_export/monitor_export.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "sim/base/json.h"
#include "sim/ops/op_trace.h"
#include "tests/tools/monitor_store/random_steps.h"
#include "tools/monitor_export/export_steps.h"
#include "tools/monitor_store/monitor_store.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {
namespace {

using testing::commit_of;
using testing::message_in;
using testing::plain_step;
using testing::step_with_rows;
using testing::StoreFolder;

// What a run printed, and its error if it had one.
struct ExportRun {
  std::string out;
  std::string error;
};

ExportRun run(const MonitorExportOptions& options, const std::string& json_path = {}) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{.options = {}, .out = out, .err = err};
  context.options.json_path = json_path;
  const Result<ExitCode> code = run_export(options, context);
  return {out.str(), message_in(code)};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Job a: steps 0 to 9 of run 0, then 8 of run 1; of the last 3 there are rows. Job b: an incomplete step.
// Step i begins at 1000 + 10 i, and has S = 1.5.
class TwoJobs {
 public:
  TwoJobs() {
    auto store = MonitorStore::open(folder_.file(), {.rows_of_last = 3});
    REQUIRE_MESSAGE(store, message_in(store));
    for (std::int64_t i = 0; i < 10; ++i)
      REQUIRE(
          store->commit(commit_of("a", {step_with_rows({0, i}, 1002 + 10 * static_cast<double>(i), 20)})));
    StepCommit last = commit_of("a", {step_with_rows({1, 8}, 1102, 20)});
    RandomStream random(5, "incident");
    last.incidents = {testing::random_incident(random, {1, 8})};
    last.incidents[0].key = "goodput-1";
    last.steps_to_keep = {{1, 8}};
    REQUIRE(store->commit(last));
    StepRecord incomplete = plain_step({0, 3}, 2000);
    incomplete.result.totals.status = StepStatus::kIncomplete;
    incomplete.result.worker_slowdown.clear();
    incomplete.result.worker_pace.clear();
    incomplete.result.problem = "rows of 1 worker did not come";
    incomplete.result.missing = {{1, 0, -1, "node7"}};
    REQUIRE(store->commit(commit_of("b", {incomplete})));
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  [[nodiscard]] MonitorExportOptions options() const {
    MonitorExportOptions options;
    options.database = folder_.file();
    return options;
  }

 private:
  StoreFolder folder_;
};

TEST_CASE("monitor export: without files it says what there is") {
  const TwoJobs jobs;
  CHECK(run(jobs.options()).out ==
        "a: 11 steps, from step 0 of run 0 to step 8 of run 1\nb: 1 step, from step 3 of run 0 to step 3 of "
        "run 0\n");
}

TEST_CASE("monitor export: steps, runs and times choose, their ends included") {
  const TwoJobs jobs;
  MonitorExportOptions options = jobs.options();
  options.job = "a";
  const auto chosen = [&] { return run(options).out; };
  options.steps = "2,8-20";
  CHECK(chosen() == "a: 4 steps, from step 2 of run 0 to step 8 of run 1\n");
  options.run = 0;
  CHECK(chosen() == "a: 3 steps, from step 2 of run 0 to step 9 of run 0\n");
  options.steps.clear();
  options.from = "1020";
  options.to = "1970-01-01T00:17:30Z";  // 1050
  CHECK(chosen() == "a: 4 steps, from step 2 of run 0 to step 5 of run 0\n");
}

TEST_CASE("monitor export: a table has a row a step, with nothing where nothing is known") {
  const TwoJobs jobs;
  MonitorExportOptions options = jobs.options();
  options.steps = "3";
  options.table = jobs.file("steps.csv");
  CHECK(run(options).out.ends_with("steps.csv: one row per step, 2 in total\n"));
  CHECK(text_of(options.table) ==
        "job,run,step,status,began_s,received_s,finished_s,ops,recorded_s,replayed_s,ideal_s,slowdown,waste,"
        "lost_s,"
        "launch_slowdown,discrepancy,worst_worker,worst_slowdown,shape,cause,gain\n"
        "a,0,3,analysed,1030,,1032,0,0,0,0,1.5," +
            std::string("0.33333333333333337,0,1,0,0,1,none,,\n") +
            "b,0,3,incomplete,1998,,2000,0,,,,,,,,,,,,,\n");
}

TEST_CASE("monitor export: workers are exact as long as their rows are kept") {
  const TwoJobs jobs;
  MonitorExportOptions options = jobs.options();
  options.steps = "6,9";
  options.workers = jobs.file("workers.csv");
  CHECK(run(options).out.ends_with(
      "workers.csv: one row per worker and step with a stored worker map, 8 in total\n"));
  const std::string text = text_of(options.workers);
  CHECK(
      text.starts_with("job,run,step,began_s,worker,dp_rank,stage,rank,host,slowdown,pace,exact\n"
                       "a,0,6,1060,0,0,0,0,,1,,0\n"));
  CHECK(text.find("a,0,9,1090,1,0,1,1,,1.25,1.1,1\n") != std::string::npos);
}

TEST_CASE("monitor export: kept rows come back as a trace, a step after the other") {
  const TwoJobs jobs;
  MonitorExportOptions options = jobs.options();
  options.run = 0;  // steps 7, 8 and 9: the one of run 1 is kept for its incident
  options.trace = jobs.file("kept.csv.gz");
  CHECK(run(options).out.ends_with("kept.csv.gz: 60 ops as csv\n"));
  const auto read = read_op_trace({options.trace}, {});
  REQUIRE_MESSAGE(read, message_in(read));
  OpTrace expected = *step_with_rows({0, 7}, 0, 20).rows;
  const std::uint64_t seven = hash_rows(expected);
  CHECK(read->trace.size() == 60);
  std::vector<bool> kept(60, true);
  OpTrace first = read->trace;
  for (std::size_t i = 20; i < 60; ++i) kept[i] = false;
  keep_rows(first, 0, kept);
  CHECK(hash_rows(first) == seven);
}

TEST_CASE("monitor export: JSON has totals, maps, layouts and incidents") {
  const TwoJobs jobs;
  MonitorExportOptions options = jobs.options();
  const ExportRun done = run(options, "-");
  REQUIRE(done.error.empty());
  const auto json = Json::parse(done.out);
  CHECK(json["schema"] == "goodput.monitor_export/1");
  REQUIRE(json["jobs"].size() == 2);
  const auto& a = json["jobs"][0];
  CHECK(a["name"] == "a");
  CHECK(a["runs"] == 2);
  CHECK(a["analysed"] == 11);
  CHECK(a["layouts"].size() == 1);
  CHECK(a["layouts"][0]["ranks"] == Json{0, 1, 2, 3});
  REQUIRE(a["steps"].size() == 11);
  const auto& last = a["steps"][10];
  CHECK(last["run"] == 1);
  CHECK(last["step"] == 8);
  CHECK(last["slowdown"] == 1.5);
  CHECK(last["exact"] == true);
  CHECK(last["slowdown_by_worker"] == Json{1.0, 1.25, 1.5, 1.0});
  CHECK(a["steps"][0]["exact"] == false);
  CHECK(a["steps"][0]["slowdown_by_worker"][1] == std::exp(0.2231));
  REQUIRE(a["incidents"].size() == 1);
  CHECK(a["incidents"][0]["key"] == "goodput-1");
  CHECK(a["incidents"][0]["closed_s"].is_null());
  const auto& b = json["jobs"][1]["steps"][0];
  CHECK(b["status"] == "incomplete");
  CHECK(!b.contains("slowdown"));
  CHECK(b["problem"] == "rows of 1 worker did not come");
  CHECK(b["missing"][0]["host"] == "node7");
  // Incidents that opened after the exported steps are not of their time.
  options.steps = "0-7";
  const auto early = Json::parse(run(options, "-").out);
  CHECK(early["jobs"][0]["incidents"].empty());
}

TEST_CASE("monitor export: what cannot be is said in one line, and nothing is written") {
  const TwoJobs jobs;
  MonitorExportOptions options = jobs.options();
  SUBCASE("a job that is not there") {
    options.job = "c";
    CHECK(run(options).error == "job: " + options.database + " has no job \"c\"; did you mean \"a\"?");
  }
  SUBCASE("steps that are not there") {
    options.steps = "100-200";
    CHECK(run(options).error ==
          options.database + ": contains none of the selected steps; choose other steps, runs or times");
  }
  SUBCASE("a list that is none") {
    options.steps = "4-1";
    CHECK(run(options).error == "steps: range \"4-1\" runs backward; write the smaller number first");
  }
  SUBCASE("a run below 0") {
    options.run = -1;
    CHECK(run(options).error == "run: must be a run number, 0 or more");
  }
  SUBCASE("a time that is none") {
    options.from = "yesterday";
    CHECK(run(options).error ==
          "from: \"yesterday\" is not a time; use seconds since 1970, or UTC such as 2026-11-24 or "
          "2026-11-24T13:30:00Z");
  }
  SUBCASE("times that run backwards") {
    options.from = "20";
    options.to = "10";
    CHECK(run(options).error == "to: must not be before --from");
  }
  SUBCASE("a table of no format") {
    options.table = jobs.file("steps.xlsx");
    CHECK(run(options).error == options.table + ": a table must be a .csv or .parquet file");
  }
  SUBCASE("a trace of no format") {
    options.trace = jobs.file("rows.doc");
    CHECK(run(options).error.starts_with(options.trace + ": "));
  }
  SUBCASE("a file over the database") {
    options.trace = jobs.file("x.csv");
    options.table = jobs.file("x.csv");
    CHECK(!run(options).error.empty());
  }
  SUBCASE("rows that are not kept") {
    options.steps = "0-5";
    options.trace = jobs.file("rows.csv");
    CHECK(run(options).error == options.database +
                                    ": contains no rows of the selected steps; the monitor keeps rows only "
                                    "of the latest steps and of steps at which an incident opened");
    CHECK(!std::filesystem::exists(options.trace));
  }
  SUBCASE("rows of a step in two runs") {
    options.trace = jobs.file("rows.csv");
    CHECK(run(options).error == "trace: step 8 has rows from several runs; choose a run with --run");
  }
  SUBCASE("no database") {
    options.database = jobs.file("none.db");
    CHECK(run(options).error == options.database + ": cannot read: No such file or directory");
  }
}

TEST_CASE("monitor export: times are seconds, days, or moments of a day in UTC") {
  // date -u -d 2026-11-24T13:30:05 +%s
  CHECK(*parse_time("1795527005") == 1795527005);
  CHECK(*parse_time("1.5") == 1.5);
  CHECK(*parse_time("2026-11-24T13:30:05Z") == 1795527005);
  CHECK(*parse_time("2026-11-24 13:30:05") == 1795527005);
  CHECK(*parse_time("2026-11-24T13:30") == 1795527000);
  CHECK(*parse_time("1970-01-02") == 86400);
  for (const char* wrong : {"", "2026-13-01", "2026-02-30", "2026-1-1", "2026-01-01T24:00", "2026-01-01T1:00",
                            "2026-01-01T01", "2026-01-01Z", "x2026-01-01", "2026-01-01T01:02:60"}) {
    INFO(wrong);
    CHECK(!parse_time(wrong));
  }
}

}  // namespace
}  // namespace goodput
