// Collectives measured by ranks together, on the emulator: what they get, and that they decide alike.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <limits>

#include "gpu/device_memory.h"
#include "tests/gpu/collective_ranks.h"
#include "tests/simt/nccl_faults.h"

namespace goodput::gpu::calibrate {
namespace {

using goodput::gpu::testing::error_of;
using goodput::gpu::testing::has;

// Of quick sizes: 512, 2048 and 8192 bytes.
constexpr std::size_t kPointsOfGroup = 5 * 3;

TEST_CASE("collectives: four ranks measure all five among two and four, right, and all get the same") {
  const auto ends = run_collective_ranks(4, [](CollectiveRank& rank) {
    const CalibrationOutcome outcome = rank.measure();
    expect_that(outcome.end == CalibrationEnd::kDone && outcome.failed == 0, "it did not end well");
    expect_that(rank.points.points().size() == 2 * kPointsOfGroup, "other points");
    double sum = 0;
    for (const VisitRecord* const point : rank.points.points()) {
      const Visit visit = rank.points.summary(point->key).visit;
      expect_that(visit.nwrong == 0U, text_of(point->key) + ": wrong values");
      expect_that(visit.us.count == 3 && visit.us.median > 0, text_of(point->key) + ": other samples");
      sum += visit.us.median;
    }
    // The sum is the same on all ranks to the last bit: whoever has another one throws.
    rank.printed.push_back(std::to_string(sum));
    const bool is_first = rank.process.rank() == 0;
    expect_that(rank.journal.size() == (is_first ? 2 * kPointsOfGroup + 2 : 0), "another journal");
    expect_that(is_first == (rank.saved > 0), "saved by another rank");
    if (is_first) {
      const JsonValue header = parse_json(R"({"tier": "emulated", "machine": {}, "method": {}})");
      const std::string text = calibration_text(header, rank.points);
      expect_that(has(text, R"("op":"reduce_scatter")") || has(text, R"("op": "reduce_scatter")"), text);
    }
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("collectives: every rank has the same times") {
  // Rank 0's records, for the others to begin with: they do so only if they are the same.
  const auto ends = run_collective_ranks(3, [](CollectiveRank& rank) {
    rank.run.only = "all_gather";
    static_cast<void>(rank.measure());
    CollectiveRank again{rank.process};
    again.run = rank.run;
    again.points = rank.points;
    throw std::runtime_error(
        std::to_string(rank.points.summary(rank.points.points().front()->key).visit.us.median));
  });
  CHECK(error_of(ends, 0) == error_of(ends, 1));
  CHECK(error_of(ends, 0) == error_of(ends, 2));
}

}  // namespace
}  // namespace goodput::gpu::calibrate
