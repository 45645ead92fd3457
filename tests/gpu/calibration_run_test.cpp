// The order of a calibration, visit by visit, with times and a clock that the test says.
#include "gpu/calibrate/run_calibration.h"

#include <doctest/doctest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace goodput::gpu::calibrate {
namespace {

Sweep sweep_of(const std::string& name, int points) {
  Sweep sweep;
  sweep.name = name;
  for (int i = 1; i <= points; ++i)
    sweep.points.push_back({{{name, {}}, "bytes", std::int64_t{1000} * i}, 1, {}, {}});
  return sweep;
}

CalibrationPlan scripted_plan_of(std::vector<Sweep> sweeps) {
  CalibrationPlan plan{};
  plan.sweeps = std::move(sweeps);
  plan.sentinels = sweep_of("sentinel", 1).points;
  plan.tier = "measured";
  plan.rounds = 2;
  plan.seed = 1;
  return plan;
}

// Every visit but a sentinel's takes `visit_s`. A time is 10 us; one that is not above 0 is thrown.
struct ScriptedRun {
  CalibrationOutcome run(const CalibrationPlan& plan, double deadline_s = 1e18) {
    CalibrationHooks hooks;
    hooks.begin_sweep = [this] { ++begun; };
    hooks.visit = [this](const SweepPoint& point, Checking checking) { return visit(point, checking); };
    hooks.append = [this](const Record& record) {
      if (const auto* const one = std::get_if<VisitRecord>(&record)) visits.push_back(*one);
      is_saved = false;
    };
    hooks.save = [this] {
      ++saves;
      is_saved = true;
    };
    hooks.print = [](const std::string&) {};
    return run_calibration(plan, hooks, {[this] { return now_s; }, deadline_s}, points);
  }

  Visit visit(const SweepPoint& point, Checking checking) {
    const bool is_sentinel = point.key.table.op == "sentinel";
    double us = is_sentinel ? sentinel_us(++looks) : 10;
    if (!is_sentinel) {
      now_s += visit_s;
      if (checking == Checking::kYes) ++checks[text_of(point.key)];
      us = time_us(++measured, point.key);
    }
    if (!(us > 0)) throw std::runtime_error("failed on purpose");
    Visit visit;
    visit.us = {50, us, us, us, us, us, 0};
    return visit;
  }

