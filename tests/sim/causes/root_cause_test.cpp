// Which cause is named for which injected straggler, and the figures that say so.
#include "sim/causes/root_cause.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/causes/fix.h"
#include "sim/causes/patterns.h"

#include "tests/support/analysed_trace.h"
#include "tests/support/synthetic_case.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;

// What is found in a trace, and the means to value fixes.
struct Found {
  AnalysedTrace trace;
  WhatIf result;
  std::vector<RootCause> causes;

  [[nodiscard]] AnalysedJob job() const { return {trace.graph, trace.recording, result, 1}; }
  [[nodiscard]] const RootCause& cause(std::string_view name) const {
    const auto at = std::ranges::find(causes, name, &RootCause::name);
    if (at == causes.end()) throw std::runtime_error("no cause of this name");
    return *at;
  }
  // As --fix replays it.
  [[nodiscard]] double gain(const std::vector<std::string>& fix) const {
    const Patterns patterns = find_patterns(job());
    return gain_of(job(), testing::value_or_throw(remedy_of(job(), &patterns, fix))).gain;
  }
};

Found find_in(AnalysedTrace trace) {
  WhatIf result = testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
  Found found{std::move(trace), std::move(result), {}};
  found.causes = find_root_causes(found.job(), find_patterns(found.job()), 1.03);
  return found;
}

Found find_causes(OpTrace rows) {
  return find_in(testing::analysed(std::move(rows)));
}

std::vector<std::string> likely_names(const Found& found) {
  std::vector<std::string> names;
  for (const RootCause& cause : found.causes) {
    if (cause.likely) names.push_back(cause.name);
  }
  return names;
}

std::vector<std::size_t> workers_of(const RootCause& cause) {
  std::vector<std::size_t> workers;
  for (const auto& worker : cause.workers) workers.push_back(worker.worker);
  std::ranges::sort(workers);
  return workers;
}

// Four replicas of four stages, ten steps of eight micro-batches: forward passes of 20 ms, messages of 0.4
// ms.
testing::SyntheticCase job(std::vector<Straggler> stragglers) {
  return {{.dp = 4, .pp = 4, .micro_batches = 8}, std::move(stragglers), {10, 0.01}, 1};
}

Found causes_of(std::vector<Straggler> stragglers) {
  return find_causes(job(std::move(stragglers)).synthesize(Truth::kSlowdown).rows);
}

