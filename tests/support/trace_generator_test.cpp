#include "tests/support/trace_generator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/base/json.h"
#include "tests/reference/reference_whatif.h"
#include "tests/support/random_cases.h"

namespace goodput::testing {
namespace {

constexpr double kNoopTolerance = 50e-6;

using Rows = std::vector<OpRow>;

Rows rows_of(const OpTrace& trace) {
  Rows rows;
  for (std::size_t i = 0; i < trace.size(); ++i) rows.push_back(trace.row(i));
  return rows;
}

template <typename Wanted>
Rows rows_where(const OpTrace& trace, Wanted wanted) {
  Rows rows = rows_of(trace);
  std::erase_if(rows, [&](const OpRow& row) { return !wanted(row); });
  return rows;
}

// Ops of one type on one worker in the first step.
Rows ops(const OpTrace& trace, OpType type, int stage, int dp_rank = 0) {
  return rows_where(trace, [&](const OpRow& row) {
    return row.step == trace.step.front() && row.optype == type && row.stage == stage &&
           row.dp_rank == dp_rank;
  });
}

double end_of(const OpRow& row) {
  return row.start_s + row.duration_s;
}

double last_start(const Rows& rows) {
  return std::max_element(rows.begin(), rows.end(),
                          [](const auto& a, const auto& b) { return a.start_s < b.start_s; })
      ->start_s;
}

double first_end(const Rows& rows) {
  double end = end_of(rows.front());
  for (const OpRow& row : rows) end = std::min(end, end_of(row));
  return end;
}

std::size_t never_launched_recvs(const OpTrace& trace, OpType recv, OpType compute, int stage) {
  const double limit = last_start(ops(trace, compute, stage)) + kNoopTolerance;
  const Rows recvs = ops(trace, recv, stage);
  return static_cast<std::size_t>(
      std::count_if(recvs.begin(), recvs.end(), [&](const OpRow& row) { return row.start_s > limit; }));
}

std::size_t never_launched_sends(const OpTrace& trace, OpType send, OpType compute, int stage) {
  const double limit = first_end(ops(trace, compute, stage)) - kNoopTolerance;
  const Rows sends = ops(trace, send, stage);
  return static_cast<std::size_t>(
      std::count_if(sends.begin(), sends.end(), [&](const OpRow& row) { return end_of(row) < limit; }));
}

// "F0 F1 B0 ..." by start; with chunks "F0.1" is micro-batch 0 on chunk 1.
std::string schedule(const OpTrace& trace, int stage, bool chunks) {
  Rows passes = ops(trace, OpType::kForwardCompute, stage);
  for (const OpRow& row : ops(trace, OpType::kBackwardCompute, stage)) passes.push_back(row);
  std::sort(passes.begin(), passes.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  std::string text;
  for (const OpRow& row : passes) {
    text += (text.empty() ? "" : " ");
    text += (row.optype == OpType::kForwardCompute ? "F" : "B") + std::to_string(row.mb_id);
    if (chunks) text += "." + std::to_string(row.mc);
  }
  return text;
}

auto row_key(const OpRow& row) {
  return std::tuple(row.step, row.rank, row.optype, row.seq_id, row.dp_rank, row.stage, row.start_s,
                    row.duration_s, row.mc, row.mb_id, row.gmc);
}

bool same_rows(const Rows& a, const Rows& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const OpRow& x, const OpRow& y) { return row_key(x) == row_key(y); });
}

TraceSpec interleaved() {
  TraceSpec spec;
  spec.vpp = 2;
  spec.schedule = Schedule::kInterleaved;
  spec.type2_noops = true;
  return spec;
}

reference::Options options_for(const TraceSpec& spec) {
  return {.dsp_size = spec.dsp_size};
}

double launch_slowdown(const TraceSpec& spec) {
  return reference::compat_result(generate_trace(spec), options_for(spec))["launch_slowdown"].get<double>();
}

}  // namespace

TEST_CASE("trace generator: 8 stages and 32 micro-batches are 1458 ops of 13 types a lane") {
  TraceSpec spec;
  spec.pp = 8;
  spec.micro_batches = 32;
  const OpTrace trace = generate_trace(spec);
  CHECK(trace.size() == 1458 * 2 * 2);
  CHECK(std::set(trace.optype.begin(), trace.optype.end()).size() == 13);
}

