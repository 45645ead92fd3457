// Rules files: what they say, what they must not, and what the shipped one does with healthy jobs.
#include "tools/alerting/alerting_config.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/json.h"
#include "sim/live/incident_book.h"
#include "tests/support/stepped_job.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

AlertingConfig config_of(const std::string& text) {
  const TemporaryFile file("rules.json", text);
  Result<AlertingConfig> config = read_alerting_config(file.path());
  REQUIRE_MESSAGE(config.has_value(), config.error().message());
  return *std::move(config);
}

std::string alerting_error(const std::string& text) {
  const TemporaryFile file("rules.json", text);
  const Result<AlertingConfig> config = read_alerting_config(file.path());
  return config.has_value() ? "" : without_path(config.error().message(), file);
}
std::string rule_error(const std::string& rule) {
  return alerting_error(R"({"rules": {"r": )" + rule + "}}");
}
std::string sink_error(const std::string& sink) {
  return alerting_error(R"({"rules": {}, "sinks": {"s": )" + sink + "}}");
}

TEST_CASE("alert rules: every kind is read, with its defaults") {
  const AlertingConfig config = config_of(R"({"rules": {
    "a": {"kind": "slowdown", "above": 1.2, "close_below": 1.15, "steps": 3, "of": 4, "close_steps": 6, "severity": "critical"},
    "b": {"kind": "cause", "cause": "gc-pauses"},
    "c": {"kind": "worker"}, "d": {"kind": "silence", "seconds": 60}, "e": {"kind": "incomplete"},
    "f": {"kind": "worsening", "by": 0.1, "steps": 50}}})");
  REQUIRE(config.rules.size() == 6);
  CHECK(config.rules[0].name == "a");
  CHECK(config.rules[0].kind() == "slowdown");
  CHECK(config.rules[0].severity == AlertSeverity::kCritical);
  const auto& slowdown = std::get<SlowdownRule>(config.rules[0].condition);
  CHECK(slowdown.level.above == 1.2);
  CHECK(slowdown.level.closes() == 1.15);
  CHECK(slowdown.patience.steps == 3);
  CHECK(slowdown.patience.window() == 4);
  CHECK(slowdown.patience.close_steps == 6);
  const auto& cause = std::get<CauseRule>(config.rules[1].condition);
  CHECK(cause.cause == "gc-pauses");
  CHECK(cause.level.closes() == doctest::Approx(1.024));  // four fifths of the way to 1.03
  CHECK(config.rules[1].severity == AlertSeverity::kWarning);
  CHECK(std::get<SilenceRule>(config.rules[3].condition).seconds == 60);
  CHECK(std::get<WorseningRule>(config.rules[5].condition).steps == 50);
  CHECK(config.sinks.empty());
}

TEST_CASE("alert rules: every kind of sink is read; files are seen from the rules file") {
  const AlertingConfig config = config_of(R"({"rules": {}, "sinks": {
    "chat": {"kind": "webhook", "shape": "slack", "url_file": "slack-url", "headers": {"X-A": "b"}, "timeout_s": 3},
    "page": {"kind": "exec", "command": ["pager", "a b"], "timeout_s": 4, "retry_s": 1, "max_retry_s": 9},
    "screen": {"kind": "stderr"}}})");
  REQUIRE(config.sinks.size() == 3);
  const auto& chat = std::get<WebhookSink>(config.sinks[0].target);
  CHECK(chat.shape == WebhookShape::kSlack);
  CHECK(chat.url_file.starts_with("/"));
  CHECK(chat.url_file.ends_with("/slack-url"));
  CHECK(chat.headers == std::vector<std::pair<std::string, std::string>>{{"X-A", "b"}});
  CHECK(std::get<ExecSink>(config.sinks[1].target).command == std::vector<std::string>{"pager", "a b"});
  CHECK(config.sinks[1].max_retry_s == 9);
  CHECK(config.sinks[2].kind() == "stderr");
  CHECK(config.notes.empty());
}

