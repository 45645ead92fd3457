// Options of commands that run scenarios.
#pragma once

#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "sim/base/errors.h"
#include "sim/config/changes.h"

namespace goodput {

// Of --set: "/failures/p=0.15".
Result<std::vector<config::Change>> parse_changes(const std::vector<std::string>& texts);

// Of --policy: leaves those of the names, in the scenario's order, and those of commands; all where there are
// none.
Status select_policies(const std::vector<std::string>& names, Scenario& scenario);

}  // namespace goodput
