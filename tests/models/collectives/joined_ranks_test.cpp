#include "models/collectives/joined_ranks.h"

#include <doctest/doctest.h>

#include <numeric>
#include <utility>

#include "tests/support/rank_track.h"

namespace goodput {
namespace {

using testing::kMs;
using testing::RankTrack;

std::vector<std::int32_t> ranks_from_0(std::int32_t count) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

RankTrack rank_of_world(std::int32_t rank, std::int32_t world_size) {
  RankTrack track(rank, world_size);
  track.add_group("0", ranks_from_0(world_size), "default_pg");
  return track;
}

// Ten milliseconds with one all-reduce in the middle.
void add_step(RankTrack& track, std::int64_t number) {
  const std::int64_t begin = number * 10 * kMs;
  track.begin_step(number, begin);
  track.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 6 * kMs});
  track.end_step(begin + 10 * kMs);
}

// Ranks that all do that in each of these steps.
std::vector<RankTrack> plain_ranks(std::int32_t world_size, const std::vector<std::int64_t>& steps) {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    ranks.push_back(rank_of_world(rank, world_size));
    for (const std::int64_t step : steps) add_step(ranks.back(), step);
  }
  return ranks;
}

struct JoinAttempt {
  Result<JoinedRanks> joined;
  std::vector<std::string> notes;

  [[nodiscard]] std::string error() const { return joined ? "" : joined.error().message(); }
};

JoinAttempt join(const std::vector<RankTrack>& ranks, const JoinedRanks::Options& options = {}) {
  std::vector<RankActivity> activities;
  for (const RankTrack& rank : ranks) activities.push_back(rank.activity);
  std::vector<std::string> notes;
  auto joined = JoinedRanks::join(std::move(activities), options, notes);
  return {std::move(joined), std::move(notes)};
}

std::vector<std::int64_t> steps_of(const JoinedRanks& joined) {
  return {joined.steps().begin(), joined.steps().end()};
}

TEST_CASE("joined ranks: a job without messages is one slot with a lane per rank") {
  auto ranks = plain_ranks(3, {7, 8});
  std::swap(ranks[0], ranks[2]);  // files come in any order
  const JoinAttempt attempt = join(ranks);
  REQUIRE(attempt.error() == "");
  const JoinedRanks& joined = *attempt.joined;
  CHECK(joined.ranks()[2].file == "rank2.json");
  CHECK(steps_of(joined) == std::vector<std::int64_t>{7, 8});
  CHECK(joined.slots().size() == 1);
  CHECK(joined.lanes() == 3);
  CHECK_FALSE(joined.is_pipeline());
  CHECK(joined.slots()[0].parts.size() == 1);
  CHECK(joined.part(1, 1, 0).begin_ns == 84 * kMs);
  CHECK(joined.findings().empty());
}

TEST_CASE("joined ranks: missing ranks are refused by number") {
  auto ranks = plain_ranks(8, {1});
  ranks.erase(ranks.begin() + 4, ranks.end());
  ranks.erase(ranks.begin() + 2);
  CHECK(join(ranks).error() ==
        "only 3 of 8 ranks have traces (missing: 2, 4-7); all are needed because ranks wait for each other; "
        "profile all ranks (Megatron-LM: --profile-ranks)");
}

TEST_CASE("joined ranks: without a world size the largest rank says how many there are") {
  auto ranks = plain_ranks(3, {1});
  for (RankTrack& rank : ranks) rank.activity.world_size = 0;
  REQUIRE(join(ranks).error() == "");
  ranks.erase(ranks.begin() + 1);
  CHECK(join(ranks).error().starts_with("only 2 of 3 ranks have traces (missing: 1); all are needed"));
}

TEST_CASE("joined ranks: traces of jobs of different sizes are refused") {
  auto ranks = plain_ranks(2, {1});
  ranks[1].activity.world_size = 4;
  CHECK(join(ranks).error() ==
        "rank1.json: world_size is 4 here but 2 in rank0.json: these traces are from different jobs; give "
        "the files of one job");
}