// The step over that of the same job without some of its stragglers.
double gain_without(testing::SyntheticCase given, const std::vector<std::size_t>& left_out) {
  const double with_s = given.synthesize(Truth::kSlowdown).truth.replayed_s;
  for (const std::size_t i : left_out) {
    if (auto* slow = std::get_if<SlowWorker>(&given.stragglers[i])) *slow = {slow->dp, slow->stage, 1};
    if (auto* pauses = std::get_if<GcPauses>(&given.stragglers[i])) pauses->pause = SimDuration{};
    if (auto* lengths = std::get_if<SequenceLengths>(&given.stragglers[i])) lengths->attention_share = 0;
  }
  return with_s / given.synthesize(Truth::kSlowdown).truth.replayed_s;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("root cause: one slow worker is a worker fault, a slow last stage a matter of partition") {
  testing::TraceSpec spec;
  spec.dp = 4;
  spec.pp = 4;
  spec.micro_batches = 8;
  spec.steps = 3;
  const auto likely = [](const testing::TraceSpec& given) {
    return likely_names(find_causes(testing::generate_trace(given)));
  };
  testing::TraceSpec slow_worker = spec;
  slow_worker.slow_dp_rank = 2;
  slow_worker.slow_stage = 1;
  slow_worker.slow_worker_factor = 2;
  CHECK(likely(slow_worker) == std::vector<std::string>{"worker-fault"});
  testing::TraceSpec slow_stage = spec;
  slow_stage.slow_last_stage_factor = 1.5;
  CHECK(likely(slow_stage) == std::vector<std::string>{"stage-partition"});
  testing::TraceSpec slow_middle = slow_worker;
  slow_middle.slow_dp_rank = testing::kAllReplicas;
  CHECK(likely(slow_middle) == std::vector<std::string>{"stage-partition"});
  CHECK(likely(spec).empty());
}

TEST_CASE("root cause: of every kind one is reported, with its fix, or why there is none") {
  const Found found = causes_of({});
  Names names;
  for (const RootCause& cause : found.causes) {
    names.push_back(cause.name);
    CHECK_FALSE(cause.likely);
    CHECK_FALSE(cause.reason.empty());
    CHECK_FALSE(cause.criterion.empty());
    CHECK_FALSE(cause.evidence.empty());
    CHECK(cause.threshold > 0);
    CHECK(cause.gain.has_value() == !cause.fix.empty());
  }
  std::ranges::sort(names);
  CHECK(names == Names{"communication-flap", "gc-pauses", "launch-delay", "sequence-length", "slow-link",
                       "stage-partition", "worker-fault"});
  CHECK(found.cause("communication-flap").fix.empty());
}

TEST_CASE("root cause: causes are sorted by what --fix makes of them, the likely ones first") {
  const Found found =
      causes_of({SlowWorker{2, 1, 1.6}, StagePartition{3, 1.3}, SequenceLengths{500, 1.5, 0.6},
                 LaunchDelays{LaunchDelays::Ops::kFirst, from_seconds(0.3)}});
  for (std::size_t i = 0; i < found.causes.size(); ++i) {
    const RootCause& cause = found.causes[i];
    if (cause.gain) CHECK(*cause.gain == found.gain(cause.fix));
    if (i == 0) continue;
    const RootCause& before = found.causes[i - 1];
    CHECK(std::pair(!before.likely, -before.gain.value_or(0)) <=
          std::pair(!cause.likely, -cause.gain.value_or(0)));
  }
  CHECK(likely_names(found).size() >= 3);
}

TEST_CASE("root cause: several slow workers are named together, fixing one gains nothing") {
  // One on each of three stages in three replicas, all 1.5 times as slow: the step waits for any of them.
  const Found found = causes_of({SlowWorker{0, 1, 1.5}, SlowWorker{1, 2, 1.5}, SlowWorker{3, 0, 1.5}});
  REQUIRE(likely_names(found) == Names{"worker-fault"});
  const RootCause& cause = found.causes.front();
  CHECK(workers_of(cause) == std::vector<std::size_t>{1, 6, 12});
  CHECK(cause.fix == Names{"cause=worker-fault"});
  CHECK(*cause.gain > 1.2);
  for (const char* one : {"worker=0:1", "worker=1:2", "worker=3:0"}) CHECK(found.gain({one}) < 1.05);
}

TEST_CASE("root cause: half of the workers of a stage may be slow, and it is no partition") {
  testing::SyntheticCase wide = job({});
  wide.shape.dp = 8;
  for (const std::int32_t dp : {0, 2, 5, 7}) wide.stragglers.emplace_back(SlowWorker{dp, 2, 1.4});
  const Found found = find_causes(wide.synthesize(Truth::kSlowdown).rows);
  CHECK(likely_names(found) == Names{"worker-fault"});
  CHECK(workers_of(found.causes.front()) == std::vector<std::size_t>{2, 10, 22, 30});
}

TEST_CASE("root cause: a replica whose stages are all slow is a cause of its own") {
  std::vector<Straggler> slow;
  for (const std::int32_t stage : {0, 1, 2, 3}) slow.emplace_back(SlowWorker{3, stage, 1.3});
  const Found found = causes_of(slow);
  REQUIRE(likely_names(found) == Names{"slow-replica"});
  CHECK(found.causes.front().fix == Names{"cause=worker-fault"});
  CHECK(*found.causes.front().gain == found.gain({"cause=worker-fault"}));
  CHECK(*found.causes.front().gain > 1.15);
  CHECK(found.causes.front().evidence == "pass time relative to peers: all of dp=3 1.30x");
}

TEST_CASE("root cause: a host is named when all its workers are slow, not when most of them are") {
  // Stages 0 and 1 of replicas 2 and 3 are on host n10, and so on.
  const auto on_hosts = [](std::vector<Straggler> slow) {
    AnalysedTrace trace = testing::analysed(job(std::move(slow)).synthesize(Truth::kSlowdown).rows);
    Recording::PlaceKind hosts{"host", {}};
    for (std::size_t worker = 0; worker < trace.recording.ranks.size(); ++worker) {
      const auto [dp_rank, stage] = trace.recording.worker(worker);
      hosts.of_worker.push_back("n" + std::to_string(dp_rank / 2) + std::to_string(stage / 2));
    }
    trace.recording.places = {hosts};
    return find_in(std::move(trace));
  };
  std::vector<Straggler> slow = {SlowWorker{2, 0, 1.4}, SlowWorker{2, 1, 1.4}, SlowWorker{3, 0, 1.4}};
  CHECK(likely_names(on_hosts(slow)) == Names{"worker-fault"});
  slow.emplace_back(SlowWorker{3, 1, 1.4});
  const Found whole = on_hosts(slow);
  REQUIRE(likely_names(whole) == Names{"slow-host"});
  CHECK(workers_of(whole.causes.front()) == std::vector<std::size_t>{8, 9, 12, 13});
  CHECK(whole.causes.front().evidence.starts_with("pass time relative to peers: all of host n10 1."));
}

TEST_CASE("root cause: launch delay is found where stragglers cost nothing") {
  const Found found = causes_of({LaunchDelays{LaunchDelays::Ops::kFirst, from_seconds(0.5)}});
  REQUIRE(likely_names(found) == Names{"launch-delay"});
  const RootCause& cause = found.causes.front();
  CHECK(cause.fix == Names{"cause=launch-delay"});
  double recorded = 0;
  double replayed = 0;
  for (std::size_t i = 0; i < found.result.steps.size(); ++i) {
    recorded += found.result.base_s[i];
    replayed += found.result.nodelay.span_s[i];
  }
  CHECK(*cause.gain == doctest::Approx(recorded / replayed).epsilon(1e-12));
}

TEST_CASE("root cause: what lasts some steps only is dated") {
  testing::SyntheticCase some = job({SlowWorker{1, 2, 1.8, 12, 14}});
  some.settings.steps = 30;
  const Found found = find_causes(some.synthesize(Truth::kSlowdown).rows);
  REQUIRE(likely_names(found) == Names{"worker-fault"});
  const TimePattern& time = found.causes.front().workers.front().time;
  CHECK(time.kind == TimePattern::Kind::kWindow);
  CHECK(found.trace.recording.steps[time.first] == 12);
  CHECK(found.trace.recording.steps[time.last] == 14);
  CHECK(time.high == doctest::Approx(1.8).epsilon(0.02));
  CHECK(found.causes.front().evidence.ends_with(" from step 12 to 14, otherwise 1.00)"));
}

TEST_CASE("root cause: a worker that is slow in half of the steps is named beside lengths that cost more") {
  const Found found = causes_of({SequenceLengths{1500, 1.5, 0.8}, SlowWorker{2, 1, 1.5, 6, 0}});
  CHECK(likely_names(found) == Names{"sequence-length", "worker-fault"});
  // Slow by half in 5 of 10 steps: 1.25 in the mean.
  const RootCause& fault = found.cause("worker-fault");
  CHECK(workers_of(fault) == std::vector<std::size_t>{9});
  CHECK(fault.workers.front().pace == doctest::Approx(1.25).epsilon(0.01));
  CHECK(found.trace.recording.steps[fault.workers.front().time.first] == 6);
}

TEST_CASE("root cause: a worker that is slow in some steps is no matter of sequence lengths") {
  CHECK(likely_names(causes_of({SlowWorker{1, 2, 2, 4, 7}})) == Names{"worker-fault"});
}

TEST_CASE("root cause: an even partition is valued as recorded, on machines as slow as they are") {
  // Stage 3 takes 1.8, the worker on stage 2 1.7. Evenly spread all take 1.2, that worker 2.04: worse than
  // before.
  const Found worse = causes_of({StagePartition{3, 1.8}, SlowWorker{1, 2, 1.7}});
  CHECK(likely_names(worse) == Names{"worker-fault"});
  CHECK(*worse.cause("stage-partition").gain < 1);
  CHECK(worse.cause("stage-partition").reason == "fixing this cause alone would make steps longer");
  // At 1.3 it takes 1.56 instead of the 1.8 that all wait for.
  const Found better = causes_of({StagePartition{3, 1.8}, SlowWorker{1, 2, 1.3}});
  CHECK(likely_names(better) == Names{"stage-partition", "worker-fault"});
  CHECK(better.cause("stage-partition").stage == 3);
}

TEST_CASE("root cause: a slow worker makes no stage large") {
  CHECK(likely_names(causes_of({SlowWorker{1, 2, 3}})) == Names{"worker-fault"});
}

TEST_CASE(
    "root cause: with one replica a slow worker and a large stage cannot be told apart, and it says so") {
  testing::SyntheticCase one = job({SlowWorker{0, 2, 1.5}});
  one.shape.dp = 1;
  const Found found = find_causes(one.synthesize(Truth::kSlowdown).rows);
  CHECK(likely_names(found) == Names{"worker-fault", "stage-partition"});
  CHECK(found.causes[0].evidence.ends_with("; with one replica, a slow worker looks like a large stage"));
  CHECK(workers_of(found.causes[0]) == std::vector<std::size_t>{2});
  // Slow in some steps only: no partition does that.
  one.stragglers = {SlowWorker{0, 2, 2, 7, 0}};
  CHECK(likely_names(find_causes(one.synthesize(Truth::kSlowdown).rows)) == Names{"worker-fault"});
}

TEST_CASE("root cause: replicas whose batches differ by chance are no faulty workers") {
  // One stage: only the worker's mean says who is slow, and the means differ with the lengths drawn.
  testing::SyntheticCase single = job({SequenceLengths{500, 1.8, 0.8}});
  single.shape.pp = 1;
  CHECK(likely_names(find_causes(single.synthesize(Truth::kSlowdown).rows)) == Names{"sequence-length"});
}

TEST_CASE(
    "root cause: pauses are counted where forward passes stand still and their backward passes do not") {
  // 16 workers, once in 5 of 10 steps: 2 each.
  const Found found = causes_of({GcPauses{5, from_seconds(0.3)}});
  CHECK(likely_names(found) == Names{"gc-pauses"});
  const RootCause& cause = found.causes.front();
  CHECK(cause.evidence ==
        "32 long forward passes on 16 of 16 workers in 10 of 10 steps, on average 0.302 s longer than "
        "expected");
  CHECK(*cause.value == 32);
  CHECK(*cause.gain > 1.1);
}

TEST_CASE("root cause: long passes that are most of a worker's passes are not taken for pauses") {
  OpTrace rows = job({}).synthesize(Truth::kSlowdown).rows;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.optype[row] == OpType::kForwardCompute && rows.dp_rank[row] == 1 && rows.stage[row] == 3 &&
        rows.seq_id[row] % 2 == 1)
      rows.duration_s[row] += 0.5;
  }
  const Found found = find_causes(rows);
  const RootCause& cause = found.cause("gc-pauses");
  CHECK_FALSE(cause.likely);
  CHECK(std::string(cause.reason) == "50 % of the forward passes are long, which is too many for pauses");
}

