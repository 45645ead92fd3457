// Calibration files: what is read, what is refused, and that writing loses nothing.
#include "models/cost/calibration.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

constexpr std::string_view kPoints = R"([{"bytes": 1024, "median_us": 5}, {"bytes": 2048, "median_us": 6}])";

// A file with one all-gather table.
std::string file_with(std::string_view op) {
  return R"({"schema": "goodput.calibration/1", "machine": {"gpu": "NVIDIA H200"}, "ops": [)" +
         std::string(op) + "]}";
}
std::string all_gather(std::string_view params, std::string_view points = kPoints,
                       std::string_view more = R"("tier": "measured")") {
  return R"({"op": "all_gather", "params": )" + std::string(params) + R"(, "points": )" +
         std::string(points) + ", " + std::string(more) + "}";
}

// The message without the path of its file, or "" where the text is fine.
std::string problem(std::string_view text) {
  const TemporaryFile file("h.json", text);
  const auto calibration = read_calibration(file.path());
  return calibration ? "" : without_path(calibration.error().message(), file);
}
std::string problem_with(std::string_view op) {
  return problem(file_with(op));
}
std::string problem_with_points(std::string_view points) {
  return problem_with(all_gather(R"({"ranks": 8})", points));
}

Calibration read_text(std::string_view text) {
  const TemporaryFile file("h.json", text);
  return read_calibration(file.path()).value();
}

}  // namespace

// As a file of it would be.
std::string written(const Calibration& calibration) {
  Calibration copy = calibration;
  OrderedJson written = config::write(config_fields(copy));
  if (!written.contains("ops")) written["ops"] = OrderedJson::array();
  return written.dump(1) + '\n';
}

TEST_CASE("calibration: a measurement is read with its shape, points, fit and tier") {
  const Calibration calibration = read_text(file_with(
      R"({"op": "gemm", "tier": "measured", "params": {"n": 4096, "k": 7168, "dtype": "bf16"}, "source": "here",
          "points": [{"m": 64, "median_us": 18.8, "p05_us": 18.5, "p95_us": 19.5, "min_us": 18.4, "n": 50,
                      "cv": 0.02, "nwrong": 0}],
          "fit": [{"lo": 1, "hi": 2, "alpha_us": 3, "GBps_bus": 4, "max_rel": 0.1}]})"));
  REQUIRE(calibration.ops.size() == 1);
  const Measurement& gemm = calibration.ops.front();
  CHECK(gemm.op == MeasuredOp::kGemm);
  CHECK(gemm.tier == Tier::kMeasured);
  CHECK(gemm.source == "here");
  CHECK(gemm.params == MeasuredParams{.n = 4096, .k = 7168, .dtype = MeasuredType::kBf16});
  CHECK(gemm.points.front() == MeasuredPoint{.m = 64,
                                             .median_us = 18.8,
                                             .p05_us = 18.5,
                                             .p95_us = 19.5,
                                             .min_us = 18.4,
                                             .cv = 0.02,
                                             .samples = 50});
  CHECK(gemm.points.front().size() == 64);
  CHECK(gemm.fit.front() == MeasuredFit{1, 2, 3, 4, 0.1});
}

TEST_CASE("calibration: what a cut-short run left is a valid file, and all detail is optional") {
  CHECK(problem(R"({"schema": "goodput.calibration/1", "machine": {"gpu": "NVIDIA H200"}, "ops": []})")
            .empty());
  CHECK(problem_with(all_gather(R"({"ranks": 8})")).empty());
  CHECK(problem_with(R"({"op": "launch_gap", "tier": "measured", "points": [{"median_us": 2}]})").empty());
}

