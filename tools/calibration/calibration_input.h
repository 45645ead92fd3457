// A calibration that a command was told of.
#pragma once

#include <cstdint>
#include <string>

#include "models/cost/calibration.h"
#include "sim/base/errors.h"
#include "sim/config/library.h"
#include "tools/cli/command.h"

namespace goodput {

struct CalibrationInput {
  std::string path;
  Calibration calibration;

  // Of what it says, however it is laid out.
  [[nodiscard]] std::uint64_t hash() const;
};

// By path or by a name that `goodput list calibrations` prints.
Result<CalibrationInput> read_calibration_input(const std::string& argument, const config::Library& library,
                                                const CommandContext& context);

}  // namespace goodput
