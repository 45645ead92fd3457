// Schedules in the shape of a V: ZB-V, V-half and DualPipeV.
#include "models/schedule/v_shape.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "models/megatron/schedule_order.h"
#include "models/step/alive_peaks.h"
#include "sim/base/random.h"
#include "tests/support/schedule_times.h"

namespace goodput {
namespace {

using testing::PassTimes;
using testing::schedule_named;
using testing::schedule_times;
using testing::step_time;

constexpr std::array<std::string_view, 3> kInV = {"zb-v", "v-half", "dualpipev"};

// Of stages, which have two chunks each.
PassTimes of_chunks(double forward, double backward, double weight) {
  return {2 * forward, 2 * backward, 2 * weight};
}

// Alive at once, in micro-batches of a stage: half for each of its chunks.
double peak_of(std::string_view schedule, const ScheduleShape& shape, std::int32_t stage) {
  const auto peaks = alive_peaks(schedule_named(schedule), shape);
  return peaks[static_cast<std::size_t>(stage)].most_bytes(std::array{0.5, 0.5});
}
double highest_peak(std::string_view schedule, const ScheduleShape& shape) {
  double most = 0;
  for (const AlivePeaks& peaks : alive_peaks(schedule_named(schedule), shape))
    most = std::max(most, peaks.most_bytes(std::array{0.5, 0.5}));
  return most;
}

// The published figure of V-half, (p+2) // 2.
std::int32_t half_of_1f1b(std::int32_t p) {
  return (p + 2) / 2;
}

std::size_t messages(const megatron::StageOrder& stage, OpType type, const std::vector<TraceOp>& ops) {
  std::size_t count = 0;
  for (const megatron::P2pStream& stream : stage.p2p) {
    for (const megatron::P2pOp& p2p : stream.ops) count += ops[p2p.op].type == type ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("V-shaped schedules: a stage has one position on the way down and one on the way up") {
  for (const std::string_view name : kInV) {
    for (std::int32_t p = 1; p <= 6; ++p) {
      const ScheduleShape shape{p, 1, 2 * p};
      const std::vector<std::int32_t> stages = stages_by_position(schedule_named(name), shape);
      REQUIRE(stages.size() == static_cast<std::size_t>(2 * p));
      for (std::int32_t s = 0; s < p; ++s) {
        CHECK(stages[static_cast<std::size_t>(s)] == s);
        CHECK(stages[static_cast<std::size_t>(2 * p - 1 - s)] == s);
      }
      CHECK(pipeline_ends(schedule_named(name), shape) == PipelineEnds::kTogether);
    }
  }
  CHECK(pipeline_ends(schedule_named("1f1b"), {4, 1, 8}) == PipelineEnds::kApart);
  CHECK(pipeline_ends(schedule_named("1f1b"), {1, 1, 8}) == PipelineEnds::kTogether);
  CHECK(pipeline_ends(schedule_named("interleaved"), {4, 3, 8}) == PipelineEnds::kApart);
  CHECK(pipeline_ends(schedule_named("dualpipe"), {4, 1, 8}) == PipelineEnds::kApart);
}

TEST_CASE("V-shaped schedules: the last stage hands over within itself, without a message") {
  for (const std::string_view name : kInV) {
    for (std::int32_t p = 1; p <= 6; ++p) {
      const std::int32_t m = 2 * p + 1;
      const auto planned = megatron::order_from_schedule(schedule_named(name), {p, 1, m}, {});
      for (std::int32_t s = 0; s < p; ++s) {
        CAPTURE(name);
        CAPTURE(p);
        CAPTURE(s);
        const megatron::StageOrder& stage = planned.stages[static_cast<std::size_t>(s)];
        const bool is_last = s == p - 1;
        // Each neighbor takes one message per micro-batch and direction.
        const auto expected = static_cast<std::size_t>(m * ((s > 0 ? 1 : 0) + (is_last ? 0 : 1)));
        for (const OpType type :
             {OpType::kForwardSend, OpType::kForwardRecv, OpType::kBackwardSend, OpType::kBackwardRecv})
          CHECK(messages(stage, type, planned.ops) == expected);
        REQUIRE(stage.hand_overs.size() == static_cast<std::size_t>(is_last ? 2 * m : 0));
        for (const auto& [pass, before] : stage.hand_overs) {
          const TraceOp& own = planned.ops[pass];
          const TraceOp& other = planned.ops[before];
          CHECK(own.type == other.type);
          CHECK(own.mb_id == other.mb_id);
          CHECK(own.gmc == (own.type == OpType::kForwardCompute ? p : p - 1));
          CHECK(own.gmc + other.gmc == 2 * p - 1);
        }
      }
    }
  }
}

TEST_CASE("V-shaped schedules: planned together, stages run the same passes as one by one") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed, "v-shaped");
    const std::string_view name = kInV[random.below(kInV.size())];
    const auto p = static_cast<std::int32_t>(1 + random.below(7));
    const ScheduleShape shape{p, 1, 2 * p + static_cast<std::int32_t>(random.below(12))};
    CAPTURE(seed);
    const auto all = schedule_named(name).all_passes(shape);
    REQUIRE(all.size() == static_cast<std::size_t>(p));
    for (std::int32_t stage = 0; stage < p; ++stage)
      CHECK(all[static_cast<std::size_t>(stage)] == schedule_named(name).passes(shape, stage));
  }
}

TEST_CASE("ZB-V: a step takes 2m (f+b+w) + (p-1) max(b, 2(b-w)) if b is the longest pass and m >= 2p-1") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RandomStream random(seed, "zb-v");
    const auto p = static_cast<std::int32_t>(1 + random.below(8));
    const auto m = 2 * p - 1 + static_cast<std::int32_t>(random.below(8));
    const double b = 1 + static_cast<double>(random.below(40));
    const double f = 1 + static_cast<double>(random.below(static_cast<std::uint64_t>(b)));
    const double w = 1 + static_cast<double>(random.below(static_cast<std::uint64_t>(b)));
    const double expected = 2 * m * (f + b + w) + (p - 1) * std::max(b, 2 * (b - w));
    const double time = step_time(schedule_named("zb-v"), {p, 1, m}, of_chunks(f, b, w));
    CHECK_MESSAGE(time == expected, fmt::format("seed {} p={} m={} f={} b={} w={}: {} against {}", seed, p, m,
                                                f, b, w, time, expected));
  }
}

