// What the answers of a policy process may be, and every message about those that may not.
#include "models/policy_process/policy_answers.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/json.h"

namespace goodput::testing {
namespace {

// Nodes 0, 1 and 2 are there; 10 steps are done, of which checkpoints hold 8 and 5.
struct AnswerCase {
  Membership members{};
  JobState job{};

  AnswerCase() {
    NodeChange change;
    for (const NodeId node : {0, 1, 2}) members.apply({.kind = NodeEvent::Kind::kAdd, .node = node}, change);
    job.now = SimTime{SimDuration{100}};
    job.members = &members;
    job.step = 10;
    job.checkpoints = {8, 5};
  }
  AnswerCase(const AnswerCase&) = delete;
  AnswerCase& operator=(const AnswerCase&) = delete;

  // Of a course that is fine, with these members besides or in place of its own; null: without it.
  std::string fault(const std::string& patch) const {
    Json answer =
        Json::parse(R"({"answer": "decide", "kind": "train", "nodes": [0, 2], "samples_per_step": 4})");
    const Json changes = Json::parse(patch);
    answer.update(changes);
    for (const auto& [key, value] : changes.items()) {
      if (value.is_null()) answer.erase(key);
    }
    const auto course = read_course(answer, job);
    return course ? "" : course.error().message();
  }
};

template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message();
}

}  // namespace

TEST_CASE("policy answers: a course says all that the engine wants to know") {
  const AnswerCase here;
  const auto read = read_course(Json::parse(R"({
    "answer": "decide", "kind": "train", "cause": "restart", "from": "memory", "nodes": [1, 2],
    "samples_per_step": 16, "saves": true, "decide_at_step": 20, "wake_at_ns": 150,
    "phases": [{"bucket": "checkpoint_restore", "ns": 7}, {"bucket": "program_startup", "ns": 0}],
    "checkpoints": {"memory": {"interval": 5}, "storage": {"interval": 10, "stall_ns": 3, "lag_ns": 2, "asked": 4}},
    "pace": {"step_ns": 30, "until": 12}})"),
                                here.job);
  REQUIRE(read);
  const Course& course = read->course;
  CHECK(course.kind == Course::Kind::kTrain);
  CHECK(course.cause == Cause::kRestart);
  CHECK(course.from == ResumeFrom::kMemory);
  CHECK(read->nodes == std::vector<NodeId>{1, 2});
  CHECK(course.samples_per_step == 16);
  CHECK(course.saves);
  CHECK(course.decide_at_step == 20);
  CHECK(read->wake_at == SimTime{SimDuration{150}});
  REQUIRE(course.phases.all().size() == 1);  // one of no time is none
  CHECK(course.phases.all()[0].bucket == TimeBucket::kCheckpointRestore);
  CHECK(course.phases.all()[0].duration == SimDuration{7});
  CHECK(course.checkpoints[0].interval == 5);
  CHECK(course.checkpoints[1].stall == SimDuration{3});
  CHECK(course.checkpoints[1].asked == 4);
  CHECK(read->pace->step == SimDuration{30});
  CHECK(read->pace->until == 12);
}

TEST_CASE("policy answers: what a course leaves out has a default, and null says nothing") {
  const AnswerCase here;
  CHECK(here.fault("{}") == "");
  const auto read =
      read_course(Json::parse(R"({"answer": "decide", "kind": "train", "nodes": [0], "samples_per_step": 1,
                      "decide_at_step": null, "wake_at_ns": null, "pace": null})"),
                  here.job);
  REQUIRE(read);
  CHECK(read->course.decide_at_step == kNoStep);
  CHECK(read->wake_at == kNoTime);
  CHECK_FALSE(read->pace.has_value());
  const auto waits = read_course(
      Json::parse(R"({"answer": "decide", "kind": "wait", "reason": "needs 4 nodes"})"), here.job);
  CHECK(waits->course.reason == "needs 4 nodes");
}

