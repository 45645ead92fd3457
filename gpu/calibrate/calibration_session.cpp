#include "gpu/calibrate/calibration_session.h"

#include <algorithm>
#include <utility>

#include "gpu/calibrate/calibration_file.h"

namespace goodput::gpu::calibrate {

CalibrationSession::CalibrationSession(const CalibrateOptions& options, bench::OutputFile file,
                                       JournalStart start, const JsonValue& header)
    : file_(std::move(file)), journal_(options.journal(), start, header), points_(options.rounds) {
  for (const Record& record : journal_.kept()) points_.add(record);
}

void CalibrationSession::note(const std::string& text) {
  const std::vector<std::string>& said = points_.notes();
  if (std::find(said.begin(), said.end(), text) != said.end()) return;
  journal_.append(NoteRecord{text});
  points_.add(NoteRecord{text});
}

void CalibrationSession::save() {
  if (!points_.points().empty()) file_.write(calibration_text(journal_.header(), points_));
}

CalibrationSession::~CalibrationSession() {
  if (points_.points().empty()) journal_.remove();
}

}  // namespace goodput::gpu::calibrate
