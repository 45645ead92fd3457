// `goodput import calibration LOG...`: results of benchmarks to a calibration.
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"

namespace goodput {

struct ImportCalibrationOptions {
  std::vector<std::string> files;
  std::string out;
  std::string op, gpu, dtype;
};

void add_import_calibration_options(Options& calibration, ImportCalibrationOptions& options);

Result<ExitCode> run_import_calibration(const ImportCalibrationOptions& options,
                                        const CommandContext& context);

}  // namespace goodput
