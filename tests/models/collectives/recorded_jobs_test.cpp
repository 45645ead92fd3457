// Recorded jobs of torch.profiler on CPUs with an injected fault, where they are to be had
// (GOODPUT_SHARED_DATA/kineto; truth.json in each folder says what was injected).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/kineto_job.h"

namespace goodput {
namespace {

using testing::AnalysedRanks;

// Nothing, with a message, when there is no shared data here.
std::optional<std::vector<RankActivity>> recorded_job(const std::string& name) {
  const auto folder = std::filesystem::path(GOODPUT_SHARED_DATA) / "kineto" / name;
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: no shared data");
    return std::nullopt;
  }
  auto activities = testing::read_rank_activities(folder);
  REQUIRE(activities);
  return *std::move(activities);
}

struct FaultCase {
  std::string folder;
  int rank = 0;
  double extra_ms = 0;
};

void check_fault(const AnalysedRanks& analysed, const FaultCase& fault) {
  CHECK(analysed.slowest_rank() == fault.rank);
  CHECK(analysed.subject() == "rank:" + std::to_string(fault.rank));
  CHECK(std::abs(analysed.replay_error()) <= 0.03);
  const auto& extra = analysed.analysis.rank_work->extra_s[analysed.worker_of(fault.rank)];
  REQUIRE(extra);
  CHECK(std::abs(1e3 * *extra - fault.extra_ms) <= std::max(0.3 * fault.extra_ms, 25.0));
}

// What was injected, by truth.json; of fsdp4-slow-loader 80 ms and noise.
const FaultCase kFaultCases[] = {{"ddp4-slow-rank", 2, 72},
                                 {"ddp4-slow-rank-cudaform", 2, 72},
                                 {"fsdp4-slow-rank", 1, 72},
                                 {"fsdp4-slow-rank-cudaform", 1, 72},
                                 {"fsdp4-slow-loader", 3, 80},
                                 {"pp2dp2-1f1b-slow-rank", 2, 288},
                                 {"mcore-pp2dp2-1f1b-slow-rank", 2, 288}};

TEST_CASE("recorded jobs: the rank with the injected fault is first, named, and works as much longer") {
  for (const FaultCase& fault : kFaultCases) {
    CAPTURE(fault.folder);
    auto activities = recorded_job(fault.folder);
    if (!activities) return;
    const auto analysed = testing::analyse_ranks(*std::move(activities));
    REQUIRE(analysed);
    check_fault(*analysed, fault);
  }
}

TEST_CASE("recorded jobs: a slow data loader is named by its label") {
  auto activities = recorded_job("fsdp4-slow-loader");
  if (!activities) return;
  const auto analysed = testing::analyse_ranks(*std::move(activities));
  REQUIRE(analysed);
  CHECK(analysed->analysis.rank_work->slow.front().op_type == "data-loader");
}

TEST_CASE("recorded jobs: healthy jobs and interleaved schedules on gloo accuse nobody") {
  for (const std::string folder : {"ddp4-healthy", "pp2dp2-1f1b-healthy", "pp2dp2-int-slow-rank"}) {
    CAPTURE(folder);
    auto activities = recorded_job(folder);
    if (!activities) return;
    const auto analysed = testing::analyse_ranks(*std::move(activities));
    REQUIRE(analysed);
    CHECK_FALSE(analysed->subject().starts_with("rank:"));
    CHECK(analysed->analysis.doubt.has_value() == (folder == "pp2dp2-int-slow-rank"));
  }
}

TEST_CASE("recorded jobs: without peers the slowest stage is the slow one") {
  auto activities = recorded_job("pp4-gpipe-slow-stage");
  if (!activities) return;
  const auto analysed = testing::analyse_ranks(*std::move(activities));
  REQUIRE(analysed);
  CHECK(analysed->slowest_rank() == 2);
  CHECK_FALSE(analysed->analysis.rank_work->extra_s.front());
  CHECK(std::abs(analysed->replay_error()) <= 0.03);
}

TEST_CASE("recorded jobs: a clock that is 20 ms off changes no answer") {
  for (const FaultCase& fault : kFaultCases) {
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CAPTURE(fault.folder);
      CAPTURE(rank);
      auto activities = recorded_job(fault.folder);
      if (!activities) return;
      shift_times((*activities)[rank], 20'000'000);
      const auto analysed = testing::analyse_ranks(*std::move(activities));
      REQUIRE(analysed);
      check_fault(*analysed, fault);
    }
  }
}

TEST_CASE("recorded jobs: a step that one rank lacks is left out, and a rank that is missing is named") {
  auto activities = recorded_job("fsdp4-slow-rank-cudaform");
  if (!activities) return;
  auto without_step = *activities;
  without_step[1].steps.pop_back();
  const auto analysed = testing::analyse_ranks(std::move(without_step));
  REQUIRE(analysed);
  CHECK(analysed->analysis.whatif.steps == std::vector<std::int64_t>{3, 4, 5, 6});
  REQUIRE(analysed->analysis.cleaning.size() == 1);
  CHECK(analysed->analysis.cleaning.front().steps == std::vector<std::int64_t>{7});
  CHECK(analysed->subject() == "rank:1");

  activities->erase(activities->begin() + 1);
  CHECK(testing::analyse_ranks(*std::move(activities)).error().what ==
        "only 3 of 4 ranks have traces (missing: 1); all are needed because ranks wait for each other; "
        "profile all ranks (Megatron-LM: --profile-ranks)");
}

}  // namespace
}  // namespace goodput
