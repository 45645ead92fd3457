// The jobs of a fleet from files: results of `goodput whatif --json`, databases of monitors, folders of
// these.
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/fleet/fleet_job.h"

namespace goodput {

struct FleetInputs {
  std::vector<std::string> paths;  // of files, which are told by their content, and of folders
  std::string about;               // a table of what is known of the jobs besides; empty: none
};

struct FleetReading {
  std::vector<FleetJob> jobs;  // in the order of the paths, those of a folder by name
  std::size_t results = 0;     // files
  std::size_t databases = 0;
  std::vector<std::string> notes;
};

// All files that are read: those of folders end in .json, .json.gz, .sqlite or .db. Fails on a folder
// without one.
Result<std::vector<std::string>> fleet_files(const std::vector<std::string>& paths);

// A job that is there twice, of the same rows, counts once. Fails on the first file that is neither a result
// nor a database, and on a table that does not fit.
Result<FleetReading> read_fleet(const FleetInputs& inputs, const CommandContext& context);

}  // namespace goodput
