#include "models/collectives/wait_structure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "models/collectives/matched_parts.h"
#include "models/collectives/segment_times.h"
#include "models/collectives/track_times.h"
#include "tests/support/rank_track.h"

namespace goodput {
namespace {

using testing::kMs;
using testing::PartTimes;
using testing::RankTrack;
using Waits = std::vector<std::vector<std::uint32_t>>;

// What is found of the first slot of a job.
struct FoundWaits {
  SlotWaits waits;
  SlotSegments segments;
};

FoundWaits find_waits(const std::vector<RankTrack>& ranks) {
  std::vector<std::string> notes;
  const auto joined = JoinedRanks::join(testing::activities_of(ranks), {}, notes);
  REQUIRE(joined);
  const auto matched = match_parts(*joined);
  REQUIRE(matched);
  std::vector<SlotTimes> times = track_times(*joined, *matched);
  const RankSlot& slot = joined->slots()[0];
  FoundWaits found;
  found.waits = find_waits_of_parts(*joined, slot, times[0]);
  stretch_to_late_launches(*joined, slot, found.waits, times[0]);
  find_waits_of_segments(*joined, slot, times[0], found.waits);
  found.segments = time_segments(*joined, found.waits, times[0]);
  return found;
}

constexpr std::int64_t kStepNs = 40 * kMs;

// `steps` steps of one rank that are all written by `write`, which gets the begin of each.
template <typename Write>
std::vector<RankTrack> lone_rank(std::int64_t steps, const Write& write, bool on_device = true) {
  RankTrack rank(0, 1, on_device);
  rank.add_group("0", {0});
  for (std::int64_t step = 0; step < steps; ++step) {
    rank.begin_step(step, step * kStepNs);
    write(rank, step * kStepNs, step);
    rank.end_step(step * kStepNs + 30 * kMs);
  }
  return {rank};
}

// --- what segments wait for ---

// Work until 4 ms, a collective until `end_ns`; work goes on at `goes_on_ns`.
std::vector<RankTrack> with_one_part(std::int64_t steps, std::int64_t end_ns, std::int64_t goes_on_ns) {
  return lone_rank(steps, [&](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + end_ns});
    if (goes_on_ns > 4 * kMs) rank.idle(begin + 4 * kMs, begin + goes_on_ns);
  });
}

TEST_CASE("waits: a track that is idle until a collective ends waits for it") {
  const FoundWaits found = find_waits(with_one_part(4, 9 * kMs, 9 * kMs));
  CHECK(found.waits.of_segment == Waits{{}, {0}});
  CHECK(found.waits.inferred == 1);
  // The second segment is ready at 9 ms and ends with the step.
  CHECK(found.segments.at(0, 1).ready_ns == 9 * kMs);
  CHECK(found.segments.at(0, 1).work_ns == 21 * kMs);
  CHECK(found.segments.at(0, 1).host_ns == 0);
}

TEST_CASE("waits: a collective beside work is not waited for") {
  const FoundWaits found = find_waits(with_one_part(4, 9 * kMs, 4 * kMs));
  CHECK(found.waits.of_segment == Waits{{}, {}});
  CHECK(found.waits.inferred == 0);
  CHECK(found.segments.at(0, 1).work_ns == 26 * kMs);
}

TEST_CASE("waits: a track that goes on long before or after the end does not wait for it") {
  CHECK(find_waits(with_one_part(4, 14 * kMs, 9 * kMs)).waits.of_segment == Waits{{}, {}});
  CHECK(find_waits(with_one_part(4, 9 * kMs, 20 * kMs)).waits.of_segment == Waits{{}, {}});
}

TEST_CASE("waits: fewer than four observations infer nothing") {
  CHECK(kLeastObservations == 4);
  CHECK(find_waits(with_one_part(3, 9 * kMs, 9 * kMs)).waits.of_segment == Waits{{}, {}});
  CHECK(find_waits(with_one_part(3, 9 * kMs, 9 * kMs)).waits.inferred == 0);
}

TEST_CASE("waits: coincidences in a few steps do not make a wait, and a few steps may contradict one") {
  // Of ten steps, this many in which the track is idle until the end.
  const auto waits_with = [](std::int64_t idle_steps) {
    return find_waits(lone_rank(10,
                                [&](RankTrack& rank, std::int64_t begin, std::int64_t step) {
                                  rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs});
                                  if (step < idle_steps) rank.idle(begin + 4 * kMs, begin + 9 * kMs);
                                }))
        .waits.of_segment;
  };
  CHECK(waits_with(7) == Waits{{}, {0}});  // 70 % of the depth
  CHECK(waits_with(6) == Waits{{}, {}});
}

