#include "models/scenario/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/failure/failure_fields.h"
#include "models/failure/failure_pools.h"
#include "models/scenario/scenario.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using config::Need;

Status read_pool(const Json& value, config::Place& place, std::vector<PoolConfig>& pools) {
  PoolConfig pool;
  GOODPUT_TRY_STATUS(config::object(pool).read(value, place));
  pools.push_back(std::move(pool));
  return Ok{};
}

Status read_pools(const Json& value, config::Place& place, std::vector<PoolConfig>& pools) {
  pools.clear();
  if (!value.is_array()) return read_pool(value, place, pools);
  if (value.empty()) return place.error("must have at least one pool");
  for (const Json& one : value) {
    config::Place at = place.at(std::to_string(pools.size()));
    GOODPUT_TRY_STATUS(read_pool(one, at, pools));
    if (at.tier) place.tier = lowest(place.tier.value_or(*at.tier), *at.tier);
  }
  return Ok{};
}

// A list of one is no list.
std::string pool_pointer(const Scenario& scenario, std::size_t pool) {
  return scenario.pools.size() == 1 ? "/pools" : fmt::format("/pools/{}", pool);
}

Status check_names(const Scenario& scenario) {
  for (std::size_t i = 0; i < scenario.pools.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (scenario.pools[i].name != scenario.pools[j].name) continue;
      return Error{fmt::format("is {}, which is also the name of another pool; give each pool its own name",
                               in_quotes(scenario.pools[i].name)),
                   {.pointer = pool_pointer(scenario, i) + "/name"}};
    }
  }
  return Ok{};
}

template <typename Config, typename List>
void add_failures(List& failures, const std::string& pool, std::vector<PlacedFailures<Config>>& all) {
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const std::string index = failures.size() == 1 ? "" : fmt::format("/{}", i);
    all.push_back({&failures[i], fmt::format("{}/failures{}", pool, index)});
  }
}

template <typename Config, typename OfScenario>
std::vector<PlacedFailures<Config>> placed_failures(OfScenario& scenario) {
  std::vector<PlacedFailures<Config>> all;
  if (scenario.pools.empty()) add_failures<Config>(scenario.failures, "", all);
  for (std::size_t i = 0; i < scenario.pools.size(); ++i)
    add_failures<Config>(scenario.pools[i].failures, pool_pointer(scenario, i), all);
  return all;
}

// `make`: (the pool's failure models, their sources, its name), for every pool.
template <typename T, typename Make>
Result<std::vector<T>> of_every_pool(const Scenario& scenario, std::span<const FailureSource> sources,
                                     Make make) {
  std::vector<T> made;
  std::size_t first = 0;
  for (const PoolView& pool : pools_of(scenario)) {
    Result<T> one = make(pool.failures, sources_of(sources, first, pool.failures.size()), pool.name);
    if (!one) return one.error().inside(pool.pointer + "/failures").in_file(scenario.file);
    made.push_back(*std::move(one));
    first += pool.failures.size();
  }
  return made;
}

}  // namespace

config::Fields config_fields(PoolConfig& pool) {
  return {
      {"name", Need::kRequired, config::text(pool.name), "name of the pool in results"},
      {"failures", Need::kRequired, failures_value(pool.failures), "failure models of the pool's nodes"},
      {"usd_per_node_hour", Need::kOptional, optional_number(pool.usd_per_node_hour, config::between(0, 1e6)),
       "price per node-hour for each billed node of the pool (default: the prices in the recording, if any)"},
      {"billing", Need::kOptional, config::choice(pool.billing, kBillingNames),
       "which node-hours are billed. held: those of nodes that are present; reserved: those of all nodes "
       "from start to end"}};
}

Status config_finish(PoolConfig& pool) {
  if (std::string fault = fault_of_name(pool.name); !fault.empty())
    return Error{std::move(fault), {.pointer = "/name"}};
  return Ok{};
}

