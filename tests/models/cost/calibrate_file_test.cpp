// What goodput-calibrate writes: read back whole, and misread by nobody.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "models/cost/calibrated.h"
#include "sim/base/json.h"
#include "tests/models/cost/calibrate_file.h"
#include "tests/models/cost/cost_case.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using testing::call_of;
using testing::gemm;
using testing::h200;
using testing::kCalibrateFile;
using testing::shipped_calibration;

Calibration calibrate_file() {
  return read_calibration(TemporaryFile("h200.json", kCalibrateFile).path()).value();
}

// The only table of the file with such params.
const Measurement& table_with(const Calibration& file, MeasuredOp op, const MeasuredParams& params) {
  for (const Measurement& table : file.ops) {
    if (table.op == op && table.params == params) return table;
  }
  FAIL("no such table");
  return file.ops.front();
}

// The message for the file after `from` was replaced, without the path of its file.
std::string problem_after(std::string_view from, std::string_view to) {
  std::string text(kCalibrateFile);
  REQUIRE(text.find(from) != std::string::npos);
  text.replace(text.find(from), from.size(), to);
  const TemporaryFile file("h200.json", text);
  const auto calibration = read_calibration(file.path());
  return calibration ? "" : without_path(calibration.error().message(), file);
}

}  // namespace

TEST_CASE("calibrate file: every key is read") {
  const Calibration file = calibrate_file();
  CHECK(file.machine.power_w == 700);
  CHECK(file.machine.ecc == true);
  CHECK(file.machine.mig == false);  // which is more than not known
  const MeasuredParams bf16{.n = 4096, .k = 4096, .dtype = MeasuredType::kBf16};
  const Measurement& plain = table_with(file, MeasuredOp::kGemm, bf16);
  CHECK(plain.points[0].sm_mhz == 1980);
  CHECK_FALSE(plain.points[0].is_unsteady);
  CHECK(plain.points[1].is_unsteady);
  MeasuredParams params = bf16;
  params.is_sustained = true;
  CHECK(table_with(file, MeasuredOp::kGemm, params).points[0].median_us == 410);
  CHECK(table_with(file, MeasuredOp::kGemm, params).points[0].power_w == 690);
  params = bf16;
  params.layout = MeasuredLayout::kInputGradient;
  CHECK(table_with(file, MeasuredOp::kGemm, params).points[0].median_us == 340);
  params.layout = MeasuredLayout::kWeightGradient;
  CHECK(table_with(file, MeasuredOp::kGemm, params).points[0].median_us == 380);
  params = bf16;
  params.beside_copy = MeasuredCopy::kD2h;
  CHECK(table_with(file, MeasuredOp::kGemm, params).points[0].median_us == 350);
  params = {.n = 4096, .k = 14336, .experts = 8, .dtype = MeasuredType::kBf16, .loads = "smartmoe-like"};
  CHECK(table_with(file, MeasuredOp::kGroupedGemm, params).points[0].median_us == 1500);
  params = {.ranks = 8, .experts = 64, .policy = MeasuredPolicy::kPacked};
  CHECK(table_with(file, MeasuredOp::kSchedule, params).points[0].median_us == 14);
  params = {.top_k = 2, .hidden = 4096, .is_backward = true};
  CHECK(table_with(file, MeasuredOp::kPermute, params).points[0].median_us == 30);
  params = {.hidden = 4096, .dtype = MeasuredType::kBf16, .norm = MeasuredNorm::kRms};
  CHECK(table_with(file, MeasuredOp::kNorm, params).points[0].tokens == 4096);
  params = {.heads = 32, .kv_heads = 8, .head_dim = 128, .dtype = MeasuredType::kBf16, .is_causal = true};
  CHECK(table_with(file, MeasuredOp::kAttention, params).source == "torch 2.9: flash");
  CHECK(table_with(file, MeasuredOp::kEmptyKernel, {}).points[0].median_us == 1.5);
  REQUIRE(file.checks.size() == 3);
  CHECK(file.checks[0] == MeasuredCheck{.name = "llama3-8b, one layer",
                                        .source = "torch 2.9",
                                        .median_us = 9000,
                                        .p05_us = 8900,
                                        .p95_us = 9200,
                                        .min_us = 8800,
                                        .cv = 0.01,
                                        .samples = 20,
                                        .tier = Tier::kMeasured});
}

