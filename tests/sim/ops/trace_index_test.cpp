#include "sim/ops/trace_index.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

OpRow row(std::int64_t step, std::int64_t dp, OpType type, std::int64_t seq_id, double start_s = 0,
          double duration_s = 1) {
  OpRow result;
  result.step = step;
  result.dp_rank = dp;
  result.rank = dp;
  result.optype = type;
  result.seq_id = seq_id;
  result.start_s = start_s;
  result.duration_s = duration_s;
  return result;
}

OpTrace trace_of(const std::vector<OpRow>& rows) {
  OpTrace trace;
  for (const OpRow& entry : rows) REQUIRE_FALSE(trace.append(entry));
  return trace;
}

std::string index_error(const std::vector<OpRow>& rows) {
  const Result<TraceIndex> index = index_trace(trace_of(rows));
  REQUIRE_FALSE(index);
  return index.error().message();
}

constexpr OpType kForward = OpType::kForwardCompute;

}  // namespace

TEST_CASE("trace index: ops, steps and workers are found in whatever order the rows come") {
  const auto index = index_trace(trace_of({row(30, 1, kForward, 0), row(7, 0, kForward, 0, 2, 0.5),
                                           row(30, 0, kForward, 0), row(7, 1, kForward, 0)}));
  REQUIRE(index);
  CHECK(index->steps == std::vector<std::int64_t>{7, 30});
  CHECK(index->dp_size == 2);
  CHECK(index->ranks == std::vector<std::int32_t>{0, 1});
  CHECK(index->step_of_row == std::vector<std::uint32_t>{1, 0, 1, 0});
  REQUIRE(index->lane.ops.size() == 1);
  CHECK(index->lane.ops[0].name() == "forward-compute_0_0");
  CHECK(index->lane.start_s[0] == 2);  // of step 7, dp_rank 0
  CHECK(index->lane.end_s[0] == 2.5);
}

TEST_CASE("trace index: ends are float32 in a float32 recording and float64 otherwise") {
  // 1 + 2^-24 lies halfway between two float32 values and rounds to 1
  const auto narrow = index_trace(trace_of({row(0, 0, kForward, 0, 1.0, 0x1p-24)}));
  CHECK(narrow->float32_times);
  CHECK(narrow->lane.end_s[0] == 1.0);
  const auto wide =
      index_trace(trace_of({row(0, 0, kForward, 0, 1.0, 0x1p-24), row(0, 0, kForward, 1, 0.1, 0)}));
  CHECK_FALSE(wide->float32_times);
  CHECK(wide->lane.end_s[0] == 1.0 + 0x1p-24);
}

TEST_CASE("trace index: a contradiction that the analysis survives is a sentence") {
  OpRow first = row(1, 0, kForward, 0);
  first.mc = 1;
  first.gmc = 3;  // 1 * 1 stage + 0 = 1
  const auto index = index_trace(trace_of({first}));
  REQUIRE(index);
  CHECK(index_warnings(*index) ==
        std::vector<std::string>{"forward-compute_0_0 has gmc 3, but mc 1 with 1 stages gives gmc 1; using "
                                 "the recorded gmc to find pipeline peers"});
}

TEST_CASE("trace index: of several ranks a worker has that of its latest step, of several there the lowest") {
  std::vector<OpRow> rows = {row(3, 0, kForward, 0), row(1, 0, kForward, 0), row(3, 0, kForward, 1),
                             row(1, 0, kForward, 1)};
  rows[0].rank = 9;
  rows[1].rank = 4;
  rows[2].rank = 8;
  rows[3].rank = 4;
  const auto index = index_trace(trace_of(rows));
  REQUIRE(index);
  CHECK(index->ranks == std::vector<std::int32_t>{8});
  CHECK(index->has_more_ranks == std::vector<char>{1});
}

TEST_CASE("trace index: an empty trace is refused") {
  CHECK(index_error({}) == "contains no ops");
}

