// Rules of jobs with stages: sends that wait for nobody, and passes that share an ideal over the stages.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "models/collectives/arrange_collectives.h"
#include "models/collectives/eager_sends.h"
#include "models/collectives/matched_parts.h"
#include "tests/support/rank_track.h"

namespace goodput {
namespace {

using testing::kMs;
using testing::PartTimes;
using testing::RankTrack;

constexpr std::int64_t kStepOfPipelineNs = 50 * kMs;
constexpr std::int64_t kMicroNs = 1'000;

// Lanes of two stages: rank 2 * lane sends to the next one in `steps` steps. The send ends when `send_end_ns`
// says, by lane and step, the receive at 10 ms.
template <typename SendEnd>
std::vector<RankTrack> sending_lanes(std::int32_t lanes, std::int64_t steps, const SendEnd& send_end_ns) {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 2 * lanes; ++rank) {
    RankTrack track(rank, 2 * lanes);
    const std::int32_t lane = rank / 2;
    track.add_group("0", {2 * lane, 2 * lane + 1}, "mesh_pp");
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t begin = step * kStepOfPipelineNs;
      track.begin_step(step, begin);
      if (rank % 2 == 0) {
        track.send(begin + 5 * kMs, rank + 1, {begin + 5 * kMs, begin + send_end_ns(lane, step)});
      } else {
        track.receive(begin + 8 * kMs, rank - 1, {begin + 8 * kMs, begin + 10 * kMs});
      }
      track.end_step(begin + 40 * kMs);
    }
    ranks.push_back(track);
  }
  return ranks;
}

// By slot and part.
std::vector<std::vector<char>> eager_of(const std::vector<RankTrack>& ranks, bool takes_all = false) {
  std::vector<std::string> notes;
  const auto joined = JoinedRanks::join(testing::activities_of(ranks), {}, notes);
  REQUIRE(joined);
  const auto matched = match_parts(*joined);
  REQUIRE(matched);
  return find_eager_sends(*joined, *matched, takes_all);
}

using Eager = std::vector<std::vector<char>>;

TEST_CASE("eager sends: both ends of a message end together, whatever their clocks show") {
  // 3 ms apart by clocks, and 30 us of jitter.
  const auto ranks =
      sending_lanes(1, 4, [](std::int32_t, std::int64_t step) { return 7 * kMs + step % 2 * 30 * kMicroNs; });
  CHECK(eager_of(ranks) == Eager{{0}, {0}});
}

TEST_CASE("eager sends: a send whose end varies against its receive's end is eager") {
  const auto ranks =
      sending_lanes(1, 4, [](std::int32_t, std::int64_t step) { return 6 * kMs + step * 50 * kMicroNs; });
  CHECK(eager_of(ranks) == Eager{{1}, {0}});
}

TEST_CASE("eager sends: more than a quarter of the lanes must show it") {
  const auto with_straying_lanes = [](std::int32_t straying) {
    return eager_of(sending_lanes(8, 4, [&](std::int32_t lane, std::int64_t step) {
      return lane < straying ? 6 * kMs + step * kMs : 10 * kMs;
    }));
  };
  CHECK(with_straying_lanes(2) == Eager{{0}, {0}});
  CHECK(with_straying_lanes(3) == Eager{{1}, {0}});
}

TEST_CASE("eager sends: all sends are eager if an op would otherwise wait for itself") {
  const auto ranks = sending_lanes(1, 4, [](std::int32_t, std::int64_t) { return 10 * kMs; });
  CHECK(eager_of(ranks, true) == Eager{{1}, {0}});
}

