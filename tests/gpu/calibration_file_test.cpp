#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "gpu/calibrate/calibration_file.h"
#include "gpu/calibrate/calibration_tables.h"

namespace goodput::gpu::calibrate {
namespace {

JsonValue header_with(const std::string& tier) {
  return parse_json(
      R"({"schema": "goodput.calibration_journal/1","tier": ")" + tier +
      R"(","machine": {"gpu": "NVIDIA H200","sm": 132,"ecc": true,"mig": false,"power_w": 700},)"
      R"("method": {"timer": "events"},"revision": "abc","argv": ["--rounds","2"],"utc": "2026-01-01"})");
}

VisitRecord visit_of(const TableKey& table, std::int64_t size, double median_us, int round = 1) {
  VisitRecord record;
  record.sweep = "a sweep";
  record.key = {table, "m", size};
  record.tier = "measured";
  record.round = round;
  record.visit.us = {50, median_us, 0.75 * median_us, 1.5 * median_us, 0.5 * median_us, median_us, 0.25};
  return record;
}

TableKey gemm(std::int64_t n, const std::string& layout = "") {
  TableKey key{"gemm", {{"n", n}, {"k", std::int64_t{4096}}, {"dtype", std::string("bf16")}}};
  if (!layout.empty()) key.params.push_back({"layout", layout});
  return key;
}

MeasuredPoints points_of(const std::vector<Record>& records) {
  MeasuredPoints points(2);
  for (const Record& record : records) points.add(record);
  return points;
}

// Medians over rounds: 10 and 12 make 11 (20 % apart: unsteady without a third), p05 7.5 and 9, p95 15
// and 18.
TEST_CASE("calibration file: a point is the median over its rounds, n and wrong values are their sums") {
  VisitRecord first = visit_of(gemm(64), 16, 10);
  first.visit.nwrong = 0;
  first.visit.sm_mhz = 1000;
  first.visit.source = "first answer";
  VisitRecord second = visit_of(gemm(64), 16, 12, 2);
  second.visit.sm_mhz = 2000;
  CHECK(calibration_text(header_with("measured"), points_of({first, second, NoteRecord{"a note"}})) == R"({
  "schema": "goodput.calibration/1",
  "machine": {
    "gpu": "NVIDIA H200",
    "sm": 132,
    "ecc": true,
    "mig": false,
    "power_w": 700,
    "sm_mhz": 1500
  },
  "run": {
    "git": "abc",
    "utc": "2026-01-01",
    "argv": [
      "--rounds",
      "2"
    ]
  },
  "method": {
    "timer": "events",
    "notes": "a note"
  },
  "ops": [
    {
      "op": "gemm",
      "params": {
        "n": 64,
        "k": 4096,
        "dtype": "bf16"
      },
      "tier": "measured",
      "source": "first answer",
      "points": [
        {
          "m": 16,
          "median_us": 11,
          "p05_us": 8.25,
          "p95_us": 16.5,
          "min_us": 5,
          "n": 100,
          "cv": 0.25,
          "nwrong": 0,
          "sm_mhz": 1500,
          "unsteady": true
        }
      ]
    }
  ]
}
)");
}

// Rounds of power 600 and 700: 650. The second is the shorter one here: min 5 and 4.
TEST_CASE("calibration file: a point has the least of its rounds, power where it was read, and no zeros") {
  VisitRecord first = visit_of(gemm(64), 16, 10);
  VisitRecord second = visit_of(gemm(64), 16, 8, 2);
  first.visit.power_w = 600;
  second.visit.power_w = 700;
  VisitRecord short_one = visit_of({"launch_gap", {}}, 1, 2);
  short_one.visit.us.p05 = short_one.visit.us.p95 = short_one.visit.us.min = 0;  // less than events resolve
  const JsonValue file =
      parse_json(calibration_text(header_with("measured"), points_of({first, second, short_one})));
  const JsonValue& point = file.at("ops").array()[0].at("points").array()[0];
  CHECK(point.at("min_us").number() == 4);
  CHECK(point.at("power_w").number() == 650);
  const JsonValue& without = file.at("ops").array()[1].at("points").array()[0];
  CHECK(without.at("median_us").number() == 2);
  for (const char* const absent : {"p05_us", "p95_us", "min_us", "power_w", "nwrong", "sm_mhz", "unsteady"})
    CHECK(without.find(absent) == nullptr);
}