TEST_CASE("root cause: without micro-batches nothing is said of lengths and pauses") {
  OpTrace rows = job({}).synthesize(Truth::kSlowdown).rows;
  std::fill(rows.mb_id.begin(), rows.mb_id.end(), kUnset);
  const Found found = find_causes(rows);
  for (const char* name : {"sequence-length", "gc-pauses"}) {
    CHECK_FALSE(found.cause(name).value);
    CHECK_FALSE(found.cause(name).gain);
  }
  CHECK(found.cause("sequence-length").reason ==
        "there are no micro-batches to compare, or all passes take equally long");
  CHECK(found.cause("gc-pauses").reason == "there are no micro-batches to compare");
}

TEST_CASE("root cause: slow transfers are put down to the worker they have in common") {
  const Found found = causes_of({NicFlap{2, 1, 0.1, 100}});
  CHECK(likely_names(found) == Names{"communication-flap"});
  const RootCause& cause = found.causes.front();
  CHECK(workers_of(cause) == std::vector<std::size_t>{9});
  CHECK(cause.stage == 1);
  CHECK(cause.evidence.find("transfers of dp 2 stage 1 (rank 12) took up to 10") != std::string::npos);
  CHECK(cause.fix == Names{"cause=communication-flap"});
}

TEST_CASE("root cause: slow collectives say which stage, not which replica") {
  testing::SyntheticCase flat = job({NicFlap{2, 0, 0.1, 100}});
  flat.shape.pp = 1;
  const Found found = find_causes(flat.synthesize(Truth::kSlowdown).rows);
  CHECK(likely_names(found) == Names{"communication-flap"});
  const RootCause& cause = found.causes.front();
  CHECK(cause.workers.empty());
  CHECK(cause.evidence.find(" transfers between the replicas of stage 0 took ") != std::string::npos);
}

