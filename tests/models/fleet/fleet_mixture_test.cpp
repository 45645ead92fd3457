// What a generated fleet is a mixture of, and what it deals its jobs.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/fleet/fleet_member.h"
#include "models/fleet/fleet_mixture.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

constexpr std::size_t kWorkerFaults = 0;
constexpr std::size_t kStages = 1;
constexpr std::size_t kSequences = 2;
constexpr std::size_t kPauses = 3;

FleetMixture paper_fleet() {
  return read_fleet_mixture(std::string(GOODPUT_CONFIGS) + "/fleets/paper.json").value();
}

std::string problem(const std::string& causes, const std::string& rest) {
  const TemporaryFile file("fleet.json", "{\"causes\": [" + causes + "], \"shapes\": [" + rest);
  const auto read = read_fleet_mixture(file.path());
  REQUIRE(!read);
  return without_path(read.error().message(), file);
}

const std::string kShapes = R"({"share": 1, "dp": 2, "pp": 2, "gpus_per_worker": 8, "micro_batches": 4}]})";

TEST_CASE("quantiles of slowdowns are straight between those that are given") {
  const SlowdownQuantiles quantiles{1.0, 1.2, 1.6, 3.6};
  CHECK(quantiles.at(0) == 1.0);
  CHECK(quantiles.at(0.25) == doctest::Approx(1.1));  // half way to the median
  CHECK(quantiles.at(0.5) == doctest::Approx(1.2));
  CHECK(quantiles.at(0.7) == doctest::Approx(1.4));  // half way from there to P90
  CHECK(quantiles.at(0.95) == doctest::Approx(2.6));
  CHECK(quantiles.at(1) == doctest::Approx(3.6));
}

TEST_CASE("a mixture whose shares or quantiles cannot be is refused, with its place") {
  CHECK(problem("", R"({"share": 0.5, "dp": 2, "pp": 2, "gpus_per_worker": 8, "micro_batches": 4}]})") ==
        " /shapes: shares must add up to 1, not 0.5");
  const std::string cause =
      R"({"kind": "gc-pauses", "share": 0.6, "slowdown": {"min": 1, "median": 1.1, "p90": 1.2, "max": 1.3}})";
  CHECK(problem(cause + "," + cause, kShapes) == " /causes: shares must add up to at most 1, not 1.2");
  CHECK(problem(R"({"kind": "launch-delay", "share": 0.1})", kShapes) ==
        " /causes/0/kind: must be one of \"worker-fault\", \"stage-partition\", \"sequence-length\", "
        "\"gc-pauses\", not \"launch-delay\"");
  CHECK(
      problem(
          R"({"kind": "gc-pauses", "share": 0.1, "slowdown": {"min": 1.2, "median": 1.1, "p90": 1.2, "max": 1.3}})",
          kShapes) == " /causes/0/slowdown: must satisfy min <= median <= p90 <= max");
  CHECK(problem("", kShapes.substr(0, kShapes.size() - 1) + R"(, "hosts": 2, "bad_hosts": 3})") ==
        " /bad_hosts: must be at most the number of hosts (2), not 3");
}

TEST_CASE("a mixture's former keys least and most are read, with a note each") {
  const TemporaryFile file(
      "fleet.json",
      R"({"causes": [{"kind": "gc-pauses", "share": 0.1, "slowdown": {"least": 1, "median": 1.1, "p90": 1.2, "most": 1.3}}], "shapes": [)" +
          kShapes);
  const FleetMixture mixture = read_fleet_mixture(file.path()).value();
  CHECK(mixture.causes.at(0).slowdown.max == 1.3);
  REQUIRE(mixture.notes.size() == 2);
  CHECK(mixture.notes[0].pointer == "/causes/0/slowdown/least");
  CHECK(mixture.notes[1].new_name == "max");
}