TEST_CASE("ZB-V: with equal passes stages only wait for their first one, which comes s passes late") {
  for (std::int32_t p = 1; p <= 8; ++p) {
    for (std::int32_t m = 2 * p - 1; m <= 3 * p; ++m) {
      const auto times = schedule_times(schedule_named("zb-v"), {p, 1, m}, of_chunks(1, 1, 1));
      CHECK(times.step == 6 * m + (p - 1));
      for (std::int32_t s = 0; s < p; ++s) {
        CHECK(times.first_start[static_cast<std::size_t>(s)] == s);
        CHECK(times.last_end[static_cast<std::size_t>(s)] == s + 6 * m);
      }
    }
  }
}

TEST_CASE("ZB-V: p micro-batches are alive, as on the first stage of 1F1B") {
  for (std::int32_t p = 1; p <= 8; ++p) {
    for (std::int32_t m = 1; m <= 3 * p; ++m) CHECK(highest_peak("zb-v", {p, 1, m}) == std::min(m, p));
    CHECK(peak_of("zb-v", {p, 1, 3 * p}, 0) == p);
  }
}

TEST_CASE("ZB-V: micro-batches that do not exist are left out of the order of 2p-1") {
  // One micro-batch goes down and back up the V: 2p forwards and 2p backwards. Between the backwards of its
  // two chunks the last stage makes the gradients of weights of one, after them the first stage those of the
  // other.
  for (std::int32_t p = 1; p <= 6; ++p)
    CHECK(step_time(schedule_named("zb-v"), {p, 1, 1}, of_chunks(10, 12, 8)) == 2 * p * (10 + 12) + 2 * 8);
}

