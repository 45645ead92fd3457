// A policy in another process as the job engine sees it: what it is sent, and what becomes of a run in which
// it fails.
#include "models/policy_process/process_policy.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/support/hand_job.h"
#include "tests/support/scripted_channel.h"

namespace goodput::testing {
namespace {

class NoQuestions final : public PolicyHost {
 public:
  [[nodiscard]] Result<OrderedJson> answer(const Json& question) override {
    if (question["ask"] != "more") return Error{"has no answer"};
    return OrderedJson{{"more", true}};
  }
};

// Ten-second steps on the nodes of the last decision, whatever happens; answers by call may be others.
struct ProcessCase {
  PolicyCommand command{"mine", "./mine"};
  std::vector<std::string> metric_names{};
  std::vector<std::string> sent{};
  std::map<std::string, std::string> answers{
      {"start_run", R"({"answer": "start_run"})"},
      {"decide",
       R"({"answer": "decide", "kind": "train", "nodes": [0], "samples_per_step": 2, "cause": "start",
           "pace": {"step_ns": 10000000000}})"},
      {"on_change", R"({"answer": "on_change", "response": "ignore"})"},
      {"on_wake", R"({"answer": "on_wake", "response": "ignore"})"},
      {"pace", R"({"answer": "pace", "step_ns": 10000000000})"},
      {"end_run", R"({"answer": "end_run"})"}};
  std::string complaint{};
  int given_back = 0;

  Result<std::string> answer(std::string_view line) {
    const Json message = Json::parse(line);
    if (!message.contains("call")) return answers.at("more");
    return answers.at(message["call"].get<std::string>());
  }

  JobResult run(const JobGoal& goal, const NodeEvents& events) {
    auto channel =
        std::make_unique<ScriptedChannel>([this](std::string_view line) { return answer(line); }, &sent);
    channel->complaint = complaint;
    ProcessPolicy policy(
        {&command, &metric_names, {7, 3}}, std::make_unique<PolicyConversation>(std::move(channel)),
        std::make_unique<NoQuestions>(), [this](ProcessPolicy::Conversation) { ++given_back; });
    ScriptedFailures failures(events);
    return run_job(goal, {}, failures, policy);
  }
};

}  // namespace

TEST_CASE("process policy: what it is sent, call by call, and only what it does not know") {
  ProcessCase one;
  NodeEvents events = held(2);
  events.push_back(lost(seconds{25}, 1));
  const JobResult result = one.run(steps(4), events);
  CHECK(result.finished);
  CHECK(result.policy_failure == "");
  CHECK(result.samples == 8);
  CHECK(one.given_back == 1);
  CHECK(one.sent ==
        std::vector<std::string>{R"({"call":"start_run","seed":7,"trial":3})",
                                 R"({"call":"decide","now_ns":0,"is_training":false,"step":0,)"
                                 R"("checkpoints":{"memory":0,"storage":0},"was_interrupted":false,)"
                                 R"("members":[0,1],"speeds":[]})",
                                 R"({"call":"on_change","now_ns":25000000000,"is_training":true,)"
                                 R"("lost":[1],"joined":[],"speeds":[]})",
                                 R"({"call":"end_run","steps":4})"});
}

TEST_CASE("process policy: a pace that came with the course is not asked for until it ends") {
  ProcessCase one;
  one.answers["decide"] = R"({"answer": "decide", "kind": "train", "nodes": [0], "samples_per_step": 2,
                              "pace": {"step_ns": 10000000000, "until": 3}})";
  CHECK(one.run(steps(5), held(1)).end == at(seconds{50}));
  CHECK(one.sent[2] == R"({"call":"pace","step":3})");
  ProcessCase other;
  other.answers["decide"] = R"({"answer": "decide", "kind": "train", "nodes": [0], "samples_per_step": 2})";
  CHECK(other.run(steps(5), held(1)).end == at(seconds{50}));
  CHECK(other.sent[2] == R"({"call":"pace","step":0})");
}

TEST_CASE("process policy: it wakes when the last answer says") {
  ProcessCase one;
  one.answers["decide"] = R"({"answer": "decide", "kind": "train", "nodes": [0], "samples_per_step": 2,
                              "wake_at_ns": 15000000000})";
  CHECK(one.run(steps(3), held(1)).finished);
  CHECK(one.sent[3] == R"({"call":"on_wake","now_ns":15000000000,"is_training":true})");
}

