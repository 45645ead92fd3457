// Prices from measured tables: which table answers, and at which tier.
#include "models/cost/calibrated.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "models/cost/cost_models.h"
#include "sim/base/random.h"
#include "tests/models/cost/cost_case.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using doctest::Approx;
using testing::call_of;
using testing::gemm;
using testing::h200;
using testing::shipped_calibration;

CalibratedCost calibrated(const Calibration& calibration) {
  const auto [cluster, parameters] = h200();
  return {cluster, parameters, calibration};
}

// All-gathers of 10 us up to 1 KiB and 20 us at 4 KiB on 2 GPUs, twice that on 8.
Calibration small() {
  Calibration calibration;
  calibration.machine.gpu = "NVIDIA H200";
  for (const std::int64_t ranks : {2, 8}) {
    const double times = ranks == 2 ? 1 : 2;
    Measurement table;
    table.op = MeasuredOp::kAllGather;
    table.tier = Tier::kMeasured;
    table.params.ranks = ranks;
    table.points = {{.bytes = 1024, .median_us = 10 * times}, {.bytes = 4096, .median_us = 20 * times}};
    calibration.ops.push_back(table);
  }
  return calibration;
}

}  // namespace

// ---- Collectives.

TEST_CASE("calibrated: the table where there is one, log-log between its sizes") {
  const CalibratedCost cost = calibrated(small());
  const auto seconds = [&](double bytes) {
    return cost.collective(call_of(Collective::kAllGather, bytes, 2)).seconds;
  };
  CHECK(seconds(1024) == Approx(10e-6));
  CHECK(seconds(2048) == Approx(std::sqrt(10e-6 * 20e-6)));
  CHECK(seconds(4096) == Approx(20e-6));
  CHECK(seconds(16) == Approx(10e-6));    // below the grid
  CHECK(seconds(7168) == Approx(30e-6));  // 3072 bytes more, as the last 3072
  CHECK(cost.collective(call_of(Collective::kAllGather, 2048, 2)).tier == Tier::kMeasured);
  CHECK(cost.collective(call_of(Collective::kAllGather, 2048, 1)).seconds == 0);
}

TEST_CASE(
    "calibrated: group sizes between two tables are interpolated, at tier model; outside is the roofline") {
  const CalibratedCost cost = calibrated(small());
  const auto [cluster, parameters] = h200();
  const RooflineCost roofline(cluster, parameters);
  const Cost four = cost.collective(call_of(Collective::kAllGather, 1024, 4));
  CHECK(four.seconds == Approx(std::sqrt(10e-6 * 20e-6)));  // 4 is half way from 2 to 8
  CHECK(four.tier == Tier::kModel);
  const CollectiveCall sixteen = call_of(Collective::kAllGather, 1024, 16, 16);
  CHECK(cost.collective(sixteen).seconds == roofline.collective(sixteen).seconds);
  CHECK(cost.collective(sixteen).tier == roofline.collective(sixteen).tier);
  const CollectiveCall other = call_of(Collective::kAllReduce, 1024, 8);
  CHECK(cost.collective(other).seconds == roofline.collective(other).seconds);
}

TEST_CASE("calibrated: over nodes the table answers for the inside, the roofline for the NICs") {
  const CalibratedCost cost = calibrated(small());
  const auto [cluster, parameters] = h200();
  const CollectiveCall call = call_of(Collective::kAllGather, 4096, 32);
  const LinkTime between = collective_times(call, cluster).front().between;
  // 20 us of latency inside. 31/32 through every NVLink where the table's 8 GPUs had 7/8, in 20 us.
  const double inside = 20e-6 * (31.0 / 32) / (7.0 / 8);
  const Cost result = cost.collective(call);
  CHECK(result.seconds == Approx(20e-6 + between.latency + std::max(inside, between.transfer)));
  CHECK(result.tier == lowest(cluster.tier, parameters.tier));
  const CollectiveCall one_a_node = call_of(Collective::kAllGather, 4096, 4, 1);
  CHECK(cost.collective(one_a_node).seconds ==
        RooflineCost(cluster, parameters).collective(one_a_node).seconds);
}

