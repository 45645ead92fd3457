#include "gpu/bench/run.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "sim/base/json.h"
#include "tests/gpu/made_up_report.h"

namespace goodput::gpu::bench {
namespace {

// A run of made-up points, on a clock that they alone advance, and what it told.
struct FollowedRun {
  double now_s = 0;
  RunPlan plan{{}, Sizes::kQuick, {4, false}, {}, [this] { return now_s; }, 100};
  RunReport report;
  std::string printed;
  std::vector<Json> saved;
  std::size_t killed_at = 1000;  // by an exception that no one expects, in the save of that number

  FollowedRun() {
    plan.rule.warm_up_ms = plan.rule.batch_ms = 0;
    plan.rule.least = plan.rule.most = 1;
  }
  FollowedRun(const FollowedRun&) = delete;
  FollowedRun& operator=(const FollowedRun&) = delete;

  void add_point(const std::string& op, double seconds, const PointGoal& goal = {}) {
    Point point = made_up_point(op, goal);
    point.run = [this, seconds](const Measurer&) {
      now_s += seconds;
      return made_up_result(1000, 10, 8);
    };
    plan.points.push_back(point);
  }
  void run() {
    run_plan(plan,
             {[this](const std::string& text) { printed += text; },
              [this](const RunReport& so_far) {
                saved.push_back(Json::parse(json_of(so_far)));
                if (saved.size() == killed_at) throw std::logic_error("killed");
              }},
             report);
  }
};

TEST_CASE("bench run: what is saved grows by a point at a time, and says how it ended") {
  FollowedRun run;
  for (const char* op : {"first", "second", "third"}) run.add_point(op, 1);
  run.run();
  REQUIRE(run.saved.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(run.saved[i]["ended"] == "running");
    CHECK(run.saved[i]["points"].size() == i + 1);
  }
  CHECK(run.saved[3]["ended"] == "done");
  CHECK(run.saved[3]["points"].size() == 3);
  CHECK(run.report.ended == Ended::kDone);
}

TEST_CASE("bench run: one that is killed has saved and shown the points before") {
  FollowedRun run;
  for (const char* op : {"first", "second", "third"}) run.add_point(op, 1);
  run.killed_at = 2;
  CHECK_THROWS_WITH(run.run(), "killed");
  CHECK(run.saved.back()["ended"] == "running");
  REQUIRE(run.saved.back()["points"].size() == 2);
  CHECK(run.saved.back()["points"][1]["op"] == "second");
  CHECK(run.printed.find("\nsecond  T=1") != std::string::npos);
  CHECK(run.printed.find("\nthird") == std::string::npos);
}

TEST_CASE("bench run: the deadline leaves points out, and is no failure") {
  FollowedRun run;
  run.add_point("first", 60);
  run.add_point("second", 60);
  run.add_point("third", 1);
  run.run();
  CHECK(run.report.ended == Ended::kDeadline);
  CHECK(run.report.points[1].result);
  CHECK(run.report.points[2].reason == "deadline");
  CHECK_FALSE(run.report.has_wrong());
  CHECK(run.saved.back()["ended"] == "deadline");
  CHECK(run.printed.find("third   T=1    bulk  deadline\n") != std::string::npos);
}

TEST_CASE("bench run: a last point that the deadline cut short is told") {
  FollowedRun run;
  run.add_point("first", 1);
  run.plan.points[0].run = [](const Measurer&) {
    PointResult result = made_up_result(1000, 10, 8);
    result.time.graph->times.stop = Stop::kDeadline;
    return result;
  };
  run.run();
  CHECK(run.report.ended == Ended::kDeadline);

  run.plan.points[0].run = [](const Measurer&) { return made_up_result(1000, 10, {}); };
  run.run();
  CHECK(run.report.ended == Ended::kDeadline);
}

TEST_CASE("bench run: a point that fails is told, and the others are measured") {
  FollowedRun run;
  run.add_point("first", 1);
  run.plan.points[0].run = [](const Measurer&) -> PointResult { throw std::runtime_error("no memory"); };
  run.add_point("second", 1);
  run.run();
  CHECK(run.report.points[0].reason == "failed: no memory");
  CHECK(run.report.points[1].result);
  CHECK(run.report.has_wrong());
  CHECK(run.report.ended == Ended::kDone);
}

TEST_CASE("bench run: a device that fails for good at the end is told, and the points stay") {
  FollowedRun run;
  run.add_point("first", 1, {CopyFlow{1, 1}, {}, {}});
  const auto measured = run.plan.points[0].run;
  run.plan.points[0].run = [measured](const Measurer& measurer) {
    // A capture that nobody ends: whatever waits for the device fails from now on.
    GOODPUT_CUDA(cudaStreamBeginCapture(measurer.stream().get(), cudaStreamCaptureModeGlobal));
    return measured(measurer);
  };
  run.run();
  CHECK(run.report.points[0].result);
  REQUIRE(run.report.notes.size() == 1);
  CHECK(run.report.notes[0].find("copy ceilings at the end: failed: ") == 0);
  CHECK(run.saved.back()["ended"] == "done");
}

TEST_CASE("bench run: where nothing was measured nothing is saved") {
  FollowedRun run;
  run.add_point("first", 1, {CopyFlow{1, 1}, {}, {}});
  run.plan.deadline_s = 0;
  run.run();
  CHECK(run.saved.empty());
  CHECK(run.report.ended == Ended::kDeadline);
  CHECK(run.report.notes == std::vector<std::string>{"copy ceiling 1 read : 1 write: skipped: deadline"});
  CHECK(run.printed.find(run.report.notes[0] + "\n") != std::string::npos);
}

TEST_CASE("bench run: ceilings that points are held against are measured at first and at the end") {
  FollowedRun run;
  run.add_point("first", 1, {CopyFlow{1, 8}, {}, {}});
  run.add_point("second", 1, {CopyFlow{8, 1}, {}, {}});
  run.run();
  REQUIRE(run.report.ceilings.size() == 2);
  CHECK(run.report.ceilings[0].flow == CopyFlow{1, 8});
  CHECK(run.report.ceilings[1].flow == CopyFlow{8, 1});
  for (const CopyCeiling& ceiling : run.report.ceilings) CHECK(ceiling.again);
  CHECK(run.saved[0]["points"].empty());
  CHECK(run.saved[0]["ceilings"].size() == 1);
  CHECK(run.printed.find("at the end of the run") > run.printed.find("second"));
}

TEST_CASE("bench run: the ceilings at the end have a tenth of the time for themselves") {
  FollowedRun run;
  run.add_point("first", 91, {CopyFlow{1, 1}, {}, {}});  // of 100 s
  run.add_point("second", 1);
  run.run();
  CHECK(run.report.points[1].reason == "deadline");
  CHECK(run.report.ceilings[0].again);

  FollowedRun late;
  late.add_point("first", 101, {CopyFlow{1, 1}, {}, {}});
  late.run();
  CHECK_FALSE(late.report.ceilings[0].again);
  CHECK(late.report.notes ==
        std::vector<std::string>{"copy ceiling 1 read : 1 write at the end: skipped: deadline"});
  CHECK(late.report.ended == Ended::kDeadline);

  FollowedRun without;  // ceilings: all of the time is for points
  without.add_point("first", 91);
  without.add_point("second", 1);
  without.run();
  CHECK(without.report.ended == Ended::kDone);
}

}  // namespace
}  // namespace goodput::gpu::bench
