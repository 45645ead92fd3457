// Policies that are programs: what goes wrong with them, beside policies that go well.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "models/policy_process/process_setup.h"
#include "models/scenario/simulation.h"
#include "tests/support/failure_case.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

using std::chrono::milliseconds;

// Shell that answers so many lines, and then does something else.
constexpr const char* kHello = R"(read x; echo '{"answer": "hello", "protocol": 1}'; )";
constexpr const char* kStart = R"(read x; echo '{"answer": "start_run"}'; )";

ScenarioPolicy command_policy(const std::string& command, milliseconds timeout = milliseconds{10'000}) {
  return {"mine", kCommandPolicy, "{}", {}, PolicyCommand{"mine", command, timeout}};
}

// Three hours of ten nodes.
Result<Simulation> simulated(std::vector<ScenarioPolicy> policies, const SimulationOptions& options = {}) {
  Scenario scenario;
  scenario.file = "s.json";
  scenario.plan = gpt_s_plan(10);
  scenario.duration = std::chrono::hours{3};
  scenario.failures =
      failures_from(R"({"model": "exponential", "nodes": 11, "mtbf_hours": 4, "repair_s": 900})");
  scenario.policies = std::move(policies);
  const JobPointer job = gpt_s(10, JobStart::kCold);
  return simulate(scenario, {job.get(), {}, {}}, options);
}

const ScenarioPolicy kBuiltIn{"checkpoint", "checkpoint", "{}"};

// Why "mine" does not run, beside a policy that does and whose results stand.
std::string refusal_beside(const std::string& command, milliseconds timeout = milliseconds{10'000}) {
  const auto alone = simulated({kBuiltIn});
  const auto both = simulated({kBuiltIn, command_policy(command, timeout)});
  REQUIRE(both);
  CHECK(both->policies[0].refused == "");
  CHECK(both->policies[0].mean(TrialMetric::kSamples) == alone->policies[0].mean(TrialMetric::kSamples));
  CHECK(both->trials[1].empty());
  return both->policies[1].refused;
}

}  // namespace

TEST_CASE("command policies: one that cannot be spoken to is refused, and the others run") {
  CHECK(refusal_beside("exit 3") == R"(policy "mine" (exit 3) during hello: exited with code 3)");
  CHECK(
      refusal_beside("echo no such module >&2; exit 1") ==
      R"(policy "mine" (echo no such module >&2; exit 1) during hello: exited with code 1; its last output on stderr: "no such module")");
  CHECK(refusal_beside("cat >/dev/null", milliseconds{10}) ==
        R"(policy "mine" (cat >/dev/null) during hello: did not answer within 0.01 s)");
  CHECK(
      refusal_beside("echo ready; cat >/dev/null") ==
      R"(policy "mine" (echo ready; cat >/dev/null) during hello: is not valid JSON: invalid literal in "ready")");
  CHECK(
      refusal_beside(R"(echo '{"answer": "hello", "protocol": 9}')") ==
      R"(policy "mine" (echo '{"answer": "hello", "protocol": 9}') during hello: wrong answer: /protocol: is 9, but must be 1, the protocol version of goodput)");
}

TEST_CASE("command policies: one that does not want the job says why in its own words") {
  const auto refused =
      refusal_beside(R"(read x; echo '{"answer": "hello", "protocol": 1, "refuse": "too small"}')");
  CHECK(refused.ends_with("during hello: the policy refused the job: too small"));
}

TEST_CASE("command policies: one that fails in a run is out, and the others' results stand") {
  const std::string dies = fmt::format("{}{}read x; echo 'my fault' >&2; exit 1", kHello, kStart);
  CHECK(refusal_beside(dies).ends_with(
      R"( during decide of trial 0: exited with code 1; its last output on stderr: "my fault")"));
  const std::string hangs = fmt::format("{}{}cat >/dev/null", kHello, kStart);
  CHECK(refusal_beside(hangs, milliseconds{1000})
            .ends_with(" during decide of trial 0: did not answer within 1 s"));
  const std::string babbles = fmt::format("{}{}read x; echo 42; cat", kHello, kStart);
  CHECK(refusal_beside(babbles).ends_with(R"( during decide of trial 0: is not a JSON object: "42")"));
}

TEST_CASE("command policies: where no policy can run, that is an error") {
  const auto alone = simulated({command_policy("exit 3")});
  REQUIRE_FALSE(alone);
  CHECK(alone.error().message() == R"(policy "mine" (exit 3) during hello: exited with code 3)");
  const auto later =
      simulated({command_policy(std::string(kHello) + "exit 3"), {"ds", "ds", R"({"ep": 3})"}});
  REQUIRE_FALSE(later);
  CHECK(later.error().message().ends_with(
      " during start_run of trial 0: exited with code 3; none of the other policies can run the job either"));
}

TEST_CASE("command policies: the first trial that fails is the one that is told, whatever the threads") {
  // Gives up at once, but for trials 5, 6, ...: then it ends.
  const std::string command = std::string(kHello) + R"(
while read line; do
  case $line in
    *start_run*) trial=${line##*:}; trial=${trial%\}}; [ $trial -lt 5 ] || exit 7; echo '{"answer": "start_run"}' ;;
    *decide*) echo '{"answer": "decide", "kind": "give_up", "reason": "has had enough"}' ;;
    *on_change*) echo '{"answer": "on_change", "response": "interrupt"}' ;;
    *end_run*) echo '{"answer": "end_run"}' ;;
  esac
done)";
  for (const unsigned jobs : {1U, 4U}) {
    const auto both =
        simulated({kBuiltIn, command_policy(command)}, {.trials = 12, .jobs = jobs, .progress = {}});
    REQUIRE(both);
    CHECK(both->policies[0].trials == 12);
    CHECK(both->policies[1].refused.ends_with(" during start_run of trial 5: exited with code 7"));
  }
  const auto few = simulated({command_policy(command)}, {.trials = 5, .progress = {}});
  REQUIRE(few);
  CHECK(few->policies[0].stopped.at("the job has had enough") == 5);
}

}  // namespace goodput::testing