TEST_CASE("joined ranks: kernels in the traces of some ranks only are refused") {
  auto ranks = plain_ranks(2, {1});
  ranks[1].activity.on_device = false;
  CHECK(join(ranks).error() ==
        "rank1.json: has no GPU kernels, but rank0.json has some; use the same profiler activities on all "
        "ranks");
}

TEST_CASE("joined ranks: several files of a rank with different steps are one trace") {
  std::vector<RankTrack> files;
  for (const std::int64_t step : {20, 10, 30}) {  // a folder per profiled step
    for (RankTrack& rank : plain_ranks(2, {step})) files.push_back(std::move(rank));
  }
  // The second file of rank 0 has another table of names, and its groups in another order.
  RankActivity& other = files[2].activity;
  REQUIRE(other.rank == 0);
  other.names = {"", "Float", "unused", "allreduce"};
  other.parts[0].name = 3;
  other.parts[0].dtype = 1;
  other.groups.insert(other.groups.begin(), {"9", "", {0}});
  other.parts[0].group = 1;
  const JoinAttempt attempt = join(files);
  REQUIRE(attempt.error() == "");
  const JoinedRanks& joined = *attempt.joined;
  CHECK(steps_of(joined) == std::vector<std::int64_t>{10, 20, 30});
  CHECK(joined.recorded_steps() == 3);
  CHECK(joined.lanes() == 2);
  for (std::size_t step = 0; step < 3; ++step) {
    const CommunicationPart& part = joined.part(0, step, 0);
    CHECK(part.begin_ns == joined.steps()[step] * 10 * kMs + 4 * kMs);
    CHECK(describe_part(joined.ranks()[0], part) == "allreduce of 1024 Float in group 0 (ranks 0-1)");
  }
}

TEST_CASE("joined ranks: two files of a rank with the same step are refused") {
  auto ranks = plain_ranks(2, {1, 2});
  ranks.push_back(ranks[0]);
  ranks.back().activity.file = "again.json";
  CHECK(join(ranks).error() ==
        "again.json: step 1 of rank 0 is also in rank0.json: these files are from two runs; give the files "
        "of one run");
}

TEST_CASE("joined ranks: no step in all traces is refused with the steps of two ranks") {
  auto ranks = plain_ranks(3, {10, 11, 12});
  ranks[2] = rank_of_world(2, 3);
  for (const std::int64_t step : {13, 14, 15}) add_step(ranks[2], step);
  CHECK(join(ranks).error() ==
        "no step is in all traces: rank 0 has 10-12, rank 2 has 13-15; start the profiler at the same step "
        "on all ranks");
}

TEST_CASE("joined ranks: steps that only some ranks have are left out and counted") {
  auto ranks = plain_ranks(2, {1, 2, 3});
  ranks[1] = rank_of_world(1, 2);
  for (const std::int64_t step : {2, 3, 4}) add_step(ranks[1], step);
  const JoinAttempt attempt = join(ranks);
  REQUIRE(attempt.error() == "");
  CHECK(steps_of(*attempt.joined) == std::vector<std::int64_t>{2, 3});
  CHECK(attempt.joined->recorded_steps() == 4);
  REQUIRE(attempt.joined->findings().size() == 1);
  const CleaningFinding& finding = attempt.joined->findings().front();
  CHECK(finding.rule == CleaningRule::kMissingOps);
  CHECK(finding.count == 2);
  CHECK(finding.steps == std::vector<std::int64_t>{1, 4});
}

TEST_CASE("joined ranks: only the steps that are asked for are kept") {
  const auto ranks = plain_ranks(2, {1, 2, 3, 4});
  const JoinAttempt attempt = join(ranks, {{{2, 3}}, false});
  REQUIRE(attempt.error() == "");
  CHECK(steps_of(*attempt.joined) == std::vector<std::int64_t>{2, 3});
  CHECK_FALSE(join(ranks, {{{9, 9}}, false}).error().empty());
}