config::Value pools_value(std::vector<PoolConfig>& pools) {
  const auto write = [&pools](OrderedJson& into) {
    for (PoolConfig& pool : pools) into.push_back(config::write(config_fields(pool)));
    if (pools.size() == 1) into = OrderedJson(into.front());
  };
  return {"a pool of nodes or an array of pools",
          [&pools](const Json& value, config::Place& place) { return read_pools(value, place, pools); },
          write,
          {}};
}

Status check_pools(const Scenario& scenario) {
  const auto other = [](const char* pointer) {
    return Error{"must be set in each pool, not here; remove this key", {.pointer = pointer}};
  };
  if (scenario.pools.empty()) {
    if (!scenario.failures.empty()) return Ok{};
    return Error{"is missing; give a failure model or an array of failure models", {.pointer = "/failures"}};
  }
  if (!scenario.failures.empty()) return other("/failures");
  if (scenario.usd_per_node_hour) return other("/usd_per_node_hour");
  return check_names(scenario);
}

std::vector<PoolView> pools_of(const Scenario& scenario) {
  if (scenario.pools.empty())
    return {{"", scenario.failures, scenario.usd_per_node_hour, scenario.billing, ""}};
  std::vector<PoolView> pools;
  for (const PoolConfig& pool : scenario.pools) {
    pools.push_back({pool.name, pool.failures, pool.usd_per_node_hour, pool.billing,
                     pool_pointer(scenario, pools.size())});
  }
  return pools;
}

std::vector<PlacedFailures<FailureConfig>> all_failures(Scenario& scenario) {
  return placed_failures<FailureConfig>(scenario);
}
std::vector<PlacedFailures<const FailureConfig>> all_failures(const Scenario& scenario) {
  return placed_failures<const FailureConfig>(scenario);
}

Result<PoolFailures> make_pool_failures(const Scenario& scenario, std::span<const FailureSource> sources,
                                        std::uint64_t seed, std::uint64_t trial) {
  return of_every_pool<std::unique_ptr<FailureModel>>(
      scenario, sources, [&](const auto& configs, const auto& of_pool, std::string_view name) {
        return make_failure_model(configs, of_pool, seed, trial, name);
      });
}

Result<std::unique_ptr<FailureModel>> make_failures(const Scenario& scenario,
                                                    std::span<const FailureSource> sources,
                                                    std::uint64_t seed, std::uint64_t trial) {
  GOODPUT_TRY(PoolFailures pools, make_pool_failures(scenario, sources, seed, trial));
  return join_pools(std::move(pools));
}

RecordingReplays replays_of(const Scenario& scenario, std::span<const FailureSource> sources,
                            std::uint64_t seed, std::uint64_t trial) {
  RecordingReplays all;
  for (const PoolView& pool : pools_of(scenario)) {
    const auto of_pool = sources_of(sources, all.size(), pool.failures.size());
    const RecordingReplays replays = replays_of(pool.failures, of_pool, seed, trial, pool.name);
    all.insert(all.end(), replays.begin(), replays.end());
  }
  return all;
}

Result<InterruptionRate> make_interruption_rate(const Scenario& scenario,
                                                std::span<const FailureSource> sources, std::uint64_t seed,
                                                std::vector<NodeId> nodes) {
  GOODPUT_TRY(std::vector<InterruptionRate> rates,
              of_every_pool<InterruptionRate>(
                  scenario, sources, [&](const auto& configs, const auto& of_pool, std::string_view name) {
                    return make_interruption_rate(configs, of_pool, seed, name);
                  }));
  const bool all_known = std::all_of(rates.begin(), rates.end(), [](const auto& rate) { return !!rate; });
  if (!all_known) return InterruptionRate{};
  if (rates.size() == 1) return std::move(rates.front());
  return InterruptionRate{[rates = std::move(rates), nodes = std::move(nodes)](NodeId used) {
    double per_s = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const NodeId of_pool = std::min(used, nodes[i]);
      per_s += rates[i](of_pool);
      used -= of_pool;
    }
    return per_s;
  }};
}

}  // namespace goodput
