// Raw logs of jobs that crashed, and the hosts that files name.
#include <fmt/format.h>

#include "tests/traces/op/dirty_trace.h"
#include "tests/traces/op/random_trace.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

using Lines = std::vector<std::string>;

// One op of one step, or two of two.
std::string record(std::string_view metric, std::int64_t step, double start, std::string_view ip = "10.0.0.1",
                   int rank = 3, std::string_view duration = "0.25", std::string_view key = "step") {
  return fmt::format(
      "2024-05-01 12:00:00,123 - metric_name: {}, elapsed: 0.5, recent_elapsed_raw_parts: [{}], "
      "recent_since_start_raw_parts: [{}], tags: [{{'{}': {}}}], step_range: range({}, {}), world_info: "
      "WorldInfo: "
      "TopoInfo(rank={}, dp_rank={}, ddp_rank=0, tp_rank=0, pp_rank=0, local_rank=3, ip='{}', dp_size=4) "
      "TrainingInfo(role_id=0) {{}}",
      metric, duration, start, key, step, step, step + 1, rank, rank, ip);
}

std::string step_of_records(std::int64_t step, double start, std::string_view ip = "10.0.0.1", int rank = 3) {
  return record("forward-compute", step, start, ip, rank) + "\n" +
         record("backward-compute", step, start + 1, ip, rank) + "\n" +
         record("gc", step, start + 2, ip, rank) + "\n";
}

OpTraceReading log(const std::string& text) {
  return reading_of(text, "t.log");
}

TEST_CASE("raw log: wherever the last record is cut, it is left out, and its step named when it is known") {
  const std::string text = step_of_records(4, 10);
  const std::string last = record("gc", 12, 20);
  const std::size_t step_ends = last.find("12}") + 2;
  const std::size_t whole_ends = last.find(") TrainingInfo") + 1;
  for (std::size_t size = last.find("metric_name: ") + 13; size < whole_ends; ++size) {
    CAPTURE(size);
    const OpTraceReading reading = log(text + last.substr(0, size));
    CHECK(reading.trace.size() == 3);
    REQUIRE(reading.findings.size() == 1);
    CHECK(reading.findings[0].rule == CleaningRule::kCutRecords);
    CHECK(reading.findings[0].count == 1);
    CHECK(reading.findings[0].steps ==
          (size > step_ends ? std::vector<std::int64_t>{12} : std::vector<std::int64_t>{}));
    CHECK_FALSE(read_text(text + last.substr(0, size), true, "t.log"));
  }
}

TEST_CASE("raw log: a record behind a cut one in the same line is read") {
  const std::string cut = record("forward-compute", 4, 9);
  const OpTraceReading reading = log(cut.substr(0, cut.find(", tags")) + step_of_records(4, 10));
  CHECK(reading.trace.size() == 3);
  REQUIRE(reading.findings.size() == 1);
  CHECK(reading.findings[0].rule == CleaningRule::kCutRecords);
  CHECK(reading.findings[0].count == 1);
  CHECK(reading.findings[0].detail.starts_with(
      "t.log:1: expected \", tags: \" in the record, found \"2024-05-01 12:00:00,123"));
}

TEST_CASE("raw log: a record that is broken but not cut is an error") {
  std::string broken = record("gc", 4, 9);
  broken.replace(broken.find("[0.25]"), 6, "[fast]");
  CHECK(error_of(broken + "\n", false, "t.log")
            .starts_with("t.log:1: expected a number in the record, found \"fast], recent_"));
}

TEST_CASE("raw log: damaged ops and unknown metrics are left out") {
  const std::string text = step_of_records(4, 10) + step_of_records(5, 20) +
                           record("gc", 5, 30, "10.0.0.1", 3, "nan") + "\n" +
                           record("forward-computee", 5, 30) + "\n";
  const OpTraceReading reading = log(text);
  CHECK(reading.trace.size() == 6);
  CHECK(summaries(reading) ==
        Lines{"damaged-rows 1 [5] t.log:7: duration must be seconds from 0 to 9.2e+09, not nan",
              "unknown-ops 1 [5] \"forward-computee\" 1 (did you mean \"forward-compute\"?)"});
}