TEST_CASE("joined ranks: steps with other communication than usual are left out, and one is named") {
  auto ranks = plain_ranks(2, {});
  for (RankTrack& rank : ranks) {
    rank.begin_step(1, 10 * kMs);  // the first step, with two buckets
    rank.collective(12 * kMs, {12 * kMs, 13 * kMs});
    rank.collective(14 * kMs, {14 * kMs, 16 * kMs});
    rank.end_step(20 * kMs);
    for (const std::int64_t step : {2, 3, 4}) add_step(rank, step);
  }
  const JoinAttempt attempt = join(ranks);
  REQUIRE(attempt.error() == "");
  CHECK(steps_of(*attempt.joined) == std::vector<std::int64_t>{2, 3, 4});
  REQUIRE(attempt.joined->findings().size() == 1);
  const CleaningFinding& finding = attempt.joined->findings().front();
  CHECK(finding.rule == CleaningRule::kOtherShape);
  CHECK(finding.steps == std::vector<std::int64_t>{1});
  CHECK(finding.detail == "in step 1, rank 0 launches different communication than in other steps");
  CHECK_FALSE(join(ranks, {{}, true}).error().empty());  // strict
}

TEST_CASE("joined ranks: sizes tell programs apart, except those of all_to_allv and messages") {
  const auto with_sizes = [](std::string_view name, std::int64_t of_rank_1) {
    auto ranks = plain_ranks(3, {1, 2});
    for (RankTrack& rank : ranks) {
      for (CommunicationPart& part : rank.activity.parts) {
        part.name = rank.name(name);
        if (rank.activity.rank == 1) part.elements = of_rank_1;
      }
    }
    return join(ranks).error();
  };
  CHECK(with_sizes("all_to_allv", 77) == "");
  CHECK(with_sizes("allreduce", 77) ==
        "step 2: rank 1 launches allreduce of 77 Float in group 0 (ranks 0-2), but rank 0 launches allreduce "
        "of 1024 Float in group 0 (ranks 0-2): the ranks do not run the same program");
}

TEST_CASE("joined ranks: two ranks that do not run one program are named with the step and both launches") {
  auto ranks = plain_ranks(4, {11, 12});
  for (CommunicationPart& part : ranks[3].activity.parts) {
    part.name = ranks[3].name("_allgather_base");
    part.elements = 8192;
  }
  CHECK(join(ranks).error() ==
        "step 12: rank 3 launches _allgather_base of 8192 Float in group 0 (ranks 0-3), but rank 0 launches "
        "allreduce of 1024 Float in group 0 (ranks 0-3): the ranks do not run the same program");
}

TEST_CASE("joined ranks: an error names where the step of a rank that launches less ends") {
  auto ranks = plain_ranks(3, {});
  for (RankTrack& rank : ranks) {
    rank.begin_step(5, 0);
    rank.collective(2 * kMs, {2 * kMs, 3 * kMs});
    if (rank.activity.rank != 1) rank.collective(4 * kMs, {4 * kMs, 5 * kMs});
    rank.end_step(9 * kMs);
  }
  CHECK(join(ranks).error() ==
        "step 5: rank 1 ends the step, but rank 0 launches allreduce of 1024 Float in group 0 (ranks 0-2): "
        "the ranks do not run the same program");
}

TEST_CASE("joined ranks: a job whose steps all differ is refused") {
  auto ranks = plain_ranks(2, {});
  for (RankTrack& rank : ranks) {
    // Every step has one all-reduce more than the one before, and rank 1 is one step ahead.
    for (std::int64_t step = 0; step < 3; ++step) {
      const std::int64_t begin = step * 10 * kMs;
      rank.begin_step(step, begin);
      for (std::int64_t i = 0; i <= step + rank.activity.rank; ++i)
        rank.collective(begin + i * kMs, {begin + i * kMs, begin + i * kMs + 1});
      rank.end_step(begin + 10 * kMs);
    }
  }
  CHECK(join(ranks).error().ends_with("the ranks do not run the same program"));
}

