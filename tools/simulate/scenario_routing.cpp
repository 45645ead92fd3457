#include "tools/simulate/scenario_routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/routing/synthetic_routing.h"
#include "models/routing/zipf_shares.h"
#include "sim/config/config.h"
#include "tools/routing/routing_selection.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

std::int32_t count_moe_layers(const ModelShape& model) {
  std::int32_t layers = 0;
  for (std::int32_t layer = 0; layer < model.layers; ++layer) layers += model.is_moe_layer(layer) ? 1 : 0;
  return layers;
}

Error at_routing(const Scenario& scenario, std::string_view key, std::string what) {
  return {std::move(what), {.file = scenario.file, .pointer = fmt::format("/routing{}", key)}};
}

// Positions in the trace, one a MoE layer of the job.
Result<std::vector<std::size_t>> select_layers(const Scenario& scenario, const RoutingTrace& trace) {
  const auto wanted = static_cast<std::size_t>(count_moe_layers(scenario.plan.model));
  const std::string& list = scenario.routing->layers;
  Result<std::vector<std::size_t>> layers = find_layers(trace, list);
  if (!layers) return at_routing(scenario, "/layers", layers.error().what);
  if (list.empty()) layers->resize(std::min(layers->size(), wanted));
  if (layers->size() == wanted) return layers;
  return at_routing(scenario, "/layers",
                    fmt::format("selects {} layers of the trace, but the model has {} with experts",
                                layers->size(), wanted));
}

Result<JobRouting> select(const Scenario& scenario, const RoutingTrace& trace) {
  RoutingSelection selection;
  GOODPUT_TRY(selection.layers, select_layers(scenario, trace));
  selection.experts = scenario.plan.model.moe->experts;
  selection.top_at_iteration = scenario.routing->top_at_iteration;
  Result<JobRouting> routing = JobRouting::from_trace(trace, selection);
  if (!routing) return at_routing(scenario, "", routing.error().what);
  return routing;
}

// No file: the scenario names none.
Result<config::Source> find_routing_model(const Scenario& scenario) {
  const std::string& model = scenario.routing->model;
  if (!config::is_name(model)) return config::Source{model, {}};
  Result<config::Source> found =
      config::find_from(scenario.file, scenario.plan.library, kRoutingModelFiles, model);
  if (!found && found.error().where.file.empty()) return at_routing(scenario, "/model", found.error().what);
  return found;
}

// With as many layers and experts as the job has, at least.
Result<RoutingTrace> synthesized(const std::string& path, const ModelShape& job, std::uint64_t seed) {
  GOODPUT_TRY(RoutingModel model, config::read<RoutingModel>(path));
  model.layers = std::max(model.layers, count_moe_layers(job));
  if (model.experts < job.moe->experts) {
    model.experts = job.moe->experts;
    model.top_k = job.moe->top_k;
  }
  if (const Status fits = config_finish(model); !fits) return fits.error().in_file(path);
  return synthesize_routing(model, seed);
}

// One iteration, for ever.
RoutingTrace skewed(const ModelShape& job, double skew, std::uint64_t seed) {
  constexpr double kTokens = 1e12;  // only proportions matter
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> loads;
  for (std::int32_t layer = 0; layer < count_moe_layers(job); ++layer) {
    layers.push_back(layer);
    for (const double share : zipf_shares(*job.moe, skew, layer, seed))
      loads.push_back(std::llround(kTokens * share));
  }
  return {{0}, std::move(layers), job.moe->experts, std::move(loads)};
}

}  // namespace

Result<ScenarioRouting> read_scenario_routing(const Scenario& scenario, std::uint64_t seed) {
  const ModelShape& model = scenario.plan.model;
  if (!model.moe) {
    if (scenario.routing) return at_routing(scenario, "", "the model has no experts; leave it out");
    return ScenarioRouting{JobRouting::balanced(0, 1)};
  }
  if (!scenario.routing)
    return ScenarioRouting{JobRouting::balanced(count_moe_layers(model), model.moe->experts)};
  const RoutingSource& source = *scenario.routing;
  if (source.file.empty() && source.model.empty()) {
    if (source.skew == 0)
      return ScenarioRouting{JobRouting::balanced(count_moe_layers(model), model.moe->experts)};
    Scenario all_layers = scenario;
    all_layers.routing->layers.clear();
    GOODPUT_TRY(JobRouting routing, select(all_layers, skewed(model, source.skew, seed)));
    return ScenarioRouting{std::move(routing)};
  }
  const char* const key = source.file.empty() ? "/routing/model" : "/routing/file";
  GOODPUT_TRY(const config::Source model_file, find_routing_model(scenario));
  GOODPUT_TRY(ScenarioFile file, choose_file(scenario.file, key, source.file, model_file.file));
  const bool is_recorded = !source.file.empty() && !file.is_fallback();
  GOODPUT_TRY(const RoutingTrace trace,
              is_recorded ? read_routing_trace(file.used) : synthesized(file.used, model, seed));
  GOODPUT_TRY(JobRouting routing, select(scenario, trace));
  return ScenarioRouting{std::move(routing), std::move(file),
                         is_recorded ? std::nullopt : std::optional(model_file)};
}

}  // namespace goodput