TEST_CASE("policy answers: a course that the engine could not take is refused, with the place") {
  const AnswerCase here;
  const auto fault = [&here](const std::string& patch) { return here.fault(patch); };
  CHECK(fault(R"({"answer": "pace"})") == R"(must contain "answer": "decide")");
  CHECK(fault(R"({"kind": "trian"})") ==
        R"(/kind: must be one of "train", "wait", "give_up", not "trian"; did you mean "train"?)");
  CHECK(fault(R"({"nodes": []})") == "/nodes: must list the nodes that train; it is empty");
  CHECK(fault(R"({"nodes": [2, 0]})") == "/nodes/1: is 0 after 2; node IDs must be ascending");
  CHECK(fault(R"({"nodes": [1, 1]})") == "/nodes/1: is 1 after 1; node IDs must be ascending");
  CHECK(fault(R"({"nodes": [0, 3]})") == "/nodes/1: is 3, but this node is not available");
  CHECK(fault(R"({"nodes": [-1]})") == "/nodes/0: must be an integer from 0 to 2147483647, not -1");
  CHECK(fault(R"({"nodes": [0.5]})") == "/nodes/0: must be an integer from 0 to 2147483647, not 0.5");
  CHECK(fault(R"({"samples_per_step": null})") ==
        "/samples_per_step: is missing; give the number of samples per step");
  CHECK(fault(R"({"samples_per_step": 0})") ==
        "/samples_per_step: must be an integer from 1 to 10000000000000000, not 0");
  CHECK(fault(R"({"decide_at_step": 10})") ==
        "/decide_at_step: must be after step 10 (the step from which the job resumes), not 10");
  CHECK(fault(R"({"decide_at_step": 6, "from": "storage"})") == "");
  CHECK(fault(R"({"wake_at_ns": 99})") == "/wake_at_ns: must be 100 or later, not 99");
  CHECK(fault(R"({"kind": "wait"})") == R"(/reason: is missing; give the reason, such as "needs 4 nodes")");
  CHECK(fault(R"({"reason": "a\nb"})") == "/reason: must be one line of text without control characters");
  CHECK(fault(R"({"reason": ")" + std::string(401, 'x') + "\"}") ==
        "/reason: must have at most 400 bytes, not 401");
  CHECK(fault(R"({"wake_at": 5})") ==
        "/wake_at: unknown key; known keys: kind, cause, from, phases, saves, nodes, samples_per_step, "
        "checkpoints, decide_at_step, reason, pace, wake_at_ns");
}

TEST_CASE("policy answers: phases, checkpoints and paces that cannot be") {
  const AnswerCase here;
  const auto fault = [&here](const std::string& patch) { return here.fault(patch); };
  CHECK(fault(R"({"phases": 1})") == "/phases: must be an array of at most 8 phases, not 1");
  CHECK(fault(R"({"phases": [{"bucket": "checkpoint_restore", "ns": -1}]})") ==
        "/phases/0/ns: must be an integer from 0 to 10000000000000000, not -1");
  const std::string bucket = fault(R"({"phases": [{"bucket": "productive", "ns": 1}]})");
  CHECK(bucket.starts_with("/phases/0/bucket: must be one of "));
  CHECK(bucket.ends_with(", not \"productive\""));
  CHECK(fault(R"({"phases": [{"bucket": "checkpoint_save"}]})") ==
        "/phases/0/ns: is missing; it must be nanoseconds");
  CHECK(fault(R"({"checkpoints": {"memory": {"interval": 3}, "storage": {"interval": 10}}})") ==
        "/checkpoints/storage/interval: must be a multiple of the memory interval (3), not 10");
  CHECK(fault(R"({"checkpoints": {"storage": {"interval": 10, "asked": 10}}})") ==
        "/checkpoints/storage/asked: must be 0, or below the interval (10); found 10");
  CHECK(fault(R"({"pace": {"step_ns": 0}})") ==
        "/pace/step_ns: must be an integer from 1 to 10000000000000000, not 0");
  CHECK(fault(R"({"pace": {"step_ns": 9, "until": 10}})") ==
        "/pace/until: must be after step 10 (the next step), not 10");
  CHECK(fault(R"({"pace": {"step_ns": 3}})") ==
        "/pace/step_ns: is 3 for 4 samples, which is more than one sample per nanosecond");
}

TEST_CASE("policy answers: nothing is asked for beyond the end of the clock") {
  AnswerCase here;
  here.job.now = kNoTime - SimDuration{10};
  CHECK(here.fault(R"({"phases": [{"bucket": "checkpoint_restore", "ns": 9}]})") == "");
  CHECK(here.fault(R"({"phases": [{"bucket": "checkpoint_restore", "ns": 10}]})") ==
        "/phases: must end within 292 years, the limit of the simulated clock");
}

