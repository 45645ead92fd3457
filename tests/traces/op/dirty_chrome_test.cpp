// Chrome traces as other tools write them, and what is left of them after a crash.
#include <fmt/format.h>

#include <random>

#include "tests/traces/op/dirty_trace.h"
#include "tests/traces/op/random_trace.h"
#include "traces/op/chrome_spans.h"

namespace goodput {
namespace {

using Lines = std::vector<std::string>;

// "X" or, with `phase` for both letters of a pair, two events in the place of one.
std::string args_of(std::int64_t step, std::int64_t seq_id) {
  return fmt::format(R"("args":{{"rank":3,"step":{},"pp":2,"seq_id":{},"mc":0,"mb_id":1,"gmc":2}})", step,
                     seq_id);
}

std::string whole(std::string_view name, double ts, double dur, std::int64_t seq_id = 0,
                  std::int64_t step = 7) {
  return fmt::format(R"({{"name":"{}","ph":"X","pid":1,"tid":30,"ts":{},"dur":{},{}}})", name, ts, dur,
                     args_of(step, seq_id));
}

std::string edge(std::string_view phase, std::string_view name, double ts, std::string_view more = "") {
  const std::string named = name.empty() ? "" : fmt::format(R"("name":"{}",)", name);
  return fmt::format(R"({{{}"ph":"{}","pid":1,"tid":30,"ts":{}{}{}}})", named, phase, ts,
                     more.empty() ? "" : ",", more);
}

OpTraceReading chrome(const std::string& text) {
  return reading_of(text, "t.json");
}

TEST_CASE("chrome: wherever a file is cut, the whole events before that are kept" *
          doctest::test_suite("slow")) {
  std::string text = "[\n";
  std::vector<std::size_t> ends;  // of the events
  for (int i = 0; i < 5; ++i) {
    text += whole("gc", i, 1, i) + (i < 4 ? ",\n" : "");
    ends.push_back(i < 4 ? text.size() - 2 : text.size());
  }
  for (std::size_t size = ends[0]; size <= text.size(); ++size) {
    CAPTURE(size);
    const OpTraceReading reading = chrome(text.substr(0, size));
    const auto events =
        static_cast<std::size_t>(std::ranges::count_if(ends, [&](std::size_t end) { return end <= size; }));
    CHECK(reading.trace.size() == events);
    const bool is_cut = size > ends[events - 1] + 2;
    Lines expected;
    if (is_cut)
      expected.push_back(
          fmt::format("cut-records 1 [] t.json: event {}: the file ends inside this event", events + 1));
    expected.push_back("unclosed-files 1 [] t.json: the file ends without its closing bracket");
    CHECK(summaries(reading) == expected);
    CHECK_FALSE(read_text(text.substr(0, size), true, "t.json"));
  }
  CHECK(chrome(text + "]").findings.empty());
}

TEST_CASE("chrome: an object may lack its closing brackets too") {
  const std::string text = R"({"displayTimeUnit":"ms","traceEvents":[)" + whole("gc", 0, 1);
  for (const char* tail : {"", ",", "]", "],", "],\"other", "],\"other\":[1,"}) {
    CAPTURE(tail);
    const OpTraceReading reading = chrome(text + tail);
    CHECK(reading.trace.size() == 1);
    CHECK(summaries(reading) ==
          Lines{"unclosed-files 1 [] t.json: the file ends without its closing bracket"});
  }
  CHECK(error_of(text + "] x", false, "t.json").ends_with("expected ',', found \"x\""));
}

TEST_CASE("chrome: begin and end events of a thread are ops, nested ones and such without a name too") {
  const std::string args = args_of(7, 0);
  const std::string text = "[" + edge("B", "forward-compute", 1e6, args) + "," + edge("B", "gc", 2e6, args) +
                           "," + edge("B", "my-span", 2.1e6, R"("args":{"step":7})") + "," +
                           edge("E", "", 2.2e6) + "," + edge("E", "", 2.5e6) + "," +
                           edge("E", "forward-compute", 4e6) + "," + whole("optimizer", 4e6, 10) + "]";
  const OpTraceReading reading = chrome(text);
  CHECK(reading.trace.optype ==
        std::vector<OpType>{OpType::kGc, OpType::kForwardCompute, OpType::kOptimizer});
  CHECK(reading.trace.start_s == std::vector<double>{2, 1, 4});
  CHECK(reading.trace.duration_s == std::vector<double>{0.5, 3, 1e-5});
  CHECK(reading.trace.stage[0] == 2);
  CHECK(summaries(reading) == Lines{"unknown-ops 1 [7] \"my-span\" 1"});
}

TEST_CASE("chrome: async pairs match by category, id and name") {
  const auto with_id = [](int id, const std::string& more = "") {
    return fmt::format(R"("cat":"comm","id":"0x{}"{}{})", id, more.empty() ? "" : ",", more);
  };
  const std::string text = "[" + edge("b", "forward-send", 1e6, with_id(1, args_of(7, 0))) + "," +
                           edge("b", "forward-recv", 2e6, with_id(1, args_of(7, 0))) + "," +
                           edge("b", "forward-send", 3e6, with_id(2, args_of(7, 1))) + "," +
                           edge("e", "forward-send", 5e6, with_id(1)) + "," +
                           edge("e", "forward-recv", 6e6, with_id(1)) + "," +
                           edge("e", "forward-send", 9e6, with_id(2)) + "]";
  const OpTraceReading reading = chrome(text);
  CHECK(reading.trace.optype ==
        std::vector<OpType>{OpType::kForwardSend, OpType::kForwardRecv, OpType::kForwardSend});
  CHECK(reading.trace.duration_s == std::vector<double>{4, 4, 6});
  CHECK(reading.trace.seq_id == std::vector<std::int32_t>{0, 0, 1});
  CHECK(reading.findings.empty());
}

TEST_CASE("chrome: what an event of a pair does not say the other may") {
  const OpTraceReading reading =
      chrome("[" + edge("B", "gc", 1e6) + "," + edge("E", "gc", 2e6, args_of(9, 4)) + "]");
  CHECK(reading.trace.step[0] == 9);
  CHECK(reading.trace.seq_id[0] == 4);
}

TEST_CASE("chrome: pairs that lack one of their events are counted, with their step") {
  const std::string text = "[" + edge("E", "gc", 1, args_of(6, 0)) + "," +
                           edge("B", "optimizer", 2, args_of(7, 0)) + "," + edge("E", "my-span", 3) + "," +
                           whole("gc", 5, 1) + "]";
  CHECK(summaries(chrome(text)) ==
        Lines{"cut-records 2 [6 7] t.json: event 1: ends an op that has no begin event"});
  CHECK(error_of("[" + whole("gc", 5, 1) + "," + edge("B", "gc", 2, args_of(7, 0)) + "]", true, "t.json") ==
        "t.json: event 2: begins an op that has no end event");
  CHECK(error_of("[" + whole("gc", 5, 1) + "," + edge("E", "gc", 2, args_of(7, 0)) + "]", true, "t.json") ==
        "t.json: event 2: ends an op that has no begin event");
}

TEST_CASE("chrome: ops as pairs are the ops as whole events, in the order of their ends") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    // Back to back on one thread, some of no duration.
    std::string pairs;
    std::string events;
    double at = 0;
    for (int i = 0; i < 200; ++i) {
      const double dur = random() % 4 == 0 ? 0 : static_cast<double>(random() % 1000);
      const std::string_view name = random() % 2 == 0 ? "gc" : "optimizer";
      pairs += (i > 0 ? "," : "") + edge("B", name, at, args_of(7, i)) + "," + edge("E", name, at + dur);
      events += (i > 0 ? "," : "") + whole(name, at, dur, i);
      at += dur;
    }
    check_equal(chrome("[" + pairs + "]").trace, chrome("[" + events + "]").trace);
  }
}

