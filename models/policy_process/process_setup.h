// Policies of commands as scenarios set policies up: with any options, which are the program's to read.
#pragma once

#include <memory>
#include <string>

#include "models/policy/policy.h"
#include "models/policy_process/policy_command.h"

namespace goodput {

// `options`: an object of JSON. The setup echoes it, and passes it on with "hello".
// Prepared, it has as many processes as threads run it at the same time, and keeps them for later runs.
[[nodiscard]] std::unique_ptr<PolicySetup> process_setup(const PolicyCommand& command,
                                                         const std::string& options);

}  // namespace goodput
