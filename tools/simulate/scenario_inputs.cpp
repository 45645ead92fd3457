#include "tools/simulate/scenario_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/config/json_file.h"
#include "tools/simulate/scenario_routing.h"
#include "traces/spot/spot_reader.h"

namespace goodput {
namespace {

Result<SpotTrace> read_trace(const FailureFile& file, const std::string& path, const std::string& pointer) {
  Result<SpotTrace> trace = read_spot_trace(path, {file.polarity, file.meaning, {}});
  if (trace) return trace;
  Error error = std::move(trace).error();
  if (!error.option.empty())
    error.what += fmt::format("; in a scenario that is {}/{}", pointer, error.option);
  return error;
}

// Of the workers that a what-if analysis found slower than the ideal one.
Result<std::vector<double>> read_slowdowns(const std::string& path) {
  constexpr std::string_view kKey = "slowdown_by_worker";
  const auto error = [&](std::string what) {
    return Error{std::move(what), {.file = path, .pointer = fmt::format("/{}", kKey)}};
  };
  GOODPUT_TRY(const Json result, config::parse_file(path));
  const auto workers = result.is_object() ? result.find(kKey) : result.end();
  if (!result.is_object() || workers == result.end())
    return error("is missing, want the result of `goodput whatif --json`");
  if (!workers->is_object()) return error("is no object, want {\"dp:stage\": slowdown}");
  std::vector<double> slowdowns;
  for (const auto& [worker, slowdown] : workers->items()) {
    if (!slowdown.is_number() || !(slowdown.get<double>() > 0))
      return error(fmt::format("of worker {} is {}, want a number above 0", worker, slowdown.dump()));
    if (slowdown.get<double>() > 1) slowdowns.push_back(slowdown.get<double>());
  }
  if (slowdowns.empty()) return error("has no worker slower than 1: nothing to draw from");
  return slowdowns;
}

// Where the replay starts is time 0.
PriceSchedule shifted_prices(const SpotTrace& trace, SimDuration from) {
  std::vector<SpotPrice> prices;
  for (const SpotPrice& price : trace.prices) {
    const SimTime time = price.time - std::min(from, price.time.time_since_epoch());
    if (!prices.empty() && prices.back().time == time) prices.pop_back();
    prices.push_back({time, price.usd_per_node_hour});
  }
  return PriceSchedule(prices);
}

using Traces = std::span<const SpotTrace* const>;

// `traces`: of the pool's failure models.
Result<PriceSchedule> prices_of(const PoolView& pool, Traces traces) {
  if (pool.usd_per_node_hour) return PriceSchedule(*pool.usd_per_node_hour);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const auto file = pool.failures[i].setup().file();
    if (file && traces[i] != nullptr && !traces[i]->prices.empty())
      return shifted_prices(*traces[i], file->from);
  }
  if (pool.name.empty()) return PriceSchedule();
  return Error{"is not given, and no recording of the pool has prices; give it, 0 for nodes that are free",
               {.pointer = pool.pointer + "/usd_per_node_hour"}};
}

void add_names(const PoolView& pool, Traces traces, NodeId nodes, std::vector<std::string>& names) {
  for (NodeId node = 0; node < nodes; ++node) {
    const auto at = static_cast<std::size_t>(node);
    const auto named = std::find_if(traces.begin(), traces.end(), [at](const SpotTrace* trace) {
      return trace != nullptr && at < trace->node_names.size();
    });
    if (named != traces.end()) {
      names.push_back((*named)->node_names[at]);
    } else {
      names.push_back(pool.name.empty() ? "" : fmt::format("{} {}", pool.name, node));
    }
  }
}

// Who is paid what for which nodes. The most nodes that can be there are the same in every trial.
Status price_nodes(const Scenario& scenario, std::uint64_t seed, ScenarioInputs& inputs) {
  GOODPUT_TRY(const PoolFailures failures,
              make_pool_failures(scenario, inputs.view().failures, seed, /*trial=*/0));
  Traces traces = inputs.traces;
  for (const PoolView& pool : pools_of(scenario)) {
    const Traces of_pool = traces.first(pool.failures.size());
    traces = traces.subspan(pool.failures.size());
    auto prices = prices_of(pool, of_pool);
    if (!prices) return prices.error().in_file(scenario.file);
    const NodeId nodes = failures[inputs.pools.size()]->nodes();
    inputs.pools.push_back({nodes, *std::move(prices), pool.billing});
    add_names(pool, of_pool, nodes, inputs.node_names);
  }
  return Ok{};
}

// What a recording is read as.
std::string trace_name(const FailureFile& wanted, const std::string& file) {
  const auto number = [](const auto& choice) { return choice ? static_cast<int>(*choice) : -1; };
  return fmt::format("{} {} {}", number(wanted.polarity), number(wanted.meaning), file);
}

Status read_failure_files(const Scenario& scenario, SharedInputs& shared, ScenarioInputs& inputs) {
  const auto failures = all_failures(scenario);
  inputs.traces.resize(failures.size());
  inputs.slowdowns.resize(failures.size());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const std::optional<FailureFile> wanted = failures[i].config->setup().file();
    if (!wanted) continue;
    const std::string& pointer = failures[i].pointer;
    GOODPUT_TRY(ScenarioFile file, choose_file(scenario.file, fmt::format("{}/{}", pointer, wanted->key),
                                               wanted->path, wanted->fallback));
    if (wanted->content == FailureFile::Content::kRecording) {
      GOODPUT_TRY(inputs.traces[i], shared.traces.at(trace_name(*wanted, file.used), [&] {
        return read_trace(*wanted, file.used, pointer);
      }));
    } else {
      GOODPUT_TRY(const std::vector<double>* const slowdowns,
                  shared.slowdowns.at(file.used, [&] { return read_slowdowns(file.used); }));
      inputs.slowdowns[i] = *slowdowns;
    }
    inputs.files.push_back(std::move(file));
  }
  return Ok{};
}

