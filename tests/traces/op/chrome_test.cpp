#include "traces/op/chrome.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "tests/traces/op/random_trace.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

constexpr JsonWindowLimits kDefaults;

struct ChromeRead {
  OpTrace trace;
  ChromeReading reading;
  std::string error;  // without the path
};

ChromeRead read_chrome(std::string_view text, const JsonWindowLimits& limits = kDefaults) {
  const TemporaryFile file("trace.json", text);
  ChromeRead result;
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  TraceIntake intake(TraceIntake::Mode::kStrict);
  const auto reading = append_chrome_events(*source, intake, limits);
  result.trace = std::move(intake).take_trace();
  if (reading)
    result.reading = *reading;
  else
    result.error = without_path(reading.error().message(), file);
  return result;
}

std::string chrome_error(std::string_view text, const JsonWindowLimits& limits = kDefaults) {
  return read_chrome(text, limits).error;
}

// An event as NDTimeline writes it; `extra` goes behind its last field.
std::string event(std::string_view extra = "", std::string_view extra_args = "") {
  return fmt::format(
      R"({{"name": "forward-compute", "cat": "forward-compute", "pid": 1, "tid": 30, "args": {{)"
      R"("rank": 3, "step": 7, "tp": 0, "pp": 2{}}}, "ts": 1500000.0, "dur": 250, "ph": "X"{}}})",
      extra_args, extra);
}

// The fixed event with one field's text replaced.
std::string event_with(std::string_view field, std::string_view replacement) {
  std::string text = event();
  const auto at = text.find(field);
  REQUIRE(at != std::string::npos);
  return "[" + text.replace(at, field.size(), replacement) + "]";
}

TEST_CASE("chrome reader: an NDTimeline event is a row in seconds without identity") {
  const ChromeRead read = read_chrome("[" + event() + "]");
  REQUIRE(read.error == "");
  REQUIRE(read.trace.size() == 1);
  const OpRow row = read.trace.row(0);
  CHECK(row.dp_rank == 1);
  CHECK(row.stage == 2);
  CHECK(row.rank == 3);
  CHECK(row.step == 7);
  CHECK(row.optype == OpType::kForwardCompute);
  CHECK(row.start_s == 1.5);
  CHECK(row.duration_s == 250e-6);
  CHECK(row.seq_id == kUnset);
  CHECK(row.mc == kUnset);
  CHECK(row.mb_id == kUnset);
  CHECK(row.gmc == kUnset);
}

TEST_CASE("chrome reader: identities in args are kept") {
  const ChromeRead read =
      read_chrome("[" + event("", R"(, "seq_id": 5, "mc": 1, "mb_id": 4, "gmc": 6)") + "]");
  REQUIRE(read.trace.size() == 1);
  CHECK(read.trace.seq_id[0] == 5);
  CHECK(read.trace.mc[0] == 1);
  CHECK(read.trace.mb_id[0] == 4);
  CHECK(read.trace.gmc[0] == 6);
}

TEST_CASE("chrome reader: without args.rank the rank comes from the thread, ten threads a rank") {
  const ChromeRead read =
      read_chrome(R"([{"name":"gc","ph":"X","pid":0,"tid":126,"ts":0,"dur":0,"args":{"step":0,"pp":0}}])");
  REQUIRE(read.error == "");
  CHECK(read.trace.rank[0] == 12);
}

TEST_CASE("chrome reader: events may stand in an object, between other keys of any kind") {
  const ChromeRead read =
      read_chrome(R"({"displayTimeUnit": "ms", "stackFrames": {"a]": [1, {"b": "}\""}]}, "x": null,)"
                  R"( "traceEvents" : [)" +
                  event() + "," + event() + R"(] , "meta": {"traceEvents": []}} )");
  CHECK(read.error == "");
  CHECK(read.trace.size() == 2);
}

