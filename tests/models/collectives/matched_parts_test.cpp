#include "models/collectives/matched_parts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "tests/support/rank_track.h"

namespace goodput {
namespace {

using testing::kMs;
using testing::RankTrack;
using Kind = CommunicationPart::Kind;

Result<JoinedRanks> joined_tracks(const std::vector<RankTrack>& ranks) {
  std::vector<std::string> notes;
  return JoinedRanks::join(testing::activities_of(ranks), {}, notes);
}

struct Matching {
  MatchedParts matched;  // sorted
  std::string error;
};

Matching match(const std::vector<RankTrack>& ranks) {
  const auto joined = joined_tracks(ranks);
  REQUIRE(joined);
  auto matched = match_parts(*joined);
  if (!matched) return {{}, matched.error().message()};
  for (std::vector<PartOfRank>& members : *matched) std::ranges::sort(members);
  std::ranges::sort(*matched);
  return {*std::move(matched), ""};
}

std::string grouping_error(const std::vector<RankTrack>& ranks) {
  const auto joined = joined_tracks(ranks);
  REQUIRE(joined);
  const auto matched = match_parts(*joined);
  REQUIRE(matched);
  const auto groups = group_by_slot(*joined, *matched);
  return groups ? "" : groups.error().message();
}

// Launches a collective every millisecond; the track has one step, number 3.
class Launches {
 public:
  explicit Launches(RankTrack track) : track_(std::move(track)) { track_.begin_step(3, 0); }

  CommunicationPart& collective(std::int32_t group) {
    const std::int64_t at = next();
    CommunicationPart& part = track_.collective(at, {at, at + kMs / 2});
    part.group = group;
    return part;
  }
  CommunicationPart& send(std::int32_t peer) {
    const std::int64_t at = next();
    return track_.send(at, peer, {at, at + kMs / 2});
  }
  CommunicationPart& receive(std::int32_t peer) {
    const std::int64_t at = next();
    return track_.receive(at, peer, {at, at + kMs / 2});
  }
  RankTrack end() {
    track_.end_step(next());
    return std::move(track_);
  }
  RankTrack& track() { return track_; }

 private:
  std::int64_t next() { return ++count_ * kMs; }
  RankTrack track_;
  std::int64_t count_ = 0;
};

Launches launches_of(std::int32_t rank, std::int32_t world_size) {
  RankTrack track(rank, world_size);
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < world_size; ++i) all.push_back(i);
  track.add_group("0", all, "default_pg");
  return Launches(std::move(track));
}

using Parts = std::vector<PartOfRank>;

TEST_CASE(
    "matched parts: the k-th collectives of a group match on all its ranks, whatever they launch in "
    "between") {
  // Groups {0, 1} and {2, 3} have one name; rank 1 and rank 3 launch in another order than 0 and 2, but for
  // the collectives of all.
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    Launches own = launches_of(rank, 4);
    const std::int32_t first = rank / 2 * 2;
    const std::int32_t pair = own.track().add_group("5", {first, first + 1}, "mesh_tp");
    own.collective(pair);
    own.collective(0);
    own.collective(pair);
    ranks.push_back(own.end());
  }
  const Matching matching = match(ranks);
  REQUIRE(matching.error == "");
  CHECK(matching.matched == MatchedParts{Parts{{0, 0}, {1, 0}}, Parts{{0, 1}, {1, 1}, {2, 1}, {3, 1}},
                                         Parts{{0, 2}, {1, 2}}, Parts{{2, 0}, {3, 0}},
                                         Parts{{2, 2}, {3, 2}}});
}

TEST_CASE("matched parts: ranks of a group may be listed in any order") {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    Launches own(RankTrack(rank, 2));
    own.track().add_group("7", rank == 0 ? std::vector<std::int32_t>{0, 1} : std::vector<std::int32_t>{1, 0});
    own.collective(0);
    ranks.push_back(own.end());
  }
  CHECK(match(ranks).matched == MatchedParts{Parts{{0, 0}, {1, 0}}});
}

TEST_CASE("matched parts: a group of one rank meets nobody") {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    Launches own = launches_of(rank, 2);
    const std::int32_t lone = own.track().add_group("9", {rank});
    own.collective(lone);
    own.collective(0);
    ranks.push_back(own.end());
  }
  CHECK(match(ranks).matched == MatchedParts{Parts{{0, 1}, {1, 1}}});
}

