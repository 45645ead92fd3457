// How a stage of a calibration ends: what it prints and what it answers.
#include "gpu/calibrate/calibration_stage.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

namespace goodput::gpu::calibrate {
namespace {

// What `call` writes to standard output.
std::string printed_by(const std::function<void()>& call) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  REQUIRE(dup2(fileno(file), STDOUT_FILENO) >= 0);
  call();
  std::fflush(stdout);
  REQUIRE(dup2(before, STDOUT_FILENO) >= 0);
  close(before);
  std::rewind(file);
  std::string text;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

VisitRecord finished_visit_of(std::int64_t bytes, int round, std::uint64_t nwrong = 0) {
  VisitRecord record{"copy", {{"copy", {}}, "bytes", bytes}, {}, "measured", round, false, {}};
  record.visit.us = {50, 1, 1, 1, 1, 1, 0};
  record.visit.nwrong = nwrong;
  return record;
}

std::vector<Sweep> three_points() {
  Sweep sweep;
  sweep.name = "copy";
  for (const std::int64_t bytes : {1, 2, 3})
    sweep.points.push_back({finished_visit_of(bytes, 1).key, 1, {}, {}});
  return {sweep};
}

struct Ended {
  std::string printed;
  StageEnd end;
};
Ended ended(const CalibrationOutcome& outcome, const std::vector<VisitRecord>& visits) {
  MeasuredPoints points(2);
  for (const VisitRecord& visit : visits) points.add(visit);
  Ended result;
  result.printed = printed_by([&] { result.end = end_of_stage(outcome, three_points(), 2, points); });
  return result;
}

TEST_CASE("calibration stage: a point is measured once all of its rounds are") {
  const std::vector<VisitRecord> some{finished_visit_of(1, 1), finished_visit_of(2, 1),
                                      finished_visit_of(3, 1), finished_visit_of(1, 2)};
  CHECK(ended({CalibrationEnd::kDeadline, 0}, some).printed ==
        "1 of 3 points measured before the deadline; continue with --resume\n");
  std::vector<VisitRecord> all = some;
  all.push_back(finished_visit_of(2, 2));
  all.push_back(finished_visit_of(3, 2));
  const Ended done = ended({CalibrationEnd::kDone, 0}, all);
  CHECK(done.printed == "all 3 points measured\n");
  CHECK(done.end.status == StageStatus::kMeasured);
  CHECK(done.end.has_any);
}

TEST_CASE("calibration stage: wrong values of any round and failed visits are no success") {
  CHECK(ended({CalibrationEnd::kDone, 0}, {finished_visit_of(1, 1), finished_visit_of(1, 2, 3)}).end.status ==
        StageStatus::kWrong);
  const Ended failed = ended({CalibrationEnd::kDone, 1}, {finished_visit_of(1, 1), finished_visit_of(1, 2)});
  CHECK(failed.end.status == StageStatus::kWrong);
  CHECK(failed.printed == "1 of 3 points measured\n");
}

TEST_CASE("calibration stage: it says that it gave up, and nothing where there was nothing to measure") {
  const Ended gave_up = ended({CalibrationEnd::kGaveUp, 3}, {});
  CHECK(gave_up.printed == "0 of 3 points measured; gave up because 3 points in a row failed\n");
  CHECK_FALSE(gave_up.end.has_any);
  const Ended nothing = ended({CalibrationEnd::kDeadline, 0}, {});
  CHECK(nothing.printed.empty());
  CHECK(nothing.end.status == StageStatus::kMeasured);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
