#include "tools/simulate/throughput.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/support/recorded_span.h"
#include "tests/tools/simulate/small_scenario.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/simulate/scenario_inputs.h"

namespace goodput {
namespace {

using testing::at_second;
using testing::recorded_span;

// Two nodes train 4 steps of 10 samples from second 10 to 30; then one is lost and with it the last step; the
// other trains a step of 5 samples from second 40 to 50, when the run ends.
RecordedRun run_with_a_loss() {
  RecordedRun run;
  run.policy = "one, two";
  run.events = {{at_second(0), NodeEvent::Kind::kAdd, 0},
                {at_second(0), NodeEvent::Kind::kAdd, 1},
                {at_second(30), NodeEvent::Kind::kRemove, 1}};
  run.end = at_second(50);
  run.log.node_sets = {{0, 1}, {0}};
  JobSpan before = recorded_span(TimeBucket::kProductive, 10, 30, 0);
  before.steps = 4;
  before.samples_per_step = 10;
  JobSpan after = recorded_span(TimeBucket::kProductive, 40, 50, 1);
  after.first_step = 3;
  after.steps = 1;
  after.samples = 30;
  after.samples_per_step = 5;
  run.log.spans = {recorded_span(TimeBucket::kProgramStartup, 0, 10, 0), before,
                   recorded_span(TimeBucket::kCheckpointRestore, 30, 40, 1), after};
  JobInstant restart{JobInstant::Kind::kCourse, at_second(30)};
  restart.cause = Cause::kRestart;
  restart.lost_steps = 1;
  run.log.instants = {restart, {JobInstant::Kind::kEnd, at_second(50)}};
  return run;
}

}  // namespace

TEST_CASE("throughput: a row for every change, samples that are lost are gone at once") {
  const std::vector<RecordedRun> runs = {run_with_a_loss()};
  CHECK(throughput_csv(runs) ==
        "t_s,policy,nodes_held,nodes_used,samples,samples_per_s,bucket\n"
        "0,\"one, two\",2,2,0,0,program_startup\n"
        "10,\"one, two\",2,2,0,2,productive\n"
        "30,\"one, two\",1,1,30,0,checkpoint_restore\n"
        "40,\"one, two\",1,1,30,0.5,productive\n"
        "50,\"one, two\",1,0,35,0,\n");
}

TEST_CASE("throughput: a node that comes while the job trains splits the stretch") {
  RecordedRun run = run_with_a_loss();
  run.events.insert(run.events.begin() + 2, {at_second(15), NodeEvent::Kind::kAdd, 2});
  const std::vector<ThroughputPoint> points = throughput_of(run);
  REQUIRE(points.size() == 6);
  CHECK(points[2].time == at_second(15));
  CHECK(points[2].nodes_held == 3);
  CHECK(points[2].nodes_used == 2);
  CHECK(points[2].samples == 10);  // 5 s at 2 samples/s
  CHECK(points[3].samples == 30);
}

TEST_CASE("throughput: losing everything ends at no samples") {
  RecordedRun run = run_with_a_loss();
  run.log.instants.front().lost_steps = 4;
  CHECK(throughput_of(run)[2].samples == 0);
}

TEST_CASE("throughput: ends with the samples that the simulation counts, whatever the policy" *
          doctest::test_suite("slow")) {
  Json text = testing::small_scenario();
  for (const PolicyInfo& policy : recovery_policies()) text["policies"][std::string(policy.name)] = {};
  for (Json& options : text["policies"]) options = Json::object();
  const TemporaryFile file("scenario.json", text.dump());
  const Scenario scenario = read_scenario(file.path(), {}).value();
  const ScenarioInputs inputs = read_scenario_inputs(scenario, 3).value();
  const SimulationOptions options{.seed = 3, .trials = 1, .jobs = 1, .progress = {}};
  const Simulation simulation = simulate(scenario, inputs.view(), options).value();
  const std::vector<RecordedRun> runs = record_runs(scenario, inputs.view(), 3, 0).value();
  REQUIRE(runs.size() == simulation.policies.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    INFO(runs[i].policy);
    CHECK(throughput_of(runs[i]).back().samples == simulation.policies[i].mean(TrialMetric::kSamples));
    CHECK(to_seconds(runs[i].end.time_since_epoch()) == simulation.policies[i].mean(TrialMetric::kWall));
    // The time of nodes held, by the events alone.
    double node_s = 0;
    double held_s = 0;
    for (const Estimate& time : simulation.policies[i].node_time_s) node_s += time.mean;
    const std::vector<ThroughputPoint> points = throughput_of(runs[i]);
    for (std::size_t k = 1; k < points.size(); ++k)
      held_s += points[k - 1].nodes_held * to_seconds(points[k].time - points[k - 1].time);
    CHECK(held_s == doctest::Approx(node_s).epsilon(1e-9));
  }
}

TEST_CASE("throughput: the chart has a line a policy, names escaped, no number that is none") {
  std::vector<RecordedRun> runs = {run_with_a_loss(), run_with_a_loss()};
  runs[1].policy = "a<b&c";
  const std::string svg = throughput_svg(runs, "GPT & co");
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("GPT &amp; co") != std::string::npos);
  CHECK(svg.find("<title>one, two</title>") != std::string::npos);
  CHECK(svg.find("<title>a&lt;b&amp;c</title>") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("throughput: the chart leaves out points that nobody can see, but no leap") {
  RecordedRun run = run_with_a_loss();
  // A thousand stretches of 20 ms in place of one of 20 s.
  const JobSpan whole = run.log.spans[1];
  std::vector<JobSpan> spans = {run.log.spans[0]};
  for (int i = 0; i < 1000; ++i) {
    JobSpan part = whole;
    part.begin = whole.begin + std::chrono::milliseconds(20 * i);
    part.end = part.begin + std::chrono::milliseconds(20);
    part.steps = i % 250 == 249 ? 1 : 0;
    part.first_step = i / 250;
    part.samples = 10 * part.first_step;
    spans.push_back(part);
  }
  spans.insert(spans.end(), run.log.spans.begin() + 2, run.log.spans.end());
  run.log.spans = spans;
  const std::string svg = throughput_svg(std::vector{run}, "t");
  CHECK(svg.size() < 20000);
  CHECK(throughput_of(run).back().samples == 35);
}

TEST_CASE("throughput: a run of no time can be drawn") {
  RecordedRun run;
  run.policy = "none";
  const std::string svg = throughput_svg(std::vector{run}, "t");
  CHECK(svg.find("nan") == std::string::npos);
}

}  // namespace goodput
