// Runs `goodput sweep` and its like in a folder of their own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/json_fwd.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command.h"

namespace goodput::testing {

// Two policies of which one has checkpoints, for ten minutes.
[[nodiscard]] Json swept_scenario();

class SweepRun {
 public:
  struct Said {
    ExitCode code = ExitCode::kOk;
    std::string out{};
    std::string err{};
  };

  explicit SweepRun(const Json& scenario);

  // The file of the scenario, and what lies in its folder.
  [[nodiscard]] const std::string& scenario() const { return file_.path(); }
  [[nodiscard]] std::string path(const std::string& name) const;
  [[nodiscard]] std::string content(const std::string& name) const;
  void write(const std::string& name, const std::string& text) const;

  // Whatever the command; the folder's name is left out of what it says.
  [[nodiscard]] Said run(std::vector<std::string> arguments,
                         const std::map<std::string, std::string>& environment = {}) const;
  // A sweep of the scenario into the folder `out`, which succeeds.
  void sweep(const std::string& out, const std::vector<std::string>& options,
             const std::map<std::string, std::string>& environment = {}) const;

 private:
  TemporaryFile file_;
};

// A table by its header: a map a row.
[[nodiscard]] std::vector<std::map<std::string, std::string>> table_of(const std::string& csv);

}  // namespace goodput::testing
