#include "traces/op/raw_log.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

struct LogRead {
  OpTrace trace;
  RawLogReading reading;
  std::string error;  // without the path
};

LogRead read_log(std::string_view text) {
  const TemporaryFile file("timeline_run0_raw.log", text);
  LogRead result;
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  TraceIntake intake(TraceIntake::Mode::kStrict);
  const auto reading = append_raw_log(*source, intake);
  result.trace = std::move(intake).take_trace();
  if (reading)
    result.reading = *reading;
  else
    result.error = without_path(reading.error().message(), file);
  return result;
}

std::string log_error(std::string_view text) {
  return read_log(text).error;
}

bool names_broken_record(const std::string& error) {
  return error.starts_with(":1: the record ") ||
         (error.starts_with(":1: expected ") && error.find(" in the record, found ") != std::string::npos);
}

constexpr std::string_view kDate = "2024-05-01 12:00:00,123 - ";
constexpr std::string_view kWorld =
    "world_info: WorldInfo: TopoInfo(rank=3, dp_rank=0, ddp_rank=0, tp_rank=0, pp_rank=1, local_rank=3, "
    "ip='10.0.0.1', dp_size=4, ddp_size=1, tp_size=1, pp_size=2, world_size=8) TrainingInfo(role_id=0, "
    "trial_id=1, "
    "run_id=0) {}";

// A record of two ops in two steps unless told otherwise.
struct Line {
  std::string metric = "forward-compute";
  std::string durations = "[0.25, 0.5]";
  std::string starts = "[1714564800.1, 1714564800.5]";
  std::string tags = "[{}, {}]";
  std::string step_range = "range(10, 12)";

  [[nodiscard]] std::string text() const {
    return fmt::format(
        "{}metric_name: {}, elapsed: 0.5, recent_elapsed_raw_parts: {}, recent_since_start_raw_parts: "
        "{}, tags: {}, step_range: {}, {}",
        kDate, metric, durations, starts, tags, step_range, kWorld);
  }
};

TEST_CASE("raw log reader: the line of the contract is two ops of two steps") {
  const LogRead read = read_log(
      "2024-05-01 12:00:00,123 - metric_name: forward-compute, elapsed: 0.5, recent_elapsed_raw_parts: "
      "[0.25, 0.25], "
      "recent_since_start_raw_parts: [1714564800.1, 1714564800.5], tags: [{}, {}], step_range: range(10, "
      "12), "
      "world_info: WorldInfo: TopoInfo(rank=3, dp_rank=0, ddp_rank=0, tp_rank=0, pp_rank=1, local_rank=3, "
      "ip='10.0.0.1', dp_size=4, ddp_size=1, tp_size=1, pp_size=2, world_size=8) TrainingInfo(role_id=0, "
      "trial_id=1, "
      "run_id=0) {}\n");
  REQUIRE(read.error == "");
  REQUIRE(read.trace.size() == 2);
  const OpRow row = read.trace.row(1);
  CHECK(row.dp_rank == 0);
  CHECK(row.stage == 1);
  CHECK(row.rank == 3);
  CHECK(row.step == 11);
  CHECK(row.optype == OpType::kForwardCompute);
  CHECK(row.start_s == 1714564800.5);
  CHECK(row.duration_s == 0.25);
  CHECK(row.seq_id == kUnset);
  CHECK(read.trace.step[0] == 10);
}

TEST_CASE(
    "raw log reader: a line may lack its end, end in CR LF, stand without a date or have a space before its "
    "comma") {
  std::string spaced = Line{}.text();
  spaced.insert(spaced.find(", world_info"), " ");
  const std::string bare = Line{}.text().substr(kDate.size());
  const LogRead read = read_log(spaced + "\r\n" + bare + "\n\n" + Line{}.text());
  CHECK(read.error == "");
  CHECK(read.trace.size() == 6);
  CHECK(read.reading.foreign_lines == 0);
}

TEST_CASE("raw log reader: lines of other loggers are counted and skipped") {
  const LogRead read = read_log("2024-05-01 12:00:00,123 - INFO - loss 3.2\nwatching metric_name: loss\n" +
                                Line{}.text() + "\n  File \"train.py\", line 3\n");
  CHECK(read.error == "");
  CHECK(read.reading.ops == 2);
  CHECK(read.reading.foreign_lines == 3);
}

TEST_CASE("raw log reader: ops split evenly over the steps in order") {
  const LogRead read = read_log(Line{.durations = "[0, 0, 0, 0, 0, 0]",
                                     .starts = "[1, 2, 3, 4, 5, 6]",
                                     .tags = "[{}, {}, {}, {}, {}, {}]",
                                     .step_range = "range(10, 16, 2)"}
                                    .text());
  REQUIRE(read.error == "");
  CHECK(read.trace.step == std::vector<std::int64_t>{10, 10, 12, 12, 14, 14});
}