TEST_CASE("chrome reader: other phases and metrics that are no ops are counted and skipped") {
  const ChromeRead read =
      read_chrome(R"([{"name":"thread_name","ph":"M","pid":"x","args":{"name":"main"}},)" + event() +
                  R"(,{"name":"optimizer-inner-step","ph":"X"}])");
  CHECK(read.error == "");
  CHECK(read.reading.ops == 1);
  CHECK(read.reading.not_ops == 1);
  CHECK(read.reading.ignored_metrics == 1);
}

TEST_CASE("chrome reader: a byte order mark, white space and an empty array are accepted") {
  CHECK(read_chrome("\xef\xbb\xbf \n[ ]\t\r\n").error == "");
  CHECK(read_chrome(R"({"traceEvents":[ ]})").error == "");
}

TEST_CASE("chrome reader: any window size gives the same rows") {
  const std::string odd = event(R"(, "note": "a \"quoted\" ]}, \\")");
  const std::string text =
      R"({"a": ["}", "\\"], "traceEvents": [)" + odd + " , " + event() + "\n,\n" + odd + "]}";
  const ChromeRead whole = read_chrome(text);
  REQUIRE(whole.error == "");
  REQUIRE(whole.trace.size() == 3);
  for (std::size_t window = 1; window < 80; ++window) {
    CAPTURE(window);
    const ChromeRead cut = read_chrome(text, {.window_bytes = window, .event_bytes = 400});
    CHECK(cut.error == "");
    check_equal(whole.trace, cut.trace);
  }
}

TEST_CASE("chrome reader: a truncated file is an error wherever it ends, whatever the windows") {
  const std::string text = R"({"b": [1], "traceEvents": [)" + event() + ", " + event() + "] }";
  for (std::size_t length = 1; length < text.size(); ++length) {
    CAPTURE(length);
    const std::string error = chrome_error(text.substr(0, length));
    CHECK(error.find("truncated") != std::string::npos);
    CHECK(chrome_error(text.substr(0, length), {.window_bytes = 7, .event_bytes = 1000}) == error);
  }
}

