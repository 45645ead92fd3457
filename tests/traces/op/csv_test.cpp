#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/traces/io/temporary_file.h"
#include "tests/traces/op/random_trace.h"
#include "traces/io/byte_source.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

const std::string kHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
const std::string kRow = "1,2,6,16,forward-compute,2.6883304,0.5,3,0,4,2\n";

Result<OpTrace> read_csv(const std::string& path) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  TraceIntake intake(TraceIntake::Mode::kStrict);
  GOODPUT_TRY_STATUS(op_trace_format_csv().append_file(source, intake));
  return std::move(intake).take_trace();
}

OpTrace csv_trace(const std::string& text) {
  const TemporaryFile file("t.csv", text);
  auto trace = read_csv(file.path());
  INFO((trace ? std::string() : trace.error().message()));
  REQUIRE(trace);
  return *std::move(trace);
}

// The error without the path: `:LINE: what`.
std::string csv_error(const std::string& text) {
  const TemporaryFile file("t.csv", text);
  const auto trace = read_csv(file.path());
  REQUIRE_FALSE(trace);
  return without_path(trace.error().message(), file);
}

std::string csv_text(const OpTrace& trace, const std::string& name = "t.csv") {
  const TemporaryFile file(name);
  const Status status = op_trace_format_csv().write(trace, file.path(), file.path());
  REQUIRE(status);
  return file.content();
}

TEST_CASE("csv: a row is read field by field") {
  const OpRow row = csv_trace(kHeader + kRow).row(0);
  CHECK(row.dp_rank == 1);
  CHECK(row.stage == 2);
  CHECK(row.rank == 6);
  CHECK(row.step == 16);
  CHECK(row.optype == OpType::kForwardCompute);
  CHECK(row.duration_s == 0.5);
  CHECK(row.seq_id == 3);
  CHECK(row.mc == 0);
  CHECK(row.mb_id == 4);
  CHECK(row.gmc == 2);
}

TEST_CASE("csv: times written as float32 are read as float32") {
  const double start = csv_trace(kHeader + kRow).row(0).start_s;
  CHECK(start == static_cast<double>(2.6883304F));
  CHECK(start != 2.6883304);
}

TEST_CASE("csv: one time that no float32 is written as makes all times of the file float64") {
  const OpTrace trace = csv_trace(kHeader + kRow + "1,2,6,16,gc,0.12345678901,0.5,0,-1,0,-1\n");
  CHECK(trace.start_s[0] == 2.6883304);
  CHECK(trace.start_s[1] == 0.12345678901);
}

TEST_CASE("csv: columns may stand in any order, among others, quoted, with CRLF and a byte order mark") {
  const OpTrace expected = csv_trace(kHeader + kRow);
  check_equal(expected, csv_trace("\xef\xbb\xbf" + kHeader + kRow));
  check_equal(expected, csv_trace(kHeader + kRow + "\n"));                      // a blank last line
  check_equal(expected, csv_trace(kHeader + kRow.substr(0, kRow.size() - 1)));  // no end of the last line
  check_equal(expected, csv_trace("dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\r\n"
                                  "1,2,6,16,forward-compute,2.6883304,0.5,3,0,4,2\r\n"));
  check_equal(expected,
              csv_trace("gmc,\"mb_id\",host,mc,seq_id,duration,start_ts,optype,step,rank,stage,dp_rank\n"
                        "2,4,\"a, \"\"b\"\"\",0,3,0.5,2.6883304,\"forward-compute\",\"16\",6,2,1\n"));
}

TEST_CASE("csv: a file without seq_id, mc and mb_id leaves the ids to be derived") {
  const OpTrace trace =
      csv_trace("dp_rank,stage,rank,step,optype,start_ts,duration,gmc\n0,0,0,1,gc,0.5,0.25,7\n");
  const OpRow row = trace.row(0);
  CHECK(row.seq_id == kUnset);
  CHECK(row.mc == kUnset);
  CHECK(row.mb_id == kUnset);
  CHECK(row.gmc == kUnset);
}

TEST_CASE("csv: a header alone is a trace without rows") {
  CHECK(csv_trace(kHeader).size() == 0);
}

