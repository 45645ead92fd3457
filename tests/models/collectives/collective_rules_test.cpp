// Jobs of a few ranks whose recordings follow from the rules, by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/arrange_collectives.h"
#include "tests/support/kineto_job.h"
#include "tests/support/rank_track.h"

namespace goodput {
namespace {

using testing::kMs;
using testing::PartTimes;
using testing::RankTrack;

constexpr double kMsInS = 1e-3;

struct Arranged {
  ArrangedJob job;
  std::vector<std::string> notes;
};

Arranged arranged(const std::vector<RankTrack>& ranks, const CollectiveOptions& options = {}) {
  std::vector<std::string> notes;
  auto job = arrange_collectives(testing::activities_of(ranks), options, notes);
  REQUIRE_MESSAGE(job, (job ? "" : job.error().message()));
  return {*std::move(job), std::move(notes)};
}

// By rank, the milliseconds of work before, between and behind two all-reduces that take 2 ms each.
using Works = std::vector<std::vector<std::int64_t>>;
constexpr std::int64_t kTransferMs = 2;
constexpr std::int64_t kMarginMs = 100;  // times of a rank's clock are not 0

// `steps` like steps. All ranks are on one stream, so work waits for the all-reduce before it.
std::vector<RankTrack> in_lockstep(const Works& works, std::int64_t steps) {
  std::vector<RankTrack> ranks;
  std::vector<std::int32_t> all;
  for (std::size_t rank = 0; rank < works.size(); ++rank) all.push_back(static_cast<std::int32_t>(rank));
  for (const std::int32_t rank : all) {
    ranks.emplace_back(rank, static_cast<std::int32_t>(works.size()));
    ranks.back().add_group("0", all, "default_pg");
  }
  std::vector<std::int64_t> now(works.size(), kMarginMs * kMs);
  for (std::int64_t step = 1; step <= steps; ++step) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks[rank].begin_step(step, now[rank]);
      ranks[rank].activity.steps.back().is_first_in_file = step == 1;
    }
    for (std::size_t segment = 0; segment < 3; ++segment) {
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) now[rank] += works[rank][segment] * kMs;
      if (segment == 2) break;
      const std::int64_t end = *std::ranges::max_element(now) + kTransferMs * kMs;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        ranks[rank].collective(now[rank], {now[rank], end}).stream = 0;
        ranks[rank].work_on(0);
        ranks[rank].idle(now[rank], end);
        now[rank] = end;
      }
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks[rank].end_step(now[rank]);
      ranks[rank].work_on(0);
    }
  }
  return ranks;
}

TEST_CASE("collective rules: S, S_w and extra work of three ranks follow from a closed form") {
  // All ranks come out of an all-reduce at once, and rank 1, whose step ends last, is also the last one in
  // front of the first all-reduce. So a step takes the sum of the largest works, and 4 ms.
  //   works    before between behind  sum
  //   rank 0       10      20      6   36
  //   rank 1       16      20      9   45
  //   rank 2       10      26      6   42
  //   largest      16      26      9   51     the recorded step: 55 ms
  //   mean         12      22      7   41     the ideal step: 45 ms
  const auto analysed =
      testing::analyse_ranks(testing::activities_of(in_lockstep({{10, 20, 6}, {16, 20, 9}, {10, 26, 6}}, 4)));
  REQUIRE(analysed);
  const WhatIf& whatif = analysed->analysis.whatif;
  for (const double recorded : whatif.base_s) CHECK(recorded == doctest::Approx(55 * kMsInS));
  for (const double replayed : whatif.nodelay.span_s) CHECK(replayed == doctest::Approx(55 * kMsInS));
  CHECK(whatif.ideal_span_s == doctest::Approx(45 * kMsInS));
  CHECK(whatif.slowdown == doctest::Approx(55.0 / 45));
  // Alone, a rank takes the larger of its own work and the mean before each all-reduce. Behind the last one
  // the slowest rank counts.
  CHECK(analysed->slowdown_of(0) == doctest::Approx((12 + 22 + 7 + 4) / 45.0));
  CHECK(analysed->slowdown_of(1) == doctest::Approx((16 + 22 + 9 + 4) / 45.0));
  CHECK(analysed->slowdown_of(2) == doctest::Approx((12 + 26 + 7 + 4) / 45.0));
  // Over the median of the two others, 43.5, 39 and 40.5.
  const RankWork& work = *analysed->analysis.rank_work;
  CHECK(work.extra_s[0] == doctest::Approx(-7.5 * kMsInS));
  CHECK(work.extra_s[1] == doctest::Approx(6 * kMsInS));
  CHECK(work.extra_s[2] == doctest::Approx(1.5 * kMsInS));
  CHECK(whatif.launch_slowdown == doctest::Approx(1));
}