TEST_CASE(
    "V-half: the bubble is 3p-4 passes for odd p and 3p-5 for even p if m > p, below the paper's p/(2m)") {
  for (std::int32_t p = 1; p <= 16; ++p) {
    for (std::int32_t m = p + 1; m <= 4 * p; m += p < 9 ? 1 : p - 1) {
      const double work = 6 * m;
      const double bubble = step_time(schedule_named("v-half"), {p, 1, m}, of_chunks(1, 1, 1)) - work;
      const double expected = p == 1 ? 0 : 3 * p - (p % 2 == 0 ? 5 : 4);
      CHECK_MESSAGE(bubble == expected, fmt::format("p={} m={}: {} against {}", p, m, bubble, expected));
      CHECK(bubble / work <= p / (2.0 * m));
    }
  }
}

TEST_CASE("V-half: at most (p+2)/2 micro-batches are alive, about half of 1F1B's p") {
  for (std::int32_t p = 1; p <= 16; ++p) {
    for (const std::int32_t m : {1, 2, p, p + 1, 2 * p, 4 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(highest_peak("v-half", {p, 1, m}) <= half_of_1f1b(p));
    }
    CHECK(highest_peak("v-half", {p, 1, 2 * p}) == half_of_1f1b(p));
  }
}

TEST_CASE("DualPipeV: the bubble is (p-1)(f+b-w) with equal passes, no more than DeepSeek's") {
  // DeepSeek: (PP/2-1)(F&B + B - 3W) with PP = 2p positions and B = b + w. Passes that take turns need f + b
  // + w for F&B, so that it comes to (p-1)(f + 2b - w).
  for (std::int32_t p = 1; p <= 8; ++p) {
    for (std::int32_t m = 2 * p; m <= 4 * p; ++m) {
      const double bubble = step_time(schedule_named("dualpipev"), {p, 1, m}, of_chunks(1, 1, 1)) - 6 * m;
      CHECK_MESSAGE(bubble == p - 1, fmt::format("p={} m={}: {}", p, m, bubble));
    }
  }
}

TEST_CASE("DualPipeV: with w <= b and f <= b + w the longer of two chains of passes makes the bubble") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RandomStream random(seed, "dualpipev");
    const auto p = static_cast<std::int32_t>(1 + random.below(8));
    const auto m = 2 * p + static_cast<std::int32_t>(random.below(8));
    const double b = 1 + static_cast<double>(random.below(40));
    const double w = 1 + static_cast<double>(random.below(static_cast<std::uint64_t>(b)));
    const double f = 1 + static_cast<double>(random.below(static_cast<std::uint64_t>(b + w)));
    const double expected = std::max((p - 1) * (f + b - w), (p - 1) * (2 * b - w) - f);
    const double bubble =
        step_time(schedule_named("dualpipev"), {p, 1, m}, of_chunks(f, b, w)) - 2 * m * (f + b + w);
    CHECK_MESSAGE(bubble == expected, fmt::format("seed {} p={} m={} f={} b={} w={}: {} against {}", seed, p,
                                                  m, f, b, w, bubble, expected));
    CHECK(bubble <= (p - 1) * (f + 2 * b - w));  // DeepSeek's
  }
}

TEST_CASE("DualPipeV: a stage runs the passes of DualPipe's half, both chunks over all micro-batches") {
  // DualPipe on 2p stages and 2m micro-batches: its first half holds the near direction as chunk 0.
  for (std::int32_t p = 1; p <= 5; ++p) {
    const std::int32_t m = 2 * p + 3;
    for (std::int32_t s = 0; s < p; ++s) {
      std::vector<Pass> expected = schedule_named("dualpipe").passes({2 * p, 1, 2 * m}, s);
      for (Pass& pass : expected) pass.micro_batch -= pass.chunk == 1 ? m : 0;
      CHECK(schedule_named("dualpipev").passes({p, 1, m}, s) == expected);
    }
  }
}

TEST_CASE("DualPipeV: half a micro-batch more is alive than under 1F1B, 2p + 1 chunks") {
  for (std::int32_t p = 1; p <= 8; ++p) {
    for (std::int32_t s = 0; s < p; ++s) CHECK(peak_of("dualpipev", {p, 1, 3 * p}, s) <= p + 0.5);
    CHECK(highest_peak("dualpipev", {p, 1, 3 * p}) == p + 0.5);
  }
}

}  // namespace goodput