TEST_CASE("eager sends: messages that share a kernel, and gloo's, are never eager") {
  auto ranks = sending_lanes(1, 4, [](std::int32_t, std::int64_t step) { return 6 * kMs + step * kMs; });
  for (RankTrack& rank : ranks) rank.activity.on_device = false;
  CHECK(eager_of(ranks) == Eager{{0}, {0}});
  // Both ranks send and receive by one kernel.
  std::vector<RankTrack> batched;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    RankTrack track(rank, 2);
    track.add_group("0", {0, 1}, "mesh_pp");
    for (std::int64_t step = 0; step < 4; ++step) {
      const std::int64_t begin = step * kStepOfPipelineNs;
      const PartTimes times{begin + 5 * kMs, begin + (rank == 0 ? 6 + step : 10) * kMs};
      track.begin_step(step, begin);
      track.send(begin + 5 * kMs, 1 - rank, times);
      track.receive(begin + 5 * kMs, 1 - rank, times);
      track.put_with_previous();
      track.end_step(begin + 40 * kMs);
    }
    batched.push_back(track);
  }
  const Eager found = eager_of(batched);
  for (const std::vector<char>& slot : found) CHECK(std::ranges::count(slot, 1) == 0);
}

// Two stages with a forward and a backward pass each; `lanes` ranks of each stage.
std::vector<RankTrack> two_stages_with_passes(std::int32_t lanes) {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 2 * lanes; ++rank) {
    const bool is_first = rank < lanes;
    const std::int32_t other = is_first ? rank + lanes : rank - lanes;
    RankTrack track(rank, 2 * lanes);
    track.add_group("0", {std::min(rank, other), std::max(rank, other)}, "mesh_pp");
    for (std::int64_t step = 0; step < 4; ++step) {
      const std::int64_t begin = step * kStepOfPipelineNs;
      track.begin_step(step, begin);
      if (is_first) {
        track.send(begin + 8 * kMs, other, {begin + 8 * kMs, begin + 9 * kMs});
        track.label("forward");
        track.receive(begin + 8 * kMs, other, {begin + 8 * kMs, begin + 30 * kMs});
      } else {
        track.receive(begin, other, {begin, begin + 9 * kMs});
        track.idle(begin, begin + 9 * kMs);
        track.end_pass(begin + 18 * kMs);
        track.label("forward");
        track.send(begin + 29 * kMs, other, {begin + 29 * kMs, begin + 30 * kMs});
        track.label("backward");
      }
      if (is_first) {
        track.idle(begin + 8 * kMs, begin + 30 * kMs);
        track.end_pass(begin + 44 * kMs);
        track.label("backward");
      }
      track.end_step(begin + kStepOfPipelineNs);
    }
    ranks.push_back(track);
  }
  return ranks;
}

// How many ideals the passes of a type have.
std::size_t ideals_of(std::int32_t lanes, const std::string& type) {
  std::vector<std::string> notes;
  const auto job = arrange_collectives(testing::activities_of(two_stages_with_passes(lanes)), {}, notes);
  REQUIRE_MESSAGE(job, (job ? "" : job.error().message()));
  std::set<std::uint32_t> pools;
  for (OpId op = 0; op < job->recording.ops.size(); ++op) {
    if (job->recording.types[job->recording.ops[op].type].name == type)
      pools.insert(job->recording.pools[op]);
  }
  return pools.size();
}

TEST_CASE("pipeline pools: with few ranks per stage whole passes of all stages share an ideal") {
  CHECK(ideals_of(2, "forward-compute") == 1);
  CHECK(ideals_of(2, "backward-compute") == 1);
}

TEST_CASE("pipeline pools: with four ranks per stage a pass shares its ideal with those of its own stage") {
  CHECK(ideals_of(4, "forward-compute") == 2);
  CHECK(ideals_of(4, "backward-compute") == 2);
}

TEST_CASE("pipeline pools: the grid has a lane per replica and a slot per stage") {
  std::vector<std::string> notes;
  const auto job = arrange_collectives(testing::activities_of(two_stages_with_passes(2)), {}, notes);
  REQUIRE(job);
  CHECK(job->recording.dp_size == 2);
  CHECK(job->recording.pp_size == 2);
  CHECK(job->recording.ranks == std::vector<std::int32_t>{0, 2, 1, 3});
  CHECK_FALSE(job->recording.stages_are_alike);
  CHECK(job->job.world_size == 4);
}

}  // namespace
}  // namespace goodput