// Two ranks with two collectives each. `change` edits the second one of rank 1.
template <typename Change>
std::string error_of_changed(const Change& change) {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    Launches own = launches_of(rank, 2);
    own.collective(0).sequence = 10;
    own.collective(0).sequence = 11;
    if (rank == 1) change(own.track(), own.track().activity.parts.back());
    ranks.push_back(own.end());
  }
  return match(ranks).error;
}

TEST_CASE("matched parts: members that disagree are refused with both ranks and the step") {
  CHECK(
      error_of_changed([](RankTrack& track, CommunicationPart& part) { part.dtype = track.name("Half"); }) ==
      "step 3: rank 1 launches allreduce of 1024 Half in group 0 (ranks 0-1), but rank 0 launches allreduce "
      "of 1024 Float in group 0 (ranks 0-1): the ranks do not run the same program");
  CHECK(error_of_changed([](RankTrack&, CommunicationPart& part) { part.sequence = 12; }) ==
        "step 3: rank 1 launches allreduce of 1024 Float in group 0 (ranks 0-1) with Seq 12, but rank 0 "
        "launches allreduce of 1024 Float in group 0 (ranks 0-1) with Seq 11: the ranks do not run the same "
        "program");
  CHECK(error_of_changed([](RankTrack&, CommunicationPart& part) { part.sequence = -1; }) == "");  // unknown
}

TEST_CASE("matched parts: Seq shifted by one on one rank is refused at its first collective") {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    Launches own = launches_of(rank, 3);
    for (std::int64_t i = 0; i < 3; ++i) own.collective(0).sequence = 100 + i + (rank == 2 ? 1 : 0);
    ranks.push_back(own.end());
  }
  CHECK(
      match(ranks).error.starts_with("step 3: rank 2 launches allreduce of 1024 Float in group 0 (ranks "
                                     "0-2) with Seq 101, but rank 0 launches allreduce"));
}

// Ranks 0 and 1 are stages, so they need not run one program: a message, and then what `second` launches.
template <typename Second>
std::vector<RankTrack> two_stages(const Second& second) {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    Launches own = launches_of(rank, 2);
    if (rank == 0) {
      own.send(1);
    } else {
      own.receive(0);
    }
    second(rank, own);
    ranks.push_back(own.end());
  }
  return ranks;
}

TEST_CASE("matched parts: stages must agree on name and size, except for all_to_allv and broadcast") {
  const auto error_of_stage_1 = [](std::string_view name, std::int64_t elements) {
    return match(two_stages([&](std::int32_t rank, Launches& own) {
             CommunicationPart& part = own.collective(0);
             const bool is_renamed = rank == 1 || elements != 1024;
             if (is_renamed) part.name = own.track().name(name);
             if (rank == 1) part.elements = elements;
           }))
        .error;
  };
  CHECK(error_of_stage_1("allreduce", 1024) == "");
  CHECK(error_of_stage_1("_allgather_base", 1024) ==
        "step 3: rank 1 launches _allgather_base of 1024 Float in group 0 (ranks 0-1), but rank 0 launches "
        "allreduce of 1024 Float in group 0 (ranks 0-1): the ranks do not run the same program");
  CHECK(error_of_stage_1("allreduce", 8192).starts_with("step 3: rank 1 launches allreduce of 8192 Float"));
  CHECK(error_of_stage_1("all_to_allv", 8192) == "");
  CHECK(error_of_stage_1("broadcast", 8192) == "");
}

TEST_CASE("matched parts: a collective that one of its ranks does not launch is refused") {
  const auto ranks = two_stages([](std::int32_t rank, Launches& own) {
    if (rank == 0) own.collective(0);
  });
  CHECK(match(ranks).error ==
        "step 3: rank 0 launches allreduce of 1024 Float in group 0 (ranks 0-1), but rank 1 does not: the "
        "ranks do not run the same program");
}