TEST_CASE("calibration: machine, run, method, ceilings and assumed numbers are kept, and written as read") {
  const Calibration calibration =
      read_text(R"({"schema": "goodput.calibration/1", "source": "s", "licence": "l",
      "machine": {"gpu": "NVIDIA H200", "stands_for": ["H100"], "gpus": 8, "sm": 132, "hbm_gib": 139.8,
                  "driver": "d", "cuda": "13.0", "nccl": "2.28.9", "sm_mhz": 1980, "memory_mhz": 3201,
                  "bf16_tflops": 989.4, "memory_gb_per_s": 4800},
      "run": {"git": "abc", "utc": "2026-01-01T00:00:00Z", "argv": ["goodput-calibrate", "--all"]},
      "method": {"warm_up": 20, "samples": 50, "timer": "events", "caches": "rotated", "stop": "cv",
                 "notes": "n"},
      "ceilings": {"copy_1r1w_gb_per_s": 4300, "copy_1r8w_gb_per_s": 4400, "gemm_bf16_tflops": 812},
      "ops": [{"op": "h2d", "tier": "measured", "params": {"pinned": true, "beside_gemm": true},
               "points": [{"bytes": 1048576, "median_us": 30}]}],
      "assumed": [{"name": "all_to_all_peer_us", "value": 1, "range": [0.5, 2], "tier": "assumed",
                   "cite": "c"}]})");
  CHECK(calibration.machine.stands_for == std::vector<std::string>{"H100"});
  CHECK(calibration.machine.sm_mhz == 1980);
  CHECK(calibration.run.argv.size() == 2);
  CHECK(calibration.method.samples == 50);
  CHECK(calibration.ceilings.gemm_bf16_tflops == 812);
  CHECK(calibration.assumed.front().range == std::vector<double>{0.5, 2});
  CHECK(read_text(written(calibration)) == calibration);
}

TEST_CASE("calibration: the shipped tables are of tier literature, cited, and written as read") {
  const Calibration shipped = read_calibration(GOODPUT_CONFIGS "/calibration/h200-public.json").value();
  CHECK(shipped.licence == "Apache-2.0");
  CHECK(shipped.source.find("commit 095f58a51") != std::string::npos);
  CHECK(shipped.ops.size() == 12 + 9);  // 4 collectives on 2, 4 and 8 GPUs; 9 families of GEMMs
  for (const Measurement& measurement : shipped.ops) {
    CHECK(measurement.tier == Tier::kLiterature);
    CHECK(measurement.source.find("commit 095f58a51") != std::string::npos);
  }
  CHECK(read_text(written(shipped)) == shipped);
}

TEST_CASE("calibration: another schema, op, key or tier is refused") {
  CHECK(problem(R"({"schema": "goodput.calibration/2", "machine": {"gpu": "x"}, "ops": []})") ==
        " /schema: must be one of \"goodput.calibration/1\", not \"goodput.calibration/2\"; did you mean "
        "\"goodput.calibration/1\"?");
  CHECK(problem(R"({"machine": {"gpu": "x"}, "ops": []})") ==
        " /schema: is missing; it must be one of \"goodput.calibration/1\"");
  CHECK(problem(R"({"schema": "goodput.calibration/1", "machine": {}, "ops": []})") ==
        " /machine/gpu: is missing; it must be a string");
  CHECK(problem(R"({"schema": "goodput.calibration/1", "machine": {"gpu": "x"}, "ops": {}})") ==
        " /ops: must be an array of ops");
  CHECK(
      problem(
          R"({"schema": "goodput.calibration/1", "machine": {"gpu": "x", "stands_for": [1]}, "ops": []})") ==
      " /machine/stands_for/0: must be a string, not 1");
  CHECK(problem_with(R"({"op": "all_gathr", "tier": "measured", "points": []})")
            .starts_with(" /ops/0/op: must be one of \"all_reduce\", \"all_gather\""));
  CHECK(problem_with(R"({"op": "all_gathr", "tier": "measured", "points": []})")
            .ends_with("; did you mean \"all_gather\"?"));
  CHECK(problem_with(all_gather(R"({"rank": 8})")) ==
        " /ops/0/params/rank: unknown key; did you mean \"ranks\"?");
  CHECK(problem_with(all_gather(R"({"ranks": 8, "dtype": "unstated"})"))
            .starts_with(" /ops/0/params/dtype: must be one of \"fp32\", \"bf16\""));
  CHECK(problem_with("3") == " /ops/0: must be an object, not 3");
  CHECK(problem_with(all_gather(R"({"ranks": 8})", kPoints, R"("tier": "good")"))
            .starts_with(" /ops/0/tier: must be one of \"measured\", \"literature\""));
}

TEST_CASE("calibration: every op says how well founded it is, and times of shared GPUs are no costs") {
  CHECK(problem_with(R"({"op": "copy", "points": [{"bytes": 1, "median_us": 1}]})") ==
        " /ops/0/tier: is missing; state where the times come from");
  CHECK(problem_with(all_gather(R"({"ranks": 8})", kPoints, R"("tier": "correctness_only")")) ==
        " /ops/0/tier: \"correctness_only\" times cannot be used: the ranks took turns on one GPU, so no "
        "network was measured");
}