TEST_CASE("process policy: figures of its own go by the names that it told") {
  ProcessCase one;
  one.metric_names = {"swaps"};
  one.answers["end_run"] = R"({"answer": "end_run", "metrics": {"swaps": 2}})";
  const JobResult result = one.run(steps(1), held(1));
  REQUIRE(result.metrics.size() == 1);
  CHECK(result.metrics[0].name == "swaps");
  CHECK(result.metrics[0].value == 2);
}

TEST_CASE("process policy: a question is answered, and then the answer is waited for") {
  ProcessCase one;
  one.answers["more"] = one.answers["decide"];
  one.answers["decide"] = R"({"ask": "more"})";
  CHECK(one.run(steps(1), held(1)).finished);
  CHECK(one.sent[2] == R"({"more":true})");
}

TEST_CASE("process policy: whatever it does wrong ends its run with one line") {
  NodeEvents events = held(2);
  events.push_back(lost(seconds{25}, 0));
  events.push_back(joined(seconds{30}, 0));
  const auto failure = [&](const std::string& call, const std::string& answer, const std::string& said = "") {
    ProcessCase one;
    one.answers[call] = answer;
    one.complaint = said;
    const JobResult result = one.run(steps(6), events);
    CHECK_FALSE(result.finished);
    CHECK(one.given_back == 0);
    return result.policy_failure;
  };
  CHECK(
      failure("start_run", "{}") ==
      R"(policy "mine" (./mine) during start_run of trial 3: wrong answer: must contain "answer": "start_run")");
  CHECK(
      failure("decide", "nonsense") ==
      R"(policy "mine" (./mine) during decide of trial 3: is not valid JSON: invalid literal in "nonsense")");
  CHECK(
      failure("decide", R"({"ask": "for it"})", "Traceback") ==
      R"(policy "mine" (./mine) during decide of trial 3: asked "{"ask": "for it"}": has no answer; its last output on stderr: "Traceback")");
  CHECK(
      failure("on_change", R"({"answer": "on_change", "response": "ignore"})") ==
      R"(policy "mine" (./mine) during on_change of trial 3: wrong answer: /response: must be "interrupt", not "ignore": node 0 is in use and was lost)");
  CHECK(
      failure("decide", R"({"answer": "decide", "kind": "train", "nodes": [0, 5], "samples_per_step": 2})") ==
      R"(policy "mine" (./mine) during decide of trial 3: wrong answer: /nodes/1: is 5, but this node is not available)");
}

TEST_CASE("process policy: failures at wake-ups, at paces and at the end are failures too") {
  const auto failure = [](const std::string& decides, const std::string& call, const std::string& answer) {
    ProcessCase one;
    one.answers["decide"] =
        R"({"answer": "decide", "kind": "train", "nodes": [0], "samples_per_step": 2)" + decides;
    one.answers[call] = answer;
    return one.run(steps(3), held(1)).policy_failure;
  };
  CHECK(
      failure(R"(, "wake_at_ns": 5})", "on_wake",
              R"({"answer": "on_wake", "response": "ignore", "wake_at_ns": 5})") ==
      R"(policy "mine" (./mine) during on_wake of trial 3: wrong answer: /wake_at_ns: must be 6 or later, not 5)");
  CHECK(
      failure("}", "pace", R"({"answer": "pace", "step_ns": 1.5})") ==
      R"(policy "mine" (./mine) during pace of trial 3: wrong answer: /step_ns: must be an integer from 1 to 10000000000000000, not 1.5)");
  CHECK(
      failure("}", "end_run", R"({"answer": "end_run", "metrics": {"more": 1}})") ==
      R"(policy "mine" (./mine) during end_run of trial 3: wrong answer: /metrics: has metrics, but the answer to "hello" named none)");
}

TEST_CASE("process policy: who asks for ever is stopped") {
  ProcessCase one;
  one.answers["decide"] = one.answers["more"] = R"({"ask": "more"})";
  CHECK(one.run(steps(1), held(1)).policy_failure ==
        R"(policy "mine" (./mine) during decide of trial 3: asked more than 100000 questions)");
}

}  // namespace goodput::testing
