// What a plan asks for and a calibration does not have.
#include "tools/calibration/plan_gaps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "tests/models/cost/cost_case.h"

namespace goodput {
namespace {

using doctest::Approx;
using testing::shipped_calibration;

TrainingPlan shipped_plan(const std::string& name) {
  return read_training_plan(GOODPUT_CONFIGS "/plans/" + name + ".json").value();
}

const PlanGap* gap_named(const PlanGaps& gaps, const std::string& name) {
  const auto found = std::find_if(gaps.gaps.begin(), gaps.gaps.end(),
                                  [&name](const PlanGap& gap) { return gap.work.name() == name; });
  return found == gaps.gaps.end() ? nullptr : &*found;
}

// Prices of another cost model, but attention for free.
class FreeAttention final : public CostModel {
 public:
  explicit FreeAttention(const CostModel& cost) : cost_(cost) {}
  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    std::vector<Kernel> rest;
    std::copy_if(sequence.begin(), sequence.end(), std::back_inserter(rest),
                 [](const Kernel& kernel) { return kernel.kind != Kernel::Kind::kAttention; });
    return cost_.kernels(rest);
  }
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override { return cost_.collective(call); }

 private:
  const CostModel& cost_;
};

}  // namespace

TEST_CASE("plan gaps: a share is what the step loses where the work costs nothing") {
  const TrainingPlan plan = shipped_plan("llama3-8b-h100");
  const PlanGaps gaps = find_plan_gaps(plan, shipped_calibration(), 0, 2).value();
  const CalibratedCost cost(plan.cluster, plan.roofline, shipped_calibration());
  const auto step_with = [&plan](const CostModel& model) {
    return to_seconds(step_time(build_planned_step(plan, model, Granularity::kLayers, 0).value()));
  };
  CHECK(to_seconds(gaps.step) == step_with(cost));
  const PlanGap* attention = gap_named(gaps, "attention");
  REQUIRE(attention != nullptr);
  CHECK(attention->share == Approx(1 - step_with(FreeAttention(cost)) / step_with(cost)));
  CHECK(attention->work.coverage == TableCoverage::kNone);
}

TEST_CASE("plan gaps: the largest first, none larger than all of them together") {
  for (const char* name : {"llama3-8b-h100", "mixtral-8x7b-h100"}) {
    const PlanGaps gaps = find_plan_gaps(shipped_plan(name), shipped_calibration(), 0, 2).value();
    REQUIRE_FALSE(gaps.gaps.empty());
    double before = 1;
    for (const PlanGap& gap : gaps.gaps) {
      CHECK(gap.share >= 0);
      CHECK(gap.share <= before);
      CHECK(gap.sizes.least <= gap.sizes.most);
      before = gap.share;
    }
    CHECK(gaps.share >= gaps.gaps.front().share);
    CHECK(gaps.share <= 1);
  }
}

TEST_CASE("plan gaps: a table of the very op closes its gap, and no other") {
  const TrainingPlan plan = shipped_plan("llama3-8b-h100");
  const PlanGaps before = find_plan_gaps(plan, shipped_calibration(), 0, 2).value();
  const std::string name = "gemm: n 6144, k 4096, 16 bits";
  const PlanGap* gap = gap_named(before, name);
  REQUIRE(gap != nullptr);
  CHECK(gap->work.coverage == TableCoverage::kCarriedOver);
  Calibration more = shipped_calibration();
  Measurement table{.op = MeasuredOp::kGemm,
                    .params = {.n = 6144, .k = 4096, .dtype = MeasuredType::kBf16},
                    .tier = Tier::kMeasured,
                    .points = {{.m = static_cast<std::int64_t>(gap->sizes.least), .median_us = 300}}};
  more.ops.push_back(table);
  const PlanGaps after = find_plan_gaps(plan, more, 0, 2).value();
  CHECK(gap_named(after, name) == nullptr);
  CHECK(after.gaps.size() + 1 == before.gaps.size());
  // The same product in another manner is another table.
  more.ops.back().params.is_sustained = true;
  CHECK(find_plan_gaps(plan, more, 0, 2)->gaps.size() == before.gaps.size());
}

TEST_CASE("plan gaps: collectives over nodes are of tables inside nodes, or none") {
  const PlanGaps gaps =
      find_plan_gaps(shipped_plan("mixtral-8x7b-h100"), shipped_calibration(), 0, 2).value();
  const PlanGap* over_nodes = gap_named(gaps, "reduce_scatter: 16 GPUs, 8 per node");
  REQUIRE(over_nodes != nullptr);
  CHECK(over_nodes->work.coverage == TableCoverage::kInNodes);
  const PlanGap* send = gap_named(gaps, "send_recv: 2 GPUs, 1 per node");
  REQUIRE(send != nullptr);
  CHECK(send->work.coverage == TableCoverage::kNone);
}