TEST_CASE("root cause: transfers that are slow everywhere are no flap") {
  std::vector<Straggler> everywhere;
  for (const std::int32_t dp : {0, 1, 2, 3}) {
    for (const std::int32_t stage : {0, 1, 2, 3}) everywhere.push_back(NicFlap{dp, stage, 0.05, 60});
  }
  const Found found = causes_of(everywhere);
  const RootCause& cause = found.cause("communication-flap");
  CHECK(*cause.gain > 1.01);
  CHECK_FALSE(cause.likely);
  CHECK(cause.reason.starts_with(
      "slow transfers are spread over several links: the worst link accounts for only "));
}

TEST_CASE("root cause: slow messages of one link are named with it") {
  // Half a NIC: only messages between stages 1 and 2 of replica 3, in two steps.
  OpTrace rows = job({}).synthesize(Truth::kSlowdown).rows;
  const auto is_of_link = [&](std::size_t row) {
    const bool down = (rows.optype[row] == OpType::kForwardSend && rows.stage[row] == 1) ||
                      (rows.optype[row] == OpType::kForwardRecv && rows.stage[row] == 2);
    return down && rows.dp_rank[row] == 3 && rows.seq_id[row] == 4 &&
           (rows.step[row] == 2 || rows.step[row] == 5);
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (is_of_link(row)) rows.duration_s[row] += 0.2;
  }
  const Found found = find_causes(rows);
  const RootCause& cause = found.cause("communication-flap");
  CHECK(cause.evidence.starts_with(
      "2 of 340 transfers of dp 3 stage 1 (rank 14), all to or from stage 2, took up to"));
  CHECK(cause.peer_stage == 2);
}

