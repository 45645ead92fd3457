#include "traces/op/ndtimeline_ids.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

void add(OpTrace& trace, OpRow row) {
  row.seq_id = kUnset;
  REQUIRE(trace.append(row) == std::nullopt);
}

// The passes of one worker in one step, one a second from `start_s`: F forward, B backward.
void add_passes(OpTrace& trace, std::string_view order, OpRow row, double start_s = 0) {
  for (const char pass : order) {
    row.optype = pass == 'F' ? OpType::kForwardCompute : OpType::kBackwardCompute;
    row.start_s = start_s;
    row.duration_s = 0.5;
    add(trace, row);
    start_s += 1;
  }
}

// One step of a pipeline, a worker a stage.
OpTrace pipeline(const std::vector<std::string_view>& order_by_stage) {
  OpTrace trace;
  for (std::size_t stage = 0; stage < order_by_stage.size(); ++stage) {
    const auto number = static_cast<std::int64_t>(stage);
    add_passes(trace, order_by_stage[stage], {.stage = number, .rank = number, .step = 3});
  }
  return trace;
}

std::vector<std::int64_t> column_of(const OpTrace& trace, OpType type, std::int64_t stage,
                                    std::int64_t OpRow::*field) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.optype[i] == type && trace.stage[i] == stage) values.push_back(trace.row(i).*field);
  }
  return values;
}

using Values = std::vector<std::int64_t>;

TEST_CASE("derived ids: seq_id counts ops of a type by start, whatever the order of the rows") {
  OpTrace trace;
  for (const double start : {3.0, 1.0, 2.0}) add(trace, {.optype = OpType::kForwardSend, .start_s = start});
  add(trace, {.optype = OpType::kForwardRecv, .start_s = 2.5});
  add(trace, {.dp_rank = 1, .rank = 1, .optype = OpType::kForwardSend, .start_s = 9});
  CHECK(lacks_ids(trace));
  REQUIRE(derive_ids(trace, 1));
  CHECK_FALSE(lacks_ids(trace));
  CHECK(trace.seq_id == std::vector<std::int32_t>{2, 0, 1, 0, 0});
  CHECK(trace.mc == std::vector<std::int16_t>(5, -1));
  CHECK(trace.mb_id == std::vector<std::int32_t>(5, -1));
}

TEST_CASE("derived ids: without chunks the k-th pass is micro-batch k") {
  OpTrace trace = pipeline({"FFBFBB", "FBFBFB"});
  const auto derived = derive_ids(trace, 1);
  REQUIRE(derived);
  CHECK(derived->ops == 12);
  CHECK(derived->matched == 12);
  CHECK(derived->schedule == "1F1B");
  CHECK(derived->note() ==
        "seq_id, mc and mb_id derived from the recorded order: 12 of 12 compute ops follow the pipeline "
        "schedule \"1F1B\"");
  for (const OpType type : {OpType::kForwardCompute, OpType::kBackwardCompute}) {
    CHECK(column_of(trace, type, 1, &OpRow::mb_id) == Values{0, 1, 2});
    CHECK(column_of(trace, type, 1, &OpRow::mc) == Values{0, 0, 0});
    CHECK(column_of(trace, type, 1, &OpRow::gmc) == Values{1, 1, 1});
  }
}

