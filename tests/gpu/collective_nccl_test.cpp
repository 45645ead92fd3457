// Collectives measured by ranks together, on the emulator: what they get, and that they decide alike.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "gpu/calibrate/collective_sweep.h"
#include "tests/gpu/collective_ranks.h"

namespace goodput::gpu::calibrate {
namespace {

using goodput::gpu::testing::has;

// Of quick sizes: 512, 2048 and 8192 bytes.
constexpr std::size_t kPointsOfGroup = 5 * 3;

std::size_t visits_in(const std::vector<Record>& journal) {
  std::size_t visits = 0;
  for (const Record& record : journal) visits += std::holds_alternative<VisitRecord>(record) ? 1 : 0;
  return visits;
}

std::vector<std::string> notes_in(const std::vector<Record>& journal) {
  std::vector<std::string> notes;
  for (const Record& record : journal) {
    if (const auto* const note = std::get_if<NoteRecord>(&record)) notes.push_back(note->text);
  }
  return notes;
}

TEST_CASE("collectives: four ranks measure all five among two and four, and every value is right") {
  const auto ends = run_collective_ranks(4, [](CollectiveRank& rank) {
    const CalibrationOutcome outcome = rank.measure();
    expect_that(outcome.end == CalibrationEnd::kDone && outcome.failed == 0, "it did not end well");
    expect_that(rank.points.points().size() == 2 * kPointsOfGroup, "other points");
    for (const VisitRecord* const point : rank.points.points()) {
      const Visit visit = rank.points.summary(point->key).visit;
      expect_that(visit.nwrong == 0U, text_of(point->key) + ": wrong values");
      expect_that(visit.us.count == 3 && visit.us.median > 0, text_of(point->key) + ": other samples");
      expect_that(has(visit.source, "nccl"), "no source");
    }
    const bool is_first = rank.process.rank() == 0;
    expect_that(visits_in(rank.journal) == (is_first ? 2 * kPointsOfGroup : 0), "another journal");
    expect_that(is_first == (rank.saved > 0), "saved by another rank");
    if (!is_first) return;
    const JsonValue header = parse_json(R"({"tier": "emulated", "machine": {}, "method": {}})");
    for (const char* const op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"})
      expect_that(has(calibration_text(header, rank.points), std::string("\"") + op + "\""), op);
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("collectives: all ranks have the same times, to the last bit") {
  CollectiveAnswers times;
  const auto ends = run_collective_ranks(3, [&](CollectiveRank& rank) {
    rank.run.only = "all_gather";
    static_cast<void>(rank.measure());
    std::string lines;
    for (const VisitRecord* const point : rank.points.points()) lines += line_of(*point);
    times.put(rank.process, lines);
  });
  CHECK(message_of(ends) == "");
  CHECK(has(times.of(0), "all_gather"));
  CHECK(times.of(1) == times.of(0));
  CHECK(times.of(2) == times.of(0));  // of three, rank 2 is in no group
}

// All quick points of two ranks but those of all_reduce, and the smallest of the others; with notes that are
// longer than an exchange.
std::vector<Record> some_records() {
  std::vector<Record> records;
  for (const SweepPoint& point : collective_sweep(Sizes::kQuick, {{2, {}}}, {}).points) {
    if (point.key.table.op == "all_reduce" || point.key.size == 512) continue;
    VisitRecord record;
    record.key = point.key;
    record.tier = "emulated";
    record.visit.us = bench::summarize({1, 1, 1});
    records.emplace_back(record);
    records.emplace_back(NoteRecord{std::string(20'000, 'x')});
  }
  return records;
}

TEST_CASE("collectives: what rank 0 has measured before is not measured again, by any rank") {
  const auto ends = run_collective_ranks(2, [](CollectiveRank& rank) {
    if (rank.process.rank() == 0) {
      rank.run.records = some_records();
      for (const Record& record : rank.run.records) rank.points.add(record);
    }
    expect_that(rank.measure().end == CalibrationEnd::kDone, "it did not end well");
    expect_that(rank.points.points().size() == kPointsOfGroup, "points are missing");
    // Three of all_reduce, and one of each other.
    if (rank.process.rank() == 0) expect_that(visits_in(rank.journal) == 3 + 4, "other visits");
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("collectives: nothing that was asked for among them is no failure") {
  const auto ends = run_collective_ranks(2, [](CollectiveRank& rank) {
    rank.run.only = "gemm";
    expect_that(rank.measure().end == CalibrationEnd::kDone, "it did not end well");
    expect_that(rank.journal.empty(), "it said something");
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("collectives: over nodes the tables say how many ranks are in each, and uneven ones are left out") {
  const auto ends = run_collective_ranks(4, [](CollectiveRank& rank) {
    rank.run.only = "all_gather";
    rank.place.host = rank.process.rank() < 3 ? "a" : "b";
    static_cast<void>(rank.measure());
    expect_that(rank.points.points().size() == 3, "not only two ranks of one node");
    const std::string left_out = "left out: collectives of 4 ranks: 1 are on one node, 3 on another";
    expect_that(rank.points.notes() == std::vector<std::string>{left_out}, "no note");
  });
  CHECK(message_of(ends) == "");
  CHECK(message_of(run_collective_ranks(4, [](CollectiveRank& rank) {
          rank.run.only = "all_gather ranks=4 per_node=2";
          rank.place.host = rank.process.rank() < 2 ? "a" : "b";
          static_cast<void>(rank.measure());
          expect_that(rank.points.points().size() == 3, "no table over nodes");
        })) == "");
}

// What every rank's measurement fails with, on all of them.
std::string refusal(std::int32_t ranks, const std::function<void(CollectiveRank&)>& change) {
  const auto ends = run_collective_ranks(ranks, [&](CollectiveRank& rank) {
    change(rank);
    try {
      static_cast<void>(rank.measure());
    } catch (const LostRank&) {
      throw;
    } catch (const RankError& error) {
      expect_that(rank.journal.empty(), "something was written");
      throw std::runtime_error(error.what());
    }
  });
  for (const RankEnd& end : ends) CHECK_FALSE(end.error.empty());
  std::string first;
  for (const RankEnd& end : ends) {
    if (!end.consequence) first = end.error;
  }
  return first;
}

TEST_CASE("collectives: one rank, ranks that share a GPU, and ranks that want something else are refused") {
  CHECK(refusal(1, [](CollectiveRank&) {}) ==
        "collectives of a single rank would be copies (correctness_only); start 2 or more ranks");
  CHECK(refusal(3,
                [](CollectiveRank& rank) {
                  if (rank.process.rank() == 2) rank.place.gpu = "gpu 0";
                }) ==
        "ranks 0 and 2 share GPU gpu 0: they would take turns, so their times would be meaningless "
        "(correctness_only); start one rank per GPU");
  CHECK(refusal(3, [](CollectiveRank& rank) {
          if (rank.process.rank() == 2) rank.run.seed = 5;
        }) == "ranks 0 and 2 measure different points: give all ranks the same options");
}

TEST_CASE("collectives: the same GPU of two machines is two") {
  const auto ends = run_collective_ranks(2, [](CollectiveRank& rank) {
    rank.run.only = "send_recv ranks=2 per_node=1 dtype=fp32 bytes=512";
    rank.place = {rank.process.rank() == 0 ? "a" : "b", "gpu 0"};
    static_cast<void>(rank.measure());
    expect_that(rank.points.points().size() == 1, "not measured");
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("collectives: a deadline of rank 0 ends all ranks, wherever it comes, with the same points") {
  // Rank 0's clock passes it at the look of that number; what the other ranks have for a clock is not asked.
  int most = 0;
  for (const int looks : {1, 2, 5, 12, 25}) {
    CAPTURE(looks);
    CollectiveAnswers measured;
    const auto ends = run_collective_ranks(3, [&](CollectiveRank& rank) {
      rank.run.only = "all_to_all";
      rank.run.deadline.at = rank.process.rank() == 0 ? 10 : 0;
      rank.run.deadline.now = [looks, first = rank.process.rank() == 0, look = 0]() mutable {
        if (!first) throw std::runtime_error("another rank's clock was asked");
        return ++look < looks ? 1 : std::numeric_limits<double>::infinity();
      };
      expect_that(rank.measure().end == CalibrationEnd::kDeadline, "another end");
      const std::size_t points = rank.points.points().size();
      if (rank.process.rank() == 0) {
        expect_that(visits_in(rank.journal) == points, "another journal");
        expect_that(rank.saved > 0, "not saved");
      }
      measured.put(rank.process, std::to_string(points));
    });
    CHECK(message_of(ends) == "");
    CHECK(measured.of(1) == measured.of(0));
    CHECK(measured.of(2) == measured.of(0));
    most = std::max(most, std::atoi(measured.of(0).c_str()));
  }
  CHECK(most > 0);
}

SweepPoint sentinel(const std::function<double(void)>& median_us) {
  return {{{"copy", {}}, "bytes", 64},
          0.1,
          [median_us](PointMeasurer&, Checking) {
            Visit visit;
            visit.us.median = median_us();
            return visit;
          },
          {}};
}

TEST_CASE("collectives: sentinels run on every rank, the slowest counts, and they are the ranks' own") {
  const auto ends = run_collective_ranks(3, [](CollectiveRank& rank) {
    rank.run.only = "send_recv";
    rank.run.sentinels = {sentinel([&] { return 10.0 + (rank.process.rank() == 1 ? 5 : 0); })};
    static_cast<void>(rank.measure());
    if (rank.process.rank() != 0) return;
    const auto* const looked = std::get_if<SentinelRecord>(&rank.journal.front());
    expect_that(looked != nullptr && looked->times.size() == 1, "no sentinel at the beginning");
    expect_that(looked->times[0].median_us == 15, "not the slowest");
    expect_that(looked->times[0].name == "copy ranks=3 bytes=64", looked->times[0].name);
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("collectives: what one rank cannot prepare is left out on all, which go on") {
  const auto ends = run_collective_ranks(3, [](CollectiveRank& rank) {
    rank.run.only = "send_recv";
    rank.run.sentinels = {sentinel([&]() -> double {
      if (rank.process.rank() == 2) throw std::runtime_error("no memory");
      return 1;
    })};
    const CalibrationOutcome outcome = rank.measure();
    expect_that(outcome.end == CalibrationEnd::kDone && outcome.failed == 2, "another outcome");
    expect_that(rank.points.points().size() == 3, "they did not go on");
    if (rank.process.rank() == 0)
      expect_that(notes_in(rank.journal).front() == "failed: copy ranks=3 bytes=64: rank 2: no memory",
                  notes_in(rank.journal).front());
  });
  CHECK(message_of(ends) == "");
}

}  // namespace
}  // namespace goodput::gpu::calibrate