TEST_CASE("collective rules: an all-reduce takes from its latest begin to its end") {
  const Arranged two = arranged(in_lockstep({{10, 20, 6}, {16, 20, 6}}, 4));
  const std::string name = "all-reduce (default_pg)";
  for (const int rank : {0, 1}) {
    for (const int part : {0, 1})
      CHECK(testing::recorded_s(two.job, name, part, rank, 1) == doctest::Approx(kTransferMs * kMsInS));
  }
  CHECK(two.job.trace.ops == 2 * 2 * 4);  // parts, ranks, steps
  CHECK(two.job.trace.formats == std::vector<std::string>{"kineto", "kineto"});
  CHECK_FALSE(two.job.trace.has_inferred_waits);
}

TEST_CASE(
    "collective rules: a part that ends before others begin has a transfer of zero, not a negative one") {
  auto ranks = in_lockstep({{10, 20, 6}, {16, 20, 6}}, 4);
  // A broadcast's root may leave before the others come.
  for (CommunicationPart& part : ranks[0].activity.parts) part.end_ns = part.begin_ns + kMs;
  CollectiveOptions options;
  options.clocks = ClockAlignment::kOff;
  const Arranged early = arranged(ranks, options);
  CHECK(testing::recorded_s(early.job, "all-reduce (default_pg)", 0, 0, 1) == 0);
}

TEST_CASE("collective rules: a step takes the longest of its ranks, from end to end") {
  auto ranks = in_lockstep({{10, 20, 6}, {16, 20, 6}, {10, 20, 9}}, 3);
  // Steps of rank 0 and 1: 16 + 20 + 6 + 4 = 46 ms. Rank 2 is 3 ms longer behind the last all-reduce, and
  // ends every step later, so that its next one is as long as theirs.
  const Arranged three = arranged(ranks);
  REQUIRE(three.job.recording.step_base_s.size() == 3);
  CHECK(three.job.recording.step_base_s[0] == doctest::Approx(49 * kMsInS));
}

TEST_CASE("collective rules: types are named after labels, and after collectives and their groups") {
  auto ranks = in_lockstep({{10, 20, 6}, {16, 20, 6}}, 4);
  for (RankTrack& rank : ranks) {
    rank.activity.groups.push_back({"3", "undefined", {0, 1}});
    const std::uint32_t gather = rank.name("_allgather_base");
    const std::uint32_t labels[] = {rank.name("data-loader"), rank.name("backward"), rank.name("optimizer")};
    for (std::size_t i = 0; i < rank.activity.cuts.size(); ++i) rank.activity.cuts[i].label = labels[i % 3];
    for (std::size_t i = 1; i < rank.activity.parts.size(); i += 2) {
      rank.activity.parts[i].name = gather;
      rank.activity.parts[i].group = 1;
    }
  }
  CHECK(testing::types_of(arranged(ranks).job) ==
        std::vector<std::string>{"all-gather (2 ranks)", "all-reduce (default_pg)", "backward-compute",
                                 "data-loader", "optimizer"});
  for (RankTrack& rank : ranks) {
    for (TrackCut& cut : rank.activity.cuts) cut.label = 0;
  }
  CHECK(testing::types_of(arranged(ranks).job).back() == "other-compute");
}

TEST_CASE("collective rules: equal segments and equal collectives share an ideal, others do not") {
  auto ranks = in_lockstep({{10, 20, 6}, {16, 20, 6}}, 4);
  const auto pools_of_parts = [&] {
    const ArrangedJob job = arranged(ranks).job;
    std::vector<std::uint32_t> pools(2);
    for (OpId op = 0; op < job.recording.ops.size(); ++op) {
      const TraceOp& own = job.recording.ops[op];
      if (job.recording.types[own.type].op_class == OpClass::kCollective)
        pools[static_cast<std::size_t>(own.seq_id)] = job.recording.pools[op];
    }
    return pools;
  };
  CHECK(pools_of_parts()[0] == pools_of_parts()[1]);  // of one size and group
  for (RankTrack& rank : ranks) {
    for (std::size_t i = 1; i < rank.activity.parts.size(); i += 2) rank.activity.parts[i].elements = 9;
  }
  CHECK(pools_of_parts()[0] != pools_of_parts()[1]);
}