TEST_CASE("raw log: negative steps of our own come back, NDTimeline's are left out") {
  OpTrace trace;
  for (const std::int64_t step : {-3, -2, 0, 5}) {
    for (const OpType type : {OpType::kForwardCompute, OpType::kBackwardCompute, OpType::kGc}) {
      OpRow row;
      row.step = step;
      row.optype = type;
      row.start_s = static_cast<double>(trace.size());
      row.duration_s = 0.5;
      row.mc = row.mb_id = row.gmc = type == OpType::kGc ? kUnset : 0;
      if (type == OpType::kGc) row.mb_id = 0;
      REQUIRE_FALSE(trace.append(row));
    }
  }
  const TemporaryFile file("t.log");
  REQUIRE(op_trace_format_raw_log().write(trace, file.path(), "t.log"));
  const OpTraceReading back = log(file.content());
  CHECK(back.trace.step == trace.step);
  CHECK(back.trace.optype == trace.optype);
  CHECK(back.hosts.empty());
  for (const std::string_view key : {"step", "_inner_global_step"}) {
    const OpTraceReading reading =
        log(step_of_records(4, 10) + record("gc", -1, 5, "10.0.0.1", 3, "0.25", key) + "\n");
    CHECK(reading.trace.size() == 3);
    CHECK(reading.notes.at(0).ends_with(": ignored ops from before the first step: 1"));
  }
}

TEST_CASE("raw log: steps in which passes are missing do not keep the others from getting their ids") {
  const std::string text =
      step_of_records(4, 10) + step_of_records(5, 20) + record("forward-compute", 6, 30) + "\n";
  const OpTraceReading reading = log(text);
  CHECK(reading.trace.size() == 7);
  CHECK(reading.notes ==
        Lines{"seq_id, mc and mb_id derived from the recorded order: 4 of 4 compute ops follow the pipeline "
              "schedule \"1F1B\"; steps with missing passes, not used for this: 1"});
  CHECK(error_of(text, true, "t.log") ==
        "t.log: step 6, dp rank 3, stage 0: has 1 forward-compute but 0 backward-compute ops, which must be "
        "the same number; remove incompletely recorded steps");
  CHECK(error_of(record("forward-compute", 6, 30) + "\n", false, "t.log")
            .starts_with(
                "t.log: step 6, dp rank 3, stage 0: has 1 forward-compute but 0 backward-compute ops"));
}

TEST_CASE("raw log: up to 1 MiB of blank lines are nothing, wherever they stand") {
  const std::string blanks((std::size_t{1} << 20) - 8, '\n');
  const OpTrace expected = log(step_of_records(4, 10)).trace;
  check_equal(log(blanks + step_of_records(4, 10)).trace, expected);
  check_equal(log(step_of_records(4, 10) + blanks).trace, expected);
  const std::string text = step_of_records(4, 10);
  const std::size_t middle = text.find('\n') + 1;
  check_equal(log(text.substr(0, middle) + blanks + text.substr(middle)).trace, expected);
}

TEST_CASE("hosts: logs name them by their ip") {
  const OpTraceReading reading =
      log(step_of_records(4, 10, "10.0.0.1", 0) + step_of_records(4, 10, "10.0.0.2", 1));
  CHECK(reading.hosts == std::map<std::int64_t, std::string>{{0, "10.0.0.1"}, {1, "10.0.0.2"}});
}

std::string rows_of(int rank) {
  return kOpHeader + fmt::format("{0},0,{0},1,gc,0.5,0.5,0,-1,0,-1\n", rank);
}

std::map<std::int64_t, std::string> hosts_of(const std::vector<std::string>& paths) {
  const auto reading = read_op_trace(paths, {});
  REQUIRE(reading);
  return reading->hosts;
}

TEST_CASE("hosts: several files without a rank in common are one a host") {
  const TemporaryFile first("node7.csv", rows_of(0));
  const TemporaryFile second("node8.csv", rows_of(1));
  const TemporaryFile third("node9.csv", rows_of(1));
  CHECK(hosts_of({first.path(), second.path()}) ==
        std::map<std::int64_t, std::string>{{0, "node7"}, {1, "node8"}});
  CHECK(hosts_of({first.path()}).empty());
  CHECK(hosts_of({first.path(), second.path(), third.path()}).empty());
  const TemporaryFile same("node7.csv", rows_of(1));
  const std::string folder = std::filesystem::path(same.path()).parent_path().filename().string();
  CHECK(hosts_of({first.path(), same.path()}).at(1) == folder + "/node7");
}

}  // namespace
}  // namespace goodput
