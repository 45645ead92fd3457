// Tables as people see them: names, sizes, lines with the bandwidth that nccl-tests would show.
#include "tools/calibration/calibration_info.h"

#include <doctest/doctest.h>

#include <string>

#include "sim/base/json.h"
#include "tests/models/cost/calibrate_file.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/calibration/table_text.h"

namespace goodput {
namespace {

using doctest::Approx;

// 5 us and a microsecond for every `per_us` units, at four sizes.
Measurement line_table(MeasuredOp op, MeasuredParams params, std::int64_t MeasuredPoint::*size,
                       double per_us) {
  Measurement table{.op = op, .params = std::move(params), .tier = Tier::kMeasured};
  for (std::int64_t step = 1; step <= 1000; step *= 10) {
    MeasuredPoint& point = table.points.emplace_back();
    point.*size = 1'000'000 * step;
    point.median_us = 5 + static_cast<double>(point.size()) / per_us;
  }
  return table;
}

// Of its last segment.
std::optional<double> bandwidth_of(const Measurement& table) {
  Calibration calibration;
  calibration.ops = {table};
  const std::vector<TableInfo> infos = table_infos(calibration);
  REQUIRE(infos.size() == 1);
  REQUIRE(infos[0].fit.size() == 2);
  CHECK(infos[0].fit[1].alpha == Approx(5));
  return infos[0].bus_gb_per_s(infos[0].fit[1]);
}
std::optional<double> bandwidth_of(MeasuredOp op) {
  return bandwidth_of(line_table(op, {.ranks = 8}, &MeasuredPoint::bytes, 1e5));
}

}  // namespace

TEST_CASE("calibration info: bus bandwidth is what nccl-tests define") {
  // 100'000 bytes a microsecond are 100 GB/s of the buffer; over the links go 2 (8-1)/8 or (8-1)/8 of it.
  CHECK(bandwidth_of(MeasuredOp::kAllReduce).value() == Approx(175));
  CHECK(bandwidth_of(MeasuredOp::kAllGather).value() == Approx(87.5));
  CHECK(bandwidth_of(MeasuredOp::kReduceScatter).value() == Approx(87.5));
  CHECK(bandwidth_of(MeasuredOp::kAllToAll).value() == Approx(87.5));
  CHECK(bandwidth_of(MeasuredOp::kSendRecv).value() == Approx(100));
  CHECK(bandwidth_of(MeasuredOp::kCopy).value() == Approx(100));
  CHECK(bandwidth_of(MeasuredOp::kD2h).value() == Approx(100));
}

TEST_CASE("calibration info: what has no bytes, or does not rise with them, has no bandwidth") {
  const auto by_m =
      line_table(MeasuredOp::kGemm, {.n = 8, .k = 8, .dtype = MeasuredType::kBf16}, &MeasuredPoint::m, 1e5);
  CHECK_FALSE(bandwidth_of(by_m).has_value());
  Measurement flat = line_table(MeasuredOp::kCopy, {}, &MeasuredPoint::bytes, 1e5);
  for (MeasuredPoint& point : flat.points) point.median_us = 5;
  CHECK_FALSE(bandwidth_of(flat).has_value());
  Calibration calibration;
  calibration.machine.gpu = "NVIDIA H200";
  calibration.ops = {flat};
  CHECK(calibration_info_text(calibration, "f").find("5 us     -") != std::string::npos);
  OrderedJson json;
  add_calibration_info_json(calibration, json);
  CHECK(json["tables"][0]["fit"][1]["GBps_bus"].is_null());
  CHECK(json["tables"][0]["source"].is_null());
}

TEST_CASE("calibration info: a table is named by its op and what tells it from others") {
  CHECK(table_name({.op = MeasuredOp::kLaunchGap}) == "launch_gap");
  CHECK(table_name({.op = MeasuredOp::kD2h, .params = {.is_pinned = true, .is_beside_gemm = true}}) ==
        "d2h: pinned, beside_gemm");
  CHECK(
      table_name({.op = MeasuredOp::kGroupedGemm,
                  .params = {.n = 1, .k = 2, .experts = 3, .dtype = MeasuredType::kFp8, .loads = "a\nb"}}) ==
      "grouped_gemm: n 1, k 2, experts 3, dtype fp8, loads a\\x0ab");
}

TEST_CASE("calibration info: sizes in the units that people count in") {
  CHECK(bytes_text(512) == "512 B");
  CHECK(bytes_text(1 << 20) == "1 MiB");
  CHECK(bytes_text(1.5 * (1 << 30)) == "1.5 GiB");
  CHECK(bytes_text(1e15) == "909.5 TiB");
  CHECK(size_text(MeasuredOp::kCopy, 65536) == "64 KiB");
  CHECK(size_text(MeasuredOp::kGemm, 16384) == "16384");
  CHECK(size_text(MeasuredOp::kNorm, 512) == "512");
  CHECK(size_text(MeasuredOp::kEmptyKernel, 0).empty());
}

TEST_CASE("calibration info: of a file by goodput-calibrate every table is told") {
  const TemporaryFile file("h200.json", testing::kCalibrateFile);
  const Calibration calibration = read_calibration(file.path()).value();
  const std::vector<TableInfo> infos = table_infos(calibration);
  REQUIRE(infos.size() == calibration.ops.size());
  CHECK(infos[0].unsteady == 1);
  CHECK(infos[0].left_out->points == 2);
  CHECK(infos[1].fit.empty());  // one point
  const std::string text = calibration_info_text(calibration, "h200.json");
  CHECK(text.starts_with("h200.json: NVIDIA H200, 22 tables with 28 points, 3 checks\n"));
  CHECK(text.find("1980 MHz, memory at 3201 MHz, up to 700 W, ECC on, MIG off, driver 570.1, CUDA 13.0, NCCL "
                  "2.28.9") != std::string::npos);
  CHECK(text.ends_with("\nLowest tier: measured\n"));
  OrderedJson json;
  add_calibration_info_json(calibration, json);
  CHECK(json["machine"]["mig"] == false);
  CHECK(json["tables"].size() == 22);
  CHECK(json["tables"][3]["params"]["layout"] == "wgrad");
  CHECK(json["tables"][14]["size"].is_null());
}

}  // namespace goodput