TEST_CASE("trace generator: every op occurs once in every lane") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const TraceSpec spec = random_spec(seed);
    INFO(to_string(spec));
    std::map<std::tuple<OpType, std::int64_t, std::int64_t>, std::set<std::pair<std::int64_t, std::int64_t>>>
        lanes;
    const OpTrace trace = generate_trace(spec);
    for (const OpRow& row : rows_of(trace)) {
      CHECK(lanes[{row.optype, row.seq_id, row.stage}].emplace(row.step, row.dp_rank).second);
    }
    for (const auto& [op, in] : lanes) CHECK(in.size() == static_cast<std::size_t>(spec.dp * spec.steps));
  }
}

TEST_CASE("trace generator: rows are sorted by step, rank, op type and seq_id, the latter by start") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const TraceSpec spec = random_spec(seed);
    INFO(to_string(spec));
    const Rows rows = rows_of(generate_trace(spec));
    CHECK(std::is_sorted(rows.begin(), rows.end(),
                         [](const auto& a, const auto& b) { return row_key(a) < row_key(b); }));
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].seq_id > 0) CHECK(rows[i - 1].start_s <= rows[i].start_s);
    }
  }
}

TEST_CASE("trace generator: the same spec gives the same trace, another seed another") {
  TraceSpec spec;
  const Rows rows = rows_of(generate_trace(spec));
  CHECK(same_rows(rows, rows_of(generate_trace(spec))));
  spec.seed = 2;
  CHECK_FALSE(same_rows(rows, rows_of(generate_trace(spec))));
}

TEST_CASE("trace generator: shuffling changes the order of the rows and nothing else") {
  const OpTrace trace = generate_trace({});
  Rows rows = rows_of(shuffled(trace, 5));
  CHECK_FALSE(same_rows(rows, rows_of(trace)));
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return row_key(a) < row_key(b); });
  CHECK(same_rows(rows, rows_of(trace)));
}