TEST_CASE("waits: observations are weighted by how far the collective reaches into the segment") {
  // In four steps of five the collective ends 10 us deep, which tells nothing, beside work.
  const auto ranks = lone_rank(5, [](RankTrack& rank, std::int64_t begin, std::int64_t step) {
    const std::int64_t end = begin + 4 * kMs + (step == 0 ? 5 * kMs : 10'000);
    rank.collective(begin + 4 * kMs, {begin + 4 * kMs, end});
    if (step == 0) rank.idle(begin + 4 * kMs, end);
  });
  CHECK(find_waits(ranks).waits.of_segment == Waits{{}, {0}});
}

TEST_CASE("waits: a segment that ends before a collective in some steps cannot wait for it") {
  // The second part is launched at 8 ms. In two steps of ten the first one ends at 12 ms, and the track goes
  // on only then, so it is the third segment that waits.
  const auto ranks = lone_rank(10, [](RankTrack& rank, std::int64_t begin, std::int64_t step) {
    const std::int64_t end = begin + (step < 2 ? 12 : 10) * kMs;
    rank.collective(begin + 4 * kMs, {begin + 4 * kMs, end});
    rank.collective(begin + 8 * kMs, {end, end + kMs}).stream = 2;
    rank.idle(begin + 8 * kMs, end);
  });
  CHECK(find_waits(ranks).waits.of_segment == Waits{{}, {}, {0}});
}

TEST_CASE("waits: work that is launched later on the stream of a collective waits for it") {
  // Kernels of one stream run in order, so two observations without any gap are enough. The first segment
  // after the launch has no work on that stream.
  const auto ranks = lone_rank(2, [](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs}).stream = 0;
    rank.work_on(0);
    rank.end_pass(begin + 4 * kMs);
    rank.collective(begin + 12 * kMs, {begin + 12 * kMs, begin + 14 * kMs});
    rank.work_on(0);
  });
  const FoundWaits found = find_waits(ranks);
  CHECK(found.waits.of_segment == Waits{{}, {}, {0}, {}});
  CHECK(found.waits.inferred == 0);
}

TEST_CASE("waits: a stream that a segment uses in few observations is not its stream") {
  const auto ranks = lone_rank(4, [](RankTrack& rank, std::int64_t begin, std::int64_t step) {
    rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs}).stream = 0;
    rank.end_pass(begin + 12 * kMs);
    if (step == 0) rank.work_on(0);
  });
  // It has ended before the last segment begins, which is no evidence against a wait there.
  CHECK(find_waits(ranks).waits.of_segment == Waits{{}, {}, {0}});
}

TEST_CASE("waits: the segment after a recorded wait waits") {
  const auto with_wait = [](std::int64_t goes_on_ns) {
    return find_waits(lone_rank(2,
                                [&](RankTrack& rank, std::int64_t begin, std::int64_t) {
                                  rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs});
                                  rank.wait(begin + 4 * kMs, rank.last_part());
                                  rank.collective(begin + 15 * kMs, {begin + 15 * kMs, begin + 16 * kMs});
                                  rank.first_work_at(begin + goes_on_ns);
                                }))
        .waits.of_segment;
  };
  CHECK(with_wait(9 * kMs) == Waits{{}, {}, {0}, {}});
  CHECK(with_wait(9 * kMs - 10'000) == Waits{{}, {}, {0}, {}});  // within the tolerance of 20 us
  // The work behind the wait began before the part had ended: another stream waits, not this one.
  CHECK(with_wait(5 * kMs) == Waits{{}, {}, {}, {}});
}

TEST_CASE("waits: a recorded wait holds back the first later segment with work") {
  const auto with_late_work = [](std::int64_t first_work_ns) {
    return find_waits(lone_rank(2,
                                [&](RankTrack& rank, std::int64_t begin, std::int64_t) {
                                  rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs});
                                  rank.wait(begin + 4 * kMs, rank.last_part());
                                  rank.end_pass(begin + 4 * kMs);  // nothing is launched before this
                                  rank.end_pass(begin + 12 * kMs);
                                  rank.first_work_at(begin + first_work_ns);
                                }))
        .waits.of_segment[2];
  };
  CHECK(with_late_work(9 * kMs) == std::vector<std::uint32_t>{0});
  CHECK(with_late_work(6 * kMs).empty());
}