TEST_CASE(
    "root cause: two workers of a stage that are slow in different steps are two faults, not a partition") {
  testing::SyntheticCase two = job({SlowWorker{1, 3, 1.8, 1, 0, 1}, SlowWorker{0, 3, 1.8, 5, 8}});
  two.shape.dp = 2;
  const Found found = find_causes(two.synthesize(Truth::kSlowdown).rows);
  CHECK(likely_names(found) == Names{"worker-fault"});
  CHECK(workers_of(found.causes.front()) == std::vector<std::size_t>{3, 7});
  for (const auto& slow : found.causes.front().workers)
    CHECK(slow.time.kind == (slow.worker == 7 ? TimePattern::Kind::kGrowth : TimePattern::Kind::kWindow));
  CHECK(*found.causes.front().gain == doctest::Approx(gain_without(two, {0, 1})).epsilon(0.01));
}

TEST_CASE("root cause: a stage that is slow in half of the steps has the same layers in all of them") {
  // Both its workers, in the same steps: nothing tells which one is at fault, but it is no partition.
  testing::SyntheticCase both = job({SlowWorker{0, 3, 1.8, 1, 6}, SlowWorker{1, 3, 1.8, 1, 6}});
  both.shape.dp = 2;
  CHECK(likely_names(find_causes(both.synthesize(Truth::kSlowdown).rows)) == Names{"worker-fault"});
  // Of ten steps in seven.
  both.stragglers = {SlowWorker{0, 3, 1.8, 1, 7}, SlowWorker{1, 3, 1.8, 1, 7}};
  const Found most = find_causes(both.synthesize(Truth::kSlowdown).rows);
  CHECK_FALSE(most.cause("stage-partition").likely);
}