TEST_CASE("csv: rows are appended to those that are there, whose times stay as they are") {
  const TemporaryFile file("t.csv", kHeader + kRow);
  TraceIntake intake(TraceIntake::Mode::kStrict);
  intake.trace() = csv_trace(kHeader + "1,2,6,16,gc,0.12345678901,0.5,0,-1,0,-1\n");
  auto source = ByteSource::open(file.path());
  REQUIRE(op_trace_format_csv().append_file(*source, intake));
  const OpTrace& trace = intake.trace();
  CHECK(trace.start_s[0] == 0.12345678901);
  CHECK(trace.start_s[1] == static_cast<double>(2.6883304F));
}

TEST_CASE("csv: errors in the header name the column") {
  const std::string row = "\n";
  CHECK(csv_error("dp_rank,stage,rank,step,optype,start_ts,durations,seq_id,mc,mb_id,gmc\n") ==
        ":1: no column \"duration\", but \"durations\"; did you mean \"duration\"?");
  CHECK(
      csv_error("dp_rank,stage,rank,step,optype,start_ts,seq_id,mc,mb_id,gmc\n") ==
      ":1: no column \"duration\"; expected dp_rank, stage, rank, step, optype, start_ts, duration, seq_id, "
      "mc, mb_id, "
      "gmc");
  CHECK(csv_error("dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,gmc\n") ==
        ":1: no column \"mb_id\" (seq_id, mc and mb_id must be all present, or all absent so that goodput "
        "derives them); expected dp_rank, stage, rank, step, optype, start_ts, duration, seq_id, mc, mb_id, "
        "gmc");
  CHECK(csv_error("dp_rank,stage,rank,stage,step\n") == ":1: column \"stage\" occurs twice");
  CHECK(csv_error("\"dp_rank,stage\n") == ":1: a field has an opening quote without a closing quote");
}

TEST_CASE("csv: errors in a row name the line and what was there") {
  const auto error_of_row = [](const std::string& row) { return csv_error(kHeader + kRow + row + "\n"); };
  CHECK(error_of_row("1,2,6,16,gc,0.5,0.5,3,0,4") == ":3: has 10 fields, but the header has 11 columns");
  CHECK(error_of_row("1,2,6,16,gc,0.5,0.5,3,0,4,5,6") == ":3: has 12 fields, but the header has 11 columns");
  CHECK(error_of_row("1,2,6,x,gc,0.5,0.5,3,0,4,5") == ":3: step must be an integer, not \"x\"");
  CHECK(error_of_row("1,2,6,1.5,gc,0.5,0.5,3,0,4,5") == ":3: step must be an integer, not \"1.5\"");
  CHECK(error_of_row("1,2,6,,gc,0.5,0.5,3,0,4,5") == ":3: step must be an integer, not \"\"");
  CHECK(error_of_row("1,2,6,9223372036854775808,gc,0.5,0.5,3,0,4,5") ==
        ":3: step is \"9223372036854775808\", which does not fit into 64 bits");
  CHECK(error_of_row("1,40000,6,1,gc,0.5,0.5,3,0,4,5") == ":3: stage must be from 0 to 32766, not 40000");
  CHECK(error_of_row("-1,0,6,1,gc,0.5,0.5,3,0,4,5") == ":3: dp_rank must be from 0 to 2147483646, not -1");
  CHECK(error_of_row("1,2,6,1,gc,abc,0.5,3,0,4,5") ==
        ":3: start_ts must be a number of seconds, not \"abc\"");
  CHECK(error_of_row("1,2,6,1,gc,0.5,1e400,3,0,4,5") ==
        ":3: duration must be a number of seconds, not \"1e400\"");
  CHECK(error_of_row("1,2,6,1,gc,nan,0.5,3,0,4,5") ==
        ":3: start_ts must be seconds within +-9.2e+09, not nan");
  CHECK(error_of_row("1,2,6,1,gc,0.5,inf,3,0,4,5") ==
        ":3: duration must be seconds from 0 to 9.2e+09, not inf");
  CHECK(error_of_row("1,2,6,1,gc,0.5,-0.5,3,0,4,5") ==
        ":3: duration must be seconds from 0 to 9.2e+09, not -0.5");
  CHECK(error_of_row("1,2,6,1,forward-compue,0.5,0.5,3,0,4,5") ==
        ":3: unknown optype \"forward-compue\"; did you mean \"forward-compute\"?");
  CHECK(error_of_row("1,2,6,1,x,0.5,0.5,3,0,4,5") == ":3: unknown optype \"x\"");
  CHECK(error_of_row("1,2,6,1,\"gc,0.5,0.5,3,0,4,5") ==
        ":3: a field has an opening quote without a closing quote");
  CHECK(error_of_row("1,2,6,1,\"gc\"x,0.5,0.5,3,0,4,5") ==
        ":3: a field has an opening quote without a closing quote");
}