TEST_CASE("policy answers: a response ignores no loss, and wakes nobody in the past") {
  const auto read = [](const char* text, SimTime earliest) {
    return read_response(Json::parse(text), "on_wake", earliest);
  };
  const SimTime now{SimDuration{100}};
  const auto fine = read(R"({"answer": "on_wake", "response": "at_step_end", "wake_at_ns": 100})", now);
  REQUIRE(fine);
  CHECK(fine->response == Response::kAtStepEnd);
  CHECK(message_of(read(R"({"answer": "on_wake", "response": "ignore", "wake_at_ns": 99})", now)) ==
        "/wake_at_ns: must be 100 or later, not 99");
  CHECK(message_of(read(R"({"answer": "on_wake"})", now)) ==
        R"(/response: is missing; it must be one of "ignore", "at_step_end", "interrupt")");
  CHECK(message_of(read(R"({"answer": "on_change", "response": "ignore"})", now)) ==
        R"(must contain "answer": "on_wake")");
  const std::vector<NodeId> used = {1, 4};
  const std::vector<NodeId> idle = {2, 3};
  const std::vector<NodeId> lost = {3, 4};
  CHECK(check_response(*fine, used, idle));
  CHECK(message_of(check_response(*fine, used, lost)) ==
        R"(/response: must be "interrupt", not "at_step_end": node 4 is in use and was lost)");
  CHECK(check_response({Response::kInterrupt}, used, lost));
}

TEST_CASE("policy answers: hello in another version, and names that are none") {
  const auto message = [](const char* text) { return message_of(read_hello(Json::parse(text))); };
  CHECK(message(R"({"answer": "hello", "protocol": 1, "metrics": ["my_a"], "warnings": ["w"]})") == "");
  CHECK(message(R"({"answer": "hello", "protocol": 2, "since": "then"})") ==
        "/protocol: is 2, but must be 1, the protocol version of goodput");
  CHECK(message(R"({"answer": "hello"})") ==
        "/protocol: is missing, but must be 1, the protocol version of goodput");
  CHECK(message(R"({"answer": "hello", "protocol": 1, "metrics": ["my_a", "my_a"]})") ==
        "/metrics/1: occurs twice");
  for (const std::string name : {"steps", "my_", "my_A", "my a"}) {
    const Json answer = {{"answer", "hello"}, {"protocol", 1}, {"metrics", {name}}};
    CHECK(message(answer.dump().c_str()) ==
          "/metrics/0: must be my_ followed by letters a to z, digits and _ (such as my_swaps), not \"" +
              name + "\"");
  }
  CHECK(message(R"({"answer": "hello", "protocol": 1, "metrics": 3})") ==
        "/metrics: must be an array of at most 64 strings, not 3");
  CHECK(message(R"({"answer": "hello", "protocol": 1, "refuse": 3})") == "/refuse: must be a string, not 3");
}

TEST_CASE("policy answers: a figure for each name that was told") {
  const std::vector<std::string> names = {"a", "b"};
  CHECK(*read_metrics(Json::parse(R"({"answer": "end_run", "metrics": {"b": 2, "a": 1.5}})"), names) ==
        std::vector<double>{1.5, 2});
  CHECK(message_of(read_metrics(Json::parse(R"({"answer": "end_run", "metrics": {"a": 1}})"), names)) ==
        "/metrics/b: is missing; it must be a number from -1e+300 to 1e+300");
  CHECK(message_of(read_metrics(Json::parse(R"({"answer": "end_run"})"), names)) ==
        "/metrics: is missing; it must be an object");
  CHECK(read_metrics(Json::parse(R"({"answer": "end_run"})"), {}));
  CHECK(message_of(read_metrics(Json::parse(R"({"answer": "end_run", "metrics": {"c": 1}})"), {})) ==
        R"(/metrics: has metrics, but the answer to "hello" named none)");
}

TEST_CASE("policy answers: lines that are no object of JSON") {
  const auto message = [](const std::string& line) { return message_of(parse_policy_line(line)); };
  CHECK(message(R"({"a": [1]})") == "");
  CHECK(message("[1]") == R"(is not a JSON object: "[1]")");
  CHECK(message("ready") == R"(is not valid JSON: invalid literal in "ready")");
  CHECK(message(R"({"a": NaN})").find("is not valid JSON") != std::string::npos);
  CHECK(message(R"({"a": 1, "a": 2})") == R"(/a: is given twice in "{"a": 1, "a": 2}")");
  CHECK(message(R"({"a": 1e999})").find("is not valid JSON") != std::string::npos);
  CHECK(message("{\"a\": " + std::string(100, '[') + std::string(100, ']') + "}")
            .starts_with("is nested too deeply for a config in \"{"));
}

}  // namespace goodput::testing
