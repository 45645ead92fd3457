#include "sim/recording/instance_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/support/analysed_trace.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

const Recording& recording() {
  static const testing::AnalysedTrace kTrace = [] {
    testing::TraceSpec spec;  // 2 dp x 2 stages, 4 micro-batches, steps 1 2 3
    spec.steps = 3;
    return testing::analysed(testing::generate_trace(spec));
  }();
  return kTrace.recording;
}

std::string error_of(std::string_view selector) {
  const auto box = select(recording(), selector);
  REQUIRE_FALSE(box);
  return box.error().message();
}

std::size_t ops_of(std::string_view selector) {
  const auto box = testing::value_or_throw(select(recording(), selector));
  return static_cast<std::size_t>(std::count(box.ops.begin(), box.ops.end(), 1));
}

}  // namespace

TEST_CASE("selector: a conjunction narrows ops, steps and replicas") {
  const auto box =
      testing::value_or_throw(select(recording(), "optype=forward-compute&stage=1&dp=1&step=2-3&mb=0,2-3"));
  CHECK(std::count(box.ops.begin(), box.ops.end(), 1) == 3);  // micro-batches 0, 2, 3 of one stage
  CHECK(box.steps == std::vector<char>{0, 1, 1});
  CHECK(box.dp_ranks == std::vector<char>{0, 1});
}

TEST_CASE("selector: a worker is a stage of a replica") {
  const auto worker = testing::value_or_throw(select(recording(), "worker=1:0"));
  const auto same = testing::value_or_throw(select(recording(), "dp=1&stage=0"));
  CHECK(worker.ops == same.ops);
  CHECK(worker.dp_ranks == same.dp_ranks);
}

TEST_CASE("selector: a rank is its worker") {
  // Ranks 0 to 3 of 2 replicas and 2 stages.
  const std::int32_t rank = recording().ranks[2];  // dp 1, stage 0
  const auto by_rank = testing::value_or_throw(select(recording(), "rank=" + std::to_string(rank)));
  const auto worker = testing::value_or_throw(select(recording(), "worker=1:0"));
  CHECK(by_rank.ops == worker.ops);
  CHECK(by_rank.dp_ranks == worker.dp_ranks);
  CHECK(error_of("rank=99") == "selector \"rank=99\": rank 99 is not in the trace");
  CHECK(
      error_of("rank=0-1") ==
      "selector \"rank=0-1\": rank must be one rank, for example rank=3; repeat the selector for more ranks");
}

TEST_CASE("selector: a merged label means the ops of both its types") {
  CHECK(ops_of("optype=forward-pp-comm") == ops_of("optype=forward-send") + ops_of("optype=forward-recv"));
  CHECK(ops_of("optype=forward-send,forward-recv") == ops_of("optype=forward-pp-comm"));
}

TEST_CASE("selector: mistakes are named with the remedy") {
  CHECK(error_of("stag=1") ==
        "selector \"stag=1\": unknown key \"stag\"; did you mean \"stage\"?; known keys: optype, stage, dp, "
        "worker, rank, step, mb");
  CHECK(error_of("optype=foward-compute") ==
        "selector \"optype=foward-compute\": unknown op type \"foward-compute\"; did you mean "
        "\"forward-compute\"?");
  CHECK(error_of("stage") == "selector \"stage\": \"stage\" must be key=value, for example stage=3");
  CHECK(error_of("stage=x") ==
        "selector \"stage=x\": \"x\" is not a number or a range; write, for example, 12,20-23");
  CHECK(error_of("step=3-1") ==
        "selector \"step=3-1\": range \"3-1\" runs backward; write the smaller number first");
  CHECK(error_of("worker=1") == "selector \"worker=1\": worker must be dp:stage, for example worker=2:3");
  CHECK(error_of("worker=1:x") == "selector \"worker=1:x\": worker must be dp:stage, for example worker=2:3");
  CHECK(error_of("stage=9") == "selector \"stage=9\": selects no op in this trace");
  CHECK(error_of("") == "selector \"\": \"\" must be key=value, for example stage=3");
}

}  // namespace goodput
