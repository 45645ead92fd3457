#include "traces/op/op_trace_reader.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "tests/traces/io/temporary_file.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

const std::string kCsvHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

std::string reader_error(const std::vector<std::string>& paths, const OpTraceReadOptions& options = {}) {
  const auto reading = read_op_trace(paths, options);
  REQUIRE_FALSE(reading);
  return reading.error().message();
}

TEST_CASE("op trace formats: names are distinct and every writable format has an extension") {
  std::set<std::string_view> names;
  for (const OpTraceFormat& format : op_trace_formats()) {
    CHECK(names.insert(format.name).second);
    CHECK_FALSE(format.summary.empty());
    CHECK((format.write != nullptr) == !format.extensions.empty());
  }
  CHECK(names == std::set<std::string_view>{"chrome", "csv", "kineto", "parquet", "raw_log"});
}

TEST_CASE("op trace reader: several files are one trace, in the order given") {
  const TemporaryFile first("a.csv", kCsvHeader + "0,0,0,1,gc,0.5,0.5,0,-1,0,-1\n");
  const TemporaryFile second("b.csv", kCsvHeader + "1,0,1,1,gc,0.25,0.5,0,-1,0,-1\n");
  const auto reading = read_op_trace({first.path(), second.path()}, {});
  REQUIRE(reading);
  CHECK(reading->trace.dp_rank == std::vector<std::int32_t>{0, 1});
  CHECK(reading->formats == std::vector<std::string>{"csv", "csv"});
  CHECK(reading->notes.empty());
}

TEST_CASE("op trace reader: a pipe is read in a streaming format") {
  const TemporaryFile pipe("pipe");
  REQUIRE(mkfifo(pipe.path().c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(pipe.path()) << kCsvHeader << "0,0,0,1,gc,0.5,0.5,0,-1,0,-1\n"; });
  const auto reading = read_op_trace({pipe.path()}, {});
  writer.join();
  REQUIRE(reading);
  CHECK(reading->trace.size() == 1);
}

TEST_CASE("op trace reader: rows without ids get them from the recorded order, with a note") {
  const std::string columns = "dp_rank,stage,rank,step,optype,start_ts,duration\n";
  const TemporaryFile file("t.csv", columns +
                                        "0,0,0,1,forward-compute,0.5,0.25\n"
                                        "0,0,0,1,backward-compute,0.75,0.25\n"
                                        "0,0,0,1,gc,1.0,0.0\n");
  const auto reading = read_op_trace({file.path()}, {});
  REQUIRE(reading);
  CHECK(reading->trace.seq_id == std::vector<std::int32_t>{0, 0, 0});
  CHECK(reading->trace.mb_id[0] == 0);
  CHECK(reading->trace.gmc[0] == 0);
  CHECK(reading->notes.size() == 1);
}

TEST_CASE("op trace reader: unknown content lists the formats") {
  const TemporaryFile file("t.txt", "hello world\n");
  CHECK(reader_error({file.path()}) ==
        file.path() +
            ": is not in a known op trace format (parquet, kineto, chrome, raw_log, csv; see `goodput list "
            "formats`); it begins with \"hello world\"");
}

TEST_CASE("op trace reader: an unknown format is refused before any file is opened") {
  OpTraceReadOptions options;
  options.format = "cvs";
  CHECK(
      reader_error({"nowhere"}, options) ==
      "unknown op trace format \"cvs\"; did you mean \"csv\"?; known: parquet, kineto, chrome, raw_log, csv");
}

TEST_CASE("op trace reader: a given format overrides the content") {
  const TemporaryFile file("t.txt", "hello world\n");
  OpTraceReadOptions options;
  options.format = "csv";
  CHECK(reader_error({file.path()}, options) ==
        file.path() +
            ":1: no column \"dp_rank\"; expected dp_rank, stage, rank, step, "
            "optype, start_ts, duration, seq_id, mc, "
            "mb_id, gmc");
}

TEST_CASE("op trace reader: a byte order mark of UTF-8 is accepted") {
  const TemporaryFile file("t.csv", "\xef\xbb\xbf" + kCsvHeader + "0,0,0,1,gc,0.5,0.5,0,-1,0,-1\n");
  const auto reading = read_op_trace({file.path()}, {});
  REQUIRE(reading);
  CHECK(reading->trace.size() == 1);
}