TEST_CASE("joined ranks: ends of passes that differ from step to step are not used") {
  auto ranks = plain_ranks(2, {});
  for (RankTrack& rank : ranks) {
    for (std::int64_t step = 0; step < 4; ++step) {
      const std::int64_t begin = step * 10 * kMs;
      rank.begin_step(step, begin);
      for (std::int64_t i = 0; i < step + rank.activity.rank; ++i) {
        rank.end_pass(begin + (i + 1) * kMs / 4);
        rank.work_on(static_cast<std::uint32_t>(i));
      }
      rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 6 * kMs});
      rank.end_step(begin + 10 * kMs);
    }
  }
  const JoinAttempt attempt = join(ranks);
  REQUIRE(attempt.error() == "");
  CHECK(attempt.joined->steps().size() == 4);
  using Kinds = std::vector<TrackCut::Kind>;
  CHECK(attempt.joined->slots()[0].cuts == Kinds{TrackCut::Kind::kLaunch, TrackCut::Kind::kStepEnd});
  CHECK(attempt.joined->cuts(1, 3)[0].streams == 0b1111);  // of all that was joined: 4 passes
}

TEST_CASE("joined ranks: recorded waits that differ between ranks are not used") {
  auto ranks = plain_ranks(2, {});
  for (RankTrack& rank : ranks) {
    for (std::int64_t step = 0; step < 4; ++step) {
      const std::int64_t begin = step * 10 * kMs;
      rank.begin_step(step, begin);
      rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 6 * kMs});
      if (rank.activity.rank == 0 || step == 0) rank.wait(begin + 5 * kMs, rank.last_part());
      rank.end_step(begin + 10 * kMs);
    }
  }
  const JoinAttempt attempt = join(ranks);
  REQUIRE(attempt.error() == "");
  CHECK(attempt.joined->steps().size() == 4);
  CHECK(attempt.joined->slots()[0].cuts.size() == 2);
}

// Ranks that exchange a message with the next one of their chain.
std::vector<RankTrack> chained_ranks(std::int32_t world_size,
                                     const std::vector<std::vector<std::int32_t>>& chains) {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < world_size; ++rank) ranks.push_back(rank_of_world(rank, world_size));
  for (RankTrack& rank : ranks) rank.begin_step(1, 0);
  for (const std::vector<std::int32_t>& chain : chains) {
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i + 1) * kMs;
      ranks[static_cast<std::size_t>(chain[i])].send(at, chain[i + 1], {at, at + kMs});
      ranks[static_cast<std::size_t>(chain[i + 1])].receive(at, chain[i], {at, at + kMs});
    }
  }
  for (RankTrack& rank : ranks) rank.end_step(9 * kMs);
  return ranks;
}

TEST_CASE("joined ranks: ranks that exchange messages are a lane, with a slot per stage") {
  const JoinAttempt attempt = join(chained_ranks(6, {{0, 2, 4}, {1, 3, 5}}));
  REQUIRE(attempt.error() == "");
  const JoinedRanks& joined = *attempt.joined;
  CHECK(joined.is_pipeline());
  CHECK(joined.lanes() == 2);
  REQUIRE(joined.slots().size() == 3);
  CHECK(joined.slots()[1].ranks == std::vector<std::uint32_t>{2, 3});
  CHECK(joined.slot_of(5) == 2);
  CHECK(joined.lane_of(5) == 1);
}

TEST_CASE("joined ranks: pipelines of different lengths are refused") {
  CHECK(join(chained_ranks(5, {{0, 1, 2}, {3, 4}})).error() ==
        "pipelines of different lengths (ranks 0-2 and ranks 3-4) are not supported");
}