TEST_CASE("the fleet of the paper is dealt with the paper's figures") {
  // 20,000 jobs: four standard errors of a share p are 4 sqrt(p (1 - p) / 20000), of 42.5 % 1.4 %.
  constexpr std::size_t kJobs = 20'000;
  const FleetMixture mixture = paper_fleet();
  double slow = 0;
  double sum_of_slow = 0;
  double faults = 0;
  double sequences = 0;
  double sum_of_sequences = 0;
  double pipelined = 0;
  double partitions = 0;
  double off = 0;
  double restarted = 0;
  for (std::size_t number = 0; number < kJobs; ++number) {
    const FleetMember job = deal_member(mixture, 3, number);
    if (job.slowdown >= 1.1) {
      ++slow;
      sum_of_slow += job.slowdown;
      if (job.kind == kWorkerFaults) ++faults;
    }
    if (job.kind == kSequences) {
      ++sequences;
      sum_of_sequences += job.slowdown;
    }
    if (job.shape.pp > 1) {
      ++pipelined;
      if (job.kind == kStages) ++partitions;
    } else {
      CHECK(job.kind != kStages);  // pauses take their place
    }
    if (job.discrepancy >= 0.05) ++off;
    if (job.restarts > 15) ++restarted;
  }
  CHECK(std::abs(slow / kJobs - 0.425) < 0.014);
  CHECK(std::abs(sum_of_slow / slow - 1.28) < 0.02);
  CHECK(std::abs(faults / slow - 0.017) < 0.006);
  CHECK(std::abs(sequences / kJobs - 0.214) < 0.012);
  CHECK(std::abs(sum_of_sequences / sequences - 1.34) < 0.02);
  CHECK(std::abs(partitions / pipelined - 0.393) < 0.015);
  CHECK(std::abs(off / kJobs - 0.1158) < 0.01);  // 1 - Phi(ln(5 / 1.3) / 1.1256)
  CHECK(std::abs(restarted / kJobs - 0.139) < 0.01);
}

TEST_CASE("a job of a fleet is as slow as it was dealt, whatever slows it") {
  FleetMixture mixture = paper_fleet();
  for (const std::size_t kind : {kWorkerFaults, kStages, kSequences, kPauses}) {
    CAPTURE(kind);
    FleetMember job = deal_member(mixture, 1, kind);
    job.shape = {1, 4, 4, 8, 4};
    job.kind = kind;
    job.slowdown = 1.25;
    job.discrepancy = 0.02;
    job.steps = 4;
    job.slow_worker = 6;
    const FleetTrace made = trace_of_member(mixture, job).value();
    // The severity is sought to 0.05 %.
    CHECK(made.trace.truth.slowdown == doctest::Approx(1.25).epsilon(5e-4));
    CHECK(1 - made.trace.truth.replayed_s / made.trace.truth.recorded_s ==
          doctest::Approx(0.02).epsilon(0.03));
    REQUIRE(made.stragglers.size() == 2);
    CHECK(made.stragglers[0].index() == kind);
    CHECK(kind_of(made.stragglers[1]) == "launch-delay");
  }
}

TEST_CASE("a job that noise alone slows more than it was dealt gets no straggler") {
  const FleetMixture mixture = paper_fleet();
  FleetMember job = deal_member(mixture, 1, 0);
  job.shape = {1, 2, 2, 8, 4};
  job.kind = kPauses;
  job.slowdown = 1;
  job.discrepancy = 0;
  const FleetTrace made = trace_of_member(mixture, job).value();
  CHECK(made.stragglers.empty());
  CHECK(made.trace.truth.slowdown > 1);
}

TEST_CASE(
    "a job that is faster than its ideal by chance is slowed down to S 1, when that is what it was dealt") {
  FleetMixture mixture = paper_fleet();
  mixture.trace.jitter = 0.1;
  FleetMember job = deal_member(mixture, 8, 0);
  job.shape = {1, 1, 2, 8, 2};
  job.slowdown = 1;
  job.discrepancy = 0;
  job.steps = 2;
  job.kind.reset();
  CHECK(trace_of_member(mixture, job).value().trace.truth.slowdown < 0.99);
  job.kind = kPauses;  // the first guess, S - 1, is 0 and cannot be doubled
  CHECK(trace_of_member(mixture, job).value().trace.truth.slowdown == doctest::Approx(1).epsilon(6e-4));
}

TEST_CASE("a cause that cannot slow a job so much slows it as much as it can") {
  const FleetMixture mixture = paper_fleet();
  FleetMember job = deal_member(mixture, 1, 0);
  job.shape = {1, 2, 1, 8, 4};
  job.kind = kSequences;
  job.slowdown = 15;
  job.discrepancy = 0;
  const FleetTrace made = trace_of_member(mixture, job).value();
  REQUIRE(made.stragglers.size() == 1);
  CHECK(std::get<SequenceLengths>(made.stragglers[0]).attention_share == 1);
}

TEST_CASE("worker faults are on the bad hosts") {
  FleetMixture mixture = paper_fleet();
  mixture.causes = {{kWorkerFaults, 1, {1.5, 2, 3, 4}}};
  mixture.hosts = 100;
  mixture.bad_hosts = 2;
  // Of 100 hosts the middle ones of two halves: 25 and 75.
  for (std::size_t number = 0; number < 50; ++number) {
    const FleetMember job = deal_member(mixture, 9, number);
    const std::string& host = job.hosts[job.slow_worker];
    CHECK((host == "host-0025" || host == "host-0075"));
  }
}

}  // namespace
}  // namespace goodput