TEST_CASE("raw log reader: the step comes from the tags when every tag has one") {
  const LogRead read =
      read_log(Line{.tags = "[{'_inner_global_step': 41}, {'step': 7, 'global_step': 42}]"}.text());
  REQUIRE(read.error == "");
  CHECK(read.trace.step == std::vector<std::int64_t>{41, 42});
  const LogRead partly = read_log(Line{.tags = "[{'step': 41}, {'step': None}]"}.text());
  REQUIRE(partly.error == "");
  CHECK(partly.trace.step == std::vector<std::int64_t>{10, 11});
}

TEST_CASE("raw log reader: tags may hold any Python value") {
  const LogRead read = read_log(Line{
      .tags = R"([{'a': nan, 'b': None, "it's": 'x, }]', 'step': 3, 'c': [1, (2, {'d': {4}})], 5: -inf}, )"
              R"({'step': 4, 'e': tensor([1., 2.], device='cuda:0'), 'f': "\"}", 'g': 1.5}])"}
                                    .text());
  REQUIRE(read.error == "");
  CHECK(read.trace.step == std::vector<std::int64_t>{3, 4});
}

TEST_CASE("raw log reader: an elapsed time that is no number does no harm") {
  std::string text = Line{}.text();
  text.replace(text.find("0.5"), 3, "nan");
  CHECK(log_error(text) == "");
}

TEST_CASE("raw log reader: metrics that are no ops are counted and skipped, empty records are nothing") {
  const LogRead read =
      read_log(Line{.metric = "special", .durations = "[]", .starts = "[]", .tags = "[]"}.text() + "\n" +
               Line{.durations = "[]", .starts = "[]", .tags = "[]", .step_range = "range(0, 0)"}.text());
  CHECK(read.error == "");
  CHECK(read.reading.ignored_metrics == 1);
  CHECK(read.trace.size() == 0);
}

TEST_CASE("raw log reader: ops before the first step are left out") {
  const LogRead read = read_log(Line{.step_range = "range(-1, 1)"}.text());
  CHECK(read.error == "");
  CHECK(read.reading.before_training == 1);
  CHECK(read.trace.step == std::vector<std::int64_t>{0});
}

TEST_CASE("raw log reader: ops that do not divide over the steps are an error with the line") {
  CHECK(log_error("other\n" + Line{.step_range = "range(10, 13)"}.text()) ==
        ":2: the 2 ops of \"forward-compute\" do not divide evenly over the 3 steps of range(10, 13); record "
        "the step in the tag of every op");
  CHECK(log_error(Line{.step_range = "range(5, 5)"}.text()) ==
        ":1: the 2 ops of \"forward-compute\" do not divide evenly over the 0 steps of range(5, 5); record "
        "the step in the tag of every op");
}

TEST_CASE("raw log reader: lists of different lengths are an error") {
  CHECK(log_error(Line{.tags = "[{}]"}.text()) ==
        ":1: the record has 2 durations, 2 starts and 1 tags, but must have equally many of each");
}

TEST_CASE("raw log reader: times that are no time are an error") {
  CHECK(log_error(Line{.durations = "[0.25, nan]"}.text()) ==
        ":1: op 2 of \"forward-compute\": duration must be seconds from 0 to 9.2e+09, not nan");
  CHECK(log_error(Line{.starts = "[-inf, 1]"}.text()) ==
        ":1: op 1 of \"forward-compute\": start_ts must be seconds within +-9.2e+09, not -inf");
  CHECK(log_error(Line{.durations = "[None, 1]"}.text())
            .starts_with(":1: expected a number in the record, found \"None, 1], recent_since"));
  CHECK(log_error(Line{.durations = "[1e999, 1]"}.text()).find(": expected a number in the record, found ") !=
        std::string::npos);
}

TEST_CASE("raw log reader: an unknown metric is an error with a suggestion") {
  CHECK(log_error(Line{.metric = "forward-computer"}.text()) ==
        ":1: metric \"forward-computer\" is unknown; did you mean \"forward-compute\"?");
}

TEST_CASE("raw log reader: a record that is cut short is an error wherever it ends") {
  const std::string text = Line{.tags = "[{'a': 'b'}, {'step': 1}]"}.text();
  const std::size_t begin = kDate.size() + std::string_view("metric_name: ").size();
  const std::size_t end = text.find(" TrainingInfo");
  for (std::size_t length = begin; length < end; ++length) {
    CAPTURE(length);
    CHECK(names_broken_record(log_error(text.substr(0, length))));
  }
  CHECK(log_error(text.substr(0, end)) == "");
  CHECK(log_error(text.substr(0, text.find(", tags"))) ==
        ":1: the record is cut short: expected \", tags: \"");
}

