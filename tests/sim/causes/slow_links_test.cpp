// Slow links between stages: that they are found at their place and time, and what repairing them gains.
#include "sim/causes/slow_links.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/causes/fix.h"
#include "sim/causes/root_cause.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/random_cases.h"
#include "tests/support/synthetic_case.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;
using testing::SyntheticCase;

// Ten steps of eight micro-batches, forward passes of 20 ms and messages of 1 ms.
SyntheticCase job(std::int32_t dp, std::int32_t pp, std::vector<Straggler> stragglers) {
  return {
      {.dp = dp, .pp = pp, .micro_batches = 8, .message_share = 0.05}, std::move(stragglers), {10, 0.01}, 1};
}

std::vector<LinkFault> slow_links_of(const SyntheticCase& given) {
  const AnalysedTrace trace = testing::analysed(given.synthesize(Truth::kSlowdown).rows);
  return find_slow_links(trace.graph, trace.recording).slow;
}

std::vector<RootCause> causes_of(const SyntheticCase& given) {
  const AnalysedTrace trace = testing::analysed(given.synthesize(Truth::kSlowdown).rows);
  const WhatIf result = testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
  const AnalysedJob analysed{trace.graph, trace.recording, result, 1};
  return find_root_causes(analysed, find_patterns(analysed), 1.03);
}

// The step over that of the same job without its stragglers.
double true_gain(SyntheticCase given) {
  const double with = given.synthesize(Truth::kSlowdown).truth.replayed_s;
  given.stragglers.clear();
  return with / given.synthesize(Truth::kSlowdown).truth.replayed_s;
}

}  // namespace

TEST_CASE("slow links: one replica's link, with two replicas, too") {
  for (const std::int32_t dp : {2, 3, 8}) {
    for (const double factor : {2.5, 4.0, 40.0}) {
      CAPTURE(dp);
      CAPTURE(factor);
      const auto slow = slow_links_of(job(dp, 4, {SlowLink{1, 2, factor}}));
      REQUIRE(slow.size() == 1);
      CHECK(slow[0].stage == 2);
      CHECK(slow[0].peer_stage == 3);
      CHECK(slow[0].dp_rank == 1);
      CHECK(slow[0].factor == doctest::Approx(factor).epsilon(0.03));
      CHECK(slow[0].time.kind == TimePattern::Kind::kSteady);
    }
  }
}

TEST_CASE("slow links: a link that is slow in all replicas is held against the other links") {
  for (const std::int32_t pp : {3, 4, 8}) {
    for (const std::int32_t dp : {1, 2, 4}) {
      CAPTURE(pp);
      CAPTURE(dp);
      const auto slow = slow_links_of(job(dp, pp, {SlowLink{SlowLink::kAllReplicas, 1, 6}}));
      REQUIRE(slow.size() == 1);
      CHECK(slow[0].stage == 1);
      CHECK(slow[0].dp_rank == (dp == 1 ? std::optional<std::size_t>(0) : std::nullopt));
      CHECK(slow[0].factor == doctest::Approx(6).epsilon(0.03));
    }
  }
  // Of two links, the faster one gives the usual time, and the evidence says so.
  const auto causes = causes_of(job(2, 3, {SlowLink{SlowLink::kAllReplicas, 1, 20}}));
  CHECK(causes.front().name == "slow-link");
  CHECK(causes.front().likely);
  CHECK(causes.front().evidence.find(
            "; the usual time is that of the other link, because there are only two") != std::string::npos);
}

TEST_CASE("slow links: what all replicas of the only link share shows in some steps only") {
  CHECK(slow_links_of(job(4, 2, {SlowLink{SlowLink::kAllReplicas, 0, 20}})).empty());
  const auto slow = slow_links_of(job(4, 2, {SlowLink{SlowLink::kAllReplicas, 0, 20, 4, 6}}));
  REQUIRE(slow.size() == 1);
  CHECK_FALSE(slow[0].dp_rank);
  CHECK(slow[0].time.kind == TimePattern::Kind::kWindow);
  CHECK(slow[0].time.first == 3);
  CHECK(slow[0].time.last == 5);
}

TEST_CASE("slow links: a window is dated, and two faults are two") {
  const auto slow = slow_links_of(job(4, 4, {SlowLink{2, 0, 12, 3, 7}, SlowLink{1, 2, 5}}));
  REQUIRE(slow.size() == 2);
  CHECK(slow[0].dp_rank == 2);
  CHECK(slow[0].time.first == 2);
  CHECK(slow[0].time.last == 6);
  CHECK(slow[0].time.high == doctest::Approx(12).epsilon(0.03));
  CHECK(slow[1].dp_rank == 1);
  CHECK(slow[1].stage == 2);
}

