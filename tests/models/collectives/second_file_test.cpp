// What further files of a rank say is lost when they are joined.
#include <doctest/doctest.h>

#include "models/collectives/joined_ranks.h"
#include "tests/support/rank_track.h"

namespace goodput {
namespace {

TEST_CASE("joined ranks: spinning kernels and stages of all files of a rank count") {
  const auto file_of_step = [](std::int64_t step) {
    testing::RankTrack rank(0, 1);
    rank.begin_step(step, 0);
    rank.end_step(10 * testing::kMs);
    return rank.activity;
  };
  RankActivity second = file_of_step(2);
  second.spinning = {"nvshmem_barrier"};
  second.stages = 2;
  std::vector<std::string> notes;
  const auto joined = JoinedRanks::join({file_of_step(1), second}, {}, notes);
  REQUIRE(joined);
  CHECK(joined->ranks()[0].spinning == std::vector<std::string>{"nvshmem_barrier"});
  CHECK(joined->ranks()[0].stages == 2);
}

TEST_CASE("joined ranks: a second file of a rank without kernels is refused, as another rank's is") {
  const auto file_of_step = [](std::int64_t step, bool on_device) {
    testing::RankTrack rank(0, 1, on_device);
    rank.begin_step(step, 0);
    rank.end_step(10 * testing::kMs);
    return rank.activity;
  };
  std::vector<std::string> notes;
  CHECK_FALSE(JoinedRanks::join({file_of_step(1, true), file_of_step(2, false)}, {}, notes));
}

TEST_CASE("joined ranks: a second file of a rank from another job is refused") {
  const auto file_of_step = [](std::int64_t step, std::int32_t world_size) {
    testing::RankTrack rank(0, world_size);
    rank.begin_step(step, 0);
    rank.end_step(10 * testing::kMs);
    return rank.activity;
  };
  std::vector<std::string> notes;
  CHECK_FALSE(JoinedRanks::join({file_of_step(1, 1), file_of_step(2, 8)}, {}, notes));
}

}  // namespace
}  // namespace goodput
