// Whether forward and backward passes of micro-batches vary together.
#include "sim/causes/micro_batches.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/analysed_trace.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;

// One stage of one replica, three micro-batches with forwards 1, 2, 3 and backwards 2, 4, 6.
AnalysedTrace three_micro_batches() {
  OpTrace trace;
  double now = 0;
  const auto add = [&](OpType type, std::int64_t seq_id, double duration) {
    OpRow row;
    row.optype = type;
    row.seq_id = seq_id;
    row.start_s = now;
    row.duration_s = duration;
    row.mc = 0;
    row.mb_id = seq_id;
    row.gmc = 0;
    now += duration;
    if (const auto problem = trace.append(row)) FAIL(*problem);
  };
  for (const int mb : {0, 1, 2}) add(OpType::kForwardCompute, mb, mb + 1);
  for (const int mb : {0, 1, 2}) add(OpType::kBackwardCompute, mb, 2 * (mb + 1));
  add(OpType::kGc, 0, 0);
  add(OpType::kLayernormGradsAllReduce, 0, 1);
  add(OpType::kOptimizerClipMainGrad, 0, 1);
  add(OpType::kOptimizer, 0, 1);
  return testing::analysed(trace);
}

}  // namespace

TEST_CASE(
    "micro-batches: forward and backward times that rise and fall together are found, and what evens them") {
  const AnalysedTrace trace = three_micro_batches();
  const Recording& recording = trace.recording;
  const auto pairs = pair_passes(recording);
  const auto work = measure_micro_batches(recording, pairs, {}, measure_pace(recording, {}));
  REQUIRE(work);
  // Deviation of the forwards sqrt(2/3), mean 2.
  CHECK(work->correlation == doctest::Approx(1).epsilon(1e-12));
  CHECK(work->variation == doctest::Approx(std::sqrt(2.0 / 3) / 2).epsilon(1e-12));
  CHECK(work->count == 3);
  // 1, 2, 3 all become 2.
  REQUIRE(work->balance.of_block.size() == 1);
  CHECK(work->balance.of_block[0][0] == doctest::Approx(2).epsilon(1e-12));
  CHECK(work->balance.of_block[0][1] == doctest::Approx(1).epsilon(1e-12));
  CHECK(work->balance.of_block[0][2] == doctest::Approx(2.0 / 3).epsilon(1e-12));
}

TEST_CASE("micro-batches: without pairs of passes there is nothing to say") {
  const AnalysedTrace trace = three_micro_batches();
  CHECK_FALSE(measure_micro_batches(trace.recording, {}, {}, measure_pace(trace.recording, {})));
}

}  // namespace goodput
