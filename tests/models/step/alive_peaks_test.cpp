#include "models/step/alive_peaks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace goodput {
namespace {

// Pass by pass.
double most_bytes_one_by_one(const std::vector<Pass>& passes, const std::vector<double>& chunk_bytes) {
  double alive = 0;
  double most = 0;
  for (const Pass& pass : passes) {
    const double bytes = chunk_bytes[static_cast<std::size_t>(pass.chunk)];
    if (pass.kind == Pass::Kind::kForward) alive += bytes;
    most = std::max(most, alive);
    const bool keeps = pass.kind == Pass::Kind::kForward || pass.splits_weight;
    if (!keeps) alive -= bytes;
  }
  return most;
}

AlivePeaks peaks_of(std::string_view schedule, const ScheduleShape& shape, std::int32_t stage) {
  const auto found = find_schedule(schedule);
  REQUIRE(found);
  REQUIRE((*found)->check(shape));
  return alive_peaks(**found, shape)[static_cast<std::size_t>(stage)];
}

}  // namespace

TEST_CASE("alive peaks: 1F1B holds as many micro-batches as there are stages to come, GPipe all") {
  CHECK(peaks_of("1f1b", {.stages = 4, .chunks = 1, .micro_batches = 16}, 0).alive == std::vector{4});
  CHECK(peaks_of("1f1b", {.stages = 4, .chunks = 1, .micro_batches = 16}, 3).alive == std::vector{1});
  CHECK(peaks_of("gpipe", {.stages = 4, .chunks = 1, .micro_batches = 16}, 3).alive == std::vector{16});
}

TEST_CASE("alive peaks: of two chunks the first is fullest early and the second late") {
  // Two stages, two chunks, four micro-batches. Stage 0 leads with 2 (2 - 0 - 1) + (2 - 1) 2 = 4 forwards and
  // then one more: chunks 0 0 1 1 0. Stage 1 with two and one more: 0 0 1.
  const ScheduleShape shape{.stages = 2, .chunks = 2, .micro_batches = 4};
  CHECK(peaks_of("interleaved", shape, 0).most() == 4);
  CHECK(peaks_of("interleaved", shape, 0).most_bytes(std::vector<double>{1, 1}) == 5);
  CHECK(peaks_of("interleaved", shape, 1).most_bytes(std::vector<double>{1, 1}) == 3);
}

TEST_CASE("alive peaks: the worst moment is that of a count pass by pass, whatever chunks take") {
  const std::vector<std::vector<double>> sizes = {{3, 5, 7, 11}, {11, 1, 1, 1}, {1, 0, 0, 13}, {2, 2, 2, 2}};
  int compared = 0;
  for (const ScheduleInfo& info : schedules()) {
    for (const std::int32_t stages : {1, 2, 4, 6}) {
      for (const std::int32_t chunks : {1, 2, 4}) {
        for (const std::int32_t micro_batches : {1, 4, 12, 24}) {
          const ScheduleShape shape{stages, chunks, micro_batches};
          if (!info.schedule.check(shape)) continue;
          const std::vector<AlivePeaks> peaks = alive_peaks(info.schedule, shape);
          for (std::int32_t stage = 0; stage < stages; ++stage) {
            for (const std::vector<double>& bytes : sizes) {
              const double expected = most_bytes_one_by_one(info.schedule.passes(shape, stage), bytes);
              CHECK(peaks[static_cast<std::size_t>(stage)].most_bytes(bytes) == expected);
              ++compared;
            }
          }
        }
      }
    }
  }
  CHECK(compared > 500);
}

}  // namespace goodput
