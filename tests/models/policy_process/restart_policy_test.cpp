// The worked example in Python, against the built-in policy that it is.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <string>

#include "models/policy_process/process_setup.h"
#include "tests/support/policy_case.h"
#include "tests/support/policy_contract.h"
#include "tests/support/random_cases.h"

namespace goodput::testing {
namespace {

PolicyCommand example() {
  return {"mine", "python3 -B '" GOODPUT_CONFIGS "/../tools/policy_process/restart_policy.py'"};
}

void check_example(std::uint64_t first_seed, std::uint64_t last_seed) {
  std::int64_t trained = 0;
  for (std::uint64_t seed = first_seed; seed < last_seed; ++seed) {
    const std::string options = fmt::format(R"({{"spares": {}}})", seed % 3);
    trained += check_contract(
        [&options](JobStart start) { return PolicyCase(example(), options, gpt_s(10, start)); }, seed);
  }
  CHECK(trained > 0);
}

}  // namespace

TEST_CASE("restart_policy.py: without spares it is `checkpoint`, number by number" *
          doctest::test_suite("slow")) {
  using std::chrono::hours;
  const std::string options[] = {
      "{}",
      R"({"checkpoint": {"interval": "daly", "mtbf_hours": 0.7, "mode": "async", "write_gb_per_s": 0.3}})",
      R"({"restart": {"detect_s": 7.25, "startup_s": 30.1}, "checkpoint": {"interval_steps": 10, "read_gb_per_s": 0.7}})"};
  for (const JobStart start : {JobStart::kCold, JobStart::kRunning}) {
    for (const std::string& text : options) {
      CAPTURE(text);
      PolicyCase theirs("checkpoint", text, gpt_s(10, start));
      PolicyCase mine(example(), text, gpt_s(10, start));
      for (std::uint64_t seed = 0; seed < testing::cases(4); ++seed) {
        CAPTURE(seed);
        const auto failures = random_failures(seed);
        const JobResult result = mine.run(until(hours{24}), *failure_model(failures, seed));
        CHECK(result.policy_failure == "");
        CHECK(result.steps > 0);
        CHECK(counts_of(result) == counts_of(theirs.run(until(hours{24}), *failure_model(failures, seed))));
      }
    }
  }
}

TEST_CASE("restart_policy.py: it keeps what all policies promise, with spares and without" *
          doctest::test_suite("slow")) {
  check_example(1, 4);
}

TEST_CASE("restart_policy.py: the same of many more" * doctest::test_suite("release-only")) {
  check_example(100, 100 + testing::cases(30));
}

TEST_CASE("restart_policy.py: a spare takes the place of a lost node without a start-up") {
  // Of 10 nodes 8 train; a node of theirs is lost and comes back later. 15 s until that is noticed, 20 s to
  // swap.
  PolicyCase job(example(), R"({"spares": 2, "swap_s": 20, "checkpoint": {"read_gb_per_s": 1e12}})");
  NodeEvents events = held(10);
  events.push_back(lost(seconds{300}, 3));
  events.push_back(joined(seconds{900}, 3));
  const JobResult result = job.run(until(seconds{3600}), events);
  CHECK(result.count(Cause::kRestart) == 1);
  CHECK(metric(result, "my_swaps") == 1);
  CHECK(time_in(result, TimeBucket::kElasticReinitialization) == seconds{20});
  CHECK(time_in(result, TimeBucket::kProgramStartup) == seconds{0});
  CHECK(time_in(result, TimeBucket::kInfrastructureRecovery) == seconds{15});
}

TEST_CASE("restart_policy.py: options that it does not know are refused in its own words") {
  const auto prepared = process_setup(example(), R"({"spare": 2})")->prepare(*gpt_s(10));
  REQUIRE_FALSE(prepared);
  CHECK(
      prepared.error().message().ends_with("during hello: the policy refused the job: has no option spare; "
                                           "its options are restart, checkpoint, spares, swap_s"));
}

}  // namespace goodput::testing