TEST_CASE("calibrated: a table of a group over nodes is for that group only") {
  Calibration calibration = small();
  Measurement table = calibration.ops.front();
  table.params = {.ranks = 16, .per_node = 8};
  calibration.ops.push_back(table);
  const CalibratedCost cost = calibrated(calibration);
  CHECK(cost.collective(call_of(Collective::kAllGather, 1024, 16)).seconds == Approx(10e-6));
  CHECK(cost.collective(call_of(Collective::kAllGather, 1024, 16)).tier == Tier::kMeasured);
  const CollectiveCall twelve = call_of(Collective::kAllGather, 1024, 12, 12);
  CHECK(cost.collective(twelve).tier != Tier::kMeasured);
  CHECK(cost.collective(call_of(Collective::kAllGather, 1024, 24)).tier != Tier::kMeasured);
}

TEST_CASE("calibrated: an unbalanced all-to-all takes as long as a balanced one of its busiest GPU's bytes") {
  const CalibratedCost cost = calibrated(shipped_calibration());
  CollectiveCall call = call_of(Collective::kAllToAll, 3e7, 8);
  const double tripled = cost.collective(call_of(Collective::kAllToAll, 9e7, 8)).seconds;
  call.imbalance = 3;
  CHECK(cost.collective(call).seconds == Approx(tripled));
}

TEST_CASE("calibrated: more bytes never take less time, in a node or over several") {
  const CalibratedCost cost = calibrated(shipped_calibration());
  constexpr std::array kKinds = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                 Collective::kAllToAll, Collective::kSendRecv};
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "calibrated");
    CollectiveCall call{kKinds[random.below(kKinds.size())], std::exp2(random.uniform(0, 34)), {}, 1};
    const auto per_node = static_cast<std::int32_t>(1 + random.below(8));
    call.group = {per_node * static_cast<std::int32_t>(1 + random.below(8)), per_node};
    const double seconds = cost.collective(call).seconds;
    call.bytes *= random.uniform(1, 4);
    CHECK(cost.collective(call).seconds >= seconds * (1 - 1e-12));
  }
}

// ---- Kernels.

TEST_CASE("calibrated: a GEMM of the table takes the table's time, at the table's tier") {
  const CalibratedCost cost = calibrated(shipped_calibration());
  const std::array<Kernel, 1> kernels = {gemm(4096, 4096, 7168)};
  const Cost result = cost.kernels(kernels);
  const double tflops = 2.0 * 4096 * 4096 * 7168 / result.seconds / 1e12;
  MESSAGE(fmt::format("(4096, 4096, 7168): {:.0f} TFLOP/s; the table: 812", tflops));
  CHECK(tflops == Approx(812).epsilon(0.002));
  CHECK(result.tier == Tier::kLiterature);
}

