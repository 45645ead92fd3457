// Two calibrations of one GPU as one, and the file that is written of it.
#include "tools/calibration/merge_calibrations.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/models/cost/calibrate_file.h"
#include "tests/models/cost/cost_case.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using testing::shipped_calibration;

Calibration file_of_calibrate() {
  return read_calibration(TemporaryFile("h200.json", testing::kCalibrateFile).path()).value();
}
Calibration read_back(const Calibration& calibration) {
  return read_calibration(TemporaryFile("c.json", calibration_file_text(calibration)).path()).value();
}

Measurement table_of(MeasuredOp op, double time, std::string source) {
  return {.op = op,
          .tier = Tier::kMeasured,
          .source = std::move(source),
          .points = {{.bytes = 8, .median_us = time}}};
}

}  // namespace

TEST_CASE("merge calibrations: what is written reads back as it was, whatever it holds") {
  CHECK(read_back(file_of_calibrate()) == file_of_calibrate());
  CHECK(read_back(shipped_calibration()) == shipped_calibration());
  Calibration empty;
  empty.machine.gpu = "NVIDIA H200";
  CHECK(read_back(empty) == empty);
  Calibration hostile = file_of_calibrate();
  hostile.source = "\"quotes\", \\ and a\nbreak";
  CHECK(read_back(hostile) == hostile);
}

TEST_CASE("merge calibrations: tables of the first count, of the second those it has besides") {
  Calibration first;
  first.machine.gpu = "NVIDIA H200";
  first.ops = {table_of(MeasuredOp::kCopy, 1, "mine")};
  Calibration second = first;
  second.ops = {table_of(MeasuredOp::kH2d, 3, ""), table_of(MeasuredOp::kCopy, 2, "theirs")};
  second.source = "their file";
  const MergedCalibration merged = merge_calibrations(first, second, "b.json").value();
  REQUIRE(merged.calibration.ops.size() == 2);
  CHECK(merged.calibration.ops[0] == first.ops[0]);
  CHECK(merged.calibration.ops[1].points[0].median_us == 3);
  CHECK(merged.calibration.ops[1].source == "their file");  // the table has none of its own
  CHECK(merged.from_second.tables == 1);
  CHECK(merged.from_second.known == 1);
  CHECK(merged.calibration.source == "1 table from b.json: their file");
  CHECK(merged.calibration.method.notes == "1 table from b.json (NVIDIA H200)");
}

TEST_CASE("merge calibrations: machine, run and method are of the first, and so are numbers that both have") {
  Calibration first = file_of_calibrate();
  Calibration second = file_of_calibrate();
  second.machine.sm_mhz = 1;
  second.run.git = "other";
  second.method.timer = "other";
  second.licence = "CC0";
  second.ceilings = {1, 1, 1};
  second.checks[0].median_us = 1;
  second.assumed[0].value = 0.6;
  second.assumed.push_back({.name = "another", .value = 2});
  second.checks.push_back({.name = "another step", .median_us = 2});
  first.ceilings.copy_1r8w_gb_per_s = 0;  // not measured
  const MergedCalibration merged = merge_calibrations(first, second, "b.json").value();
  const Calibration& result = merged.calibration;
  CHECK(result.machine == first.machine);
  CHECK(result.run == first.run);
  CHECK(result.method.timer == "events");
  CHECK(result.ceilings == MeasuredCeilings{4300, 1, 812});
  REQUIRE(result.checks.size() == 4);
  CHECK(result.checks[0] == first.checks[0]);
  CHECK(result.checks[3].name == "another step");
  REQUIRE(result.assumed.size() == 2);
  CHECK(result.assumed[0] == first.assumed[0]);
  CHECK(result.licence == "1 check, 1 assumed value, 1 ceiling from b.json: CC0");
  CHECK(result.method.notes ==
        "-; 1 check, 1 assumed value, 1 ceiling from b.json (NVIDIA H200, 2026-01-01T00:00:00Z, revision "
        "other)");
  CHECK(read_back(result) == result);
}

TEST_CASE("merge calibrations: with itself a file stays as it is, but that tables have the file's source") {
  Calibration expected = file_of_calibrate();
  for (Measurement& table : expected.ops) {
    if (table.source.empty()) table.source = "goodput-calibrate";
  }
  const MergedCalibration merged =
      merge_calibrations(file_of_calibrate(), file_of_calibrate(), "b.json").value();
  CHECK(merged.calibration == expected);
  CHECK_FALSE(merged.from_second.is_any());
  CHECK(merged.from_second.known == expected.ops.size());
}

TEST_CASE("merge calibrations: a licence that both have is said once, one that the second lacks not at all") {
  Calibration first;
  first.machine.gpu = "NVIDIA H200";
  first.licence = "CC0";
  Calibration second = first;
  second.ops = {table_of(MeasuredOp::kCopy, 1, "")};
  CHECK(merge_calibrations(first, second, "b.json")->calibration.licence == "CC0");
  second.licence.clear();
  CHECK(merge_calibrations(first, second, "b.json")->calibration.licence == "CC0");
  second.licence = "MIT";
  CHECK(merge_calibrations(first, second, "b.json")->calibration.licence == "CC0; 1 table from b.json: MIT");
}

TEST_CASE("merge calibrations: tiers stay what they are") {
  const Calibration merged =
      merge_calibrations(file_of_calibrate(), shipped_calibration(), "h200-public.json")->calibration;
  std::size_t literature = 0;
  for (const Measurement& table : merged.ops) literature += table.tier == Tier::kLiterature ? 1 : 0;
  CHECK(literature == shipped_calibration().ops.size() - 1);  // both have the plain gemm of 4096 x 4096
  CHECK(merged.licence == "20 tables from h200-public.json: Apache-2.0");
  CHECK(read_back(merged) == merged);
}

TEST_CASE("merge calibrations: another GPU, or a part of one, is refused") {
  const Calibration first = file_of_calibrate();
  Calibration second = first;
  second.machine.gpu = "NVIDIA H100";
  const Error other = merge_calibrations(first, second, "b.json").error();
  CHECK(
      other.message() ==
      R"(/machine/gpu: is "NVIDIA H100", but the first file was measured on "NVIDIA H200"; only tables of the same GPU can be merged)");
  second = first;
  second.machine.multiprocessors = 60;
  CHECK(merge_calibrations(first, second, "b.json").error().where.pointer == "/machine/sm");
  second.machine.multiprocessors = 0;  // not stated
  CHECK(merge_calibrations(first, second, "b.json").has_value());
}

TEST_CASE("merge calibrations: a name that is no UTF-8 leaves a file that can be read") {
  Calibration first;
  first.machine.gpu = "NVIDIA H200";
  Calibration second = first;
  second.ops = {table_of(MeasuredOp::kCopy, 1, "")};
  const Calibration merged = merge_calibrations(first, second, "b\xff.json")->calibration;
  CHECK(read_back(merged).ops == merged.ops);
}

}  // namespace goodput