TEST_CASE("chrome reader: what a file lacks at its end is said") {
  CHECK(chrome_error("[" + event()) == ": event 1: the file is truncated inside this event");
  CHECK(chrome_error("[" + event() + ",") ==
        ": event 2: the file is truncated before this event, without a closing ']'");
  CHECK(chrome_error("[") == ": event 1: the file is truncated before this event, without a closing ']'");
  CHECK(chrome_error(R"({"traceEvents":[])") == ": byte 17: the file is truncated: expected ',' or '}'");
  CHECK(chrome_error(R"({"a)") == ": byte 3: the file is truncated inside a key");
  CHECK(chrome_error(R"({"a": [1)") == ": byte 8: the file is truncated inside a value");
  CHECK(chrome_error("  ") == ": byte 2: the file is truncated: expected '[' or '{'");
}

TEST_CASE("chrome reader: what does not belong around the events is an error") {
  CHECK(
      chrome_error("[" + event() + "]]") ==
      fmt::format(": byte {}: expected nothing after the end of the trace, found \"]\"", event().size() + 2));
  CHECK(chrome_error("nonsense") ==
        ": byte 0: expected '[' or '{', found \"n\": a Chrome trace is a JSON array of events or an object "
        "with \"traceEvents\"");
  CHECK(chrome_error(R"({"a": 1})") == ": is a JSON object without \"traceEvents\"; is it a Chrome trace?");
  CHECK(chrome_error("{}") == ": is a JSON object without \"traceEvents\"; is it a Chrome trace?");
  CHECK(chrome_error(R"({"traceEvents": 5})") == ": byte 16: expected '[', found \"5\"");
  CHECK(chrome_error(R"({"a": ,"traceEvents": []})") == ": byte 6: a value is missing");
  CHECK(chrome_error(R"({"traceEvents": [], "traceEvents": []})") ==
        ": byte 33: \"traceEvents\" occurs twice");
  CHECK(chrome_error("[," + event() + "]") == ": event 1: is missing before a comma");
  CHECK(chrome_error("[" + event() + ",]") ==
        ": event 2: is missing: there is a comma before the closing ']'");
  CHECK(chrome_error("[" + event() + "}]") == ": event 1: is followed by a '}' without a matching '{'");
}

TEST_CASE("chrome reader: events beyond the limits are errors") {
  const std::string long_event = event(fmt::format(R"(, "note": "{}")", std::string(1 << 20, 'x')));
  CHECK(chrome_error("[" + event() + "," + long_event + "]") == ": event 2: is longer than 1 MiB");
  const std::string number = fmt::format(R"(, "note": {})", std::string(10'000'000, '7'));
  CHECK(chrome_error("[" + event(number) + "]") == ": event 1: is longer than 1 MiB");
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  CHECK(chrome_error("[" + deep + "]") == ": event 1: is nested deeper than 64 levels");
  CHECK(chrome_error(R"({"a": )" + deep + R"(, "traceEvents": []})") ==
        ": byte 70: is nested deeper than 64 levels");
  CHECK(chrome_error("[" + std::string(3'000'000, '[')) == ": event 1: is nested deeper than 64 levels");
  CHECK(chrome_error("[" + event() + "]", {.event_bytes = 99}) == ": event 1: is longer than 99 bytes");
}

TEST_CASE("chrome reader: white space is nothing, but more than 1 MiB of it in a row is damage") {
  const std::string blanks((1 << 20) - 1, ' ');
  CHECK(chrome_error(blanks + "[" + blanks + event() + "]") == "");
  CHECK(chrome_error("[" + blanks + "  " + event() + "]")
            .starts_with(": has more than 1 MiB of blank lines in a row"));
}

TEST_CASE("chrome reader: an absent field is named") {
  CHECK(chrome_error(event_with(R"("name": "forward-compute", )", "")) == ": event 1: \"name\" is missing");
  CHECK(chrome_error(event_with(R"(, "ph": "X")", "")) == ": event 1: \"ph\" is missing");
  CHECK(chrome_error(event_with(R"("pid": 1, )", "")) == ": event 1: \"pid\" is missing");
  CHECK(chrome_error(event_with(R"("ts": 1500000.0, )", "")) == ": event 1: \"ts\" is missing");
  CHECK(chrome_error(event_with(R"("dur": 250, )", "")) == ": event 1: \"dur\" is missing");
  CHECK(chrome_error(event_with(R"("step": 7, )", "")) == ": event 1: \"args.step\" is missing");
  CHECK(chrome_error(event_with(R"(, "pp": 2)", "")) == ": event 1: \"args.pp\" is missing");
  CHECK(chrome_error(R"([{"name":"gc","ph":"X","pid":0,"ts":0,"dur":0,"args":{"step":0,"pp":0}}])") ==
        ": event 1: \"tid\" is missing");
  CHECK(chrome_error(R"([{"name":"gc","ph":"X","pid":0,"ts":0,"dur":0}])") ==
        ": event 1: \"args\" is missing");
}

TEST_CASE("chrome reader: a field of the wrong type is named") {
  CHECK(chrome_error("[7]") == ": event 1: must be an object, not a number");
  CHECK(chrome_error(event_with(R"("pid": 1)", R"("pid": "1")")) ==
        ": event 1: \"pid\" must be an integer, not a string");
  CHECK(chrome_error(event_with(R"("pid": 1)", R"("pid": 1.5)")) ==
        ": event 1: \"pid\" must be an integer, not a number with a fraction or an exponent");
  CHECK(chrome_error(event_with(R"("pid": 1)", R"("pid": 18446744073709551615)")) ==
        ": event 1: \"pid\" must be an integer, not a number of more than 63 bits");
  CHECK(chrome_error(event_with(R"("dur": 250)", R"("dur": null)")) ==
        ": event 1: \"dur\" must be a number, not null");
  CHECK(chrome_error(event_with(R"("ts": 1500000.0)", R"("ts": [])")) ==
        ": event 1: \"ts\" must be a number, not an array");
  CHECK(chrome_error(event_with(R"("ph": "X")", R"("ph": {})")) ==
        ": event 1: \"ph\" must be a string, not an object");
  CHECK(chrome_error(event_with(R"("pp": 2)", R"("pp": true)")) ==
        ": event 1: \"args.pp\" must be an integer, not true or false");
  CHECK(chrome_error("[" + event("", R"(, "mc": "a")") + "]") ==
        ": event 1: \"args.mc\" must be an integer, not a string");
}

TEST_CASE("chrome reader: values that are no JSON are named") {
  CHECK(chrome_error(event_with("1500000.0", "NaN")) ==
        ": event 1: \"ts\" must be a JSON value that a double can hold, not \"NaN\"");
  CHECK(chrome_error(event_with("1500000.0", "-Infinity")) ==
        ": event 1: \"ts\" must be a JSON value that a double can hold, not \"-Infinity\"");
  CHECK(chrome_error(event_with("1500000.0", "1e999")) ==
        ": event 1: \"ts\" must be a JSON value that a double can hold, not \"1e999\"");
  CHECK(chrome_error(event_with(R"("dur": 250)", R"("dur": 00250)")) ==
        ": event 1: \"dur\" must be a JSON value that a double can hold, not \"00250\"");
  CHECK(chrome_error(event_with(R"("cat": "forward-compute")", R"("cat": "\q")")) ==
        R"(: event 1: "cat" must be a JSON string, not "\q")");
  CHECK(chrome_error(event_with(R"("pid": 1,)", R"("pid" 1,)")) ==
        ": event 1: is not valid JSON: The JSON document has an improper structure: missing or superfluous "
        "commas, braces, missing keys, etc.");
}

TEST_CASE("chrome reader: values out of range and unknown metrics are named with their event") {
  CHECK(chrome_error("[" + event() + ", " + event_with(R"("dur": 250)", R"("dur": -10000)").substr(1)) ==
        ": event 2: duration must be seconds from 0 to 9.2e+09, not -0.01");
  CHECK(chrome_error(event_with(R"("pid": 1)", R"("pid": -1)")) ==
        ": event 1: dp_rank must be from 0 to 2147483646, not -1");
  CHECK(chrome_error(event_with("forward-compute", "forward-computer")) ==
        ": event 1: metric \"forward-computer\" is unknown; did you mean \"forward-compute\"?");
}

TEST_CASE("chrome reader: the first wrong event is reported, whatever the windows and the kinds of error") {
  const std::string text = "[" + event() + "," + event_with(R"("pid": 1)", R"("pid": "1")").substr(1);
  const std::string with_more =
      text.substr(0, text.size() - 1) + ", {\"a\": NaN}, {{}}" + ", " + std::string(99, '[');
  for (const std::size_t window : {std::size_t{1}, std::size_t{30}, std::size_t{1} << 20}) {
    CHECK(chrome_error(with_more, {.window_bytes = window}) ==
          ": event 2: \"pid\" must be an integer, not a string");
  }
}

TEST_CASE("chrome reader: a file without any op is refused by the format") {
  const TemporaryFile file("trace.json", R"([{"ph":"M","name":"thread_name"}])");
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  TraceIntake intake;
  const Result<FileNotes> status = op_trace_format_chrome().append_file(*source, intake);
  REQUIRE(!status);
  CHECK(without_path(status.error().message(), file) ==
        ": has no ops; events with a phase other than \"X\": 1; metrics that are not ops of a step: 0");
}

TEST_CASE("chrome reader: content is recognised by its first characters") {
  const auto matches = op_trace_format_chrome().matches;
  CHECK(matches("\xef\xbb\xbf\n [\n {\"a\""));
  CHECK(matches("[]"));
  CHECK(matches("{\"traceEvents\""));
  CHECK_FALSE(matches("[2024-05-01 12:00:00] metric_name: gc"));
  CHECK_FALSE(matches("dp_rank,stage"));
  CHECK_FALSE(matches(""));
}

// Rows of every type; times are float32 values or any doubles.
OpTrace random_trace(std::uint32_t seed, std::size_t rows, bool float32) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random() % bound); };
  const auto time = [&] {
    const double value = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(below(90)) - 120);
    return float32 ? static_cast<double>(static_cast<float>(value)) : value;
  };
  OpTrace trace;
  for (std::size_t i = 0; i < rows; ++i) {
    OpRow row;
    row.dp_rank = below(300);
    row.stage = below(20);
    row.rank = below(100000);
    row.step = below(1'000'000) - 5;
    row.optype = static_cast<OpType>(below(kNdtimelineTypeCount));
    row.start_s = below(2) == 0 ? time() : -time();
    row.duration_s = time();
    row.seq_id = below(1000) - 1;
    row.mc = below(5) - 1;
    row.mb_id = below(100) - 1;
    row.gmc = below(100) - 1;
    REQUIRE(trace.append(row) == std::nullopt);
  }
  return trace;
}

