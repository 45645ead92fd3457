#include "tests/tools/simulate/simulate_run.h"

#include <doctest/doctest.h>

#include <sstream>

#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput::testing {

SimulateRun simulate_run(const Json& scenario, std::vector<std::string> options) {
  const TemporaryFile file("s.json", scenario.dump());
  options.insert(options.begin(), {"simulate", file.path(), "--configs", GOODPUT_CONFIGS});
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(builtin_commands(), options, out, err);
  std::string said = err.str();
  for (auto at = said.find(file.path()); at != std::string::npos; at = said.find(file.path()))
    said.replace(at, file.path().size(), "s.json");
  return {code, out.str(), said};
}

Json simulate_result(const Json& scenario) {
  const SimulateRun run = simulate_run(scenario, {"--json", "-", "--quiet"});
  REQUIRE_MESSAGE(run.code == ExitCode::kOk, run.err);
  return Json::parse(run.out);
}

}  // namespace goodput::testing