TEST_CASE(
    "derived ids: with chunks the passes go through the interleaved order, backwards with chunks reversed") {
  // 2 stages, 2 chunks, 4 micro-batches: 8 passes each way. Forwards before the first backward of the
  // alternation: stage 0: 2 * 1 + 1 * 2 = 4, stage 1: 0 + 2 = 2.
  OpTrace trace = pipeline({"FFFFFBFBFBFBBBBB", "FFFBFBFBFBFBFBBB"});
  const auto derived = derive_ids(trace, 2);
  REQUIRE(derived);
  CHECK(derived->matched == 32);
  CHECK(derived->schedule == "interleaved 1F1B (2 chunks)");
  CHECK(column_of(trace, OpType::kForwardCompute, 1, &OpRow::mc) == Values{0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(column_of(trace, OpType::kForwardCompute, 1, &OpRow::mb_id) == Values{0, 1, 0, 1, 2, 3, 2, 3});
  CHECK(column_of(trace, OpType::kForwardCompute, 1, &OpRow::gmc) == Values{1, 1, 3, 3, 1, 1, 3, 3});
  CHECK(column_of(trace, OpType::kBackwardCompute, 0, &OpRow::mc) == Values{1, 1, 0, 0, 1, 1, 0, 0});
  CHECK(column_of(trace, OpType::kBackwardCompute, 0, &OpRow::mb_id) == Values{0, 1, 0, 1, 2, 3, 2, 3});
  CHECK(column_of(trace, OpType::kBackwardCompute, 0, &OpRow::gmc) == Values{2, 2, 0, 0, 2, 2, 0, 0});
}

TEST_CASE("derived ids: all forwards before all backwards is accepted too") {
  OpTrace trace = pipeline({"FFFBBB", "FFFBBB"});
  const auto derived = derive_ids(trace, 1);
  REQUIRE(derived);
  CHECK(derived->schedule == "all forward passes first");
  CHECK(derived->matched == 12);
}

TEST_CASE("derived ids: data-parallel buckets split evenly over the chunks, reduce-scatter from the last") {
  OpTrace trace;
  for (int i = 0; i < 4; ++i) {
    add(trace, {.optype = OpType::kParamsAllGather, .start_s = 1.0 * i});
    add(trace, {.optype = OpType::kGradsReduceScatter, .start_s = 10.0 + i});
  }
  REQUIRE(derive_ids(trace, 2));
  CHECK(column_of(trace, OpType::kParamsAllGather, 0, &OpRow::mc) == Values{0, 0, 1, 1});
  CHECK(column_of(trace, OpType::kGradsReduceScatter, 0, &OpRow::mc) == Values{1, 1, 0, 0});
  CHECK(column_of(trace, OpType::kParamsAllGather, 0, &OpRow::gmc) == Values{-1, -1, -1, -1});
}

TEST_CASE("derived ids: buckets that do not divide over the chunks are noted") {
  OpTrace trace;
  for (int i = 0; i < 3; ++i) add(trace, {.optype = OpType::kParamsAllGather, .start_s = 1.0 * i});
  const auto derived = derive_ids(trace, 2);
  REQUIRE(derived);
  CHECK(column_of(trace, OpType::kParamsAllGather, 0, &OpRow::mc) == Values{0, 0, 1});
  CHECK(derived->note().ends_with(
      "; steps of workers in which the data-parallel buckets do not divide evenly over the model chunks: 1"));
}

TEST_CASE("derived ids: garbage collection carries micro-batch 0 as in the published traces") {
  OpTrace trace;
  add(trace, {.optype = OpType::kGc});
  add(trace, {.optype = OpType::kOptimizer});
  REQUIRE(derive_ids(trace, 1));
  CHECK(trace.mb_id == std::vector<std::int32_t>{0, -1});
}

TEST_CASE("derived ids: of several ranks of one worker the lowest stays, rows in order") {
  OpTrace trace;
  add_passes(trace, "FB", {.rank = 5}, 0.25);
  add_passes(trace, "FB", {.rank = 4}, 0);
  add_passes(trace, "FB", {.dp_rank = 1, .rank = 7}, 0.5);
  const auto derived = derive_ids(trace, 1);
  REQUIRE(derived);
  CHECK(derived->dropped_tp_rows == 2);
  CHECK(derived->note().ends_with("; ignored rows of tensor-parallel peers: 2"));
  CHECK(trace.rank == std::vector<std::int32_t>{4, 4, 7, 7});
  CHECK(trace.start_s == std::vector<double>{0, 1, 0.5, 1.5});
}

TEST_CASE("derived ids: each step begins at 0, and nothing of epoch seconds is lost before") {
  OpTrace trace;
  const double epoch = 1714564800;  // float32 numbers are 128 apart here
  add_passes(trace, "FB", {.rank = 0, .step = 1}, epoch + 0.125);
  add_passes(trace, "FB", {.dp_rank = 1, .rank = 1, .step = 1}, epoch);
  add_passes(trace, "FB", {.rank = 0, .step = 2}, epoch + 100.5);
  REQUIRE(derive_ids(trace, 1));
  CHECK(trace.start_s == std::vector<double>{0.125, 1.125, 0, 1, 0, 1});
}

TEST_CASE("derived ids: times are float32 values afterwards") {
  OpTrace trace;
  add(trace, {.optype = OpType::kOptimizer, .start_s = 0});
  add(trace, {.optype = OpType::kOptimizer, .start_s = 0.1, .duration_s = 0.3});
  REQUIRE(derive_ids(trace, 1));
  CHECK(trace.start_s[1] == static_cast<double>(0.1F));
  CHECK(trace.duration_s[1] == static_cast<double>(0.3F));
}

TEST_CASE("derived ids: an order that no schedule has is refused with the first op that is out of place") {
  OpTrace trace = pipeline({"FBBF", "FBFB"});
  const auto derived = derive_ids(trace, 1);
  REQUIRE(!derived);
  // 1F1B on stage 0 of 2: FFBFB... for two micro-batches FFBB, of which FBBF has the 1st and the 3rd.
  CHECK(derived.error().message() ==
        "only 6 of 8 compute ops follow the pipeline schedule \"1F1B\", but 99 % must; the first exception: "
        "step 3, dp rank 0, stage 0: compute op 2 (in order of start) is unexpectedly a backward pass; does "
        "the job use a different pipeline schedule?");
}

TEST_CASE("derived ids: a wrong vpp_size is refused and the right one named") {
  OpTrace trace = pipeline({"FFFFFBFBFBFBBBBB", "FFFBFBFBFBFBFBBB"});
  const auto derived = derive_ids(trace, 1);
  REQUIRE(!derived);
  CHECK(derived.error().message().ends_with("the recorded order fits vpp_size 2, which you can set in meta"));
}

TEST_CASE("derived ids: one op in a hundred may be out of place") {
  std::string order;
  for (int i = 0; i < 100; ++i) order += "FB";
  std::swap(order[50], order[51]);
  OpTrace good = pipeline({order});
  const auto derived = derive_ids(good, 1);
  REQUIRE(derived);
  CHECK(derived->matched == 198);  // 99 % of 200
  std::swap(order[60], order[61]);
  OpTrace bad = pipeline({order});
  CHECK(!derive_ids(bad, 1));
}

TEST_CASE("derived ids: counts of passes that cannot be are refused") {
  OpTrace unequal = pipeline({"FFB"});
  CHECK(derive_ids(unequal, 1).error().message() ==
        "step 3, dp rank 0, stage 0: has 2 forward-compute but 1 backward-compute ops, which must be the "
        "same number; remove incompletely recorded steps");
  OpTrace odd = pipeline({"FBFBFB"});
  CHECK(derive_ids(odd, 2).error().message() ==
        "step 3, dp rank 0, stage 0: the number of forward-compute ops, 3, is not a multiple of vpp_size 2; "
        "is vpp_size right?");
  OpTrace groups = pipeline({"FFFFFFBBBBBB", "FFFFFFBBBBBB"});
  CHECK(derive_ids(groups, 2).error().message() ==
        "step 3, dp rank 0, stage 0: the number of micro-batches, 3, is not a multiple of the number of "
        "stages, 2, as vpp_size 2 requires; is vpp_size right?");
  CHECK(derive_ids(groups, 40000).error().message() == "vpp_size must be from 1 to 32767, not 40000");
}

TEST_CASE("derived ids: rows with and without identity do not mix") {
  OpTrace trace = pipeline({"FB"});
  trace.seq_id[1] = 0;
  CHECK(lacks_ids(trace));
  CHECK(derive_ids(trace, 1).error().message() ==
        "1 of 2 ops have a seq_id and the others do not; read files with and without seq_id separately");
}

TEST_CASE("derived ids: an empty trace stays empty") {
  OpTrace trace;
  CHECK_FALSE(lacks_ids(trace));
  const auto derived = derive_ids(trace, 1);
  REQUIRE(derived);
  CHECK(derived->ops == 0);
}

OpTrace published_trace(const std::string& path) {
  TraceIntake intake;
  auto source = ByteSource::open(path);
  REQUIRE(source);
  REQUIRE(op_trace_format_csv().append_file(*source, intake));
  return std::move(intake).take_trace();
}

TEST_CASE("derived ids: stripped off the published traces they come back as they were") {
  const std::filesystem::path folder = std::filesystem::path(GOODPUT_SHARED_DATA) / "ndtimeline";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: no shared data");
    return;
  }
  struct Case {
    const char* name;
    int vpp_size;
    std::size_t compute_ops;
  };
  // Compute ops: 44 steps * 16 workers * 2 * 32; 32 * 8 * 2 * 4; 3 * 4 * 2 * 8.
  for (const Case& c : {Case{"AR", 1, 45056}, Case{"ST", 1, 2048}, Case{"OPEN-vpp2", 2, 192}}) {
    CAPTURE(c.name);
    const OpTrace original = published_trace((folder / c.name / "trace.csv.gz").string());
    OpTrace trace = original;
    std::ranges::fill(trace.seq_id, kUnset);
    std::ranges::fill(trace.mc, kUnset);
    std::ranges::fill(trace.mb_id, kUnset);
    std::ranges::fill(trace.gmc, kUnset);
    const auto derived = derive_ids(trace, c.vpp_size);
    REQUIRE_MESSAGE(derived, derived.error().message());
    CHECK(derived->matched == c.compute_ops);
    CHECK(derived->ops == c.compute_ops);
    CHECK(trace.seq_id == original.seq_id);
    CHECK(trace.mc == original.mc);
    CHECK(trace.mb_id == original.mb_id);
    CHECK(trace.gmc == original.gmc);
    CHECK(trace.start_s == original.start_s);
    CHECK(trace.duration_s == original.duration_s);
  }
}

}  // namespace
}  // namespace goodput
