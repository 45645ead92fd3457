#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "gpu/calibrate/calibration_file.h"
#include "tests/gpu/invented_machine.h"

namespace goodput::gpu::calibrate {
namespace {

CalibrationPlan plan_of(std::vector<Sweep> sweeps, std::uint64_t seed = 1) {
  return {std::move(sweeps),
          {invented_point("copy", 200'000), invented_point("gemm", 150'000)},
          "measured",
          2,
          seed,
          30};
}

double relative_error(double value, double truth) {
  return std::abs(value / truth - 1);
}

TEST_CASE("calibration: a thousand steady points are within 1 % of the truth, and none is flagged") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const double noise : {0.0, 0.01, 0.03}) {
      CAPTURE(seed);
      CAPTURE(noise);
      InventedRun run({seed, noise, 1e18, 1, 1});
      const CalibrationPlan plan = plan_of({invented_sweep("gemm", 600), invented_sweep("copy", 400)});
      CHECK(run.run(plan) == CalibrationEnd::kDone);
      CHECK(run.points.notes().empty());
      double worst = 0;
      int unsteady = 0;
      for (const VisitRecord* const record : run.points.points()) {
        const PointSummary summary = run.points.summary(record->key);
        worst =
            std::max(worst, relative_error(summary.visit.us.median, InventedMachine::truth_us(record->key)));
        unsteady += summary.unsteady ? 1 : 0;
      }
      CHECK(run.points.points().size() == 1000);
      CHECK(worst < 0.01);
      CHECK(unsteady == 0);
      // Two visits a point, and no third.
      for (const auto& visits : run.visits) {
        if (visits.first != text_of(plan.sentinels[0].key) && visits.first != text_of(plan.sentinels[1].key))
          CHECK(visits.second == 2);
      }
    }
  }
}

// Of the visits that count: how many times as long everything took, by round.
std::map<std::string, std::map<int, double>> drift_by_round(InventedRun& run) {
  std::map<std::string, int> seen;
  std::map<std::string, std::map<int, double>> drift;
  for (const std::string& line : run.journal) {
    const Record record = parse_record(line);
    const auto* const visit = std::get_if<VisitRecord>(&record);
    if (visit == nullptr) continue;
    const std::string name = text_of(visit->key);
    drift[name][visit->round] = run.drift_of[{name, ++seen[name]}];
  }
  return drift;
}

TEST_CASE(
    "calibration: a drift of 5 % half way is noted, done again, and flagged where rounds saw both sides") {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    CAPTURE(seed);
    const CalibrationPlan plan = plan_of({invented_sweep("gemm", 500), invented_sweep("copy", 500)});
    InventedRun whole({seed, 0.02, 1e18, 1, 1});
    REQUIRE(whole.run(plan) == CalibrationEnd::kDone);
    const double half_s = whole.machine.now_s() / 2;

    // In the middle of a sweep's rounds too: a quarter of the time.
    for (const double at_s : {half_s, half_s / 2}) {
      CAPTURE(at_s);
      InventedRun run({seed, 0.02, at_s, 1.05, 1});
      CHECK(run.run(plan) == CalibrationEnd::kDone);
      REQUIRE_FALSE(run.points.notes().empty());
      CHECK(run.points.notes()[0].find("sentinel ") == 0);
      const bool five = run.points.notes()[0].find("(+4.") != std::string::npos ||
                        run.points.notes()[0].find("(+5.") != std::string::npos;
      CHECK(five);

      int flagged = 0;
      int outside = 0;
      std::map<std::string, std::map<int, double>> drift = drift_by_round(run);
      for (const VisitRecord* const record : run.points.points()) {
        const PointSummary summary = run.points.summary(record->key);
        const double truth = InventedMachine::truth_us(record->key);
        const double error = std::min(relative_error(summary.visit.us.median, truth),
                                      relative_error(summary.visit.us.median, 1.05 * truth));
        outside += error < 0.01 ? 0 : 1;
        flagged += summary.unsteady ? 1 : 0;
        std::map<int, double>& rounds = drift[text_of(record->key)];
        CHECK(summary.unsteady == (rounds[1] != rounds[2]));
      }
      CHECK(outside == 0);
      CHECK(flagged > 0);  // both moments are between the rounds of a sweep
    }
  }
}

TEST_CASE("calibration: points whose rounds differ are decided by a third, and flagged") {
  InventedRun run({7, 0.02, 1e18, 1, 1.1});
  CHECK(run.run(plan_of({invented_sweep("gemm", 50), invented_sweep("fickle", 50)})) ==
        CalibrationEnd::kDone);
  int flagged = 0;
  for (const VisitRecord* const record : run.points.points()) {
    const PointSummary summary = run.points.summary(record->key);
    flagged += summary.unsteady ? 1 : 0;
    // The visits alternate between once and 1.1 times as long, over all points: in rounds of an even number
    // of points a point may see the same twice.
    CHECK(run.visits[text_of(record->key)] == (summary.unsteady ? 3 : 2));
    if (record->key.table.op == "gemm") CHECK_FALSE(summary.unsteady);
    const double truth = InventedMachine::truth_us(record->key);
    CHECK(std::min(relative_error(summary.visit.us.median, truth),
                   relative_error(summary.visit.us.median, 1.1 * truth)) < 0.01);
  }
  CHECK(flagged > 10);
}

