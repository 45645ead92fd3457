// Somebody who answers lines with lines: a program beside this one (sim/process/child_process.h), or a script
// of a test.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/errors.h"

namespace goodput {

class LineChannel {
 public:
  virtual ~LineChannel() = default;

  // Sends a line and waits for the one that comes back; neither has its line feed. Errors say what the other
  // side did instead, and have no place: "gave no answer within 10 s". After one nothing more may be asked.
  // REQUIRES: no line feed in `line`.
  [[nodiscard]] virtual Result<std::string> exchange(std::string_view line) = 0;

  // The last line that the other side wrote to its standard error; empty: none that is known.
  [[nodiscard]] virtual std::string last_complaint() = 0;
};

}  // namespace goodput
