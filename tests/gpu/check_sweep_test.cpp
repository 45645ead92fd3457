#include "gpu/calibrate/check_sweep.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/calibrate/sweep_list.h"
#include "tests/gpu/sweep_case.h"

namespace goodput::gpu::calibrate {
namespace {

using Names = std::vector<std::string>;

const SweepPoint& first_with(const Sweep& sweep, const std::string& text) {
  const auto point = std::find_if(sweep.points.begin(), sweep.points.end(), [&](const SweepPoint& one) {
    return text_of(one.key).find(text) != std::string::npos;
  });
  REQUIRE(point != sweep.points.end());
  return *point;
}

// "+" in front of the backward pass's.
Names part_names(const Sweep& sweep, const std::string& text) {
  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  const Visit visit = first_with(sweep, text).visit(measurer, Checking::kNo);
  Names names;
  for (const PartTime& part : visit.parts) names.push_back((part.is_backward ? "+" : "") + part.part);
  return names;
}

TEST_CASE("check sweep: three mixtures of experts, two dispatches at eight loads, four dense layers") {
  const Sweep sweep = check_sweep(Sizes::kFull);
  check_names_differ(sweep);
  CHECK(sweep.points.size() == 3 + 2 * 8 + 4);
  CHECK(text_of(sweep.points[0].key) ==
        "moe_layer model=mixtral-8x7b hidden=4096 ffn=14336 experts=8 top_k=2 ranks=1 slots=8 "
        "loads=smartmoe-like dispatch=flexible dtype=bf16 gated tokens=4096");
  CHECK(text_of(sweep.points[4].key) ==
        "moe_layer hidden=1024 ffn=4096 experts=8 top_k=1 ranks=8 slots=1 loads=ratio dispatch=padded "
        "dtype=bf16 load_ratio=1 tokens=8192");
  CHECK(text_of(sweep.points.back().key) ==
        "dense_layer model=llama3-70b hidden=8192 ffn=28672 heads=64 kv_heads=8 head_dim=128 tp=4 "
        "dtype=bf16 tokens=8192");
}

TEST_CASE("check sweep: blocks run for ten seconds in one round, and all checks take 150 s at most") {
  const Sweep sustained = sustained_check_sweep(Sizes::kFull, {});
  check_names_differ(sustained);
  CHECK(sustained.points.size() == 3 + 4);
  CHECK(sustained.rounds(2) == 1);
  for (const SweepPoint& point : sustained.points) {
    CHECK(text_of(point.key).find(" sustained ") != std::string::npos);
    CHECK(point.estimate_s > 11);
  }
  const double seconds = estimate_s({check_sweep(Sizes::kFull), sustained}, 2);
  MESSAGE(seconds, " s");
  CHECK(seconds <= 150);
  CHECK(seconds > 100);
}

TEST_CASE("check sweep: what is small is right, whatever the dispatch and the ranks") {
  visit_all(check_sweep(Sizes::kQuick));
}

TEST_CASE("check sweep: what is small is right without a pause, and has the power that was read") {
  const Sweep sweep = sustained_check_sweep(Sizes::kQuick, [] { return std::optional<double>(500); });
  visit_all(sweep);
  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  const Visit visit = sweep.points[0].visit(measurer, Checking::kNo);
  CHECK(visit.power_w == 500.0);
  CHECK(visit.source.find(", back to back") != std::string::npos);
  CHECK_FALSE(visit.parts.empty());
}

TEST_CASE("check sweep: a block has its parts in the order of a step, and the rows of its experts") {
  const Sweep sweep = check_sweep(Sizes::kQuick);
  CHECK(part_names(sweep, "dense_layer") == Names{"norm_1",
                                                  "qkv",
                                                  "attention_output",
                                                  "residual_1",
                                                  "norm_2",
                                                  "gate_up",
                                                  "activation",
                                                  "down",
                                                  "residual_2",
                                                  "+down_dgrad",
                                                  "+down_wgrad",
                                                  "+activation",
                                                  "+gate_up_dgrad",
                                                  "+gate_up_wgrad",
                                                  "+norm_2",
                                                  "+residual_2",
                                                  "+attention_output_dgrad",
                                                  "+attention_output_wgrad",
                                                  "+qkv_dgrad",
                                                  "+qkv_wgrad",
                                                  "+norm_1",
                                                  "+residual_1"});
  CHECK(part_names(sweep, "dispatch=flexible") == Names{"router",
                                                        "count",
                                                        "schedule",
                                                        "positions",
                                                        "scatter",
                                                        "all_to_all",
                                                        "regroup",
                                                        "experts_up",
                                                        "activation",
                                                        "experts_down",
                                                        "ungroup",
                                                        "all_to_all_back",
                                                        "combine",
                                                        "+combine",
                                                        "+all_to_all",
                                                        "+regroup",
                                                        "+experts_down_dgrad",
                                                        "+experts_down_wgrad",
                                                        "+activation",
                                                        "+experts_up_dgrad",
                                                        "+experts_up_wgrad",
                                                        "+ungroup",
                                                        "+all_to_all_back",
                                                        "+scatter",
                                                        "+router_dgrad",
                                                        "+router_wgrad"});
  CHECK(part_names(sweep, "dispatch=padded") == Names{"router",
                                                      "count",
                                                      "positions",
                                                      "padding",
                                                      "scatter",
                                                      "all_to_all",
                                                      "experts_up",
                                                      "activation",
                                                      "experts_down",
                                                      "all_to_all_back",
                                                      "combine",
                                                      "+padding",
                                                      "+combine",
                                                      "+all_to_all",
                                                      "+experts_down_dgrad",
                                                      "+experts_down_wgrad",
                                                      "+activation",
                                                      "+experts_up_dgrad",
                                                      "+experts_up_wgrad",
                                                      "+all_to_all_back",
                                                      "+scatter",
                                                      "+router_dgrad",
                                                      "+router_wgrad"});

  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  // 8 ranks send their 8 tokens to one expert.
  const Visit padded =
      first_with(sweep, "dispatch=padded dtype=bf16 load_ratio=8").visit(measurer, Checking::kNo);
  CHECK(padded.expert_rows == std::vector<std::int64_t>{64});
  CHECK(first_with(sweep, "dense_layer").visit(measurer, Checking::kNo).expert_rows.empty());
}

}  // namespace
}  // namespace goodput::gpu::calibrate
