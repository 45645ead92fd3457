// A calibration on the disk: its journal, and the file that is made of it.
#pragma once

#include <string>

#include "gpu/bench/output_file.h"
#include "gpu/calibrate/calibrate_options.h"
#include "gpu/calibrate/journal.h"
#include "gpu/calibrate/measured_points.h"

namespace goodput::gpu::calibrate {

class CalibrationSession {
 public:
  // `file`: opened first, so that nobody measures in vain. Throws std::invalid_argument.
  CalibrationSession(const CalibrateOptions& options, bench::OutputFile file, JournalStart start,
                     const JsonValue& header);
  CalibrationSession(CalibrationSession&&) = delete;
  CalibrationSession& operator=(CalibrationSession&&) = delete;
  // A journal without anything measured is removed.
  ~CalibrationSession();

  [[nodiscard]] MeasuredPoints& points() { return points_; }
  [[nodiscard]] const Journal& journal() const { return journal_; }

  void append(const Record& record) { journal_.append(record); }
  // Once: what a journal that is resumed has said already is not said again.
  void note(const std::string& text);
  // The file, of all that was measured so far; none of nothing.
  void save();

 private:
  bench::OutputFile file_;
  Journal journal_;
  MeasuredPoints points_;
};

}  // namespace goodput::gpu::calibrate
