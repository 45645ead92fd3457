#include "tools/check/check_report.h"

#include <doctest/doctest.h>

#include <string>

#include "sim/base/json.h"
#include "tools/check/check_summary.h"

namespace goodput {
namespace {

MetricRule rule_with(const char* tolerance) {
  return {"goodput", Direction::kMore, tolerance, Tolerance::parse(tolerance).value()};
}

// A name that would like to be a tag, an attribute's end, a column, a link and a colour of the terminal.
constexpr const char* kHostile = "a/<b>\"&|[x](http://y)\x1b[31m/goodput";

const Suite& suite() {
  static const Suite all{.file = "mine.json", .name = "mine", .runs = {{"a", {"simulate", "x"}, {}, 64}}};
  return all;
}

CheckReport small_report() {
  CheckReport report{suite(), "mine.baseline.json"};
  CheckedFigure worse{.name = kHostile,
                      .run = "a",
                      .policy = "ds",
                      .rule = rule_with("1 % at 95 %"),
                      .outcome = Outcome::kWorse,
                      .baseline = 0.5,
                      .figure = 0.475,
                      .change = -0.05,
                      .is_relative = true};
  worse.test = MeanChange{.baseline = 0.5,
                          .mean = 0.475,
                          .change = -0.05,
                          .is_relative = true,
                          .interval = {-0.0612, -0.0388},
                          .p_value = 1e-6,
                          .trials = 32};
  worse.looks = 2;
  worse.p_value = 2e-6;
  worse.why = {"code: 1 (b), was 1 (a)", "productive: 81, was 90"};
  CheckedFigure open{
      .name = "a/pec/goodput",
      .run = "a",
      .policy = "pec",
      .rule = rule_with("1 %"),
      .outcome = Outcome::kUndecided,
      .reason = "no decision after 64 trials",
      .open =
          OpenQuestion{.cause = OpenQuestion::Cause::kBaselineEnds, .trials = 64, .most = 64, .needed = 256}};
  CheckedFigure same{.name = "a/x/steps",
                     .run = "a",
                     .policy = "x",
                     .rule = rule_with("exact"),
                     .baseline = 1234567.0,
                     .figure = 1234567.0,
                     .change = 0.0,
                     .is_relative = true};
  report.figures = {worse, open, same};
  return report;
}

TEST_CASE(
    "check report: as text the worst is first, with what it was, why, and no escape sequence of a name") {
  const std::string text = check_text(small_report());
  CHECK(
      text.starts_with("This change makes 1 of 3 figures worse: goodput of policy ds in scenario a: 50 % -> "
                       "47.5 %, a relative "
                       "change of -5 % (-6.12 % to -3.88 % at 95 % confidence, 32 trials).\n"
                       "mine against mine.baseline.json: 1 worse, 1 undecided, 1 same\n"));
  CHECK(text.find("interval  trials\n") != std::string::npos);
  CHECK(text.find("50 %  47.5 %    -5 %  -6.12 % to -3.88 %      32\n") != std::string::npos);
  CHECK(text.find("  productive: 81, was 90\n") != std::string::npos);
  CHECK(text.find("\n1 figure is undecided at 64 trials: the baseline has no more trials; about 256 trials "
                  "should decide it (give --against PATH with the program before the change, or set "
                  "\"trials\": 256 in the suite and make a new baseline with that program).\n") !=
        std::string::npos);
  CHECK(text.find("a/pec/goodput") == std::string::npos);  // --json has it
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("a/x/steps") == std::string::npos);  // the same
}

TEST_CASE("check report: as JUnit a regression is a failure, what is open is skipped unless it is strict") {
  CheckReport report = small_report();
  const std::string xml = check_junit(report);
  CHECK(xml.find("<testsuite name=\"mine\" tests=\"3\" failures=\"1\" skipped=\"1\">") != std::string::npos);
  CHECK(xml.find("name=\"a/&lt;b&gt;&quot;&amp;|[x](http://y)[31m/goodput\">") != std::string::npos);
  CHECK(xml.find("<failure message=\"worse: goodput of policy ds in scenario a: 50 % -&gt; 47.5 %, a "
                 "relative change "
                 "of -5 % (-6.12 % to -3.88 % at 95 % confidence, 32 trials)\">code: 1 (b), was 1 "
                 "(a)&#10;productive: 81, was "
                 "90&#10;</failure>") != std::string::npos);
  CHECK(xml.find("<skipped message=\"undecided: no decision after 64 trials\"/>") != std::string::npos);
  report.is_strict = true;
  CHECK(check_junit(report).find("failures=\"2\" skipped=\"0\"") != std::string::npos);
}

TEST_CASE("check report: as Markdown names make no columns, links or tags, and the details are folded") {
  const std::string text = check_markdown(small_report());
  CHECK(text.starts_with(
      "### goodput check mine: regression\n\nThis change makes 1 of 3 figures worse: goodput of policy ds in "
      "scenario a: 50 % -\\> 47.5 %, a relative change of -5 % \\(-6.12 % to -3.88 % at 95 % "
      "confidence, 32 trials\\).\n\n1 worse, 1 undecided, 1 same\n"));
  CHECK(
      text.find(
          R"(| worse | a/\<b\>"\&\|\[x\]\(http://y\)\\x1b\[31m/goodput | 50 % | 47.5 % | -5 % | -6.12 % to -3.88 % |)") !=
      std::string::npos);
  CHECK(text.find("<details><summary>Why</summary>") != std::string::npos);
  CHECK(text.find("<details><summary>1 the same</summary>\n\n- a/x/steps: 1234567\n") != std::string::npos);
  CHECK(text.find("\n1 figure is undecided at 64 trials") != std::string::npos);
  CHECK(text.find("| undecided |") == std::string::npos);
}

TEST_CASE("check report: as JSON every figure has all that is known of it") {
  OrderedJson json;
  add_check_json(small_report(), json);
  CHECK(json["suite"] == "mine");
  CHECK(json["headline"] == check_headline(small_report()));
  CHECK(json["undecided"] == undecided_text(small_report()));
  CHECK(json["cases"][0]["trials_needed"].is_null());
  CHECK(json["cases"][1]["trials_needed"] == 256);
  CHECK(json["verdict"] == "regression");
  CHECK(json["counts"]["worse"] == 1);
  CHECK(json["counts"]["failed"] == 0);
  const auto& worse = json["cases"][0];
  CHECK(worse["command"] == OrderedJson({"simulate", "x"}));
  CHECK(worse["better"] == "more");
  CHECK(worse["compare"] == "statistical");
  CHECK(worse["tolerance"] == OrderedJson({{"relative", 0.01}, {"confidence", 0.95}}));
  CHECK(worse["ci"] == OrderedJson({-0.0612, -0.0388}));
  CHECK(worse["trials"] == 32);
  CHECK(json["cases"][1]["ci"].is_null());
  CHECK(json["cases"][2]["tolerance"].is_null());
  CHECK(json["cases"][2]["outcome"] == "same");
}

SpeedResult timed(double minima, double medians, double noise) {
  return {.run = "a",
          .rounds = 5,
          .baseline_s = 0.1,
          .program_s = 0.1 * minima,
          .noise = {1 + noise, 1},
          .ratio = {minima, medians}};
}

TEST_CASE("speed: a ratio counts beyond 2 % and twice the noise of the same run, where the medians agree") {
  CHECK(timed(1.05, 1.04, 0.01).is_slower());
  CHECK_FALSE(timed(1.05, 1.04, 0.03).is_slower());  // noise of 3 %: up to 6 % is nothing
  CHECK_FALSE(timed(1.015, 1.02, 0).is_slower());
  CHECK_FALSE(timed(1.05, 0.99, 0).is_slower());
  CHECK(timed(0.9, 0.92, 0.01).is_faster());
  CHECK_FALSE(timed(0.9, 0.92, 0.01).is_slower());
}

TEST_CASE("check report: what became slower is a regression") {
  CheckReport report{suite()};
  report.speeds = {timed(0.9, 0.9, 0)};
  CHECK(report.verdict() == "ok");
  report.speeds.push_back(timed(1.2, 1.2, 0));
  CHECK(report.verdict() == "regression");
  CHECK(check_text(report).find("slower     a  100.0 ms  120.0 ms  1.200x  1.200x  0.0 %       5\n") !=
        std::string::npos);
  CHECK(check_junit(report).find("<failure message=\"slower: takes 1.200x as long, noise 0.0 %\"/>") !=
        std::string::npos);
  CHECK(check_markdown(report).find("| slower: a | 100.0 ms | 120.0 ms | 1.200 | 1.200 | 0.0 % |") !=
        std::string::npos);
}

}  // namespace
}  // namespace goodput