TEST_CASE("root cause: a worker's gain is that of healthy peers, whatever else is slow") {
  // A link beside it stays slow, lengths stay uneven, a partition stays uneven.
  for (const std::vector<Straggler>& others : {std::vector<Straggler>{},
                                               {SlowLink{1, 1, 30}},
                                               {SequenceLengths{500, 1.5, 0.6}},
                                               {StagePartition{2, 1.3}},
                                               {SlowWorker{2, 3, 1.7, 2, 5}}}) {
    testing::SyntheticCase given = job({SlowWorker{1, 1, 1.6}});
    given.stragglers.insert(given.stragglers.end(), others.begin(), others.end());
    CAPTURE(given.name());
    std::vector<std::size_t> slow = {0};
    if (!others.empty() && std::holds_alternative<SlowWorker>(others.front())) slow.push_back(1);
    const Found found = find_causes(given.synthesize(Truth::kSlowdown).rows);
    const RootCause& cause = found.cause("worker-fault");
    CHECK(cause.likely);
    CHECK(*cause.gain == doctest::Approx(gain_without(given, slow)).epsilon(0.01));
  }
}

TEST_CASE("root cause: a hiccup beside steady slowness hides nothing") {
  const Found found = causes_of({SlowWorker{1, 2, 1.2}, SlowWorker{1, 2, 1.2, 5, 5}});
  CHECK(likely_names(found) == Names{"worker-fault"});
  CHECK(likely_names(causes_of({SlowWorker{1, 2, 1.3, 5, 5}})).empty());
}

TEST_CASE("root cause: a slow replica is not long sequences") {
  testing::SyntheticCase given = job({SequenceLengths{500, 1.2, 0.5}});
  for (const std::int32_t stage : {0, 1, 2, 3}) given.stragglers.emplace_back(SlowWorker{2, stage, 1.4});
  const Found found = find_causes(given.synthesize(Truth::kSlowdown).rows);
  const double truth = gain_without(given, {0}) - 1;
  CHECK(*found.cause("sequence-length").gain - 1 > 0.75 * truth);
  CHECK(*found.cause("sequence-length").gain - 1 < 1.33 * truth);
}

TEST_CASE("root cause: pauses count in backward passes, too") {
  const testing::SyntheticCase given = job({GcPauses{5, from_seconds(0.3), GcPauses::Passes::kAll}});
  const Found found = find_causes(given.synthesize(Truth::kSlowdown).rows);
  CHECK(likely_names(found) == Names{"gc-pauses"});
  CHECK(found.causes.front().evidence.find(" long forward and backward passes on 16 of 16 workers ") !=
        std::string::npos);
  CHECK(*found.causes.front().gain == doctest::Approx(gain_without(given, {0})).epsilon(0.01));
}

TEST_CASE("root cause: the number of threads changes nothing") {
  const Found found =
      causes_of({GcPauses{5, from_seconds(0.2)}, NicFlap{1, 1, 0.1, 80}, SlowWorker{3, 3, 1.4}});
  AnalysedJob four = found.job();
  four.jobs = 4;
  const auto causes = find_root_causes(four, find_patterns(four), 1.03);
  REQUIRE(causes.size() == found.causes.size());
  for (std::size_t i = 0; i < causes.size(); ++i) {
    CHECK(causes[i].gain == found.causes[i].gain);
    CHECK(causes[i].evidence == found.causes[i].evidence);
  }
}

}  // namespace goodput