  std::function<double(int look)> sentinel_us = [](int) { return 100.0; };
  std::function<double(int visit, const PointKey&)> time_us = [](int, const PointKey&) { return 10.0; };
  double visit_s = 1;
  double now_s = 0;
  int begun = 0;
  int looks = 0;
  int measured = 0;
  int saves = 0;
  bool is_saved = false;
  std::map<std::string, int> checks;  // of a point
  std::vector<VisitRecord> visits;    // as appended
  MeasuredPoints points{2};
};

int done_again(const std::vector<VisitRecord>& visits) {
  int again = 0;
  for (const VisitRecord& visit : visits) again += visit.again ? 1 : 0;
  return again;
}

TEST_CASE("calibration run: a sweep begins once, not once a round, and not where nothing of it is missing") {
  ScriptedRun run;
  const CalibrationPlan plan = scripted_plan_of({sweep_of("gemm", 3), sweep_of("copy", 2)});
  CHECK(run.run(plan).end == CalibrationEnd::kDone);
  CHECK(run.visits.size() == 2 * (3 + 2));
  CHECK(run.begun == 2);
  CHECK(run.run(plan).end == CalibrationEnd::kDone);
  CHECK(run.visits.size() == 2 * (3 + 2));
  CHECK(run.begun == 2);
}

TEST_CASE("calibration run: results are compared on the first visit that comes to its end, and on no other") {
  const CalibrationPlan plan = scripted_plan_of({sweep_of("gemm", 4)});
  const PointKey late = plan.sweeps[0].points[2].key;
  int failures = 0;
  ScriptedRun run;
  run.time_us = [&](int, const PointKey& key) { return key == late && ++failures == 1 ? 0.0 : 10.0; };
  const CalibrationOutcome outcome = run.run(plan);
  CHECK(outcome.end == CalibrationEnd::kDone);
  CHECK(outcome.failed == 1);
  CHECK(run.visits.size() == 2 * 4 - 1);
  for (const SweepPoint& point : plan.sweeps[0].points)
    CHECK(run.checks[text_of(point.key)] == (point.key == late ? 2 : 1));  // of the failed one, too
}

// Every second visit of 2 x 12 fails: never two in a row.
TEST_CASE("calibration run: failures with a success between them do not end it, but all count") {
  ScriptedRun run;
  run.time_us = [](int visit, const PointKey&) { return visit % 2 == 0 ? 0.0 : 10.0; };
  const CalibrationOutcome outcome = run.run(scripted_plan_of({sweep_of("gemm", 12)}));
  CHECK(outcome.end == CalibrationEnd::kDone);
  CHECK(outcome.failed == 12);
  CHECK(run.visits.size() == 12);
}

TEST_CASE(
    "calibration run: a sweep that takes long has fewer rounds than the run, and no third that decides") {
  ScriptedRun run;
  int times = 0;
  run.time_us = [&](int, const PointKey&) { return ++times % 2 == 0 ? 10.0 : 20.0; };
  Sweep once = sweep_of("long", 3);
  once.most_rounds = 1;
  CHECK(run.run(scripted_plan_of({once, sweep_of("gemm", 2)})).end == CalibrationEnd::kDone);
  int of_long = 0;
  for (const VisitRecord& visit : run.visits) of_long += visit.sweep == "long" ? 1 : 0;
  CHECK(of_long == 3);
  CHECK(once.rounds(2) == 1);
  CHECK(sweep_of("gemm", 2).rounds(2) == 2);
}

// 40 visits of 4 s: before the first, after every 8 (32 s are 30 or more) but the last 8, and at the end.
TEST_CASE(
    "calibration run: sentinels are looked at first, every half minute and last, and the file is made") {
  ScriptedRun run;
  run.visit_s = 4;
  CHECK(run.run(scripted_plan_of({sweep_of("gemm", 20)})).end == CalibrationEnd::kDone);
  CHECK(run.visits.size() == 40);
  CHECK(run.looks == 1 + 4 + 1);
  CHECK(run.saves == run.looks + 1);  // at the end, however it ends
  CHECK(run.is_saved);
}

TEST_CASE("calibration run: what was measured before the deadline is saved") {
  ScriptedRun run;
  CHECK(run.run(scripted_plan_of({sweep_of("gemm", 20)}), 5).end == CalibrationEnd::kDeadline);
  CHECK(run.visits.size() == 5);
  CHECK(run.is_saved);
}

TEST_CASE("calibration run: a machine that changed since the last look is noticed by the look at the end") {
  ScriptedRun run;
  run.sentinel_us = [](int look) { return look == 1 ? 100.0 : 110.0; };
  CHECK(run.run(scripted_plan_of({sweep_of("gemm", 3)})).end == CalibrationEnd::kDone);
  CHECK(done_again(run.visits) == 2 * 3);
  CHECK(run.points.notes() ==
        std::vector<std::string>{"sentinel sentinel bytes=1000 moved from 100 to 110 us (+10.0 %); 6 visits "
                                 "since the last sentinel check will be repeated"});
}

// 16 visits of 4 s, looks before the first, behind 8 and at the end. It moves before the second look and back
// before the third: the 8 of each half are done again, and no visit a third time.
TEST_CASE("calibration run: only visits since the last look are done again, and only once") {
  ScriptedRun run;
  run.visit_s = 4;
  run.sentinel_us = [](int look) { return look == 2 ? 110.0 : 100.0; };
  const CalibrationOutcome outcome = run.run(scripted_plan_of({sweep_of("gemm", 8)}));
  CHECK(outcome.end == CalibrationEnd::kDone);
  CHECK(run.looks == 3);
  CHECK(done_again(run.visits) == 16);
  CHECK(run.visits.size() == 32);

  ScriptedRun late;  // the first 8 were measured by the machine of the first two looks
  late.visit_s = 4;
  late.sentinel_us = [](int look) { return look == 3 ? 110.0 : 100.0; };
  CHECK(late.run(scripted_plan_of({sweep_of("gemm", 8)})).end == CalibrationEnd::kDone);
  CHECK(done_again(late.visits) == 8);
}

// Two rounds of one point agree; done again after the last look, the first of them takes 20 % longer.
TEST_CASE("calibration run: rounds that differ only once they are done again get their third") {
  ScriptedRun run;
  run.sentinel_us = [](int look) { return look == 1 ? 100.0 : 110.0; };
  run.time_us = [](int visit, const PointKey&) { return visit == 3 ? 12.0 : 10.0; };
  const CalibrationPlan plan = scripted_plan_of({sweep_of("gemm", 1)});
  CHECK(run.run(plan).end == CalibrationEnd::kDone);
  CHECK(run.points.has(plan.sweeps[0].points[0].key, 3));
  CHECK(run.visits.size() == 2 + 2 + 1);
}

VisitRecord visit_of(std::int64_t size, int round, double us, bool again = false) {
  VisitRecord record{"gemm", {{"gemm", {}}, "bytes", size}, {}, "measured", round, again, {}};
  record.visit.us.median = us;
  return record;
}

TEST_CASE("measured points: a look at which any sentinel has moved is what the next is compared with") {
  MeasuredPoints points(2);
  points.add(SentinelRecord{{{"copy", 100}, {"gemm", 100}}});
  points.add(SentinelRecord{{{"copy", 105}, {"gemm", 102}}});
  CHECK(points.notes().size() == 1);
  points.add(SentinelRecord{{{"copy", 105}, {"gemm", 104}}});  // 2 % since, 4 % since the first
  CHECK(points.notes().size() == 1);
  points.add(SentinelRecord{{{"copy", 105}, {"gemm", 105.1}}});  // 3.04 %
  CHECK(points.notes().size() == 2);
}

TEST_CASE("measured points: a round that is done again leaves the others of its point to do") {
  MeasuredPoints points(2);
  points.add(SentinelRecord{{{"copy", 100}}});
  for (const int round : {1, 2}) points.add(visit_of(8, round, 10));
  points.add(SentinelRecord{{{"copy", 110}}});
  CHECK(points.to_do_again().size() == 2);
  points.add(visit_of(8, 1, 11, true));
  REQUIRE(points.to_do_again().size() == 1);
  CHECK(points.to_do_again()[0].round == 2);
}

TEST_CASE("measured points: a block that ran for seconds without pause is not done again for a sentinel") {
  MeasuredPoints points(2);
  points.add(SentinelRecord{{{"copy", 100}}});
  VisitRecord block = visit_of(8, 1, 10);
  block.visit.parts = {{"qkv", false, 3}};
  points.add(block);
  block.key.table.params.push_back({"sustained", true});
  points.add(block);
  points.add(SentinelRecord{{{"copy", 110}}});
  REQUIRE(points.to_do_again().size() == 1);
  CHECK(points.to_do_again()[0].key.table.params.empty());
}

// Medians over three rounds: 4 of 3, 4, 9; and 6 of 6, 8, 5.
TEST_CASE("measured points: a part of a block is the median over rounds, as the block is") {
  MeasuredPoints points(2);
  const std::vector<std::vector<double>> rounds = {{3, 6}, {9, 8}, {4, 5}};
  for (int round = 1; round <= 3; ++round) {
    VisitRecord record = visit_of(8, round, 10);
    const std::vector<double>& us = rounds[static_cast<std::size_t>(round) - 1];
    record.visit.parts = {{"qkv", false, us[0]}, {"qkv_dgrad", true, us[1]}};
    record.visit.expert_rows = {5};
    points.add(record);
  }
  const Visit visit = points.summary(visit_of(8, 1, 0).key).visit;
  REQUIRE(visit.parts.size() == 2);
  CHECK(visit.parts[0].median_us == 4);
  CHECK(visit.parts[1].median_us == 6);
  CHECK(visit.parts[1].part == "qkv_dgrad");
  CHECK(visit.parts[1].is_backward);
  CHECK(visit.expert_rows == std::vector<std::int64_t>{5});
}

TEST_CASE("measured points: a third round decides, and makes no point unsteady of which two agree") {
  MeasuredPoints points(2);
  points.add(visit_of(8, 1, 10));
  points.add(visit_of(8, 2, 10.2));
  CHECK_FALSE(points.wants_decision(visit_of(8, 1, 0).key));
  points.add(visit_of(8, 3, 12));  // from before a round was done again
  CHECK_FALSE(points.summary(visit_of(8, 1, 0).key).unsteady);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