// An op of step `step` that begins as event `number`.
OpenSpan open_span(std::string name, std::uint64_t number, std::optional<std::int64_t> step) {
  OpenSpan span;
  span.name = std::move(name);
  span.begin_event = "{}";
  span.number = number;
  span.step = step;
  return span;
}

TEST_CASE("open spans: ops of a name and a step end in the order of their begins") {
  OpenSpans spans;
  spans.begin("t", open_span("gc", 1, 7));
  spans.begin("t", open_span("gc", 2, 7));  // begins when the first ends, and is written before that
  CHECK(spans.end("t", "gc", {"{}", 5, 3, {}}).ended.empty());
  const SettledSpans settled = spans.end("t", "gc", {"{}", 9, 4, {}});
  REQUIRE(settled.ended.size() == 2);
  CHECK(settled.ended[0].number == 1);
  CHECK(settled.ended[0].end->at_us == 5);
  CHECK(settled.ended[1].end->at_us == 9);
  CHECK_FALSE(spans.end("t", "gc", {"{}", 9, 5, {}}).is_end);
  CHECK_FALSE(spans.end("other", "gc", {"{}", 9, 6, {}}).is_end);
}

TEST_CASE("open spans: what is open when its step is over is cut, and later ends are those of later begins") {
  OpenSpans spans;
  spans.begin("t", open_span("gc", 1, 7));
  spans.begin("t", open_span("gc", 2, 7));
  CHECK(spans.end("t", "gc", {"{}", 5, 3, {}}).ended.empty());
  SettledSpans settled = spans.begin("t", open_span("gc", 4, 8));
  REQUIRE(settled.ended.size() == 1);
  CHECK(settled.ended[0].number == 2);
  REQUIRE(settled.cut.size() == 1);
  CHECK(settled.cut[0].number == 1);
  CHECK_FALSE(spans.end("t", "gc", {"{}", 9, 5, 7}).is_end);  // an end of another step
  CHECK(spans.begin("t", open_span("gc", 6, std::nullopt)).cut.size() == 1);
  CHECK(spans.begin("t", open_span("gc", 7, std::nullopt)).cut.size() == 1);
  spans.begin("a", open_span("gc", 8, 9));
  settled = std::move(spans).finish();
  REQUIRE(settled.cut.size() == 2);
  CHECK(settled.cut[0].number == 7);
}