TEST_CASE("raw log reader: of a cut record and a whole one in a line only the whole one is read") {
  // Cut inside its tags, the beginning of one reads as a record with the end of the other.
  const std::string text = Line{.tags = "[{'a': 'b'}, {'step': 1}]"}.text();
  const std::string behind = Line{.metric = "backward-compute"}.text();
  const std::size_t begin = kDate.size() + std::string_view("metric_name: ").size();
  for (std::size_t length = begin; length < text.find("TopoInfo("); ++length) {
    CAPTURE(length);
    const std::string line = text.substr(0, length) + behind;
    CHECK(names_broken_record(log_error(line)));
    TraceIntake intake;
    RawLogReading reading;
    CHECK(!append_raw_log_line(line, Position::line(1), intake, reading));
    CHECK(intake.trace().optype == std::vector<OpType>(2, OpType::kBackwardCompute));
    CHECK(intake.count_of(CleaningRule::kCutRecords) == 1);
  }
}

TEST_CASE("raw log reader: a broken record is an error that shows where") {
  CHECK(log_error(Line{.step_range = "range(1, x)"}.text())
            .starts_with(":1: expected an integer in the record, found \"x), world_info"));
  CHECK(log_error(Line{.step_range = "range(0, 2, 0)"}.text()) ==
        ":1: the record has a step_range of stride 0");
  CHECK(log_error(Line{.step_range = "range(0, 9223372036854775807)"}.text()) ==
        ":1: the record has 9223372036854775807, which is more than 2^53");
  std::string text = Line{}.text();
  text.replace(text.find("pp_rank=1"), 9, "pp_rank=a");
  CHECK(log_error(text) == ":1: TopoInfo has no integer \"pp_rank\"");
  CHECK(log_error(Line{.tags = "[{'a': " + std::string(100, '[') + std::string(100, ']') + "}, {}]"}.text())
            .find("expected a tag's value and '}' in the record, found ") != std::string::npos);
}

TEST_CASE("raw log reader: lines longer than a read are put together, lines without end refused") {
  std::string numbers = "[1";
  std::string tags = "[{}";
  for (int i = 0; i < 400'000; ++i) {
    numbers += ", 1";
    tags += ", {}";
  }
  const Line long_line{
      .durations = numbers + "]", .starts = numbers + "]", .tags = tags + "]", .step_range = "range(0, 1)"};
  const LogRead read = read_log(Line{}.text() + "\n" + long_line.text() + "\n" + Line{}.text());
  CHECK(read.error == "");
  CHECK(read.trace.size() == 400'005);
  CHECK(log_error("a\n" + std::string(18 << 20, 'x')) == ":2: the line is longer than 16 MiB");
}

TEST_CASE("raw log reader: content is recognised by a record among other lines") {
  const OpTraceFormat format = op_trace_format_raw_log();
  CHECK(format.matches("starting up\n" + Line{}.text()));
  CHECK_FALSE(format.matches("metric,value\nmetric_name,1\n"));
  CHECK_FALSE(format.matches(""));
}

TEST_CASE("raw log: what is written is read back, but for the ids that a raw log does not have") {
  OpTrace trace;
  for (const std::int64_t step : {3, 4}) {
    for (const std::int64_t seq_id : {0, 1}) {
      const auto number = static_cast<double>(2 * step + seq_id);
      REQUIRE_FALSE(trace.append(
          {1, 2, 9, step, OpType::kForwardCompute, 0.1 * number, 1 / number, seq_id, 0, seq_id, 2}));
    }
  }
  const TemporaryFile file("a.log.gz");
  REQUIRE(op_trace_format_raw_log().write(trace, file.path(), file.path()));
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  TraceIntake intake;
  REQUIRE(op_trace_format_raw_log().append_file(*source, intake));
  const OpTrace& read = intake.trace();
  for (auto* ids : {&trace.seq_id, &trace.mb_id, &trace.gmc}) std::fill(ids->begin(), ids->end(), kUnset);
  std::fill(trace.mc.begin(), trace.mc.end(), kUnset);
  CHECK(hash_rows(read) == hash_rows(trace));
  CHECK(read.start_s == trace.start_s);
}

TEST_CASE("raw log reader: a rotated file without ops adds none") {
  const TemporaryFile file("a.log", "hello\n" + Line{.metric = "special"}.text());
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  TraceIntake intake;
  const Result<FileNotes> notes = op_trace_format_raw_log().append_file(*source, intake);
  REQUIRE(notes);
  CHECK(intake.trace().size() == 0);
  CHECK(*notes == FileNotes{file.path() + ": ignored lines of other loggers: 1",
                            file.path() + ": ignored lines of metrics that are not ops of a step: 1"});
}

}  // namespace
}  // namespace goodput
