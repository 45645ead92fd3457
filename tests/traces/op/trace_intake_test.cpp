#include "traces/op/trace_intake.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/traces/op/dirty_trace.h"

namespace goodput {
namespace {

using Lines = std::vector<std::string>;

// Two rows of step 1, one row of step 2 with this start and duration.
std::string csv_with(std::string_view start, std::string_view duration) {
  return kOpHeader + "0,0,0,1,gc,0.5,0.25,0,-1,0,-1\n0,0,0,1,optimizer,0.75,0.25,0,-1,-1,-1\n0,0,0,2,gc," +
         std::string(start) + "," + std::string(duration) + ",0,-1,0,-1\n";
}

TEST_CASE("trace intake: a row whose duration or start is none is left out, and its step named") {
  struct Case {
    std::string_view start, duration, message;
  };
  const Case cases[] = {
      {"0.5", "nan", "duration must be seconds from 0 to 9.2e+09, not nan"},
      {"0.5", "NaN", "duration must be seconds from 0 to 9.2e+09, not nan"},
      {"0.5", "inf", "duration must be seconds from 0 to 9.2e+09, not inf"},
      {"0.5", "-inf", "duration must be seconds from 0 to 9.2e+09, not -inf"},
      {"0.5", "", "duration must be seconds from 0 to 9.2e+09, not nan"},
      {"0.5", "null", "duration must be seconds from 0 to 9.2e+09, not nan"},
      {"0.5", "-0.01", "duration must be seconds from 0 to 9.2e+09, not -0.01"},
      {"0.5", "-3", "duration must be seconds from 0 to 9.2e+09, not -3"},
      {"nan", "0.5", "start_ts must be seconds within +-9.2e+09, not nan"},
      {"", "0.5", "start_ts must be seconds within +-9.2e+09, not nan"},
      {"-inf", "0.5", "start_ts must be seconds within +-9.2e+09, not -inf"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.start);
    CAPTURE(one.duration);
    const OpTraceReading reading = reading_of(csv_with(one.start, one.duration));
    CHECK(reading.trace.size() == 2);
    CHECK(summaries(reading) == Lines{"damaged-rows 1 [2] t.csv:4: " + std::string(one.message)});
    CHECK_FALSE(read_text(csv_with(one.start, one.duration), true));
  }
}

TEST_CASE("trace intake: strict, damaged rows are refused where they stand") {
  CHECK(error_of(csv_with("0.5", "nan"), true) ==
        "t.csv:4: duration must be seconds from 0 to 9.2e+09, not nan");
  CHECK(error_of(csv_with("0.5", "-0.5"), true) ==
        "t.csv:4: duration must be seconds from 0 to 9.2e+09, not -0.5");
  CHECK(error_of(csv_with("0.5", ""), true) == "t.csv:4: duration must be a number of seconds, not \"\"");
}

TEST_CASE("trace intake: durations above -10 ms and below 0 stay as they are, and are counted") {
  const std::string text = csv_with("0.5", "-0.0099") + "0,0,0,3,gc,0.5,-0.000006,0,-1,0,-1\n";
  for (const bool strict : {false, true}) {
    const auto reading = read_text(text, strict);
    REQUIRE(reading);
    CHECK(reading->trace.size() == 4);
    CHECK(reading->trace.duration_s[3] == static_cast<double>(-0.000006F));
    CHECK(summaries(*reading) == Lines{"negative-durations 2 [2 3] "});
  }
}

TEST_CASE("trace intake: the times of rows that are left out do not decide whether a file is float32") {
  CHECK(reading_of(csv_with("0.5", "nan") + "0,0,0,3,gc,2.6883304,0.5,0,-1,0,-1\n").trace.start_s[2] ==
        static_cast<double>(2.6883304F));
}

TEST_CASE("trace intake: what cannot be, damaged or not, is an error") {
  CHECK(error_of(kOpHeader + "-1,0,0,1,gc,0.5,nan,0,-1,0,-1\n") ==
        "t.csv:2: dp_rank must be from 0 to 2147483646, not -1");
  CHECK(error_of(csv_with("1e12", "0.5")) ==
        "t.csv:4: start_ts must be seconds within +-9.2e+09, not 1000000000000");
  CHECK(error_of(csv_with("1e12", "nan")) ==
        "t.csv:4: start_ts must be seconds within +-9.2e+09, not 1000000000000");
  CHECK(error_of(csv_with("0.5", "1e12")) ==
        "t.csv:4: duration must be seconds from 0 to 9.2e+09, not 1000000000000");
  CHECK(error_of(csv_with("0.5", "fast")) == "t.csv:4: duration must be a number of seconds, not \"fast\"");
}

std::string typed(std::string_view optype, int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i) text += "0,0,0,1," + std::string(optype) + ",0.5,0.5,0,-1,0,-1\n";
  return text;
}

TEST_CASE("trace intake: rows of unknown types are left out and counted by name, the most frequent first") {
  const OpTraceReading reading =
      reading_of(kOpHeader + typed("gc", 20) + typed("forward-comput", 3) + typed("my-span", 12));
  CHECK(reading.trace.size() == 20);
  CHECK(summaries(reading) ==
        Lines{"unknown-ops 15 [1] \"my-span\" 12, \"forward-comput\" 3 (did you mean \"forward-compute\"?)"});
}

TEST_CASE("trace intake: of many unknown names five are shown") {
  std::string text = kOpHeader + typed("gc", 20);
  for (char name = 'a'; name <= 'g'; ++name) text += typed("span-of-" + std::string(3, name), 1);
  CHECK(reading_of(text).findings.at(0).detail.ends_with("\"span-of-eee\" 1 and 2 more"));
}

TEST_CASE("trace intake: half of the rows have to be of known types") {
  CHECK(reading_of(kOpHeader + typed("gc", 3) + typed("x-span", 3)).trace.size() == 3);
  CHECK(error_of(kOpHeader + typed("gc", 3) + typed("x-span", 4)) ==
        "t.csv: only 3 of 7 ops have known types, but at least half must; unknown: \"x-span\" 4");
}

TEST_CASE("trace intake: metrics that are no ops count for neither half") {
  const OpTraceReading reading = reading_of(kOpHeader + typed("gc", 1) + typed("tp-allreduce", 9));
  CHECK(reading.findings.empty());
  REQUIRE(reading.notes.size() == 1);
  CHECK(reading.notes[0].ends_with(": ignored rows of metrics that are not ops of a step: 9"));
}

TEST_CASE("trace intake: an op whose absence would change the answers is refused, not skipped") {
  CHECK(error_of(kOpHeader + typed("gc", 9) + typed("my-wgrad", 1)) ==
        "t.csv:11: metric \"my-wgrad\" may be a backward pass; rename it to backward-compute or "
        "backward-weight, or "
        "remove its rows if it is neither");
}

TEST_CASE("trace intake: strict, an unknown type is refused where it stands") {
  CHECK(error_of(kOpHeader + typed("gc", 9) + typed("forward-comput", 1), true) ==
        "t.csv:11: unknown optype \"forward-comput\"; did you mean \"forward-compute\"?");
}

TEST_CASE("trace intake: a damaged row is one that is fine but for its times") {
  OpRow row;
  row.duration_s = std::numeric_limits<double>::quiet_NaN();
  CHECK(is_damaged(row));
  row.stage = -1;
  CHECK_FALSE(is_damaged(row));
  row = {};
  row.duration_s = kLowestDuration;
  CHECK(is_damaged(row));
  row.duration_s = kLowestDuration / 2;
  CHECK_FALSE(is_damaged(row));
  row.duration_s = 1e300;
  CHECK_FALSE(is_damaged(row));
}

TEST_CASE("trace intake: loopback addresses name no host, and the latest name of a rank counts") {
  TraceIntake intake;
  for (const char* none : {"", "127.0.0.1", "localhost", "0.0.0.0", "::1"}) intake.note_host(1, none);
  CHECK(intake.hosts().empty());
  intake.note_host(1, "10.0.0.1");
  intake.note_host(1, "10.0.0.2");
  CHECK(intake.hosts() == std::map<std::int64_t, std::string>{{1, "10.0.0.2"}});
}

}  // namespace
}  // namespace goodput