TEST_CASE("op trace reader: text that no reader takes is refused with what to do") {
  const std::string row = "0,0,0,1,gc,0.5,0.5,0,-1,0,-1\n";
  std::string wide;
  for (const char c : kCsvHeader + row) wide += {c, '\0'};
  std::string old = kCsvHeader + row;
  std::ranges::replace(old, '\n', '\r');
  const auto refusal = [](const std::string& text, const OpTraceReadOptions& options = {}) {
    const TemporaryFile file("t.csv", text);
    return without_path(reader_error({file.path()}, options), file);
  };
  OpTraceReadOptions as_csv;
  as_csv.format = "csv";
  CHECK(refusal("\xff\xfe" + wide) == ": is UTF-16 text; save it as UTF-8");
  CHECK(refusal(wide, as_csv) == ": is UTF-16 text; save it as UTF-8");
  CHECK(refusal(old) == ": ends its lines with CR only; save it with LF or CRLF line endings");
  CHECK(refusal("# job 7\n" + kCsvHeader + row) ==
        ": begins with a comment; remove the lines that begin with #");
}

TEST_CASE("op trace reader: a torch.profiler trace is told from its first keys or categories") {
  const std::string refusal =
      ": is a torch.profiler (Kineto) trace, which has kernels and collectives, not the ops of other "
      "formats; "
      "analyze it with `goodput whatif DIR`";
  const std::string texts[] = {
      R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": []})",
      R"( { "schemaVersion":1, "distributedInfo": {"backend": "nccl"}, "traceEvents": []})",
      "\xef\xbb\xbf{\"schemaVersion\": 1, \"baseTimeNanoseconds\": 7, \"traceEvents\": []}",
      R"([{"ph": "M", "name": "process_name"}, {"ph": "X", "cat" : "cpu_op", "name": "aten::mm"}])",
      R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"sgemm"}]})",
      R"([{"ph": "X", "name": "a", "cat": "other"}, {"ph": "X", "cat": "user_annotation", "name": "b"}])",
      R"([{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel"}])",
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    const TemporaryFile file("t.json", text);
    CHECK(without_path(reader_error({file.path()}), file) == refusal);
  }
}

TEST_CASE("op trace reader: a Chrome trace of ops may have categories and keys of its own") {
  const std::string op = R"("ph": "X", "name": "gc", "pid": 0, "tid": 0, "ts": 1, "dur": 2,
      "args": {"rank": 0, "step": 1, "tp": 0, "pp": 0, "schemaVersion": 1, "deviceProperties": "cpu_op"})";
  const std::string kernel = R"({"ph": "X", "cat": "kernel", "name": "sgemm", "tid": 7, "ts": 1, "dur": 2})";
  for (const std::string& text :
       {"[" + kernel + ", {" + op + "}]", "[{\"cat\": \"ndtimeline\", " + op + "}]",
        "[{\"cat\": 1, " + op + "}]", R"({"schemaVersion": 1, "traceEvents": [{)" + op + "}]}"}) {
    CAPTURE(text);
    const TemporaryFile file("t.json", text);
    CHECK(read_op_trace({file.path()}, {}));
  }
}

TEST_CASE("op trace reader: an empty file beside others is noted, unless the reading is strict") {
  const TemporaryFile file("a.csv", kCsvHeader + "0,0,0,1,gc,0.5,0.5,0,-1,0,-1\n");
  const TemporaryFile blank("b.csv", " \n\n");
  const TemporaryFile empty("c.csv");
  std::ofstream(empty.path()).close();
  const auto reading = read_op_trace({blank.path(), file.path(), empty.path()}, {});
  REQUIRE(reading);
  CHECK(reading->trace.size() == 1);
  CHECK(reading->formats == std::vector<std::string>{"csv"});
  CHECK(reading->hosts.empty());
  CHECK(reading->notes == std::vector<std::string>{blank.path() + " is empty and was skipped",
                                                   empty.path() + " is empty and was skipped"});
  OpTraceReadOptions strict;
  strict.strict = true;
  CHECK(reader_error({file.path(), empty.path()}, strict) ==
        empty.path() + ": is empty; omit the file, or read without strict");
  CHECK(reader_error({empty.path()}) == empty.path() + ": is empty");
  CHECK(reader_error({blank.path(), empty.path()}) ==
        blank.path() + ": is empty, and so are the other files; give the files with the ops");
}

TEST_CASE("op trace reader: nothing to read is an error") {
  const TemporaryFile file("t.csv", kCsvHeader);
  CHECK(reader_error({}) == "no trace file given");
  CHECK(reader_error({file.path()}) == file.path() + ": has no ops");
  CHECK(reader_error({file.path() + "x"}) == file.path() + "x: cannot open: No such file or directory");
}

}  // namespace
}  // namespace goodput