TEST_CASE("joined ranks: a message to a rank outside the job is refused") {
  auto ranks = chained_ranks(2, {{0, 1}});
  ranks[0].activity.parts[0].peer = 2;
  CHECK(join(ranks).error() ==
        "rank0.json: has a message between rank 0 and rank 2, but the job has 2 ranks: the trace is damaged");
  ranks[0].activity.parts[0].peer = 0;
  CHECK(join(ranks).error() ==
        "rank0.json: has a message between rank 0 and rank 0, but the job has 2 ranks: the trace is damaged");
}

TEST_CASE("joined ranks: peers in unknown groups are places in the pipeline") {
  auto ranks = chained_ranks(4, {{0, 2}, {1, 3}});
  for (RankTrack& rank : ranks) {
    rank.activity.on_device = false;
    const std::int32_t own = rank.activity.rank;
    rank.add_group("1", {own % 2, own % 2 + 2}, "mesh_pp");
    for (CommunicationPart& part : rank.activity.parts) {
      part.group = -1;
      part.peer /= 2;  // of 0 or 1: 0; of 2 or 3: 1
    }
  }
  {
    const JoinAttempt attempt = join(ranks);
    REQUIRE(attempt.error() == "");
    CHECK(attempt.joined->slots()[1].ranks == std::vector<std::uint32_t>{2, 3});
    CHECK(attempt.joined->part(1, 0, 0).peer == 3);
  }
  ranks[3].activity.parts[0].peer = 2;
  CHECK(join(ranks).error() ==
        "rank3.json: a send or receive names rank 2 of a process group with 2 ranks: the trace is damaged");
}

TEST_CASE("joined ranks: a job of one rank without communication is joined") {
  RankTrack rank(0, 1);
  for (std::int64_t step = 0; step < 2; ++step) {
    rank.begin_step(step, step * 10 * kMs);
    rank.end_step(step * 10 * kMs + 10 * kMs);
  }
  const JoinAttempt attempt = join({rank});
  REQUIRE(attempt.error() == "");
  CHECK(attempt.joined->slots()[0].parts.empty());
  CHECK(attempt.joined->steps().size() == 2);
}

TEST_CASE("joined ranks: the first four of many notes are shown, and the number of others") {
  auto ranks = plain_ranks(6, {1});
  for (RankTrack& rank : ranks) rank.activity.notes.push_back("note of " + rank.activity.file);
  const JoinAttempt attempt = join(ranks);
  REQUIRE(attempt.notes.size() == 5);
  CHECK(attempt.notes[0] == "note of rank0.json");
  CHECK(attempt.notes[4] == "2 similar notes about other files are not shown");
}

TEST_CASE("joined ranks: taking an offset off a clock moves all times of the rank") {
  auto ranks = plain_ranks(1, {1});
  ranks[0].idle(14 * kMs, 16 * kMs);
  JoinAttempt attempt = join(ranks);
  REQUIRE(attempt.joined);
  JoinedRanks& joined = *attempt.joined;
  joined.shift_clock(0, 3 * kMs);
  CHECK(joined.step(0, 0).begin_ns == 7 * kMs);
  CHECK(joined.step(0, 0).end_ns == 17 * kMs);
  CHECK(joined.cuts(0, 0)[0].end_ns == 11 * kMs);
  CHECK(joined.cuts(0, 0)[0].begin_ns == 0);  // there was no work: no time to move
  CHECK(joined.part(0, 0, 0).launch_ns == 11 * kMs);
  CHECK(joined.part(0, 0, 0).begin_ns == 11 * kMs);
  CHECK(joined.part(0, 0, 0).end_ns == 13 * kMs);
  CHECK(joined.ranks()[0].gaps[0].begin_ns == 11 * kMs);
  CHECK(joined.ranks()[0].gaps[0].end_ns == 13 * kMs);
}

}  // namespace
}  // namespace goodput
