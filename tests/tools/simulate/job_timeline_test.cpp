#include "tools/simulate/job_timeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/json.h"
#include "tests/tools/simulate/small_scenario.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/simulate/scenario_inputs.h"

namespace goodput {
namespace {

using std::chrono::seconds;

SimTime at(int second) {
  return SimTime{seconds(second)};
}

std::string numbered(NodeId node) {
  return "node " + std::to_string(node);
}

Json events_of(const std::vector<RecordedRun>& runs) {
  const TemporaryFile file("t.json");
  const Status status = write_job_timeline(runs, numbered, file.path(), file.path());
  REQUIRE_MESSAGE(status, status.error().message());
  return Json::parse(file.content()).at("traceEvents");
}

struct Slice {
  std::string name;
  double begin_s = 0;
  double end_s = 0;

  friend bool operator==(const Slice&, const Slice&) = default;
};
using Slices = std::vector<Slice>;

// By policy and thread, ascending.
std::map<std::pair<std::string, std::string>, Slices> slices_of(const Json& events) {
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const Json& event : events) {
    if (event.at("name") == "process_name")
      processes[event.at("pid").get<int>()] = event.at("args").at("name").get<std::string>();
    if (event.at("name") == "thread_name")
      threads[{event.at("pid").get<int>(), event.at("tid").get<int>()}] =
          event.at("args").at("name").get<std::string>();
  }
  std::map<std::pair<std::string, std::string>, Slices> slices;
  for (const Json& event : events) {
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts").get<double>();
    const double end = begin + event.at("dur").get<double>();
    const auto pid = event.at("pid").get<int>();
    slices[{processes.at(pid), threads.at({pid, event.at("tid").get<int>()})}].push_back(
        {event.at("name").get<std::string>(), 1e-6 * begin, 1e-6 * end});
  }
  for (auto& [thread, of] : slices)
    std::sort(of.begin(), of.end(), [](const Slice& a, const Slice& b) { return a.begin_s < b.begin_s; });
  return slices;
}

int overlaps_in(const Slices& slices) {
  int overlaps = 0;
  for (std::size_t i = 1; i < slices.size(); ++i)
    overlaps += slices[i].begin_s < slices[i - 1].end_s - 1e-9 ? 1 : 0;
  return overlaps;
}

// Node 0 trains from second 10 to 40, in two stretches; node 1 is there from 0 to 20 and from 30 on, unused.
RecordedRun run_with_an_idle_node() {
  RecordedRun run;
  run.policy = "\"quoted\"";
  run.events = {{at(0), NodeEvent::Kind::kAdd, 0},
                {at(0), NodeEvent::Kind::kAdd, 1},
                {at(15), NodeEvent::Kind::kSpeed, 1, 0.25},
                {at(20), NodeEvent::Kind::kRemove, 1},
                {at(30), NodeEvent::Kind::kAdd, 1}};
  run.end = at(40);
  run.log.node_sets = {{0}};
  for (const auto& [bucket, begin, end] :
       {std::tuple(TimeBucket::kProgramStartup, 0, 10), std::tuple(TimeBucket::kProductive, 10, 25),
        std::tuple(TimeBucket::kProductive, 25, 40)}) {
    JobSpan span;
    span.bucket = bucket;
    span.begin = at(begin);
    span.end = at(end);
    span.steps = 3;
    span.samples_per_step = 8;
    span.step = seconds(5);
    run.log.spans.push_back(span);
  }
  JobInstant start{JobInstant::Kind::kCourse, at(0)};
  start.cause = Cause::kStart;
  run.log.instants = {start, {JobInstant::Kind::kEnd, at(40)}};
  return run;
}

}  // namespace

TEST_CASE("job timeline: nodes have a slice while they work and while they are held and idle") {
  const auto slices = slices_of(events_of({run_with_an_idle_node()}));
  CHECK(slices.at({"\"quoted\"", "job"}) ==
        Slices{{"program_startup", 0, 10}, {"training", 10, 25}, {"training", 25, 40}});
  CHECK(slices.at({"\"quoted\"", "node 0"}) == Slices{{"program_startup", 0, 10}, {"training", 10, 40}});
  CHECK(slices.at({"\"quoted\"", "node 1"}) == Slices{{"idle_node", 0, 20}, {"idle_node", 30, 40}});
}

TEST_CASE("job timeline: training says what it trained, and moments are on the track they belong to") {
  const Json events = events_of({run_with_an_idle_node()});
  std::vector<std::pair<int, std::string>> moments;
  for (const Json& event : events) {
    if (event.at("ph") == "i")
      moments.emplace_back(event.at("tid").get<int>(), event.at("name").get<std::string>());
    if (event.at("name") != "training" || event.at("tid") != 1) continue;
    CHECK(event.at("args").at("steps") == 3);
    CHECK(event.at("args").at("samples") == 24);
    CHECK(event.at("args").at("step_s") == 5);
  }
  // One process, 0; the job is thread 1, node n is thread 2 + n.
  CHECK(moments == std::vector<std::pair<int, std::string>>{
                       {1, "start"}, {1, "end"}, {3, "speed 0.25"}, {3, "lost"}, {3, "joins"}});
}

TEST_CASE("job timeline: a node that is back at the moment of its loss is held all the time") {
  RecordedRun run = run_with_an_idle_node();
  run.events.back().time = at(20);
  CHECK(slices_of(events_of({run})).at({"\"quoted\"", "node 1"}) == Slices{{"idle_node", 0, 40}});
  // At work before and after.
  run.log.node_sets = {{0, 1}};
  CHECK(slices_of(events_of({run})).at({"\"quoted\"", "node 1"}) ==
        Slices{{"program_startup", 0, 10}, {"training", 10, 40}});
}

TEST_CASE("job timeline: of a simulated job no slices overlap and node time adds up" *
          doctest::test_suite("slow")) {
  Json text = testing::small_scenario();
  text["failures"] = {text["failures"],
                      {{"model", "fail_slow"},
                       {"per_node_day", 200},
                       {"speed_min", 0.3},
                       {"speed_max", 0.9},
                       {"duration_s", 60}}};
  text["policies"]["ds_ft"] = Json::object();
  const TemporaryFile file("scenario.json", text.dump());
  const Scenario scenario = read_scenario(file.path(), {}).value();
  const ScenarioInputs inputs = read_scenario_inputs(scenario, 5).value();
  const SimulationOptions options{.seed = 5, .trials = 1, .jobs = 1, .progress = {}};
  const Simulation simulation = simulate(scenario, inputs.view(), options).value();
  const auto slices = slices_of(events_of(record_runs(scenario, inputs.view(), 5, 0).value()));
  for (const PolicyOutcome& outcome : simulation.policies) {
    double node_s = 0;
    for (const auto& [thread, of] : slices) {
      if (thread.first != outcome.name) continue;
      CHECK(overlaps_in(of) == 0);
      double time_s = 0;
      for (const Slice& slice : of) time_s += slice.end_s - slice.begin_s;
      if (thread.second == "job") {
        CHECK(time_s == doctest::Approx(outcome.mean(TrialMetric::kWall)).epsilon(1e-6));
      } else {
        node_s += time_s;
      }
    }
    double all = 0;
    for (const Estimate& time : outcome.node_time_s) all += time.mean;
    CHECK(node_s == doctest::Approx(all).epsilon(1e-6));
  }
}

}  // namespace goodput
