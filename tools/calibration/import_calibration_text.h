// What `goodput import calibration` prints.
#pragma once

#include <string>

#include "sim/base/json_fwd.h"
#include "tools/calibration/import_benchmarks.h"

namespace goodput {

// `out`: the file that was written.
[[nodiscard]] std::string import_calibration_text(const BenchmarkCalibration& imported,
                                                  const std::string& out);

// Adds the keys of docs/formats/benchmark-logs.md, "goodput.import-calibration/1".
void add_import_calibration_json(const BenchmarkCalibration& imported, OrderedJson& json);

}  // namespace goodput