TEST_CASE("slow links: a link that is slow in one direction is found, and only that direction is repaired") {
  OpTrace rows = job(2, 4, {}).synthesize(Truth::kSlowdown).rows;
  const auto is_slow = [&](std::size_t row) {
    return rows.dp_rank[row] == 1 && ((rows.optype[row] == OpType::kForwardSend && rows.stage[row] == 1) ||
                                      (rows.optype[row] == OpType::kForwardRecv && rows.stage[row] == 2));
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (is_slow(row)) rows.duration_s[row] += 0.002;  // for 1 ms
  }
  const AnalysedTrace trace = testing::analysed(std::move(rows));
  const LinkPace pace = find_slow_links(trace.graph, trace.recording);
  REQUIRE(pace.slow.size() == 1);
  CHECK(pace.slow[0].stage == 1);
  CHECK(pace.slow[0].factor == doctest::Approx(3).epsilon(0.05));
  for (const Patch& patch : pace.repaired) {
    const OpType type = trace.recording.ops[patch.op].type;
    CHECK((type == OpType::kForwardSend || type == OpType::kForwardRecv));
    CHECK(patch.value_s == doctest::Approx(0.001).epsilon(0.1));
  }
}

TEST_CASE("slow links: links between hosts are not held against those inside them") {
  AnalysedTrace trace = testing::analysed(
      job(2, 4, {SlowLink{SlowLink::kAllReplicas, 1, 4}}).synthesize(Truth::kSlowdown).rows);
  CHECK(find_slow_links(trace.graph, trace.recording).slow.size() == 1);
  Recording::PlaceKind hosts{"host", {}};  // stages 0 and 1 on one, 2 and 3 on another
  for (std::size_t worker = 0; worker < trace.recording.ranks.size(); ++worker) {
    const auto [dp_rank, stage] = trace.recording.worker(worker);
    hosts.of_worker.push_back("n" + std::to_string(dp_rank) + std::to_string(stage / 2));
  }
  trace.recording.places = {hosts};
  CHECK(find_slow_links(trace.graph, trace.recording).slow.empty());
}

TEST_CASE("slow links: nothing in healthy jobs, slow workers, uneven stages and flaps") {
  for (std::uint64_t seed = 1; seed <= testing::cases(400); ++seed) {
    const SyntheticCase healthy = testing::random_case(
        seed, {"worker-fault", "stage-partition", "communication-flap", "launch-delay"}, 1);
    CAPTURE(healthy.name());
    CHECK(slow_links_of(healthy).empty());
  }
}

TEST_CASE("slow links: the gain is that of the job without the fault, down to 2.5x") {
  for (const SlowLink& link : {SlowLink{1, 2, 40}, SlowLink{0, 0, 6}, SlowLink{1, 1, 2.5},
                               SlowLink{SlowLink::kAllReplicas, 1, 8}, SlowLink{1, 2, 30, 4, 6}}) {
    SyntheticCase given = job(2, 4, {link});
    given.shape.message_share = 0.3;
    CAPTURE(given.name());
    const auto causes = causes_of(given);
    CHECK(true_gain(given) > 1.05);
    REQUIRE(causes.front().name == "slow-link");
    REQUIRE(causes.front().likely);
    CHECK(*causes.front().gain == doctest::Approx(true_gain(given)).epsilon(0.005));
    CHECK_FALSE(causes[1].likely);  // nothing else
  }
}

TEST_CASE("slow links: a flap on a slow link is a cause of its own, and neither fix contains the other") {
  SyntheticCase given = job(3, 4, {SlowLink{1, 2, 10}, NicFlap{1, 2, 0.05, 60}});
  const auto causes = causes_of(given);
  REQUIRE(causes[0].likely);
  REQUIRE(causes[1].likely);
  for (const std::size_t left : {0U, 1U}) {
    SyntheticCase one = given;
    one.stragglers = {given.stragglers[1 - left]};
    if (left == 0) one.stragglers = {SlowLink{1, 2, 1}, given.stragglers[1]};  // for flaps draw by position
    const double gain = given.synthesize(Truth::kSlowdown).truth.replayed_s /
                        one.synthesize(Truth::kSlowdown).truth.replayed_s;
    const RootCause& cause = causes[0].name == kind_of(given.stragglers[left]) ? causes[0] : causes[1];
    CHECK(cause.name == kind_of(given.stragglers[left]));
    CHECK(*cause.gain == doctest::Approx(gain).epsilon(0.01));
  }
}

}  // namespace goodput