TEST_CASE("chrome: a lost end of an op costs its step, not the pairs after it") {
  // gc of no length, one a step; of step 6 the end is lost.
  const auto gc = [](double ts, std::int64_t step) { return edge("B", "gc", ts, args_of(step, 0)); };
  for (const char* name : {"gc", ""}) {
    CAPTURE(name);
    const OpTraceReading reading =
        chrome("[" + gc(1, 5) + "," + edge("E", name, 1) + "," + gc(2, 6) + "," + gc(3, 7) + "," +
               edge("E", name, 3) + "," + gc(4, 8) + "," + edge("E", name, 4) + "]");
    CHECK(reading.trace.step == std::vector<std::int64_t>{5, 7, 8});
    CHECK(reading.trace.duration_s == std::vector<double>{0, 0, 0});
    CHECK(summaries(reading) ==
          Lines{"cut-records 1 [6] t.json: event 3: begins an op that has no end event"});
  }
}

TEST_CASE("chrome: ends without names that may be those of overlapping ops are refused, lost ones are not") {
  const auto begin = [](const char* name, double ts) { return edge("B", name, ts, args_of(7, 0)); };
  const std::string overlapping = begin("forward-send", 0) + "," + begin("backward-recv", 1);
  const std::string gc = begin("gc", 10) + "," + edge("E", "gc", 11);
  const std::string last = edge("B", "forward-send", 20, args_of(8, 0)) + "," + edge("E", "", 21);
  CHECK(error_of("[" + overlapping + "," + edge("E", "", 5) + "," + edge("E", "", 6) + "," + gc + "]", false,
                 "t.json") ==
        "t.json: event 1: 1 ops enclose or overlap other ops of the same thread, but the end events of these "
        "ops have no \"name\" to tell them apart; add \"name\" to the end events, or write events with "
        "\"ph\" \"X\"");
  // With names they overlap.
  CHECK(chrome("[" + overlapping + "," + edge("E", "forward-send", 5e6) + "," +
               edge("E", "backward-recv", 6e6) + "," + gc + "]")
            .trace.size() == 3);
  // One end is lost: of two ops of one step, or of one of the step before.
  CHECK(summaries(chrome("[" + overlapping + "," + edge("E", "", 5) + "," + gc + "," + last + "]")) ==
        Lines{"cut-records 1 [7] t.json: event 1: begins an op that has no end event"});
  CHECK(summaries(chrome("[" + gc + "," + begin("backward-recv", 12) + "," + last + "]")) ==
        Lines{"cut-records 1 [7] t.json: event 3: begins an op that has no end event"});
}