TEST_CASE("calibration: the same seed gives the same bytes, another seed another order") {
  const JsonValue header = parse_json(
      R"({"tier": "measured", "machine": {"gpu": "Invented"}, "method": {"timer": "none"}, "revision": "r", "argv": []})");
  const auto run = [&](std::uint64_t seed) {
    InventedRun once({5, 0.02, 20, 1.05, 1});
    CHECK(once.run(plan_of({invented_sweep("gemm", 120), invented_sweep("fickle", 30)}, seed)) ==
          CalibrationEnd::kDone);
    std::string journal;
    for (const std::string& line : once.journal) journal += line;
    return std::pair(journal, calibration_text(header, once.points));
  };
  const auto [journal, file] = run(1);
  CHECK(run(1).first == journal);
  CHECK(run(1).second == file);
  CHECK(run(2).first != journal);
}

// Killed behind any record, and gone on with what the journal has: every round of every point is there once.
TEST_CASE("calibration: gone on with from any record it measures what is missing, and nothing twice") {
  const CalibrationPlan plan = plan_of({invented_sweep("gemm", 25), invented_sweep("fickle", 25)});
  const InventedOptions options{3, 0.02, 4, 1.05, 1.1};
  InventedRun whole(options);
  REQUIRE(whole.run(plan) == CalibrationEnd::kDone);
  for (std::size_t kept = 0; kept < whole.journal.size(); kept += 7) {
    CAPTURE(kept);
    InventedRun rest({11, 0.02, 4, 1.05, 1.1});
    for (std::size_t i = 0; i < kept; ++i) {
      rest.points.add(parse_record(whole.journal[i]));
      rest.journal.push_back(whole.journal[i]);
    }
    CHECK(rest.run(plan) == CalibrationEnd::kDone);
    std::set<std::string> seen;
    for (const std::string& line : rest.journal) {
      const Record record = parse_record(line);
      if (const auto* const visit = std::get_if<VisitRecord>(&record)) {
        const std::string name =
            text_of(visit->key) + " round " + std::to_string(visit->round) + (visit->again ? " again" : "");
        CHECK_MESSAGE(seen.insert(name).second, name);
      }
    }
    CHECK(rest.points.points().size() == 50);
    for (const VisitRecord* const record : rest.points.points()) {
      CHECK(rest.points.has(record->key, 1));
      CHECK(rest.points.has(record->key, 2));
      // Rounds that differed and were done again may agree now.
      if (rest.points.summary(record->key).unsteady) CHECK(rest.points.has(record->key, 3));
    }
    CHECK(rest.points.to_do_again().empty());
  }
}

TEST_CASE("calibration: a deadline ends it between visits, and what was measured is saved") {
  InventedRun run({1, 0.02, 1e18, 1, 1});
  CHECK(run.run(plan_of({invented_sweep("gemm", 500)}), 10) == CalibrationEnd::kDeadline);
  CHECK(run.points.points().size() > 50);
  CHECK(run.points.points().size() < 500);
  CHECK(run.saves > 0);
  CHECK(run.machine.now_s() < 11);

  InventedRun late({1, 0.02, 1e18, 1, 1});
  CHECK(late.run(plan_of({invented_sweep("gemm", 5)}), 0) == CalibrationEnd::kDeadline);
  CHECK(late.points.points().empty());
}

TEST_CASE("calibration: a point that throws is noted and left out, three in a row end it") {
  CalibrationPlan plan = plan_of({invented_sweep("gemm", 40)});
  MeasuredPoints points(2);
  const auto run = [&](const std::function<bool(const SweepPoint&)>& throws) {
    InventedMachine machine({});
    const bench::Deadline deadline{[&] { return machine.now_s(); }, 1e18};
    points = MeasuredPoints(2);
    return run_calibration(plan,
                           {[] {},
                            [&](const SweepPoint& point, Checking) -> Visit {
                              if (throws(point)) throw std::runtime_error("no such kernel");
                              return machine.visit(point, deadline);
                            },
                            [](const Record&) {}, [] {}, [](const std::string&) {}},
                           deadline, points)
        .end;
  };
  const PointKey bad = plan.sweeps[0].points[17].key;
  CHECK(run([&](const SweepPoint& point) { return point.key == bad; }) == CalibrationEnd::kDone);
  CHECK(points.points().size() == 39);
  CHECK(points.notes() == std::vector<std::string>(2, "failed: " + text_of(bad) + ": no such kernel"));

  CHECK(run([](const SweepPoint& point) { return point.key.size < 100'000; }) == CalibrationEnd::kGaveUp);
  CHECK(points.notes().size() == kMostFailures);

  // What does not fit says nothing of the device.
  CHECK(run([](const SweepPoint& point) -> bool {
          if (point.key.size < 100'000) throw PointLeftOut("no memory");
          return false;
        }) == CalibrationEnd::kDone);
  CHECK(points.points().empty());
  CHECK(points.notes().size() == 2 * 40);
  CHECK(points.notes()[0].find(": no memory") != std::string::npos);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