TEST_CASE("matched parts: the k-th send to a rank is its k-th receive from there") {
  // Rank 1 receives twice from 0 and sends one back between; numbers of messages count per rank.
  std::vector<RankTrack> ranks;
  Launches first = launches_of(0, 2);
  first.send(1).sequence = 1;
  first.send(1).sequence = 2;
  first.receive(1).sequence = 3;
  ranks.push_back(first.end());
  Launches second = launches_of(1, 2);
  second.receive(0).sequence = 7;
  second.send(0).sequence = 8;
  second.receive(0).sequence = 9;
  ranks.push_back(second.end());
  const Matching matching = match(ranks);
  REQUIRE(matching.error == "");
  CHECK(matching.matched ==
        MatchedParts{Parts{{0, 0}, {1, 0}}, Parts{{0, 1}, {1, 2}}, Parts{{0, 2}, {1, 1}}});
}

TEST_CASE("matched parts: the messages of one kernel match one by one") {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    Launches own = launches_of(rank, 2);
    own.send(1 - rank);
    own.receive(1 - rank);
    own.track().put_with_previous();
    ranks.push_back(own.end());
  }
  const auto joined = joined_tracks(ranks);
  REQUIRE(joined);
  CHECK(joined->slots()[0].cuts.size() == 2);  // the launch and the end of the step
  CHECK(match(ranks).matched == MatchedParts{Parts{{0, 0}, {1, 1}}, Parts{{0, 1}, {1, 0}}});
}

TEST_CASE("matched parts: a send or receive without its other end is refused") {
  const auto without_second_receive = two_stages([](std::int32_t rank, Launches& own) {
    if (rank == 0) own.send(1);
  });
  CHECK(match(without_second_receive).error ==
        "step 3: rank 0 launches send of 1024 Float to 1 in group 0 (ranks 0-1), but rank 1 has no matching "
        "receive: the ranks do not run the same program");
  const auto without_send = two_stages([](std::int32_t rank, Launches& own) {
    if (rank == 0) own.receive(1);
  });
  CHECK(match(without_send).error ==
        "step 3: rank 0 launches recv of 1024 Float from 1 in group 0 (ranks 0-1), but rank 1 has no "
        "matching send: the ranks do not run the same program");
}

TEST_CASE("matched parts: collectives that join other stages on one replica than on another are refused") {
  // Two chains of two ranks, 0-2 and 1-3 by their first messages; the second ones go crosswise, 0-3 and 1-2,
  // and then all four are one chain. What remains crosswise are collectives: {0, 2} and {1, 3} but {0, 3}.
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    Launches own = launches_of(rank, 4);
    const std::int32_t other = (rank + 2) % 4;
    if (rank < 2) {
      own.send(other);
    } else {
      own.receive(other);
    }
    const std::vector<std::vector<std::int32_t>> crosswise = {{0, 3}, {1, 2}, {1, 2}, {0, 3}};
    own.collective(own.track().add_group("6", crosswise[static_cast<std::size_t>(rank)]));
    ranks.push_back(own.end());
  }
  CHECK(grouping_error(ranks) ==
        "step 3: allreduce of 1024 Float in group 6 (ranks 0, 3) on rank 0 goes to a different stage than on "
        "the other replicas; such jobs are not supported");
}

TEST_CASE("matched parts: groups of a slot are blocks of its lanes") {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    Launches own = launches_of(rank, 4);
    const std::int32_t first = rank / 2 * 2;
    own.collective(own.track().add_group("5", {first, first + 1}));
    own.collective(0);
    ranks.push_back(own.end());
  }
  const auto joined = joined_tracks(ranks);
  REQUIRE(joined);
  const auto matched = match_parts(*joined);
  REQUIRE(matched);
  const auto groups = group_by_slot(*joined, *matched);
  REQUIRE(groups);
  REQUIRE(groups->size() == 2);
  const std::vector<std::uint32_t>& pairs = (*groups)[0].block_of;
  CHECK(pairs[0] == pairs[1]);
  CHECK(pairs[2] == pairs[3]);
  CHECK(pairs[0] != pairs[2]);
  const std::vector<std::uint32_t>& all = (*groups)[1].block_of;
  CHECK(std::ranges::count(all, all.front()) == 4);
}

// --- gloo, whose traces name no groups ---

