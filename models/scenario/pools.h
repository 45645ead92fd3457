// Where the nodes of a scenario come from: pools of them, each with its own failures and prices.
//
// Nodes of a pool have consecutive ids, those of the first pool the lowest. Policies choose nodes by id where
// they may, so that the first pool is used first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/failure/failure_models.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"
#include "sim/nodes/node_bill.h"

namespace goodput {

struct Scenario;

// A pool as `pools` of a scenario has it.
struct PoolConfig {
  std::string name{};
  std::vector<FailureConfig> failures{};
  std::optional<double> usd_per_node_hour{};  // none: the prices of its recording
  Billing billing = Billing::kHeld;
};
[[nodiscard]] config::Fields config_fields(PoolConfig& pool);
[[nodiscard]] Status config_finish(PoolConfig& pool);

// A pool, or an array of them.
[[nodiscard]] config::Value pools_value(std::vector<PoolConfig>& pools);
// Whether every key says what the others leave to it. Error::where: a pointer from the scenario.
[[nodiscard]] Status check_pools(const Scenario& scenario);

// A pool, whichever way a scenario says it: without `pools` there is one, which has no name.
struct PoolView {
  std::string_view name{};
  std::span<const FailureConfig> failures{};
  std::optional<double> usd_per_node_hour{};
  Billing billing = Billing::kHeld;
  std::string pointer{};  // of the object that it stands in, from the scenario's
};
[[nodiscard]] std::vector<PoolView> pools_of(const Scenario& scenario);

// A failure model of some pool, and where it stands. A list of one is no list.
template <typename Config>
struct PlacedFailures {
  Config* config = nullptr;
  std::string pointer{};
};
// Of all pools, one pool after the other.
[[nodiscard]] std::vector<PlacedFailures<FailureConfig>> all_failures(Scenario& scenario);
[[nodiscard]] std::vector<PlacedFailures<const FailureConfig>> all_failures(const Scenario& scenario);

// Of all_failures(), those of `count` models from the `first` on; missing ones at the end are left out.
[[nodiscard]] inline std::span<const FailureSource> sources_of(std::span<const FailureSource> sources,
                                                               std::size_t first, std::size_t count) {
  first = std::min(first, sources.size());
  return sources.subspan(first, std::min(count, sources.size() - first));
}

// `sources`: of all_failures(). Errors name the scenario's file and a pointer.
using PoolFailures = std::vector<std::unique_ptr<FailureModel>>;
Result<PoolFailures> make_pool_failures(const Scenario& scenario, std::span<const FailureSource> sources,
                                        std::uint64_t seed, std::uint64_t trial);
Result<std::unique_ptr<FailureModel>> make_failures(const Scenario& scenario,
                                                    std::span<const FailureSource> sources,
                                                    std::uint64_t seed, std::uint64_t trial);

// How each of all_failures() replays its recording in that trial. REQUIRES: make_failures() of these
// succeeds.
[[nodiscard]] RecordingReplays replays_of(const Scenario& scenario, std::span<const FailureSource> sources,
                                          std::uint64_t seed, std::uint64_t trial);

// How often a job loses a node that it uses, if it uses those of the first pools first: `nodes` by pool.
// Empty where a failure model does not say.
Result<InterruptionRate> make_interruption_rate(const Scenario& scenario,
                                                std::span<const FailureSource> sources, std::uint64_t seed,
                                                std::vector<NodeId> nodes);

}  // namespace goodput