TEST_CASE("csv: line numbers count blank lines and lines of earlier blocks") {
  std::string text = kHeader;
  for (int i = 0; i < 20'000; ++i) text += kRow;  // 900 KB: several blocks
  text += "\nx\n";
  CHECK(csv_error(text) == ":20003: dp_rank must be an integer, not \"x\"");
}

TEST_CASE("csv: a number of ten million digits is refused without reading it whole") {
  CHECK(csv_error(kHeader + std::string(10'000'000, '9')) ==
        ":2: the line is longer than 262144 bytes; is it the right file?");
  CHECK(csv_error(kHeader + std::string(200'000, '9') + kRow) ==
        ":2: dp_rank is \"" + std::string(60, '9') +
            "...\" (200001 characters), which does not fit into 64 bits");
}

TEST_CASE("csv: truncated gzip data is an error") {
  const std::string whole = csv_text(random_trace(3, 500, TimeKind::kFloat32), "t.csv.gz");
  CHECK(csv_error(whole.substr(0, whole.size() / 2)) == ": gzip data ends early: the file is truncated");
}

TEST_CASE("csv: any trace survives writing and reading") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const TimeKind kind : {TimeKind::kFloat32, TimeKind::kFloat64, TimeKind::kShortFloat64}) {
      INFO("seed ", seed, ", kind ", static_cast<int>(kind));
      const OpTrace trace = random_trace(seed, 3000, kind);
      const std::string text = csv_text(trace);
      const OpTrace again = csv_trace(text);
      check_equal(trace, again);
      CHECK(csv_text(again) == text);
    }
  }
}

TEST_CASE("csv: float64 times of few digits carry a mark that keeps them from being read as float32") {
  OpTrace trace;
  OpRow row;
  row.start_s = 0.5;
  row.duration_s = 0.1;
  REQUIRE_FALSE(trace.append(row));
  const std::string text = csv_text(trace);
  CHECK(text == kHeader + "0,0,0,0,forward-compute,0.5,0.1000000000,0,-1,-1,-1\n");
  CHECK(csv_trace(text).duration_s[0] == 0.1);
}

TEST_CASE("csv: gzip output is the same every time and carries no time or name") {
  const OpTrace trace = random_trace(1, 100, TimeKind::kFloat32);
  const std::string bytes = csv_text(trace, "t.csv.gz");
  CHECK(bytes == csv_text(trace, "t.csv.gz"));
  CHECK(bytes.substr(0, 2) == "\x1f\x8b");
  CHECK(bytes.substr(3, 5) == std::string(5, '\0'));  // flags (no name) and modification time
}

TEST_CASE("csv: a folder that is not there is an error of the writer") {
  const TemporaryFile file("x");
  const std::string path = file.path() + "/t.csv";
  const Status status = op_trace_format_csv().write({}, path, path);
  REQUIRE_FALSE(status);
  CHECK(status.error().message() == path + ": cannot write: No such file or directory");
}

TEST_CASE("csv: content is recognised by its header, also with a misspelt column") {
  const auto matches = op_trace_format_csv().matches;
  CHECK(matches(kHeader));
  CHECK(matches("\xef\xbb\xbf" + kHeader));
  CHECK(matches("host,dp_rank,stage,rank,stp,optype"));
  CHECK_FALSE(matches("iter,layer,e0,e1\n0,0,5,6\n"));
  CHECK_FALSE(matches("{\"traceEvents\": []}"));
  CHECK_FALSE(matches(""));
}

TEST_CASE("csv: the published traces are written as they were read, byte for byte") {
  for (const char* name : {"AR", "ST"}) {
    const std::string folder = std::string(GOODPUT_SHARED_DATA) + "/ndtimeline/" + name;
    if (!std::filesystem::exists(folder)) {
      MESSAGE("skipped: no shared data");
      return;
    }
    auto original = ByteSource::open(folder + "/trace.csv.gz");
    REQUIRE(original);
    const auto text = read_all(*original, std::size_t{64} << 20);
    REQUIRE(text);
    CHECK(csv_text(*read_csv(folder + "/trace.csv.gz")) == *text);
  }
}

}  // namespace
}  // namespace goodput