// One of four ranks of a mesh of 2 x 2, with a group of each axis: {0, 1} {2, 3} and {0, 2} {1, 3}.
RankTrack gloo_rank(std::int32_t rank) {
  RankTrack track(rank, 4, false);
  const std::int32_t row = rank / 2 * 2;
  const std::int32_t column = rank % 2;
  track.add_group("0", {0, 1, 2, 3}, "default_pg");
  track.add_group("1", {row, row + 1}, "mesh_tp");
  track.add_group("2", {column, column + 2}, "mesh_dp");
  return track;
}

// An all-reduce in groups of `members`: all end together, a millisecond after the last began.
void gloo_all_reduce(std::vector<RankTrack>& ranks, const std::vector<std::vector<std::size_t>>& groups,
                     std::vector<std::int64_t>& now_ns, const std::vector<std::int64_t>& work_ns) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) now_ns[rank] += work_ns[rank];
  for (const std::vector<std::size_t>& members : groups) {
    std::int64_t latest = 0;
    for (const std::size_t rank : members) latest = std::max(latest, now_ns[rank]);
    for (const std::size_t rank : members) {
      ranks[rank].collective(now_ns[rank], {now_ns[rank], latest + kMs}).group = -1;
      now_ns[rank] = latest + kMs;
    }
  }
}

constexpr std::int64_t kGlooWorks[4][4] = {
    {2 * kMs, 9 * kMs, 20 * kMs, 31 * kMs},
    {17 * kMs, 3 * kMs, 8 * kMs, 25 * kMs},
    {4 * kMs, 28 * kMs, 13 * kMs, 2 * kMs},
    {23 * kMs, 5 * kMs, 3 * kMs, 12 * kMs},
};

// Four steps of an all-reduce by rows, one by columns and one of all, each after work that differs.
std::vector<RankTrack> gloo_mesh() {
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 4; ++rank) ranks.push_back(gloo_rank(rank));
  std::vector<std::int64_t> now(4, 0);
  for (std::int64_t step = 0; step < 4; ++step) {
    for (std::size_t rank = 0; rank < 4; ++rank) ranks[rank].begin_step(step, now[rank]);
    const auto works = [&](std::size_t shift) {
      std::vector<std::int64_t> all;
      for (std::size_t rank = 0; rank < 4; ++rank)
        all.push_back(kGlooWorks[static_cast<std::size_t>(step)][(rank + shift) % 4]);
      return all;
    };
    gloo_all_reduce(ranks, {{0, 1}, {2, 3}}, now, works(0));
    gloo_all_reduce(ranks, {{0, 2}, {1, 3}}, now, works(1));
    gloo_all_reduce(ranks, {{0, 1, 2, 3}}, now, works(3));
    for (std::size_t rank = 0; rank < 4; ++rank) ranks[rank].end_step(now[rank]);
  }
  return ranks;
}

TEST_CASE("matched parts: gloo collectives are of the largest groups that the times do not contradict") {
  const Matching matching = match(gloo_mesh());
  REQUIRE(matching.error == "");
  CHECK(matching.matched == MatchedParts{Parts{{0, 0}, {1, 0}}, Parts{{0, 1}, {2, 1}},
                                         Parts{{0, 2}, {1, 2}, {2, 2}, {3, 2}}, Parts{{1, 1}, {3, 1}},
                                         Parts{{2, 0}, {3, 0}}});
}

TEST_CASE("matched parts: a late mark of the end of a gloo collective does not hide its group") {
  auto ranks = gloo_mesh();
  for (CommunicationPart& part : ranks[1].activity.parts) part.end_ns += 400'000;  // 0.4 ms late
  CHECK(match(ranks).matched == match(gloo_mesh()).matched);
}

TEST_CASE("matched parts: gloo collectives that fit no group are refused") {
  auto ranks = gloo_mesh();
  for (RankTrack& rank : ranks) {
    // Rank 3 is half a second behind: no group that it belongs to can have met.
    if (rank.activity.rank != 3) continue;
    for (CommunicationPart& part : rank.activity.parts) {
      part.begin_ns += 500 * kMs;
      part.end_ns += 500 * kMs;
    }
  }
  CHECK(match(ranks).error ==
        "step 0: cannot determine which ranks take part in allreduce of 1024 Float on rank 0: the ranks do "
        "not run the same program, or their clocks are more than 10 ms apart");
}

}  // namespace
}  // namespace goodput