TEST_CASE("calibrated: a GEMM between the families, or beyond their m, is at tier model") {
  const CalibratedCost cost = calibrated(shipped_calibration());
  const auto tier = [&](const Kernel& kernel) { return cost.kernels(std::array{kernel}).tier; };
  CHECK(tier(gemm(4000, 4096, 7168)) == Tier::kLiterature);
  CHECK(tier(gemm(4096, 5000, 7168)) == Tier::kModel);
  CHECK(tier(gemm(100'000, 4096, 7168)) == Tier::kModel);
}

TEST_CASE("calibrated: the only family there is answers for other shapes at tier model, too") {
  Calibration calibration;
  calibration.machine.gpu = "NVIDIA H200";
  calibration.ops = {{.op = MeasuredOp::kGemm,
                      .params = {.n = 4096, .k = 4096, .dtype = MeasuredType::kBf16},
                      .tier = Tier::kMeasured,
                      .points = {{.m = 1024, .median_us = 60}, {.m = 8192, .median_us = 400}}}};
  const CalibratedCost cost = calibrated(calibration);
  const auto tier = [&](const Kernel& kernel) { return cost.kernels(std::array{kernel}).tier; };
  CHECK(tier(gemm(2048, 4096, 4096)) == Tier::kMeasured);
  CHECK(tier(gemm(2048, 4096, 8192)) == Tier::kModel);
}

TEST_CASE("calibrated: kernels without a table are the roofline's, and lower the tier of their sequence") {
  const CalibratedCost cost = calibrated(shipped_calibration());
  const auto [cluster, parameters] = h200();
  const RooflineCost roofline(cluster, parameters);
  const Kernel memory{.kind = Kernel::Kind::kMemory, .bytes = 1e9};
  Kernel grouped = gemm(4096, 4096, 7168);
  grouped.batch = 8;
  Kernel fp8 = gemm(4096, 4096, 7168);
  fp8.precision = Precision::kFp8;
  for (const Kernel& kernel : {memory, grouped, fp8}) {
    CHECK(cost.kernels(std::array{kernel}).seconds == roofline.kernels(std::array{kernel}).seconds);
    CHECK(cost.kernels(std::array{kernel}).tier == parameters.tier);
  }
  const Cost both = cost.kernels(std::array{gemm(4096, 4096, 7168), memory});
  CHECK(both.tier == lowest(Tier::kLiterature, parameters.tier));
  CHECK(cost.kernels({}).seconds == 0);
}

TEST_CASE("calibrated: where launching sets the pace, the answer rests on the launch time") {
  const auto [cluster, given] = h200();
  RooflineParameters parameters = given;
  parameters.launch_us = 1000;
  parameters.tier = Tier::kAssumed;
  const CalibratedCost cost(cluster, parameters, shipped_calibration());
  CHECK(cost.kernels(std::array{gemm(64, 4096, 7168)}).tier == Tier::kAssumed);
}

// ---- Which machine, which file.

// ---- What is from the tables.

TEST_CASE("calibrated: how far a price is from the tables") {
  Calibration calibration = shipped_calibration();  // 2, 4 and 8 GPUs; no sends
  Measurement over_nodes = calibration.ops.front();
  REQUIRE(over_nodes.op == MeasuredOp::kAllGather);
  over_nodes.params.ranks = 16;
  over_nodes.params.per_node = 8;
  calibration.ops.push_back(over_nodes);
  const CalibratedCost cost = calibrated(calibration);
  const auto of_gather = [&](std::int32_t size, std::int32_t per_node) {
    return cost.coverage(call_of(Collective::kAllGather, 1 << 20, size, per_node));
  };
  CHECK(of_gather(4, 8) == TableCoverage::kMeasured);
  CHECK(of_gather(6, 8) == TableCoverage::kCarriedOver);
  CHECK(of_gather(16, 16) == TableCoverage::kNone);
  CHECK(of_gather(16, 8) == TableCoverage::kMeasured);
  CHECK(of_gather(32, 8) == TableCoverage::kInNodes);
  CHECK(of_gather(4, 1) == TableCoverage::kNone);  // nothing inside nodes
  CHECK(cost.coverage(call_of(Collective::kSendRecv, 1024, 2)) == TableCoverage::kNone);
  CHECK(cost.coverage(call_of(Collective::kSendRecv, 1024, 16, 8)) == TableCoverage::kNone);
  CHECK(cost.coverage(gemm(4000, 4096, 7168)) == TableCoverage::kMeasured);
  CHECK(cost.coverage(gemm(100'000, 4096, 7168)) == TableCoverage::kCarriedOver);
  CHECK(cost.coverage(gemm(4000, 4096, 7000)) == TableCoverage::kCarriedOver);
  CHECK(cost.coverage(Kernel{.kind = Kernel::Kind::kMemory, .bytes = 1e9}) == TableCoverage::kNone);
  Calibration none;
  none.machine.gpu = "NVIDIA H200";
  CHECK(calibrated(none).coverage(gemm(4000, 4096, 7168)) == TableCoverage::kNone);
}

TEST_CASE("calibrated: a dispatch schedule takes the time of its table, log-log between tables") {
  Calibration calibration = small();
  CHECK_FALSE(calibrated(calibration).dispatch_schedule(8, 8));
  const auto add = [&](std::int64_t ranks, std::int64_t experts, double us, MeasuredPolicy policy) {
    Measurement table;
    table.op = MeasuredOp::kSchedule;
    table.tier = Tier::kMeasured;
    table.params.ranks = ranks;
    table.params.experts = experts;
    table.params.policy = policy;
    table.points = {{.tokens = 4096, .median_us = us}};
    calibration.ops.push_back(table);
  };
  add(8, 8, 1, MeasuredPolicy::kPacked);
  CHECK_FALSE(calibrated(calibration).dispatch_schedule(8, 8));  // the other policy
  for (const std::int64_t ranks : {8, 128}) {
    const double times = ranks == 8 ? 1 : 4;
    add(ranks, 8, 10 * times, MeasuredPolicy::kProportional);
    add(ranks, 32, 20 * times, MeasuredPolicy::kProportional);
  }
  const CalibratedCost cost = calibrated(calibration);
  const auto us = [&](std::int32_t ranks, std::int32_t experts) {
    return 1e6 * cost.dispatch_schedule(ranks, experts)->seconds;
  };
  CHECK(us(8, 32) == Approx(20));
  CHECK(cost.dispatch_schedule(8, 32)->tier == Tier::kMeasured);
  CHECK(us(8, 16) == Approx(std::sqrt(10.0 * 20.0)));
  CHECK(us(32, 16) == Approx(2 * std::sqrt(10.0 * 20.0)));  // 32 is half way from 8 to 128
  CHECK(cost.dispatch_schedule(32, 16)->tier == Tier::kModel);
  CHECK(us(2, 2) == Approx(10));    // below the grid
  CHECK(us(8, 56) == Approx(20));   // beyond the grid of experts
  CHECK(us(248, 8) == Approx(70));  // 120 ranks more, as from 8 to 128
}

TEST_CASE("calibrated: a GPU is told by the first word with a digit") {
  CHECK(is_same_gpu("NVIDIA H200", "H200 SXM 141GB"));
  CHECK(is_same_gpu("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"));
  CHECK(is_same_gpu("nvidia h200", "H200"));
  CHECK_FALSE(is_same_gpu("NVIDIA H200", "H100 SXM5 80GB"));
  CHECK_FALSE(is_same_gpu("NVIDIA A100-SXM4-80GB", "H100 80GB"));
}

TEST_CASE(
    "calibrated: tables of another GPU are refused, unless it may stand for the cluster's: at tier assumed") {
  auto [cluster, parameters] = h200();
  cluster.gpu.name = "A100 SXM4 80GB";
  CHECK(check_machine(shipped_calibration(), cluster).error().message() ==
        "/machine/gpu: is \"NVIDIA H200\", but the cluster has GPU \"A100 SXM4 80GB\"; measure the GPU of "
        "the cluster, or add that GPU to \"stands_for\"");
  cluster.gpu.name = "H100 SXM5 80GB";
  CHECK(check_machine(shipped_calibration(), cluster));
  Calibration slice = shipped_calibration();
  slice.machine.mig = true;
  CHECK(check_machine(slice, cluster).error().message() ==
        "/machine/mig: is true: these times are from a part of a GPU (a MIG instance) and do not apply to a "
        "whole GPU; measure without MIG");
  slice.machine.mig = false;
  CHECK(check_machine(slice, cluster));
  const CalibratedCost cost(cluster, parameters, shipped_calibration());
  CHECK(cost.collective(call_of(Collective::kAllGather, 1e6, 8)).tier == Tier::kAssumed);
  CHECK(cost.kernels(std::array{gemm(4096, 4096, 7168)}).tier == Tier::kAssumed);
}

TEST_CASE("calibrated: the default goes by its name; without it or with a wrong one it says so") {
  TrainingPlan plan;
  const auto [cluster, parameters] = h200();
  plan.cluster = cluster;
  plan.cost_model = "calibrated";
  plan.file = GOODPUT_CONFIGS "/plans/some.json";
  CHECK(make_cost_model(cost_inputs(plan)));
  const TemporaryFile lonely("plan.json", "{}");
  plan.file = lonely.path();
  const std::string message = make_cost_model(cost_inputs(plan)).error().message();
  CHECK(message.starts_with(lonely.path() +
                            " /cost/calibration: is missing, and the default cannot be used: no "
                            "calibration \"h200-public\"; looked in "));
  plan.library.folders = {GOODPUT_CONFIGS};
  CHECK(make_cost_model(cost_inputs(plan)));
  plan.calibration = "h200-public";
  CHECK(make_cost_model(cost_inputs(plan)));
  const TemporaryFile wrong("c.json",
                            R"({"schema": "goodput.calibration/1", "machine": {"gpu": "A9"}, "ops": []})");
  plan.calibration = wrong.path();
  CHECK(without_path(make_cost_model(cost_inputs(plan)).error().message(), wrong) ==
        " /machine/gpu: is \"A9\", but the cluster has GPU \"H200 SXM 141GB\"; measure the GPU of the "
        "cluster, or add that GPU to \"stands_for\"");
  plan.calibration = "/nowhere/c.json";
  CHECK(make_cost_model(cost_inputs(plan)).error().message() == "/nowhere/c.json: no such file");
}

}  // namespace goodput