// --- what parts wait for ---

TEST_CASE("waits: a part waits for the latest segment that had ended before it began") {
  // Both parts are launched at their cuts, but the second begins beside the work of its own segment, as the
  // gathers of FSDP2 do that are launched ahead.
  const auto ranks = lone_rank(4, [](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 5 * kMs});
    rank.collective(begin + 10 * kMs, {begin + 5 * kMs, begin + 8 * kMs});
  });
  const SlotWaits waits = find_waits(ranks).waits;
  CHECK(waits.segment_of_part[0] == 0U);
  CHECK(waits.segment_of_part[1] == 0U);
  CHECK(waits.parts_of_part[0].empty());
  CHECK(waits.parts_of_part[1] == std::vector<std::uint32_t>{0});  // before it on its stream
}

TEST_CASE("waits: a part that begins before any segment ends may begin with the step") {
  const auto ranks = lone_rank(4, [](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.collective(begin + 4 * kMs, {begin + kMs, begin + 3 * kMs});
  });
  CHECK_FALSE(find_waits(ranks).waits.segment_of_part[0].has_value());
}

TEST_CASE("waits: one observation in ten may contradict what a part waits for, but not two") {
  const auto segment_with = [](std::int64_t early_steps) {
    return find_waits(lone_rank(10,
                                [&](RankTrack& rank, std::int64_t begin, std::int64_t step) {
                                  const std::int64_t at = begin + (step < early_steps ? 2 : 4) * kMs;
                                  rank.collective(begin + 4 * kMs, {at, begin + 6 * kMs});
                                }))
        .waits.segment_of_part[0]
        .has_value();
  };
  CHECK(segment_with(1));
  CHECK_FALSE(segment_with(2));
}

TEST_CASE(
    "waits: a part waits for one on another stream if it begins right after it and would otherwise be late") {
  // HSDP: the all-reduce, on a stream of its own, begins when the reduce-scatter ends.
  const auto ranks = lone_rank(4, [](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs});
    rank.collective(begin + 5 * kMs, {begin + 9 * kMs + 5'000, begin + 12 * kMs}).stream = 2;
  });
  CHECK(find_waits(ranks).waits.parts_of_part[1] == std::vector<std::uint32_t>{0});
}

TEST_CASE("waits: all parts of one kernel wait for the same, and are waited for together") {
  const auto ranks = lone_rank(4, [](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.collective(begin + 2 * kMs, {begin + 2 * kMs, begin + 3 * kMs});
    const PartTimes times{begin + 4 * kMs, begin + 9 * kMs};
    rank.collective(begin + 4 * kMs, times);
    rank.collective(begin + 4 * kMs, times);
    rank.put_with_previous();
    rank.collective(begin + 12 * kMs, {begin + 12 * kMs, begin + 13 * kMs});
    rank.idle(begin + 2 * kMs, begin + 3 * kMs);
    rank.idle(begin + 4 * kMs, begin + 9 * kMs);
  });
  const SlotWaits waits = find_waits(ranks).waits;
  CHECK(waits.parts_of_part[1] == std::vector<std::uint32_t>{0});
  CHECK(waits.parts_of_part[2] == std::vector<std::uint32_t>{0});
  CHECK(waits.segment_of_part[2] == waits.segment_of_part[1]);
  std::vector<std::uint32_t> behind = waits.parts_of_part[3];
  std::ranges::sort(behind);
  CHECK(behind == std::vector<std::uint32_t>{1, 2});
  CHECK(waits.of_segment[2] == std::vector<std::uint32_t>{1, 2});
}

// --- gloo ---

TEST_CASE("waits: gloo parts wait only for the segment that launched them") {
  const auto ranks = lone_rank(
      4,
      [](RankTrack& rank, std::int64_t begin, std::int64_t) {
        rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs});
        rank.collective(begin + 6 * kMs, {begin + 6 * kMs, begin + 9 * kMs});
        rank.idle(begin + 6 * kMs, begin + 9 * kMs);
      },
      false);
  const SlotWaits waits = find_waits(ranks).waits;
  CHECK(waits.segment_of_part[1] == 1U);
  CHECK(waits.parts_of_part[1].empty());
  CHECK(waits.of_segment == Waits{{}, {}, {0, 1}});
}