TEST_CASE("collective rules: a host that launches late is an op before its segment") {
  // Rank 1 idles for 5 ms in the middle of its first segment: 4 ms of work, and 6 behind it.
  auto ranks = in_lockstep({{10, 20, 6}, {15, 20, 6}}, 4);
  for (const RankActivity::Step& step : ranks[1].activity.steps)
    ranks[1].idle(step.begin_ns + 4 * kMs, step.begin_ns + 9 * kMs);
  std::ranges::sort(ranks[1].activity.gaps, {}, &IdleGap::begin_ns);
  const Arranged late = arranged(ranks);
  CHECK(testing::recorded_s(late.job, "host", 0, 1, 2) == doctest::Approx(5 * kMsInS));
  CHECK(testing::recorded_s(late.job, "other-compute", 0, 1, 2) == doctest::Approx(10 * kMsInS));
  CHECK(testing::recorded_s(late.job, "host", 0, 0, 2) == 0);
  CHECK(testing::recorded_s(late.job, "other-compute", 0, 0, 2) == doctest::Approx(10 * kMsInS));
}

TEST_CASE("collective rules: idle times of up to 150 us a step are left in the segment") {
  auto ranks = in_lockstep({{10, 20, 6}, {10, 20, 6}}, 4);
  for (const RankActivity::Step& step : ranks[1].activity.steps)
    ranks[1].idle(step.begin_ns + 4 * kMs, step.begin_ns + 4 * kMs + 140'000);
  std::ranges::sort(ranks[1].activity.gaps, {}, &IdleGap::begin_ns);
  const std::vector<std::string> types = testing::types_of(arranged(ranks).job);
  CHECK(std::ranges::find(types, "host") == types.end());
}

TEST_CASE("collective rules: a rank that is late in the first step began it with the others, its host idle") {
  // Rank 1 begins its first kernel 30 ms after rank 0, later steps with it. The files say nothing earlier.
  auto ranks = in_lockstep({{10, 20, 6}, {10, 20, 6}}, 4);
  const std::int64_t late = 30 * kMs;
  for (RankTrack& rank : ranks) {
    const bool is_late = rank.activity.rank == 1;
    RankActivity& activity = rank.activity;
    // Everything after the late begin of rank 1 is 30 ms later on both ranks, which meet in the all-reduce.
    shift_times(activity, late);
    if (is_late) continue;
    activity.steps[0].begin_ns -= late;
    activity.cuts[0].end_ns -= late;  // rank 0 was ready on time, and its all-reduce spun
    activity.parts[0].begin_ns -= late;
    activity.gaps[0].begin_ns -= late;
  }
  const Arranged first = arranged(ranks);
  CHECK(testing::recorded_s(first.job, "host", 0, 1, 0) == doctest::Approx(30 * kMsInS));
  CHECK(testing::recorded_s(first.job, "other-compute", 0, 1, 0) == doctest::Approx(10 * kMsInS));
  // 30 ms late, 10 + 2 + 20 + 2 + 6.
  CHECK(first.job.recording.step_base_s[0] == doctest::Approx(70 * kMsInS));
  CHECK(first.job.recording.step_base_s[1] == doctest::Approx(40 * kMsInS));
}

TEST_CASE("collective rules: hosts come from the traces unless the metadata names them") {
  auto ranks = in_lockstep({{10, 20, 6}, {10, 20, 6}}, 4);
  ranks[0].activity.host = "node1";
  ranks[1].activity.host = "node2";
  const Arranged named = arranged(ranks);
  REQUIRE(named.job.recording.places.size() == 1);
  CHECK(named.job.recording.places[0].of_worker == std::vector<std::string>{"node1", "node2"});
  CHECK(named.job.recording.naming == WorkerGrid::Naming::kByRank);
  CHECK(worker_name(named.job.recording, 1) == "rank 1");
}

TEST_CASE("collective rules: a note says if there are too few steps to infer waits") {
  auto ranks = in_lockstep({{10, 20, 6}, {10, 20, 6}}, 1);
  const Arranged few = arranged(ranks);
  REQUIRE(few.notes.size() == 1);
  CHECK(few.notes[0].find("2") != std::string::npos);
  CHECK(few.notes[0].ends_with("profile more steps"));
  CHECK(arranged(in_lockstep({{10, 20, 6}, {10, 20, 6}}, 2)).notes.empty());  // 4 observations
}

// --- gloo ---

TEST_CASE("collective rules: a gloo clock that is 20 ms off is aligned with a note, one of 4 ms is not") {
  const auto notes_with = [](std::int64_t off_ns) {
    auto ranks = in_lockstep({{10, 20, 6}, {12, 20, 6}, {11, 20, 6}}, 4);
    for (RankTrack& rank : ranks) {
      RankActivity& activity = rank.activity;
      activity.on_device = false;
      for (CommunicationPart& part : activity.parts) part.group = -1;
      if (activity.rank == 2) shift_times(activity, off_ns);
    }
    return arranged(ranks).notes;
  };
  CHECK(notes_with(20 * kMs) ==
        std::vector<std::string>{"the clock of rank 2 is off by +20.0 ms and was aligned"});
  CHECK(notes_with(4 * kMs).empty());
}

}  // namespace
}  // namespace goodput
