// What a policy process may ask of its job.
#include "models/policy_process/job_questions.h"

#include <doctest/doctest.h>

#include <string>

#include "models/policy/checkpoint_store.h"
#include "sim/base/json.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

struct QuestionCase {
  JobPointer job = gpt_s(10);
  RestartJob restarts = std::move(*restart_job(*job, RestartOptions{}));

  Json answer(const std::string& question, const RunKey& run = {}) const {
    JobQuestions questions(restarts, run);
    const auto said = questions.answer(Json::parse(question));
    REQUIRE_MESSAGE(said, (said ? "" : said.error().message()));
    return Json::parse(said->dump());
  }
  std::string error(const std::string& question) const {
    JobQuestions questions(restarts, {});
    const auto said = questions.answer(Json::parse(question));
    return said ? "" : said.error().message();
  }
};

}  // namespace

TEST_CASE("job questions: usable nodes and step times are those of plain checkpoint-restart") {
  const QuestionCase one;
  const TrainingSpeed& speed = *one.restarts.speed;
  CHECK(one.answer(R"({"ask": "usable_nodes", "nodes": 9})")["nodes"] == speed.usable(9));
  const StepTime time = speed.at(8, 5, 0.5);
  const Json said =
      one.answer(R"({"ask": "step_time", "nodes": 8, "step": 5, "slowest": 0.5, "overhead_ns": 7})");
  CHECK(said["step_ns"] == time.step.count() + 7);
  CHECK(said["forward_backward_ns"] == time.forward_backward.count());
  CHECK(said["samples"] == time.samples);
  CHECK(said["until"].is_null());  // balanced routing: for ever
}

TEST_CASE("job questions: what checkpoints cost, with the options of the policies that restart") {
  const QuestionCase one;
  CheckpointSettings settings;
  settings.interval_steps = 20;
  settings.mode = SaveMode::kAsync;
  const StorageCheckpoints store(*one.job, settings);
  const Json said = one.answer(
      R"({"ask": "checkpoint", "nodes": 10, "settings": {"interval_steps": 20, "mode": "async"}, "restart_ns": 5})");
  const CheckpointRule rule = store.rules(one.restarts.speed->at(10, 0, 1), 10, {})[1];
  CHECK(said["bytes"] == store.bytes().value);
  CHECK(said["restore_ns"] == store.restore_time(ResumeFrom::kStorage, 10).count());
  CHECK(said["save_ns"] == store.planned_save(10).count());
  CHECK(said["rule"]["interval"] == rule.interval);
  CHECK(said["rule"]["stall_ns"] == rule.stall.count());
  CHECK(said["rule"]["lag_ns"] == rule.lag.count());
  CHECK(said["rule"]["asked"] == rule.asked);
}

TEST_CASE("job questions: nobody knows how often nodes fail, unless the scenario says so") {
  CHECK(QuestionCase{}.answer(R"({"ask": "mtbf", "nodes": 10})") ==
        Json::parse(R"({"mtbf_s": null, "never": false})"));
}

TEST_CASE("job questions: draws follow from seed, trial, name and id, and go on") {
  const QuestionCase one;
  const auto draws = [&one](const std::string& stream, const RunKey& run) {
    return one.answer(R"({"ask": "random", "stream": ")" + stream + R"(", "count": 3})", run)["values"];
  };
  CHECK(draws("a", {1, 2}) == draws("a", {1, 2}));
  CHECK(draws("a", {1, 2}) != draws("a", {1, 3}));
  CHECK(draws("a", {1, 2}) != draws("a", {2, 2}));
  CHECK(draws("a", {1, 2}) != draws("b", {1, 2}));
  JobQuestions questions(one.restarts, {1, 2});
  Json values = Json::array();
  for (int i = 0; i < 3; ++i) {
    const auto said = questions.answer(Json::parse(R"({"ask": "random", "stream": "a"})"));
    values.push_back((*said)["values"][0].get<double>());
  }
  CHECK(values == draws("a", {1, 2}));
  for (const char* draw :
       {R"("below", "bound": 3)", R"("exponential", "rate": 2)", R"("normal", "mean": 1)"}) {
    const Json said =
        one.answer(R"({"ask": "random", "stream": "a", "count": 5, "draw": )" + std::string(draw) + "}");
    CHECK(said["values"].size() == 5);
  }
}

TEST_CASE("job questions: those that make no sense have an answer in words") {
  const QuestionCase one;
  CHECK(one.error(R"({"ask": 3})") == "/ask: must be the name of a question");
  CHECK(
      one.error(R"({"ask": "step_times"})") ==
      R"(unknown question "step_times"; did you mean "step_time"?; known: usable_nodes, step_time, checkpoint, mtbf, random)");
  CHECK(one.error(R"({"ask": "step_time", "nodes": 11})") ==
        "/nodes: is 11, but the job can use only 10 of these nodes");
  CHECK(one.error(R"({"ask": "step_time", "nodes": 10, "speed": 1})") ==
        "/speed: unknown key; known keys: nodes, step, slowest, overhead_ns");
  CHECK(one.error(R"({"ask": "checkpoint", "nodes": 10, "settings": {"mode": "fast"}})")
            .starts_with("/settings/mode: must be one of \"sync\", \"async\""));
  CHECK(one.error(R"({"ask": "checkpoint", "nodes": 10, "settings": {"interval": "daly"}})") ==
        "/settings/mtbf_hours: is not given, and a failure model does not define how often it hits the job; "
        "give mtbf_hours, or set interval to \"fixed\"");
  CHECK(one.error(R"({"ask": "step_time", "nodes": 10, "slowest": 1e-9})") ==
        "/slowest: must be a number from 0.001 to 1, not 1e-09");
  CHECK(one.error(R"({"ask": "mtbf", "nodes": 11})") == "/nodes: must be an integer from 1 to 10, not 11");
  CHECK(one.error(R"({"ask": "random", "stream": "a", "count": 0})") ==
        "/count: must be an integer from 1 to 10000, not 0");
}

}  // namespace goodput::testing