TEST_CASE("calibration: an op wants its params; a collective has more than one rank") {
  CHECK(problem_with(all_gather("{}")) == " /ops/0/params/ranks: is missing; op \"all_gather\" requires it");
  CHECK(problem_with(R"({"op": "gemm", "tier": "measured", "params": {"n": 8, "dtype": "bf16"},
                         "points": [{"m": 1, "median_us": 1}]})") ==
        " /ops/0/params/k: is missing; op \"gemm\" requires it");
  CHECK(problem_with(all_gather(R"({"ranks": 1})")) ==
        " /ops/0/params/ranks: must be 2 or more, not 1: a collective on one rank is a copy and does not "
        "measure a network");
  CHECK(problem_with(all_gather(R"({"ranks": 8, "per_node": 16})")) ==
        " /ops/0/params/per_node: must be at most the number of ranks (8), not 16");
}

TEST_CASE("calibration: points ascend, in the op's own size, with positive times") {
  CHECK(problem_with_points("[]") == " /ops/0/points: must have at least one point");
  CHECK(problem_with_points(R"([{"bytes": 2048, "median_us": 5}, {"bytes": 2048, "median_us": 6}])") ==
        " /ops/0/points/1/bytes: is 2048, but must be more than the size of the previous point (2048)");
  CHECK(problem_with_points(R"([{"tokens": 2048, "median_us": 5}])") ==
        " /ops/0/points/0: must have the size key \"bytes\" and no other size key, like every point of op "
        "\"all_gather\"");
  CHECK(problem_with_points(R"([{"bytes": 1, "m": 1, "median_us": 5}])") ==
        " /ops/0/points/0: must have the size key \"bytes\" and no other size key, like every point of op "
        "\"all_gather\"");
  CHECK(problem_with_points(R"([{"bytes": 0, "median_us": 5}])") ==
        " /ops/0/points/0/bytes: must be an integer from 1 to 1000000000000000, not 0");
  CHECK(problem_with_points(R"([{"bytes": 1, "median_us": 0}])") ==
        " /ops/0/points/0/median_us: must be a number above 0, not 0");
  CHECK(problem_with_points(R"([{"bytes": 1}])") ==
        " /ops/0/points/0/median_us: is missing; it must be a number above 0");
  CHECK(problem_with_points(R"([{"bytes": 1, "median_us": 5, "nwrong": 0}])").empty());
  CHECK(problem_with_points(R"([{"bytes": 1, "median_us": 5, "nwrong": 4}])") ==
        " /ops/0/points/0/nwrong: must be 0, not 4: the times of a point with wrong results are not valid");
  CHECK(problem_with_points(R"([{"bytes": 1, "median_us": 5, "p05_us": 6}])") ==
        " /ops/0/points/0/median_us: must be at least p05_us and min_us (6), not 5");
  CHECK(problem_with_points(R"([{"bytes": 1, "median_us": 5, "p95_us": 4}])") ==
        " /ops/0/points/0/p95_us: must be at least median_us (5), not 4");
  CHECK(problem_with(R"({"op": "launch_gap", "tier": "measured",
                         "points": [{"median_us": 2}, {"median_us": 3}]})") ==
        " /ops/0/points: must be one point without a size for op \"launch_gap\"");
}

TEST_CASE("calibration: a table is given once") {
  const std::string table = all_gather(R"({"ranks": 8})");
  CHECK(problem_with(table + ", " + all_gather(R"({"ranks": 4})") + ", " + table) ==
        " /ops/2: has the same op and params as /ops/0; give each table only once");
}

TEST_CASE("calibration: an assumed number lies in its range") {
  const auto problem_of = [](std::string_view assumed) {
    return problem(R"({"schema": "goodput.calibration/1", "machine": {"gpu": "x"}, "ops": [], "assumed": [)" +
                   std::string(assumed) + "]}");
  };
  CHECK(problem_of(R"({"name": "a", "value": 3})").empty());
  CHECK(problem_of(R"({"name": "a", "value": 3, "range": [1, 2]})") ==
        " /assumed/0/value: is 3, but must be in \"range\", 1 to 2");
  CHECK(problem_of(R"({"name": "a", "value": 3, "range": [4, 2]})") ==
        " /assumed/0/range: must be [min, max]");
  CHECK(problem_of(R"({"name": "a", "value": 3, "range": 4})") ==
        " /assumed/0/range: must be an array of two numbers");
}

}  // namespace goodput
