// Gemini (SOSP 2023): checkpoints in the CPU memory of other nodes (models/policy/memory_checkpoints.h). It
// trains on a fixed number of nodes and waits for spares, which start up when they are needed or run already.
#include <utility>
#include <vector>

#include "models/policy/fixed_nodes.h"
#include "models/policy/memory_checkpoints.h"
#include "models/policy/policy.h"
#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

struct GeminiOptions {
  std::int32_t nodes = 0;
  Spares spares = Spares::kCold;
  SimDuration swap = kDefaultSwap;
  // Storage is filled from the copies in memory, beside the training.
  RestartOptions restart{.checkpoint = {.mode = SaveMode::kAsync}};
  MemorySettings memory{};
};

config::Fields config_fields(GeminiOptions& options, const PolicyContext& context) {
  const auto evicts = [&options] { return options.restart.slow_nodes.action == SlowNodeAction::kEvict; };
  const auto are_cold = [&options] { return options.spares == Spares::kCold ? "spares is \"cold\"" : ""; };
  const config::Fields of_spares = {
      {"spares", config::Need::kOptional, config::choice(options.spares, kSparesNames),
       "cold: all processes restart after a loss; hot: processes on spares and surviving nodes stay up"},
      swap_field(options.swap, are_cold)};
  return joined(fixed_nodes_fields(options.nodes, options.restart, context),
                joined(memory_fields(options.memory, MemoryUse::kAlways, evicts), of_spares));
}

Result<std::unique_ptr<PreparedPolicy>> prepare_gemini(const GeminiOptions& options, const JobModel& job) {
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options.restart));
  GOODPUT_TRY(const std::int32_t nodes, fixed_nodes(options.nodes, restarts));
  return restarting_policy(std::move(restarts), memory_warnings(options.memory, options.restart.checkpoint),
                           [nodes, options](const RestartJob& of) {
                             RestartParts parts{
                                 .fixed_nodes = nodes,
                                 .store = std::make_unique<MemoryCheckpoints>(of, options.memory)};
                             if (options.spares == Spares::kHot)
                               parts.in_place = InPlaceRestart{options.swap, Spares::kHot};
                             return parts;
                           });
}

}  // namespace

PolicyInfo policy_gemini() {
  return {"gemini",
          "keeps checkpoints in the memory of other nodes; trains on a fixed number of nodes and waits for "
          "spares",
          [] { return policy_setup(GeminiOptions{}, prepare_gemini, limits_of_replicas); }};
}

}  // namespace goodput
