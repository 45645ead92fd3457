// Model chunks that a trace does not say, from the order of its passes.
#include "traces/op/absent_chunks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/support/analysed_trace.h"
#include "tests/support/synthetic_case.h"

namespace goodput {
namespace {

OpTrace trace_of_chunks(std::int32_t vpp) {
  const testing::SyntheticCase job{{.dp = 2, .pp = 4, .vpp = vpp, .micro_batches = 8}, {}, {3, 0.01}, 1};
  return job.synthesize(Truth::kSlowdown).rows;
}

OpTrace without_chunks(OpTrace trace) {
  std::ranges::fill(trace.mc, static_cast<std::int16_t>(kUnset));
  std::ranges::fill(trace.mb_id, static_cast<std::int32_t>(kUnset));
  std::ranges::fill(trace.gmc, static_cast<std::int32_t>(kUnset));
  return trace;
}

}  // namespace

TEST_CASE(
    "absent chunks: several chunks come back from the order of the passes, when their number is known") {
  const OpTrace whole = trace_of_chunks(2);
  OpTrace bare = without_chunks(whole);
  REQUIRE(lacks_chunks(bare));
  CHECK(testing::value_or_throw(recover_chunks(bare, 2)) ==
        "mc, mb_id and gmc derived from the order of the passes (2 chunks per stage)");
  CHECK(bare.start_s == whole.start_s);
  for (std::size_t row = 0; row < whole.size(); ++row) {
    if (!is_pass_compute(whole.optype[row])) continue;
    REQUIRE(bare.mc[row] == whole.mc[row]);
    REQUIRE(bare.mb_id[row] == whole.mb_id[row]);
    REQUIRE(bare.gmc[row] == whole.gmc[row]);
  }
}

TEST_CASE("absent chunks: an order of several chunks is not taken for one chunk") {
  OpTrace bare = without_chunks(trace_of_chunks(2));
  CHECK(recover_chunks(bare, std::nullopt).error().what ==
        "mc is absent from all rows, but the passes match a schedule with 2 chunks per stage; set vpp_size 2 "
        "in the metadata");
  OpTrace one = without_chunks(trace_of_chunks(1));
  CHECK(testing::value_or_throw(recover_chunks(one, std::nullopt)).empty());
  CHECK(lacks_chunks(one));
}

}  // namespace goodput