TEST_CASE("chrome: a file in which all ends stand before their begins says so") {
  const std::string text =
      "[" + edge("e", "gc", 9, R"("id":1)") + "," + edge("b", "gc", 5, R"("id":1,)" + args_of(7, 0)) + "]";
  CHECK(error_of(text, false, "t.json") ==
        "t.json: has no complete ops: 1 events end ops that have not begun; sort the events by \"ts\"");
}

TEST_CASE("chrome: NaN, Infinity and null for a time damage the row; null mc, mb_id and gmc are unset") {
  for (const char* none : {"NaN", "Infinity", "-Infinity", "null", "-nan"}) {
    CAPTURE(none);
    std::string damaged = whole("gc", 1, 1, 0, 8);
    damaged.replace(damaged.find("\"dur\":1") + 6, 1, none);
    const std::string text = "[" + whole("gc", 0, 1) + "," + damaged + "," + whole("gc", 2, 1) + "]";
    const OpTraceReading reading = chrome(text);
    CHECK(reading.trace.size() == 2);
    CHECK(summaries(reading) ==
          Lines{"damaged-rows 1 [8] t.json: event 2: duration must be seconds from 0 to 9.2e+09, not nan"});
    CHECK_FALSE(read_text(text, true, "t.json"));
  }
  std::string unset = whole("forward-compute", 0, 1, 4);
  for (const char* key : {"mc", "mb_id", "gmc"}) {
    const std::size_t at = unset.find("\"" + std::string(key) + "\":") + std::string(key).size() + 3;
    unset.replace(at, 1, at % 2 == 0 ? "null" : "NaN");
  }
  const OpTraceReading reading = chrome("[" + unset + "]");
  CHECK(reading.trace.mc[0] == 0);
  CHECK(reading.trace.mb_id[0] == 4);
  CHECK(reading.trace.gmc[0] == 2);
}

TEST_CASE("chrome: integers may be written as 3.0") {
  std::string text = whole("gc", 0, 1);
  text.replace(text.find("\"step\":7"), 8, "\"step\":7.0");
  CHECK(chrome("[" + text + "]").trace.step[0] == 7);
  text.replace(text.find("7.0"), 3, "7.5");
  CHECK(error_of("[" + text + "]", false, "t.json") ==
        "t.json: event 1: \"args.step\" must be an integer, not a number with a fraction or an exponent");
}

TEST_CASE("chrome: events of a profiler are unknown ops whatever their args, and most may not be") {
  const std::string kernel =
      R"({"ph":"X","cat":"kernel","name":"ampere_sgemm","pid":0,"tid":7,"ts":1,"dur":2,)"
      R"("args":{"grid":[1,2,3],"device":0}})";
  const OpTraceReading reading = chrome("[" + whole("gc", 0, 1) + "," + kernel + "]");
  CHECK(reading.trace.size() == 1);
  CHECK(summaries(reading) == Lines{"unknown-ops 1 [] \"ampere_sgemm\" 1"});
  CHECK(error_of("[" + kernel + "," + whole("gc", 0, 1) + "," + kernel + "]", false, "t.json") ==
        "t.json: only 1 of 3 ops have known types, but at least half must; unknown: \"ampere_sgemm\" 2");
  CHECK(error_of("[" + whole("gc", 0, 1) + "," + whole("forward-send-forward-recv", 0, 1) + "]", false,
                 "t.json")
            .starts_with("t.json: event 2: metric \"forward-send-forward-recv\" moves several tensors"));
}

TEST_CASE("chrome: up to 1 MiB of blank lines are nothing, wherever they stand") {
  const std::string blanks((std::size_t{1} << 20) - 8, '\n');
  const std::string one = whole("gc", 0, 1);
  const OpTrace expected = chrome("[" + one + "," + one + "]").trace;
  check_equal(chrome(blanks + "[" + one + "," + one + "]").trace, expected);
  check_equal(chrome("[" + blanks + one + "," + one + "]").trace, expected);
  check_equal(chrome("[" + one + "," + blanks + one + "]").trace, expected);
  check_equal(chrome("[" + one + blanks + "," + one + blanks + "]").trace, expected);
  check_equal(chrome("[" + one + "," + one + "]" + blanks).trace, expected);
}

}  // namespace
}  // namespace goodput