TEST_CASE("alert rules: a sink's former key most_retry_s is read, with a note") {
  const AlertingConfig config =
      config_of(R"({"rules": {}, "sinks": {"screen": {"kind": "stderr", "most_retry_s": 9}}})");
  CHECK(config.sinks.at(0).max_retry_s == 9);
  REQUIRE(config.notes.size() == 1);
  CHECK(config.notes[0].pointer == "/sinks/screen/most_retry_s");
  CHECK(config.notes[0].new_name == "max_retry_s");
}

TEST_CASE("alert rules: mistakes in rules are named with their place") {
  CHECK(alerting_error("{}") == " /rules: is missing; it must be an object of rules by name");
  CHECK(alerting_error(R"({"rules": []})") == " /rules: must be an object of rules by name, not an array");
  CHECK(rule_error("3") ==
        " /rules/r: must be an object with a \"kind\" (one of slowdown, cause, worker, silence, incomplete, "
        "worsening), not 3");
  CHECK(rule_error("{}") ==
        " /rules/r/kind: is missing; it must be one of slowdown, cause, worker, silence, incomplete, "
        "worsening");
  CHECK(rule_error(R"({"kind": 1})") ==
        " /rules/r/kind: must be one of slowdown, cause, worker, silence, incomplete, worsening, not 1");
  CHECK(rule_error(R"({"kind": "slowdwon"})")
            .find("/rules/r/kind: unknown rule \"slowdwon\"; did you mean \"slowdown\"?") == 1);
  CHECK(rule_error(R"({"kind": "slowdown", "abov": 2})")
            .find("/rules/r/abov: unknown key; did you mean \"above\"?") == 1);
  CHECK(rule_error(R"({"kind": "silence", "above": 2})").find("/rules/r/above: unknown key") == 1);
  CHECK(rule_error(R"({"kind": "slowdown", "above": 1.1, "close_below": 1.2})") ==
        " /rules/r/close_below: must be at most `above` (1.1), not 1.2");
  CHECK(rule_error(R"({"kind": "worker", "steps": 5, "of": 3})") ==
        " /rules/r/of: must be 0, or at least `steps` (5), not 3");
  CHECK(rule_error(R"({"kind": "cause", "cause": "gc-pause"})")
            .find("/rules/r/cause: unknown cause \"gc-pause\"; did you mean \"gc-pauses\"?") == 1);
  CHECK(rule_error(R"({"kind": "worsening", "steps": 20})")
            .find("/rules/r/steps: must be an integer from 50 to 1000, not 20") == 1);
  CHECK(alerting_error(R"({"rules": {"a\nb": {"kind": "silence"}}})")
            .find("is not a valid name; a name must have 1 to 64 characters on one line") !=
        std::string::npos);
}

