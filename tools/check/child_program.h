// Another program, run to its end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

struct ChildResult {
  int exit_code = 0;  // 128 and the signal's number, of one that a signal ended
  std::chrono::nanoseconds took{};
  std::string out{}, messages{};  // what it wrote to stdout and stderr
};

// Longer no command of a suite takes.
inline constexpr std::chrono::milliseconds kLongestRun = std::chrono::minutes(10);

// Without a shell and with nothing on stdin. `program`: a path. Fails where it cannot be started, and where
// it does not end in time: then it is ended.
[[nodiscard]] Result<ChildResult> run_child(const std::string& program,
                                            const std::vector<std::string>& arguments,
                                            std::chrono::milliseconds limit = kLongestRun);

}  // namespace goodput