TEST_CASE("trace index: a missing op is named, with how many are missing") {
  CHECK(index_error({row(1, 0, kForward, 0), row(1, 0, kForward, 1), row(1, 1, kForward, 0),
                     row(2, 0, kForward, 0), row(2, 0, kForward, 1), row(2, 1, kForward, 1)}) ==
        "forward-compute_1_0 is missing in step 1, dp_rank 1; in total, 2 of 8 op instances are missing (2 "
        "ops x 4 pairs of step and dp_rank); record every op in every step and dp_rank");
}

TEST_CASE("trace index: a dp_rank without rows is missing ops, however large the hole") {
  CHECK(index_error({row(1, 0, kForward, 0), row(1, 2000000000, kForward, 0)}) ==
        "forward-compute_0_0 is missing in step 1, dp_rank 1; in total, 1999999999 of 2000000001 op "
        "instances are missing (1 ops x 2000000001 pairs of step and dp_rank); record every op in every step "
        "and dp_rank");
}

TEST_CASE("trace index: the largest indices that rows may have do not overflow") {
  constexpr std::int64_t kLargest = 2147483646;
  CHECK(index_error({row(1, kLargest, kForward, 0)}).starts_with("forward-compute_0_0 is missing in step 1"));
  CHECK(index_error({row(1, 0, kForward, kLargest)})
            .starts_with("seq_id 2147483646 of forward-compute on stage 0"));
  CHECK(index_error({row(1, kLargest, kForward, 0), row(2, 0, kForward, 0), row(3, 1, kForward, 1)})
            .find(" op instances are missing (") != std::string::npos);
}

TEST_CASE("trace index: a repeated op is refused") {
  CHECK(index_error({row(4, 0, kForward, 0), row(4, 0, kForward, 0)}) ==
        "forward-compute_0_0 is recorded twice in step 4, dp_rank 0; keep one row per op (was a file given "
        "twice, or were two ranks of one worker recorded?)");
}

TEST_CASE("trace index: seq_ids that do not count within the step are refused before they fill the memory") {
  CHECK(index_error({row(4, 0, kForward, 2000000000)}) ==
        "seq_id 2000000000 of forward-compute on stage 0 is too large for a trace of 1 rows; number the ops "
        "of every step from 0");
}

TEST_CASE("trace index: dropping any one row of a dense trace is noticed, doubling any one too") {
  const OpTrace dense = testing::generate_trace({});
  for (std::size_t i = 0; i < dense.size(); i += 7) {
    CAPTURE(i);
    OpTrace dropped;
    OpTrace doubled;
    for (std::size_t k = 0; k < dense.size(); ++k) {
      if (k != i) REQUIRE_FALSE(dropped.append(dense.row(k)));
      REQUIRE_FALSE(doubled.append(dense.row(k)));
    }
    REQUIRE_FALSE(doubled.append(dense.row(i)));
    REQUIRE(index_trace(dropped).error().what.find("; in total, 1 of ") != std::string::npos);
    REQUIRE(index_trace(doubled).error().what.find("recorded twice") != std::string::npos);
  }
}

TEST_CASE("op trace: a row that makes no sense is refused with the field and its range") {
  OpTrace trace;
  const auto problem = [&](auto change) {
    OpRow bad = row(0, 0, kForward, 0);
    change(bad);
    const auto text = trace.append(bad);
    CHECK(trace.size() == 0);
    return text.value_or("accepted");
  };
  CHECK(problem([](OpRow& r) { r.dp_rank = -1; }) == "dp_rank must be from 0 to 2147483646, not -1");
  CHECK(problem([](OpRow& r) { r.stage = 40000; }) == "stage must be from 0 to 32766, not 40000");
  CHECK(problem([](OpRow& r) { r.mc = -2; }) == "mc must be from -1 to 32766, not -2");
  CHECK(problem([](OpRow& r) { r.duration_s = -0.5; }) ==
        "duration must be seconds from 0 to 9.2e+09, not -0.5");
  CHECK(problem([](OpRow& r) { r.duration_s = NAN; }) ==
        "duration must be seconds from 0 to 9.2e+09, not nan");
  CHECK(problem([](OpRow& r) { r.start_s = INFINITY; }) ==
        "start_ts must be seconds within +-9.2e+09, not inf");
  OpRow early = row(0, 0, kForward, 0, -3);
  CHECK_FALSE(trace.append(early));
}

}  // namespace goodput