void check_round_trip(const OpTrace& trace, std::string_view name) {
  const TemporaryFile file(name);
  REQUIRE(write_chrome_events(trace, file.path(), name));
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  TraceIntake back(TraceIntake::Mode::kStrict);
  const auto reading = append_chrome_events(*source, back, {.window_bytes = 5000});
  REQUIRE_MESSAGE(reading, reading.error().message());
  check_equal(trace, back.trace());
}

TEST_CASE("chrome writer: reading back gives every row bit for bit, for float32 and for any double") {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    check_round_trip(random_trace(seed, 2000, seed % 2 == 0), seed < 3 ? "t.json" : "t.json.gz");
  }
}

TEST_CASE("chrome writer: extreme times come back") {
  OpTrace trace;
  for (const double time :
       {0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1e-300, 9.2e9, 0.1, 1714564800.1234567}) {
    OpRow row;
    row.start_s = time;
    row.duration_s = std::abs(time);
    REQUIRE(trace.append(row) == std::nullopt);
  }
  check_round_trip(trace, "t.json");
  check_round_trip(OpTrace{}, "t.json");
}

TEST_CASE("chrome writer: times that are float32 values need no more than ts and dur") {
  const OpTrace trace = random_trace(9, 500, true);
  const TemporaryFile file("t.json");
  REQUIRE(write_chrome_events(trace, file.path(), "t.json"));
  CHECK(file.content().find("start_s") == std::string::npos);
  CHECK(file.content().find("duration_s") == std::string::npos);
}

