// What a sweep is to run: its file, and what the command line says beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/policy_process/policy_command.h"
#include "models/sweep/replication.h"
#include "models/sweep/sweep_config.h"
#include "models/sweep/sweep_points.h"
#include "sim/base/errors.h"
#include "sim/config/changes.h"
#include "sim/config/library.h"
#include "tools/cli/command.h"
#include "tools/simulate/policy_commands.h"

namespace goodput {

// As given; what is empty is left to the file.
struct SweepOptions {
  std::string file{};  // of a sweep or of a scenario: a path or a name
  std::vector<std::string> vary{};
  std::vector<std::string> set{};
  std::vector<std::string> policies{};
  PolicyCommandOptions commands{};
  std::string design{};
  std::string until{};
  std::optional<std::int64_t> points{};
  std::optional<std::int64_t> trials{};
  std::optional<std::int64_t> max_trials{};
};

struct SweepRequest {
  std::string file{};                 // that was named
  std::string scenario{};             // the file of the scenario
  std::vector<config::Change> set{};  // of all points
  std::vector<PolicyCommand> commands{};
  SweepConfig sweep{};
  SweepPoints points;
  std::uint64_t seed = 0;
  std::vector<std::string> notes{};  // of keys that move nothing
};

// `library`: where names are looked up.
Result<SweepRequest> make_sweep_request(const SweepOptions& options, const config::Library& library,
                                        const CommandContext& context);

}  // namespace goodput