TEST_CASE("plan gaps: a file without tables misses all that is asked") {
  Calibration none = shipped_calibration();
  none.ops.clear();
  const PlanGaps gaps = find_plan_gaps(shipped_plan("llama3-8b-h100"), none, 0, 2).value();
  for (const PlanGap& gap : gaps.gaps) CHECK(gap.work.coverage == TableCoverage::kNone);
  CHECK(gaps.share == 1);
}

TEST_CASE("plan gaps: where nothing is missing it says so") {
  const PlanGaps none{.step = from_seconds(1)};
  CHECK(plan_gaps_text(none, "p.json") ==
        "Nothing is missing: every op in a step of p.json has its own table.\n");
  CHECK(plan_gaps_json(none, "p.json").dump() ==
        R"({"file":"p.json","step_s":1.0,"share":0.0,"missing":[]})");
}

TEST_CASE("plan gaps: work is named by what a table of it would be of") {
  AskedWork work{.kind = AskedWork::Kind::kGemm, .n = 8, .k = 4, .batch = 2, .precision = Precision::kFp8};
  CHECK(work.name() == "gemm: n 8, k 4, fp8, batch of 2");
  work.batch = 1;
  work.precision = Precision::kFp32;
  CHECK(work.name() == "gemm: n 8, k 4, fp32");
  work = {
      .kind = AskedWork::Kind::kCollective, .collective = Collective::kAllToAll, .ranks = 4, .per_node = 8};
  CHECK(work.name() == "all_to_all: 4 GPUs, 4 per node");
  CHECK(AskedWork{}.name() == "memory-bound kernels");
}

TEST_CASE("plan gaps: products that differ in what they sum over are one work") {
  // 8 experts with tokens of their own: forward m differs, n and k do not; the weights' gradient sums over
  // the tokens.
  const CalibratedCost cost(testing::h200().cluster, testing::h200().lone_kernels, Calibration{});
  AskedStep asked;
  for (std::int64_t tokens = 101; tokens < 109; ++tokens) {
    asked.add(testing::gemm(tokens, 4096, 7168));
    asked.add(testing::gemm(7168, 4096, tokens));
  }
  asked.sort_products(cost);
  REQUIRE(asked.works().size() == 2);
  const AskedWork forward = asked.work_of(testing::gemm(103, 4096, 7168));
  const AskedWork gradient = asked.work_of(testing::gemm(7168, 4096, 103));
  CHECK(forward.name() == "gemm: n 4096, k 7168, 16 bits");
  CHECK(forward.size_key() == "m");
  CHECK(gradient.name() == "gemm: m 7168, n 4096, 16 bits");
  CHECK(gradient.size_key() == "k");
  for (const AskedWork& work : {forward, gradient}) {
    CHECK(asked.works().at(work).least == 101);
    CHECK(asked.works().at(work).most == 108);
  }
}

TEST_CASE("plan gaps: a few products of one m and n are of different layers, and of a table each") {
  const CalibratedCost cost(testing::h200().cluster, testing::h200().lone_kernels, Calibration{});
  AskedStep asked;
  for (const std::int64_t k : {8, 6144, 32000}) asked.add(testing::gemm(4096, 4096, k));
  asked.sort_products(cost);
  CHECK(asked.works().size() == 3);
  CHECK(asked.work_of(testing::gemm(4096, 4096, 8)).name() == "gemm: n 4096, k 8, 16 bits");
}

TEST_CASE("plan gaps: threads change nothing") {
  const TrainingPlan plan = shipped_plan("mixtral-8x7b-h100");
  const PlanGaps one = find_plan_gaps(plan, shipped_calibration(), 0, 1).value();
  const PlanGaps four = find_plan_gaps(plan, shipped_calibration(), 0, 4).value();
  CHECK(plan_gaps_json(one, "p").dump() == plan_gaps_json(four, "p").dump());
}

TEST_CASE("plan gaps: a calibration of another GPU is refused") {
  const Result<PlanGaps> gaps =
      find_plan_gaps(shipped_plan("gpt3-175b-1024-a100"), shipped_calibration(), 0, 2);
  REQUIRE_FALSE(gaps.has_value());
  CHECK(gaps.error().where.pointer == "/machine/gpu");
}

}  // namespace goodput