TEST_CASE("calibration file: a block that ran is a check with its sizes and parts, and no table") {
  VisitRecord block = visit_of({"moe_layer", {{"hidden", std::int64_t{64}}, {"sustained", true}}}, 16, 10);
  block.key.size_name = "tokens";
  block.visit.nwrong = 0;
  block.visit.power_w = 650;
  block.visit.source = "a dispatcher";
  block.visit.expert_rows = {20, 12};
  block.visit.parts = {{"router", false, 2}, {"router_dgrad", true, 0}};
  VisitRecord wrong = block;
  wrong.key.size = 32;
  wrong.visit.nwrong = 1;
  const std::string text = calibration_text(header_with("measured"), points_of({block, wrong}));
  CHECK(text.substr(text.find("  \"ops\"")) == R"(  "ops": [],
  "checks": [
    {
      "name": "moe_layer hidden=64 sustained tokens=16",
      "block": "moe_layer",
      "params": {
        "hidden": 64,
        "sustained": true,
        "tokens": 16,
        "expert_rows": [
          20,
          12
        ]
      },
      "tier": "measured",
      "source": "a dispatcher",
      "median_us": 10,
      "p05_us": 7.5,
      "p95_us": 15,
      "min_us": 5,
      "n": 50,
      "cv": 0.25,
      "nwrong": 0,
      "power_w": 650,
      "parts": [
        {
          "part": "router",
          "median_us": 2
        },
        {
          "part": "router_dgrad",
          "backward": true,
          "median_us": 0
        }
      ]
    }
  ]
}
)");
  CHECK(text.find("left out: moe_layer hidden=64 sustained tokens=32: 1 wrong values") != std::string::npos);
}

TEST_CASE("calibration file: a third visit decides between two that differ") {
  const MeasuredPoints points =
      points_of({visit_of(gemm(64), 16, 10), visit_of(gemm(64), 16, 12, 2), visit_of(gemm(64), 16, 11.9, 3)});
  const PointSummary summary = points.summary({gemm(64), "m", 16});
  CHECK(summary.visit.us.median == 11.9);
  CHECK(summary.unsteady);
}

TEST_CASE("calibration file: tables by params, points by size, whatever the order they were measured in") {
  const MeasuredTables all = tables_of(
      points_of({visit_of({"norm", {}}, 8, 1), visit_of(gemm(128), 32, 1), visit_of(gemm(64), 32, 1),
                 visit_of(gemm(64), 16, 1), visit_of({"norm", {}}, 4, 1), visit_of(gemm(1000), 16, 1)}));
  REQUIRE(all.tables.size() == 4);
  CHECK(text_of(all.tables[0].key) == "norm");
  CHECK(text_of(all.tables[1].key) == "gemm n=64 k=4096 dtype=bf16");
  CHECK(text_of(all.tables[2].key) == "gemm n=128 k=4096 dtype=bf16");
  CHECK(text_of(all.tables[3].key) == "gemm n=1000 k=4096 dtype=bf16");
  CHECK(all.tables[1].by_size.begin()->first == 16);
}