TEST_CASE("trace generator: passes follow the schedule") {
  TraceSpec spec;
  spec.pp = 2;
  spec.micro_batches = 3;
  SUBCASE("one forward, one backward") {
    CHECK(schedule(generate_trace(spec), 0, false) == "F0 F1 B0 F2 B1 B2");
    CHECK(schedule(generate_trace(spec), 1, false) == "F0 B0 F1 B1 F2 B2");
  }
  SUBCASE("GPipe") {
    spec.schedule = Schedule::kGPipe;
    CHECK(schedule(generate_trace(spec), 0, false) == "F0 F1 F2 B0 B1 B2");
    CHECK(schedule(generate_trace(spec), 1, false) == "F0 F1 F2 B0 B1 B2");
  }
  SUBCASE("interleaved") {
    // Stage 0 warms up with 2 * (pp - 1) + (vpp - 1) * pp = 4 forward passes, the last stage with 2.
    const OpTrace trace = generate_trace(interleaved());
    CHECK(schedule(trace, 0, true) ==
          "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
    CHECK(schedule(trace, 1, true) ==
          "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
  }
}

TEST_CASE("trace generator: a message ends after both ends have launched it") {
  TraceSpec spec;
  spec.pp = 3;
  spec.jitter = 0.4;
  const OpTrace trace = generate_trace(spec);
  for (int stage = 0; stage + 1 < spec.pp; ++stage) {
    const Rows sends = ops(trace, OpType::kForwardSend, stage);
    const Rows recvs = ops(trace, OpType::kForwardRecv, stage + 1);
    REQUIRE(sends.size() == 4);
    REQUIRE(recvs.size() == 4);
    for (std::size_t k = 0; k < sends.size(); ++k) {
      const double launched = std::max(sends[k].start_s, recvs[k].start_s);
      CHECK(end_of(sends[k]) > launched);
      CHECK(end_of(recvs[k]) > launched);
    }
  }
}

TEST_CASE("trace generator: a collective ends after every dp rank has launched it") {
  const OpTrace trace = generate_trace({.jitter = 0.4});
  double launched = 0;
  for (int dp = 0; dp < 2; ++dp)
    launched = std::max(launched, ops(trace, OpType::kGradsReduceScatter, 0, dp)[0].start_s);
  for (int dp = 0; dp < 2; ++dp) CHECK(end_of(ops(trace, OpType::kGradsReduceScatter, 0, dp)[0]) > launched);
}

TEST_CASE("trace generator: without no-ops the ends of the pipeline have nothing to receive or send") {
  const OpTrace trace = generate_trace({});
  CHECK(ops(trace, OpType::kForwardRecv, 0).empty());
  CHECK(ops(trace, OpType::kBackwardSend, 0).empty());
  CHECK(ops(trace, OpType::kForwardSend, 1).empty());
  CHECK(ops(trace, OpType::kBackwardRecv, 1).empty());
}

TEST_CASE("trace generator: no-ops of type 2 are recorded where there is no peer") {
  const OpTrace trace = generate_trace(interleaved());
  CHECK(ops(trace, OpType::kForwardRecv, 0).size() == 8);
  CHECK(ops(trace, OpType::kBackwardSend, 0).size() == 8);
  CHECK(ops(trace, OpType::kForwardSend, 1).size() == 8);
  CHECK(ops(trace, OpType::kBackwardRecv, 1).size() == 8);
  // Chunk 0 on stage 0 receives from nobody: passes 0, 1, 4 and 5 of the forward direction.
  const auto groups = reference::dependencies(trace, {}).groups;
  for (const int k : {0, 1, 4, 5}) {
    CHECK(std::count(groups.begin(), groups.end(), std::set{"forward-recv_" + std::to_string(k) + "_0"}) ==
          1);
  }
}

TEST_CASE("trace generator: the first receive and the last send may be missing") {
  TraceSpec spec = interleaved();
  spec.missing_first_recv = spec.missing_last_send = true;
  const OpTrace trace = generate_trace(spec);
  CHECK(ops(trace, OpType::kForwardRecv, 0).size() == 7);
  CHECK(ops(trace, OpType::kBackwardRecv, 1).size() == 7);
  CHECK(ops(trace, OpType::kForwardSend, 1).size() == 7);
  CHECK(ops(trace, OpType::kBackwardSend, 0).size() == 7);
  const auto deps = reference::dependencies(trace, {}).deps;
  CHECK(deps.at("forward-compute_1_0").contains("forward-recv_0_0"));
  CHECK(deps.at("backward-send_6_0").contains("backward-compute_6_0"));
}

TEST_CASE("trace generator: no-ops of type 1 are recorded outside of the passes") {
  TraceSpec spec;
  spec.type1_noops = true;
  for (const bool at_tolerance : {false, true}) {
    spec.noops_at_tolerance = at_tolerance;
    const OpTrace trace = generate_trace(spec);
    CHECK(never_launched_recvs(trace, OpType::kForwardRecv, OpType::kForwardCompute, 1) >= 1);
    CHECK(never_launched_sends(trace, OpType::kBackwardSend, OpType::kBackwardCompute, 0) >= 1);
    CHECK(ops(trace, OpType::kForwardRecv, 1).size() > 4);
    CHECK_NOTHROW(reference::op_times(trace, {}));
  }
}

TEST_CASE("trace generator: no-ops at the tolerance are just on its either side") {
  TraceSpec spec;
  spec.type1_noops = spec.type2_noops = spec.noops_at_tolerance = true;
  const OpTrace trace = generate_trace(spec);
  const double limit = last_start(ops(trace, OpType::kForwardCompute, 0)) + kNoopTolerance;
  CHECK(ops(trace, OpType::kForwardRecv, 0)[3].start_s == doctest::Approx(limit - 20e-6).epsilon(0.001));
  CHECK(ops(trace, OpType::kForwardRecv, 0)[3].start_s < limit);
  const double first = first_end(ops(trace, OpType::kForwardCompute, 1));
  const Rows sends = ops(trace, OpType::kForwardSend, 1);
  const auto live = sends.end() - 4;
  CHECK(end_of(*live) < first);
  CHECK(end_of(*live) > first - kNoopTolerance);
}

TEST_CASE("trace generator: a trailing no-op may outlast the optimizer") {
  TraceSpec spec;
  spec.type1_noops = spec.outlasting_noops = true;
  const OpTrace trace = generate_trace(spec);
  CHECK(end_of(ops(trace, OpType::kForwardRecv, 1).back()) > end_of(ops(trace, OpType::kOptimizer, 1)[0]));
}

TEST_CASE("trace generator: overlapped data parallelism reduces during the backward passes") {
  TraceSpec spec = interleaved();
  spec.overlap_dp = true;
  spec.dp_buckets_per_chunk = 2;
  const OpTrace trace = generate_trace(spec);
  const Rows scatters = ops(trace, OpType::kGradsReduceScatter, 0);
  REQUIRE(scatters.size() == 4);
  const Rows backwards = ops(trace, OpType::kBackwardCompute, 0);
  CHECK(scatters[0].mc == 1);
  CHECK(scatters[3].mc == 0);
  CHECK(scatters[0].start_s < backwards[5].start_s + backwards[5].duration_s);  // the last of chunk 1
  CHECK(ops(trace, OpType::kSeparateGradsAllReduce, 1).size() == 1);
  CHECK(ops(trace, OpType::kParamsAllGather, 1).size() == 4);
}

TEST_CASE("trace generator: without data parallelism there are no such ops") {
  const OpTrace trace = generate_trace({.dp = 1, .data_parallel_ops = false});
  CHECK(rows_where(trace, [](const OpRow& row) {
          return row.optype == OpType::kParamsAllGather || row.optype == OpType::kGradsReduceScatter;
        }).empty());
  CHECK_NOTHROW(reference::op_times(trace, {}));
}

TEST_CASE("trace generator: a slow worker and a slow last stage compute longer") {
  TraceSpec spec;
  spec.jitter = 0;
  spec.slow_worker_factor = 3;
  spec.slow_last_stage_factor = 1.5;
  const OpTrace trace = generate_trace(spec);
  const auto forward = [&](int stage, int dp) {
    return ops(trace, OpType::kForwardCompute, stage, dp)[0].duration_s;
  };
  CHECK(forward(0, 0) == doctest::Approx(0.060));
  CHECK(forward(0, 1) == doctest::Approx(0.020));
  CHECK(forward(1, 1) == doctest::Approx(0.030));
}

TEST_CASE("trace generator: clock skew shifts whole workers, also before the step") {
  TraceSpec spec;
  const OpTrace trace = generate_trace(spec);
  CHECK(*std::min_element(trace.start_s.begin(), trace.start_s.end()) == 0);
  spec.clock_skew_s = 0.025;
  const OpTrace skewed = generate_trace(spec);
  CHECK(*std::min_element(skewed.start_s.begin(), skewed.start_s.end()) < 0);
  const auto shift = [&](OpType type) {
    return ops(skewed, type, 1)[0].start_s - ops(trace, type, 1)[0].start_s;
  };
  CHECK(std::abs(shift(OpType::kForwardCompute)) > 1e-4);
  CHECK(shift(OpType::kForwardCompute) == doctest::Approx(shift(OpType::kOptimizer)).epsilon(1e-4));
}

TEST_CASE("trace generator: times on a coarse grid often tie") {
  TraceSpec spec = interleaved();
  spec.exact_ties = true;
  const OpTrace trace = generate_trace(spec);
  std::map<std::tuple<std::int64_t, int, double>, int> starts;  // of a lane
  for (std::size_t i = 0; i < trace.size(); ++i) {
    CHECK(trace.start_s[i] * 1024 == std::round(trace.start_s[i] * 1024));
    CHECK(trace.duration_s[i] * 1024 == std::round(trace.duration_s[i] * 1024));
    ++starts[{trace.step[i], trace.dp_rank[i], trace.start_s[i]}];
  }
  CHECK(starts.size() < trace.size() * 2 / 3);
}

TEST_CASE("trace generator: step numbers may have gaps, ranks may leave the dp order") {
  TraceSpec spec;
  spec.steps = 5;
  const OpTrace dense = generate_trace(spec);
  CHECK(std::set(dense.step.begin(), dense.step.end()) == std::set<std::int64_t>{1, 2, 3, 4, 5});
  spec.sparse_steps = true;
  const OpTrace sparse = generate_trace(spec);
  CHECK(sparse.step.back() - sparse.step.front() > 5);
  spec.dp = 6;
  spec.shuffled_ranks = true;
  spec.rank_gap = 8;
  const OpTrace trace = generate_trace(spec);
  std::map<int, int> dp_by_rank;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.stage[i] == 0) dp_by_rank[trace.rank[i]] = trace.dp_rank[i];
  }
  CHECK(dp_by_rank.size() == 6);
  CHECK(dp_by_rank.rbegin()->first == 40);
  CHECK_FALSE(std::is_sorted(dp_by_rank.begin(), dp_by_rank.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; }));
}