TEST_CASE("waits: the end of a gloo part may be marked half a millisecond late") {
  const auto waits_with = [](std::int64_t late_ns) {
    return find_waits(lone_rank(
                          4,
                          [&](RankTrack& rank, std::int64_t begin, std::int64_t) {
                            rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs + late_ns});
                            rank.idle(begin + 4 * kMs, begin + 9 * kMs);
                          },
                          false))
        .waits.of_segment;
  };
  CHECK(waits_with(0) == Waits{{}, {0}});
  CHECK(waits_with(500'000) == Waits{{}, {0}});
  CHECK(waits_with(3 * kMs) == Waits{{}, {}});
}

// --- times ---

TEST_CASE("segment times: a device that idles until a late launch counts as host time") {
  // Work ends at 4 ms, but the launch comes at 7 ms. Then the track waits until 9 ms.
  const auto ranks = lone_rank(4, [](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.collective(begin + 4 * kMs, {begin + 7 * kMs, begin + 9 * kMs});
    rank.idle(begin + 4 * kMs, begin + 9 * kMs);
  });
  const SlotSegments segments = find_waits(ranks).segments;
  CHECK(segments.at(2, 0).ready_ns == 2 * kStepNs);
  CHECK(segments.at(2, 0).work_ns == 4 * kMs);
  CHECK(segments.at(2, 0).host_ns == 3 * kMs);
  CHECK(segments.at(2, 1).ready_ns == 2 * kStepNs + 9 * kMs);
  CHECK(segments.at(2, 1).host_ns == 0);
}

TEST_CASE("segment times: idle time in a segment is host time on a device and work on a CPU") {
  const auto write = [](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.idle(begin + 1 * kMs, begin + 3 * kMs);
    rank.collective(begin + 10 * kMs, {begin + 10 * kMs, begin + 11 * kMs});
  };
  const SegmentTime on_device = find_waits(lone_rank(4, write)).segments.at(0, 0);
  CHECK(on_device.host_ns == 2 * kMs);
  CHECK(on_device.work_ns == 8 * kMs);
  const SegmentTime on_host = find_waits(lone_rank(4, write, false)).segments.at(0, 0);
  CHECK(on_host.host_ns == 0);
  CHECK(on_host.work_ns == 10 * kMs);
}

TEST_CASE("segment times: a segment that becomes ready after its end has a duration of zero") {
  const auto ranks = lone_rank(2, [](RankTrack& rank, std::int64_t begin, std::int64_t) {
    rank.collective(begin + 4 * kMs, {begin + 4 * kMs, begin + 9 * kMs}).stream = 0;
    rank.end_pass(begin + 8 * kMs);
    rank.work_on(0);
  });
  const SlotSegments segments = find_waits(ranks).segments;
  CHECK(segments.at(0, 1).ready_ns == 9 * kMs);
  CHECK(segments.at(0, 1).work_ns == 0);
  CHECK(segments.at(0, 2).ready_ns == 9 * kMs);  // not 8 ms
}

// --- messages over gloo ---

TEST_CASE("track times: a gloo message ends its usual transfer after its later begin") {
  // Both ends begin together; the ends are marked 1 to 10 ms later, when somebody waits for them.
  std::vector<RankTrack> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    RankTrack track(rank, 2, false);
    track.add_group("0", {0, 1});
    for (std::int64_t step = 0; step < 10; ++step) {
      const std::int64_t begin = step * kStepNs;
      const PartTimes times{begin + 5 * kMs, begin + (6 + step) * kMs};
      track.begin_step(step, begin);
      if (rank == 0) {
        track.send(times.begin_ns - kMs, 1, {times.begin_ns - kMs, times.end_ns});
      } else {
        track.receive(times.begin_ns, 0, times);
      }
      track.end_step(begin + 30 * kMs);
    }
    ranks.push_back(track);
  }
  std::vector<std::string> notes;
  const auto joined = JoinedRanks::join(testing::activities_of(ranks), {}, notes);
  REQUIRE(joined);
  const auto matched = match_parts(*joined);
  REQUIRE(matched);
  const std::vector<SlotTimes> times = track_times(*joined, *matched);
  // Of ten transfers of 1 to 10 ms, the second smallest: 2 ms, after the receive begins.
  for (std::size_t step = 0; step < 10; ++step) {
    const std::int64_t begin = static_cast<std::int64_t>(step) * kStepNs;
    const std::int64_t marked = begin + (6 + static_cast<std::int64_t>(step)) * kMs;
    CHECK(times[0].observations[step].part_end[0] == std::min(marked, begin + 7 * kMs));
    CHECK(times[1].observations[step].part_end[0] == std::min(marked, begin + 7 * kMs));
  }
}

}  // namespace
}  // namespace goodput