TEST_CASE(
    "calibrate file: a block that ran has its sizes, the rows of its experts and the times of its parts") {
  const Calibration file = calibrate_file();
  const MeasuredCheck& moe = file.checks.at(1);
  CHECK(moe.block == MeasuredBlock::kMoeLayer);
  CHECK(moe.params == BlockParams{.model = "mixtral-8x7b",
                                  .tokens = 4096,
                                  .hidden = 4096,
                                  .ffn = 14336,
                                  .experts = 8,
                                  .top_k = 2,
                                  .ranks = 8,
                                  .slots = 2,
                                  .loads = "ratio",
                                  .dispatch = MeasuredDispatch::kFlexible,
                                  .dtype = MeasuredType::kBf16,
                                  .is_gated = true,
                                  .load_ratio = 3,
                                  .is_sustained = true,
                                  .expert_rows = {8192, 0}});
  CHECK(moe.parts == std::vector<MeasuredPart>{{"router", false, 12}, {"router_dgrad", true, 0}});
  CHECK(moe.sm_mhz == 1410);
  CHECK(moe.power_w == 699);
  CHECK(moe.is_unsteady);
  const MeasuredCheck& dense = file.checks.at(2);
  CHECK(dense.block == MeasuredBlock::kDenseLayer);
  CHECK(dense.params == BlockParams{.tokens = 4096,
                                    .hidden = 8192,
                                    .ffn = 28672,
                                    .heads = 64,
                                    .kv_heads = 8,
                                    .head_dim = 128,
                                    .tp = 4});
  CHECK(dense.parts.empty());
}

TEST_CASE("calibrate file: what was read is written with the same keys and values") {
  Calibration file = calibrate_file();
  Json expected = Json::parse(kCalibrateFile);
  for (Json& op : expected["ops"]) {
    if (!op.contains("params")) op["params"] = Json::object();
    for (Json& point : op["points"]) point.erase("nwrong");  // 0, or it would not have been read
  }
  const auto written = Json::parse(config::write(config_fields(file)).dump());
  CHECK(written == expected);
}

TEST_CASE("calibrate file: flags of a machine that nobody asked are neither true nor false") {
  const TemporaryFile path(
      "h.json", R"({"schema": "goodput.calibration/1", "machine": {"gpu": "NVIDIA H200"}, "ops": []})");
  Calibration file = read_calibration(path.path()).value();
  CHECK_FALSE(file.machine.ecc.has_value());
  CHECK_FALSE(config::write(config_fields(file.machine)).contains("mig"));
}

TEST_CASE("calibrate file: words and numbers that are none are refused") {
  CHECK(problem_after(R"("kind": "rms")", R"("kind": "batch")") ==
        R"( /ops/18/params/kind: must be one of "rms", "layer", not "batch")");
  CHECK(problem_after(R"("layout": "dgrad")", R"("layout": "forward")") ==
        R"( /ops/2/params/layout: must be one of "dgrad", "wgrad", not "forward")");
  CHECK(
      problem_after(R"("policy": "packed")", R"("policy": "packd")") ==
      R"( /ops/10/params/policy: must be one of "proportional", "packed", not "packd"; did you mean "packed"?)");
  CHECK(problem_after(R"("beside_copy": "d2h")", R"("beside_copy": true)") ==
        R"( /ops/4/params/beside_copy: must be one of "copy", "d2h", "h2d", not true)");
  CHECK(problem_after(R"("loads": "smartmoe-like")", R"("loads": 2)") ==
        " /ops/7/params/loads: must be a string, not 2");
  CHECK(problem_after(R"("kv_heads": 8)", R"("kv_heads": 0)") ==
        " /ops/20/params/kv_heads: must be an integer from 1 to 1000000000000000, not 0");
  CHECK(problem_after(R"("sustained": true)", R"("sustained": 3)") ==
        " /ops/1/params/sustained: must be true or false, not 3");
  CHECK(problem_after(R"("unsteady": true)", R"("unsteady": 1)") ==
        " /ops/0/points/1/unsteady: must be true or false, not 1");
  CHECK(problem_after(R"("sm_mhz": 1500)", R"("sm_mhz": -1)") ==
        " /ops/1/points/0/sm_mhz: must be a number above 0, not -1");
  CHECK(problem_after(R"("mig": false)", R"("mig": "off")") ==
        R"( /machine/mig: must be true or false, not "off")");
  CHECK(problem_after(R"("power_w": 700)", R"("power_w": 0)") ==
        " /machine/power_w: must be a number above 0, not 0");
  CHECK(problem_after(R"("hidden": 4096, "dtype": "bf16", "kind": "rms")", R"("hidden": 4096)") ==
        R"( /ops/18/params/dtype: is missing; op "norm" requires it)");
  CHECK(problem_after(R"([{"median_us": 1.5}])", R"([{"tokens": 1, "median_us": 1.5}])") ==
        R"( /ops/14/points: must be one point without a size for op "empty_kernel")");
}

