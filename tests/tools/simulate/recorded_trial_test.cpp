#include "tools/simulate/recorded_trial.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/json.h"
#include "sim/job/recovery_policy.h"
#include "tests/support/recorded_span.h"
#include "tests/tools/simulate/simulate_run.h"
#include "tests/tools/simulate/small_scenario.h"

namespace goodput {
namespace {

using testing::at_second;
using testing::recorded_span;

// Two nodes train 4 steps of 10 samples from second 10 to 30; then one is lost, and with it the last step;
// the other waits until the end at second 50.
RecordedRun run_that_loses() {
  RecordedRun run;
  run.policy = "ds";
  run.events = {{at_second(0), NodeEvent::Kind::kAdd, 0},
                {at_second(0), NodeEvent::Kind::kAdd, 1},
                {at_second(30), NodeEvent::Kind::kRemove, 1}};
  run.end = at_second(50);
  run.log.node_sets = {{0, 1}, {0}};
  JobSpan training = recorded_span(TimeBucket::kProductive, 10, 30, 0);
  training.steps = 4;
  training.samples_per_step = 10;
  run.log.spans = {recorded_span(TimeBucket::kProgramStartup, 0, 10, 0), training,
                   recorded_span(TimeBucket::kInfrastructureRecovery, 30, 50, 1)};
  JobInstant lost{JobInstant::Kind::kLost, at_second(30)};
  lost.node = 1;
  JobInstant restart{JobInstant::Kind::kCourse, at_second(30)};
  restart.cause = Cause::kRestart;
  restart.lost_steps = 1;
  JobInstant end{JobInstant::Kind::kEnd, at_second(50)};
  end.text = "no nodes";
  run.log.instants = {lost, restart, end};
  return run;
}

TrialSummary trial_of(double samples, bool finished, double wall_s) {
  TrialSummary trial;
  trial.samples = samples;
  trial.finished = finished;
  trial.wall_s = wall_s;
  return trial;
}

}  // namespace

TEST_CASE("recorded trial: samples rise, fall where they are lost, and stay; nodes change in steps") {
  const Json trial = Json::parse(recorded_trial_json(run_that_loses()).dump());
  // 2 samples a second; of the 40 of second 30 the last 10 are lost.
  CHECK(trial.at("samples").at("t_s") == Json({0, 10, 30, 30, 50}));
  CHECK(trial.at("samples").at("value") == Json({0, 0, 40, 30, 30}));
  CHECK(trial.at("samples").at("within") == 0);
  CHECK(trial.at("nodes_held").at("t_s") == Json({0, 30, 30, 50}));
  CHECK(trial.at("nodes_held").at("value") == Json({2, 2, 1, 1}));
  CHECK(trial.at("end_s") == 50);
  CHECK(trial.at("stopped") == "no nodes");
}

TEST_CASE("recorded trial: what happened, with what it cost") {
  const Json trial = Json::parse(recorded_trial_json(run_that_loses()).dump());
  CHECK(trial.at("events") == Json::parse(R"([{"t_s": 30, "kind": "loss", "nodes": 1},
                                              {"t_s": 30, "kind": "restart", "steps_lost": 1}])"));
  CHECK(trial.at("events_left_out") == 0);
}

TEST_CASE("recorded trial: nodes that go at one moment are one loss, events over the limit are counted") {
  RecordedRun run = run_that_loses();
  const JobInstant lost = run.log.instants.front();
  run.log.instants.insert(run.log.instants.begin(), lost);
  CHECK(Json::parse(recorded_trial_json(run).dump()).at("events").at(0).at("nodes") == 2);
  // A restart a second, a thousand of them: every fourth makes 250.
  run.log.instants.clear();
  for (int i = 0; i < 1000; ++i) {
    JobInstant restart{JobInstant::Kind::kCourse, at_second(i)};
    restart.cause = Cause::kRestart;
    run.log.instants.push_back(restart);
  }
  const Json many = Json::parse(recorded_trial_json(run, 500, 300).dump());
  CHECK(many.at("events").size() == 250);
  CHECK(many.at("events").at(1).at("t_s") == 4);
  CHECK(many.at("events_left_out") == 750);
}

TEST_CASE("distribution: shares of all trials, of JCTs where some reached the goal") {
  // 100 s and 300 s; the third never gets there: two thirds of all are known.
  const std::vector<TrialSummary> trials = {trial_of(5, true, 300), trial_of(5, true, 100),
                                            trial_of(2, false, 400)};
  const Json of = Json::parse(distribution_json(trials).dump());
  CHECK(of.at("metric") == "jct_s");
  CHECK(of.at("trials") == 3);
  CHECK(of.at("with_value") == 2);
  CHECK(of.at("value") == Json({100, 300}));
  CHECK(of.at("share").at(0).get<double>() == doctest::Approx(1 / 3.0).epsilon(1e-5));
  CHECK(of.at("share").at(1).get<double>() == doctest::Approx(2 / 3.0).epsilon(1e-5));
}

TEST_CASE("distribution: of samples where no trial reached a goal; the least and the most are kept") {
  std::vector<TrialSummary> trials;
  for (int i = 1; i <= 1000; ++i) trials.push_back(trial_of(i, false, 1));
  const Json of = Json::parse(distribution_json(trials, 200).dump());
  CHECK(of.at("metric") == "samples");
  CHECK(of.at("value").size() == 200);
  CHECK(of.at("value").front() == 1);
  CHECK(of.at("share").front() == 0.001);
  CHECK(of.at("value").back() == 1000);
  CHECK(of.at("share").back() == 1);
}

TEST_CASE("simulate: the first trial ends with the samples of the result; a refused policy has none") {
  Json scenario = testing::small_scenario();
  scenario["policies"] = {{"ds", Json::object()}, {"never", {{"policy", "ds"}, {"ep", 16}}}};
  scenario["trials"] = 1;
  const Json result = testing::simulate_result(scenario);
  bool has_refused = false;
  for (const auto& item : result.at("policies").items()) {
    INFO(item.key);
    const Json& of = item.value;
    if (!of.at("refused").is_null()) {
      has_refused = true;
      CHECK(of.at("recorded_trial").is_null());
      CHECK(of.at("distribution").is_null());
      continue;
    }
    CHECK(of.at("recorded_trial").at("samples").at("value").back() == of.at("samples"));
    CHECK(of.at("recorded_trial").at("samples").at("t_s").back() == of.at("wall_s"));
  }
  CHECK(has_refused);
}

}  // namespace goodput
