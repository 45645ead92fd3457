// Programs that are told of incidents, and what they may do instead of listening.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "sim/base/json.h"
#include "tests/support/incident_case.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/alerting/alert_sink.h"

namespace goodput {
namespace {

const std::atomic<bool> kNobodyStops = false;

SinkAnswer run(std::vector<std::string> command, double timeout_s = 10, Incident incident = full_incident()) {
  return make_exec_sink({.command = std::move(command), .timeout_s = timeout_s})
      ->deliver({std::move(incident)}, kNobodyStops);
}

TEST_CASE(
    "exec: the program gets the incident as JSON and in its environment, and its arguments as they are") {
  const TemporaryFile told("told");
  const std::string script =
      "cat > \"$1\"; printf '%s|%s|%s|%s' \"$2\" \"$GOODPUT_ALERT_RULE\" "
      "\"$GOODPUT_ALERT_HOST\" \"$GOODPUT_ALERT_EVENT\" >> \"$1\"";
  CHECK(run({"sh", "-c", script, "sh", told.path(), "a b $HOME;"}).problem.empty());
  const std::string content = told.content();
  const std::size_t end = content.find('\n');
  REQUIRE(end != std::string::npos);
  CHECK(Json::parse(content.substr(0, end)).at("incident").at("key") == "goodput-5d3f0c1e9a7b2468");
  CHECK(content.substr(end + 1) == "a b $HOME;|cause|n3|opens");
}

TEST_CASE("exec: control characters of names do not get into the environment") {
  Incident incident = full_incident();
  incident.job = std::string("a\nb\x1b[2Jc\0d", 10);
  const TemporaryFile told("told");
  CHECK(run({"sh", "-c", "printf %s \"$GOODPUT_ALERT_JOB\" > " + told.path()}, 10, incident).is_taken());
  CHECK(told.content() == "a\\x0ab\\x1b[2Jc\\x00d");
}

TEST_CASE("exec: a program that fails, is killed, is not there or takes too long says so") {
  CHECK(run({"sh", "-c", "echo busy >&2; exit 3"}).problem == "exited with code 3: \"busy\"");
  CHECK(run({"sh", "-c", "kill -9 $$"}).problem == "was killed by signal 9 (Killed)");
  CHECK(run({"/nowhere/pager"}).problem == "exited with code 127: \"cannot be run\"");
  CHECK(run({"sleep", "100"}, 0.05).problem == "the program took longer than 0.05 s");
  CHECK(run({"sh", "-c", "exec >&- 2>&-; sleep 100"}).problem ==
        "the program closed its standard output but kept running");
}

TEST_CASE("exec: a program that does not read and one that writes without end hold nothing up") {
  Incident incident = full_incident();
  incident.verdict.sentence = std::string(1 << 20, 'x');
  incident.verdict.sentence.resize(100'000);
  CHECK(run({"true"}, 10, incident).is_taken());
  CHECK(run({"sh", "-c", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; cat > /dev/null"}, 10)
            .is_taken());
}

TEST_CASE("exec: what a program has started ends with its time") {
  const TemporaryFile number("pid");
  CHECK_FALSE(run({"sh", "-c", "sleep 100 & echo $! > " + number.path() + "; wait"}, 0.3).is_taken());
  const int child = std::atoi(number.content().c_str());
  REQUIRE(child > 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto is_there = [child] {
    std::ifstream stat(fmt::format("/proc/{}/stat", child));
    std::string text;
    return std::getline(stat, text) && text.find(") Z ") == std::string::npos;
  };
  while (is_there() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  CHECK_FALSE(is_there());
}

TEST_CASE("exec: a program is ended with the monitor") {
  const std::atomic<bool> stop = true;
  CHECK(make_exec_sink({.command = {"sleep", "100"}})->deliver({full_incident()}, stop).problem ==
        "the program was stopped because the monitor stopped");
}

}  // namespace
}  // namespace goodput