Result<std::uint64_t> hash_of(const std::vector<ScenarioFile>& files, SharedInputs& shared) {
  Hash hash;
  for (const ScenarioFile& file : files) {
    GOODPUT_TRY(const std::uint64_t* const content,
                shared.hashes.at(file.used, [&file] { return hash_of_file(file.used); }));
    hash.add(file.pointer);
    hash.add(file.is_fallback());
    hash.add(*content);
  }
  return hash.value();
}

// What a timed plan follows from, but for the seed.
std::string plan_name(const Scenario& scenario) {
  TrainingPlan plan = scenario.plan;
  OrderedJson routing;
  if (scenario.routing) {
    RoutingSource source = *scenario.routing;
    routing = config::write(config_fields(source));
  }
  return fmt::format("{} {} {} {} {} {}", scenario.plan.file, scenario.plan.pointer, scenario.nodes,
                     static_cast<int>(scenario.batch), routing.dump(),
                     config::write(config_fields(plan)).dump());
}

// What the scenario says of the nodes, for the policies to go by.
Result<JobTerms> terms_of(const Scenario& scenario, std::uint64_t seed, const ScenarioInputs& inputs) {
  JobTerms terms = scenario.terms();
  std::vector<NodeId> nodes;
  for (const PricedNodes& pool : inputs.pools) nodes.push_back(pool.nodes);
  terms.nodes_ever = std::accumulate(nodes.begin(), nodes.end(), NodeId{0});
  GOODPUT_TRY(terms.interruptions_per_s,
              make_interruption_rate(scenario, inputs.view().failures, seed, std::move(nodes)));
  return terms;
}

}  // namespace

SimulationInputs ScenarioInputs::view() const {
  SimulationInputs inputs;
  inputs.job = job.get();
  inputs.pools = pools;
  for (std::size_t i = 0; i < traces.size(); ++i) inputs.failures.push_back({traces[i], slowdowns[i]});
  return inputs;
}

std::string ScenarioInputs::node_name(NodeId node) const {
  const auto at = static_cast<std::size_t>(node);
  if (at < node_names.size() && !node_names[at].empty()) return node_names[at];
  return fmt::format("node {}", node);
}

std::vector<std::string> ScenarioInputs::notes() const {
  std::vector<std::string> notes;
  for (const ScenarioFile& file : files) {
    if (!file.is_fallback()) continue;
    notes.push_back(fmt::format("{}: no file {}; {} is used instead", file.pointer, file.named, file.used));
  }
  return notes;
}

Result<ScenarioInputs> read_scenario_inputs(const Scenario& scenario, std::uint64_t seed,
                                            SharedInputs& shared) {
  ScenarioInputs inputs;
  GOODPUT_TRY_STATUS(read_failure_files(scenario, shared, inputs));
  const std::string name = plan_name(scenario);
  const SharedInputs::Plan* plan = shared.plans.find(name);
  SharedInputs::Plan made;
  std::optional<JobRouting> routing;
  if (plan == nullptr) {
    GOODPUT_TRY(ScenarioRouting read, read_scenario_routing(scenario, seed));
    made = {nullptr, std::move(read.file), std::move(read.model)};
    routing = std::move(read.routing);
  }
  const SharedInputs::Plan& source = plan == nullptr ? made : *plan;
  if (source.routing_file) inputs.files.push_back(*source.routing_file);
  inputs.routing_model = source.routing_model;
  GOODPUT_TRY_STATUS(price_nodes(scenario, seed, inputs));
  GOODPUT_TRY(inputs.content_hash, hash_of(inputs.files, shared));
  GOODPUT_TRY(const JobTerms terms, terms_of(scenario, seed, inputs));
  if (plan == nullptr) {
    GOODPUT_TRY(made.timed, TimedPlan::make(terms.plan, terms.most_nodes, terms.batch, *std::move(routing)));
    plan = &shared.plans.add(name, std::move(made));
  }
  inputs.job = JobModel::make(terms, *plan->timed);
  return inputs;
}

Result<ScenarioInputs> read_scenario_inputs(const Scenario& scenario, std::uint64_t seed) {
  auto own = std::make_unique<SharedInputs>();
  GOODPUT_TRY(ScenarioInputs inputs, read_scenario_inputs(scenario, seed, *own));
  inputs.own = std::move(own);
  return inputs;
}

}  // namespace goodput
