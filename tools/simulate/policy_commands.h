// Options of commands that run policies which are programs of the user's (models/policy_process).
#pragma once

#include <string>
#include <vector>

#include "models/policy_process/policy_command.h"
#include "sim/base/errors.h"
#include "tools/cli/options.h"

namespace goodput {

struct PolicyCommandOptions {
  std::vector<std::string> commands{};  // --policy-command
  double timeout_s = 10;                // --policy-timeout-s

  void configure(Options& options);
  // As they were given.
  [[nodiscard]] Result<std::vector<PolicyCommand>> read() const;
};

}  // namespace goodput
