// A calibration on the disk: notes, the file, and what is left where nothing was measured.
#include "gpu/calibrate/calibration_session.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace goodput::gpu::calibrate {
namespace {

class SessionCase {
 public:
  SessionCase()
      : folder_(std::filesystem::temp_directory_path() / ("goodput_session_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    options_.out = folder_ / "h.json";
  }
  ~SessionCase() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] CalibrationSession session() const {
    return {options_, bench::OutputFile(options_.out), JournalStart::kResume,
            parse_json(R"({"tier": "measured","machine": {"gpu": "H200"},"method": {"timer": "events"}})")};
  }
  [[nodiscard]] bool has_file() const { return std::filesystem::exists(options_.out); }
  [[nodiscard]] bool has_journal() const { return std::filesystem::exists(options_.journal()); }

 private:
  std::filesystem::path folder_;
  CalibrateOptions options_;
};

VisitRecord visit_of_gap(double us) {
  VisitRecord record{"launch", {{"launch_gap", {}}, "", 0}, {}, "measured", 1, false, {}};
  record.visit.us = {50, us, us, us, us, us, 0};
  return record;
}

TEST_CASE("calibration session: a note is said once, also where the journal is gone on with") {
  const SessionCase files;
  {
    CalibrationSession session = files.session();
    session.append(visit_of_gap(2));
    session.points().add(visit_of_gap(2));  // as a run does
    session.note("MIG is on");
    session.note("MIG is on");
    session.note("quick");
  }
  CalibrationSession session = files.session();
  CHECK(session.journal().kept().size() == 1 + 2);
  session.note("quick");
  CHECK(session.points().notes() == std::vector<std::string>{"MIG is on", "quick"});
}

TEST_CASE("calibration session: of nothing measured there is no file, and no journal is left") {
  const SessionCase files;
  {
    CalibrationSession session = files.session();
    session.note("MIG is on");
    session.save();
    CHECK_FALSE(files.has_file());
    CHECK(files.has_journal());
  }
  CHECK_FALSE(files.has_journal());
  {
    CalibrationSession session = files.session();
    session.append(visit_of_gap(2));
    session.points().add(visit_of_gap(2));
    session.save();
    CHECK(files.has_file());
  }
  CHECK(files.has_journal());
}

}  // namespace
}  // namespace goodput::gpu::calibrate
