#include "tools/calibration/calibration_input.h"

#include <utility>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "tools/cli/config_files.h"

namespace goodput {

std::uint64_t CalibrationInput::hash() const {
  Calibration copy = calibration;
  Hash hash;
  hash.add(config::write(config_fields(copy)).dump());
  return hash.value();
}

Result<CalibrationInput> read_calibration_input(const std::string& argument, const config::Library& library,
                                                const CommandContext& context) {
  GOODPUT_TRY(std::string path, config_file(argument, kCalibrationFiles, library, context));
  GOODPUT_TRY(Calibration calibration, read_calibration(path));
  return CalibrationInput{std::move(path), std::move(calibration)};
}

}  // namespace goodput