TEST_CASE("alert rules: mistakes in sinks are named with their place") {
  CHECK(sink_error(R"({"kind": "email"})")
            .find("/sinks/s/kind: unknown sink \"email\"; known: webhook, stderr, exec") == 1);
  CHECK(sink_error(R"({"kind": "webhook"})") == " /sinks/s: needs exactly one of \"url\" and \"url_file\"");
  CHECK(sink_error(R"({"kind": "webhook", "url": "http://a/", "url_file": "b"})") ==
        " /sinks/s: needs exactly one of \"url\" and \"url_file\"");
  for (const char* url : {"ftp://a/", "file:///etc/passwd", "a.b/c", "http://"}) {
    CHECK(sink_error(fmt::format(R"({{"kind": "webhook", "url": "{}"}})", url)) ==
          " /sinks/s/url: must be http://HOST/... or https://HOST/...");
  }
  CHECK(sink_error(R"({"kind": "webhook", "url": "http://a/b c"})") ==
        " /sinks/s/url: contains spaces or control characters; percent-encode them, such as %20 for a space");
  CHECK(sink_error(R"({"kind": "webhook", "url": "http://a/", "shape": "pagerduty"})") ==
        " /sinks/s/routing_key_file: is missing; PagerDuty needs the routing key of the service to notify");
  CHECK(sink_error(R"({"kind": "webhook", "url": "http://a/", "headers": {"A B": "c"}})") ==
        " /sinks/s/headers: contains an invalid header name");
  CHECK(sink_error(R"({"kind": "webhook", "url": "http://a/", "headers": {"A": "b\r\nC: d"}})") ==
        " /sinks/s/headers/A: contains control characters");
  CHECK(sink_error(R"({"kind": "webhook", "url": "http://a/", "headers": {"Content-type": "x"}})") ==
        " /sinks/s/headers/Content-type: is set by the monitor itself; leave it out");
  CHECK(sink_error(R"({"kind": "webhook", "url": "http://a/", "headers": {"A": 1}})") ==
        " /sinks/s/headers/A: must be a string, not 1");
  CHECK(sink_error(R"({"kind": "webhook", "url": "http://a/", "headers": 1})") ==
        " /sinks/s/headers: must be an object of strings, such as {\"X-Team\": \"training\"}, not 1");
  CHECK(sink_error(R"({"kind": "exec"})")
            .starts_with(" /sinks/s/command: is missing; it must be an array of strings"));
  CHECK(sink_error(R"({"kind": "exec", "command": "page me"})") ==
        " /sinks/s/command: must be an array of strings, such as [\"/usr/local/bin/page\", \"training\"], "
        "not \"page me\"");
  CHECK(sink_error(R"({"kind": "exec", "command": [""]})") ==
        " /sinks/s/command/0: is empty; give a program");
  CHECK(sink_error(R"({"kind": "stderr", "retry_s": 10, "max_retry_s": 5})") ==
        " /sinks/s/max_retry_s: must be at least `retry_s` (10), not 5");
}

TEST_CASE("alert rules: a command of an option is words, without a shell") {
  CHECK(exec_sink_of(R"(page  --to 'on call' "a \"b\" $HOME" c\ d '')")->command ==
        std::vector<std::string>{"page", "--to", "on call", "a \"b\" $HOME", "c d", ""});
  CHECK(exec_sink_of("").error().message() == "--alert-exec is empty; give a program and its arguments");
  CHECK(exec_sink_of("''").error().message() == "--alert-exec is empty; give a program and its arguments");
  CHECK(exec_sink_of("a 'b").error().message() == "--alert-exec has an unclosed '");
  CHECK(exec_sink_of("a \\").error().message() ==
        "--alert-exec ends with a backslash; add the character that it escapes, or remove it");
}

TEST_CASE("alert rules: those that are shipped say nothing in 10,000 steps of a healthy job") {
  const AlertingConfig config = read_alerting_config(GOODPUT_CONFIGS "/alerts/default.json").value();
  CHECK(config.rules.size() == std::size(kAlertKinds));
  const std::uint64_t seed = 3;
  CAPTURE(seed);
  SteppedJob job(0.02, seed);  // S up to 1.04, workers up to 1.02
  IncidentBook book(config.rules, {.job = "healthy", .gpu_hour_usd = 2.0, .pages = {}});
  for (int i = 0; i < 10'000; ++i) {
    StepResult step = job.healthy();
    // Of one step in fifty the analysis names a cause that is none.
    if (i % 50 == 0) step = job.faulty({{static_cast<std::size_t>(i / 50 % 16), 1.05}});
    REQUIRE(book.take(step).empty());
    REQUIRE(book.wait(10, step.totals.finished_s + 10).empty());
  }
}

TEST_CASE(
    "alert rules: with those that are shipped a fault opens one incident within n + 1 steps, named right") {
  const AlertingConfig config = read_alerting_config(GOODPUT_CONFIGS "/alerts/default.json").value();
  for (std::size_t worker = 0; worker < 16; ++worker) {
    SteppedJob job(0.02, worker);
    IncidentBook book(config.rules, {.job = "faulty", .gpu_hour_usd = 2.0, .pages = {}});
    for (int i = 0; i < 30; ++i) CHECK(book.take(job.healthy()).empty());
    IncidentChanges all;
    for (int i = 0; i < 200; ++i) {
      for (const IncidentChange& change : book.take(job.faulty({{worker, 1.3}}))) all.push_back(change);
    }
    REQUIRE(all.size() == 1);  // and nothing for straggling, nor for the worst worker
    const Incident& incident = all.front().incident;
    CHECK(all.front().event == IncidentEvent::kOpens);
    CHECK(incident.opened_at.step == 34);
    CHECK(incident.verdict.kind == "worker-fault");
    CHECK(incident.verdict.workers.at(0).rank == 8 * static_cast<int>(worker));
  }
}

}  // namespace
}  // namespace goodput
