// The calibration file made of a journal: goodput.calibration/1 (docs/formats/calibration.md). Pure; the same
// records make the same bytes. Host only.
#pragma once

#include <string>

#include "gpu/calibrate/json_value.h"
#include "gpu/calibrate/measured_points.h"

namespace goodput::gpu::calibrate {

// What a time is worth that is none of a machine at work: "" or why it is refused. All times must have
// `tier`, that of the program.
[[nodiscard]] std::string why_refused(const VisitRecord& record, const std::string& tier);

// `header`: that of the journal; its members tier, machine, method, revision, utc and argv are the file's. A
// point with wrong results is left out and noted, and so is a table of a layout within 5 % of the plain one.
// Throws std::invalid_argument for a time that is refused.
[[nodiscard]] std::string calibration_text(const JsonValue& header, const MeasuredPoints& points);

}  // namespace goodput::gpu::calibrate