// 2e9 bytes in 1000 us are 2000 GB/s, in 500 us 4000; 1e12 FLOPs in 2000 us are 500 TFLOP/s.
TEST_CASE("calibration file: a ceiling is the best of those tried, and no table") {
  const auto ceiling = [](const std::string& kernel, const CeilingWork& work, double us) {
    VisitRecord record = visit_of({"ceiling", {{"name", work.name}, {"kernel", kernel}}}, 1, us);
    record.ceiling = work;
    return record;
  };
  const CeilingWork copy{"copy_1r1w_gb_per_s", 2e9};
  VisitRecord wrong = ceiling("c", copy, 1);
  wrong.visit.nwrong = 3;
  const std::vector<Record> records{ceiling("a", copy, 1000), ceiling("b", copy, 500), wrong,
                                    ceiling("d", {"gemm_bf16_tflops", 1e12}, 2000)};
  const MeasuredTables all = tables_of(points_of(records));
  CHECK(all.tables.empty());
  REQUIRE(all.ceilings.size() == 2);
  CHECK(all.ceilings[0].value == 4000);
  CHECK(all.ceilings[1].value == 500);
  CHECK(all.notes ==
        std::vector<std::string>{"left out: ceiling name=copy_1r1w_gb_per_s kernel=c m=1: 3 wrong values"});
  CHECK(calibration_text(header_with("measured"), points_of(records)).find("\"copy_1r1w_gb_per_s\": 4000") !=
        std::string::npos);

  // Of an emulator it is no rate of anything.
  std::vector<Record> emulated = records;
  for (Record& record : emulated) std::get<VisitRecord>(record).tier = "emulated";
  CHECK(calibration_text(header_with("emulated"), points_of(emulated)).find("ceilings") == std::string::npos);
}

TEST_CASE("calibration file: wrong results are left out by name") {
  VisitRecord wrong = visit_of(gemm(64), 32, 10);
  wrong.visit.nwrong = 12;
  const MeasuredTables all = tables_of(points_of({visit_of(gemm(64), 16, 10), wrong}));
  REQUIRE(all.tables.size() == 1);
  CHECK(all.tables[0].by_size.size() == 1);
  CHECK(all.notes == std::vector<std::string>{"left out: gemm n=64 k=4096 dtype=bf16 m=32: 12 wrong values"});
}

TEST_CASE("calibration file: a layout is a table where it differs by more than 5 % at any size") {
  const auto tables = [](double at_32) {
    return tables_of(
        points_of({visit_of(gemm(64), 16, 10), visit_of(gemm(64), 32, 20),
                   visit_of(gemm(64, "dgrad"), 16, 10.4), visit_of(gemm(64, "dgrad"), 32, at_32)}));
  };
  CHECK(tables(20.9).tables.size() == 1);
  CHECK(tables(20.9).notes ==
        std::vector<std::string>{"left out: gemm n=64 k=4096 dtype=bf16 layout=dgrad: within 5 % "
                                 "of the plain table at all sizes"});
  CHECK(tables(21.1).tables.size() == 2);
  CHECK(tables(19).tables.size() == 2);  // 20 / 19 is 5.3 %
  // Nothing to compare with: no plain table, or none of its sizes.
  CHECK(tables_of(points_of({visit_of(gemm(64, "wgrad"), 16, 10)})).tables.size() == 1);
  CHECK(
      tables_of(points_of({visit_of(gemm(64), 16, 10), visit_of(gemm(64, "wgrad"), 32, 10)})).tables.size() ==
      2);
}

TEST_CASE("calibration file: times that are none of a machine at work are refused by name") {
  const auto error_of = [](VisitRecord record, const std::string& tier) -> std::string {
    try {
      static_cast<void>(calibration_text(header_with(tier), points_of({record})));
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  VisitRecord record = visit_of(gemm(64), 16, 10);
  CHECK(error_of(record, "measured").empty());
  record.tier = "emulated";
  CHECK(error_of(record, "measured") ==
        "gemm n=64 k=4096 dtype=bf16 m=16: a time has tier 'emulated', but the other times have tier "
        "'measured'");
  CHECK(error_of(record, "emulated").empty());
  record.tier = "correctness_only";
  CHECK(error_of(record, "measured") ==
        "gemm n=64 k=4096 dtype=bf16 m=16: ranks that share a GPU (correctness_only) take turns, so their "
        "times are not used");
  for (const char* const op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"}) {
    const std::string one = error_of(visit_of({op, {{"ranks", std::int64_t{1}}}}, 16, 10), "measured");
    CHECK(one == std::string(op) +
                     " ranks=1 m=16: a collective with one rank is a copy, which does not use the network");
    CHECK_FALSE(error_of(visit_of({op, {}}, 16, 10), "measured").empty());
    CHECK(error_of(visit_of({op, {{"ranks", std::int64_t{2}}}}, 16, 10), "measured").empty());
  }
}

}  // namespace
}  // namespace goodput::gpu::calibrate