TEST_CASE("calibrate file: a check has a name, a time and a tier") {
  CHECK(problem_after(R"("name": "llama3-8b, one layer", )", "") ==
        " /checks/0/name: is missing; it must be a string");
  CHECK(problem_after(R"("median_us": 9000, )", "") ==
        " /checks/0/median_us: is missing; it must be a number above 0");
  CHECK(problem_after(R"("median_us": 9000, )", R"("median_us": 8000, )") ==
        " /checks/0/median_us: must be at least p05_us and min_us (8900), not 8000");
  CHECK(problem_after(R"("cv": 0.01, "tier": "measured"})", R"("cv": 0.01})") ==
        " /checks/0/tier: is missing; state where the times come from");
}

TEST_CASE("calibrate file: words and numbers of a block that are none are refused") {
  CHECK(problem_after(R"("block": "moe_layer")", R"("block": "moe")") ==
        R"( /checks/1/block: must be one of "dense_layer", "moe_layer", not "moe")");
  CHECK(problem_after(R"("dispatch": "flexible")", R"("dispatch": "full")") ==
        R"( /checks/1/params/dispatch: must be one of "flexible", "padded", not "full")");
  CHECK(problem_after(R"("slots": 2)", R"("slots": 0)") ==
        " /checks/1/params/slots: must be an integer from 1 to 1000000000000000, not 0");
  CHECK(problem_after(R"("expert_rows": [8192, 0])", R"("expert_rows": [8192, -1])") ==
        " /checks/1/params/expert_rows/1: must be an integer from 0 to 2147483647, not -1");
  CHECK(problem_after(R"({"part": "router", "median_us": 12})", R"({"median_us": 12})") ==
        " /checks/1/parts/0/part: is missing; it must be a string");
  CHECK(problem_after(R"({"part": "router", "median_us": 12})", R"({"part": "router", "median_us": -1})") ==
        " /checks/1/parts/0/median_us: must be a number of at least 0, not -1");
  CHECK(problem_after(R"("unsteady": true, "tier": "measured",)", R"("nwrong": 2, "tier": "measured",)") ==
        " /checks/1/nwrong: must be 0, not 2: the times of a point with wrong results are not valid");
}

TEST_CASE("calibrate file: emulated times are refused by name") {
  const std::string why = R"(/tier: "emulated" times cannot be used: the kernels ran on a CPU, not on a GPU)";
  CHECK(problem_after(R"("tier": "measured", "source": "cublasLt")", R"("tier": "emulated")") ==
        " /ops/0" + why);
  CHECK(problem_after(R"("cv": 0.01, "tier": "measured"})", R"("cv": 0.01, "tier": "emulated"})") ==
        " /checks/0" + why);
}

TEST_CASE("calibrate file: tables of other manners of an op move no price") {
  // The shipped tables, and before them those of other manners with times that would be noticed.
  Calibration more = shipped_calibration();
  const auto add_in_front = [&more](const Measurement& table, MeasuredParams params) {
    Measurement other = table;
    other.params = std::move(params);
    for (MeasuredPoint& point : other.points) point.median_us *= 100;
    more.ops.insert(more.ops.begin(), other);
  };
  for (const Measurement& table : shipped_calibration().ops) {
    std::vector<MeasuredParams> manners(9, table.params);
    manners[0].is_sustained = true;
    manners[1].layout = MeasuredLayout::kWeightGradient;
    manners[2].beside_copy = MeasuredCopy::kCopy;
    manners[3].is_backward = true;
    manners[4].is_beside_gemm = true;
    manners[5].loads = "smartmoe-like";
    manners[6].policy = MeasuredPolicy::kPacked;
    manners[7].is_causal = true;
    manners[8].norm = MeasuredNorm::kLayer;
    for (const MeasuredParams& manner : manners) add_in_front(table, manner);
  }
  Measurement kernel{.op = MeasuredOp::kEmptyKernel, .points = {{.median_us = 1}}};
  more.ops.insert(more.ops.begin(), kernel);
  const auto [cluster, parameters] = h200();
  const CalibratedCost shipped(cluster, parameters, shipped_calibration());
  const CalibratedCost with_more(cluster, parameters, more);
  for (const Measurement& table : shipped_calibration().ops) {
    for (const MeasuredPoint& point : table.points) {
      if (table.op == MeasuredOp::kGemm) {
        const Kernel kernels[] = {gemm(point.m, table.params.n, table.params.k)};
        CHECK(with_more.kernels(kernels).seconds == shipped.kernels(kernels).seconds);
        CHECK(with_more.kernels(kernels).tier == shipped.kernels(kernels).tier);
      } else {
        for (const std::int32_t ranks : {2, 3, 8, 32}) {
          const CollectiveCall call =
              call_of(static_cast<Collective>(table.op), static_cast<double>(point.bytes), ranks);
          CHECK(with_more.collective(call).seconds == shipped.collective(call).seconds);
          CHECK(with_more.collective(call).tier == shipped.collective(call).tier);
        }
      }
    }
  }
}

}  // namespace goodput