TEST_CASE("trace generator: times are float32 values on request only") {
  TraceSpec spec;
  const auto is_float32 = [](double value) {
    return static_cast<double>(static_cast<float>(value)) == value;
  };
  const OpTrace rounded = generate_trace(spec);
  CHECK(std::all_of(rounded.start_s.begin(), rounded.start_s.end(), is_float32));
  CHECK(std::all_of(rounded.duration_s.begin(), rounded.duration_s.end(), is_float32));
  spec.float32 = false;
  const OpTrace exact = generate_trace(spec);
  CHECK_FALSE(std::all_of(exact.start_s.begin(), exact.start_s.end(), is_float32));
}

TEST_CASE("trace generator: launch delays decide on the launch slowdown") {
  TraceSpec spec;
  spec.pp = 4;
  spec.micro_batches = 8;
  CHECK(launch_slowdown(spec) < 1.03);
  spec.launch_delay_s = 0.008;
  CHECK(launch_slowdown(spec) > 1.03);
}

TEST_CASE("trace generator: impossible specs are refused") {
  CHECK_THROWS_AS(static_cast<void>(generate_trace({.dp = 0})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(generate_trace({.vpp = 2, .schedule = Schedule::kInterleaved})),
                  std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(generate_trace({.vpp = 2, .type2_noops = true})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(generate_trace({.data_parallel_ops = false})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(generate_trace({.missing_first_recv = true})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(generate_trace({.clock_skew_s = 1})), std::invalid_argument);
}

// Two programs that know nothing of each other: where nothing is launched late, what the analysis believes
// each op waits for is what it has waited for, so that the replay without delays is the recording itself.
TEST_CASE("reference: replays a job without launch delays at the recorded times") {
  for (std::uint64_t seed = 0; seed < testing::cases(300); ++seed) {
    TraceSpec spec = random_spec(seed);
    spec.launch_delay_s = spec.clock_skew_s = 0;
    spec.noops_at_tolerance = spec.type1_noops = spec.outlasting_noops = spec.float32 = false;
    if (spec.overlap_dp)
      spec.dp_buckets_per_chunk = 1;  // else a reduce-scatter starts during the pass before
    INFO(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const auto times = reference::op_times(trace, options_for(spec));
    double worst = 0;
    for (const OpRow& row : rows_of(trace)) {
      const std::string name = std::string(to_string(row.optype)) + "_" + std::to_string(row.seq_id) + "_" +
                               std::to_string(row.stage);
      const reference::OpTimes& op = times.at({row.step, static_cast<int>(row.dp_rank), name});
      worst = std::max({worst, std::abs(op.launch_delay), std::abs(op.nodelay_start - row.start_s),
                        std::abs(op.nodelay_end - end_of(row))});
    }
    CHECK(worst < 1e-9);
  }
}

TEST_CASE("reference: accepts random specs, which cover the rules of the analysis" *
          doctest::test_suite("release-only")) {
  constexpr std::uint64_t kSpecs = 600;
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < kSpecs; ++seed) {
    const TraceSpec spec = random_spec(seed);
    INFO(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const auto times = reference::op_times(trace, options_for(spec));
    CHECK(times.size() == trace.size());
    ++seen[spec.dp * spec.dsp_size == 1 ? "no dp" : spec.overlap_dp ? "overlap" : "no overlap"];
    seen["dp ops on one dp rank"] += spec.dp == 1 && spec.dsp_size > 1;
    seen["one stage"] += spec.pp == 1;
    seen["chunks"] += spec.vpp > 1;
    seen["more than 33 workers"] += spec.dp * spec.pp > 33;
    seen["float64"] += !spec.float32;
    bool transfer_clamped = false;
    bool delay_negative = false;
    for (const auto& [op, at] : times) {
      transfer_clamped = transfer_clamped || at.transfer == 0;
      delay_negative = delay_negative || at.launch_delay < -1e-5;
    }
    seen["clamped transfer"] += transfer_clamped && !spec.exact_ties;
    seen["negative delay"] += delay_negative;
  }
  for (const auto& feature : seen) {
    INFO(feature.first);
    CHECK(feature.second >= 5);
  }
}

TEST_CASE("reference: random specs lie on either side of the threshold" *
          doctest::test_suite("release-only")) {
  int launch = 0;
  int blocking = 0;
  constexpr int kSpecs = 60;
  for (std::uint64_t seed = 0; seed < kSpecs; ++seed) {
    const TraceSpec spec = random_spec(seed);
    INFO(to_string(spec));
    const Json result = reference::compat_result(generate_trace(spec), options_for(spec));
    launch += result["launch_decompose_by_stage"].is_object();
    blocking += result["mw"].is_object();
    CHECK(result["ms"].is_object());
  }
  CHECK(launch > 5);
  CHECK(launch < kSpecs - 5);
  CHECK(blocking > 5);
  CHECK(blocking < kSpecs - 5);
}

}  // namespace goodput::testing