TEST_CASE("chrome writer: an event carries NDTimeline's fields and the row's identity") {
  OpTrace trace;
  REQUIRE(trace.append({.dp_rank = 1,
                        .stage = 2,
                        .rank = 12,
                        .step = 7,
                        .optype = OpType::kBackwardRecv,
                        .start_s = 0.5,
                        .duration_s = 0.25,
                        .seq_id = 3}) == std::nullopt);
  const TemporaryFile file("t.json");
  REQUIRE(write_chrome_events(trace, file.path(), "t.json"));
  // tid: rank 12, stream 2 (backwards through the pipeline).
  CHECK(
      file.content() ==
      "[\n"
      R"({"name":"backward-recv","cat":"backward-recv","ph":"X","pid":1,"tid":122,"ts":500000,"dur":250000,)"
      R"("args":{"rank":12,"step":7,"tp":0,"pp":2,"seq_id":3,"mc":-1,"mb_id":-1,"gmc":-1}})"
      "\n]\n");
}

TEST_CASE("chrome writer: the final name decides about gzip, and equal traces give equal bytes") {
  const OpTrace trace = random_trace(3, 50, true);
  const TemporaryFile first("partial");
  const TemporaryFile second("partial");
  REQUIRE(write_chrome_events(trace, first.path(), "out.json.gz"));
  REQUIRE(write_chrome_events(trace, second.path(), "other.json.gz"));
  CHECK(first.content().starts_with("\x1f\x8b"));
  CHECK(first.content() == second.content());
}

TEST_CASE("chrome writer: a file that cannot be written is an error") {
  const Status status = write_chrome_events({}, "/nonexistent-folder/t.json", "t.json");
  REQUIRE(!status);
  CHECK(status.error().message() == "/nonexistent-folder/t.json: cannot write: No such file or directory");
}

}  // namespace
}  // namespace goodput
