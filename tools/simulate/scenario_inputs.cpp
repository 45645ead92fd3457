#include "tools/simulate/scenario_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/routing/job_routing.h"
#include "models/routing/synthetic_routing.h"
#include "models/routing/zipf_shares.h"
#include "models/scenario/observations.h"
#include "models/scenario/pool_prices.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "sim/config/json_file.h"
#include "tools/routing/routing_selection.h"
#include "traces/routing/routing_reader.h"
#include "traces/spot/spot_reader.h"

namespace goodput {
namespace {

// ---- The routing that a scenario asks for: recorded, synthesized, skewed for ever, or balanced.

struct ScenarioRouting {
  JobRouting routing;
  std::optional<ScenarioFile> file{};     // that was read for it
  std::optional<config::Source> model{};  // if that is a config it was synthesized from
  std::vector<ScenarioFile> rank_files{};
};

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
                    fmt::format("selects {} layers of the trace, but the model has {} layers with experts; "
                                "the two numbers must be equal",
                                layers->size(), wanted));
}

// `rank_rows`: null where ranks are even or drawn.
Result<JobRouting> select(const Scenario& scenario, const RoutingTrace& trace,
                          const RankRows* rank_rows = nullptr) {
  RoutingSelection selection;
  GOODPUT_TRY(selection.layers, select_layers(scenario, trace));
  selection.experts = scenario.plan.model.moe->experts;
  selection.top_at_iteration = scenario.routing->top_at_iteration;
  selection.after_end = scenario.routing->after_end;
  selection.rank_rows = rank_rows;
  Result<JobRouting> routing = JobRouting::from_trace(trace, selection);
  if (routing) return routing;
  const bool is_of_ranks = routing.error().option == "folder";
  return at_routing(scenario, is_of_ranks ? "/per_rank/folder" : "", routing.error().what);
}

Result<std::optional<RankFolder>> read_ranks(const Scenario& scenario) {
  const std::optional<RankRouting>& ranks = scenario.routing->per_rank;
  if (!ranks || ranks->folder.empty()) return std::optional<RankFolder>();
  GOODPUT_TRY(RankFolder folder, read_rank_folder(ranks->folder));
  return std::optional(std::move(folder));
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

// Expert 0 has `hot` times an even share.
std::vector<double> hot_shares(std::int32_t experts, double hot) {
  const double others = experts > 1 ? (experts - hot) / (experts - 1) : 0;
  std::vector<double> shares(static_cast<std::size_t>(experts), others / experts);
  shares[0] = hot / experts;
  return shares;
}

// One iteration, for ever.
RoutingTrace skewed(const ModelShape& job, const RoutingSource& source, std::uint64_t seed) {
  constexpr double kTokens = 1e12;  // only proportions matter
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> loads;
  for (std::int32_t layer = 0; layer < count_moe_layers(job); ++layer) {
    layers.push_back(layer);
    const std::vector<double> shares = source.hot_load > 0 ? hot_shares(job.moe->experts, source.hot_load)
                                                           : zipf_shares(*job.moe, source.skew, layer, seed);
    for (const double share : shares) loads.push_back(std::llround(kTokens * share));
  }
  return {{0}, std::move(layers), job.moe->experts, std::move(loads)};
}

// `seed` draws what is synthesized, and which experts are popular where there is only a skew. A model of
// routing that has fewer layers or experts than the job is stretched to it.
Result<ScenarioRouting> read_loads(const Scenario& scenario, std::uint64_t seed) {
  const ModelShape& model = scenario.plan.model;
  if (!model.moe) {
    if (scenario.routing)
      return at_routing(scenario, "",
                        "applies only to models with experts, and this model has none; remove it");
    return ScenarioRouting{JobRouting::balanced(0, 1)};
  }
  if (!scenario.routing)
    return ScenarioRouting{JobRouting::balanced(count_moe_layers(model), model.moe->experts)};
  const RoutingSource& source = *scenario.routing;
  if (source.file.empty() && source.model.empty()) {
    const double most = static_cast<double>(model.moe->experts) / model.moe->top_k;
    if (source.hot_load > most) {
      return at_routing(
          scenario, "/hot_load",
          fmt::format("must be at most {:g}, not {:g}: no expert gets a token twice", most, source.hot_load));
    }
    if (source.skew == 0 && source.hot_load == 0)
      return ScenarioRouting{JobRouting::balanced(count_moe_layers(model), model.moe->experts)};
    Scenario all_layers = scenario;
    all_layers.routing->layers.clear();
    GOODPUT_TRY(JobRouting routing, select(all_layers, skewed(model, source, seed)));
    return ScenarioRouting{std::move(routing)};
  }
  const char* const key = source.file.empty() ? "/routing/model" : "/routing/file";
  GOODPUT_TRY(const config::Source model_file, find_routing_model(scenario));
  GOODPUT_TRY(ScenarioFile file, choose_file(scenario.file, key, source.file, model_file.file));
  const bool is_recorded = !source.file.empty() && !file.is_fallback();
  GOODPUT_TRY(const RoutingTrace trace,
              is_recorded ? read_routing_trace(file.used) : synthesized(file.used, model, seed));
  GOODPUT_TRY(const std::optional<RankFolder> ranks, read_ranks(scenario));
  GOODPUT_TRY(JobRouting routing, select(scenario, trace, ranks ? &ranks->rows : nullptr));
  ScenarioRouting read{std::move(routing), std::move(file),
                       is_recorded ? std::nullopt : std::optional(model_file)};
  for (const std::string& path : ranks ? ranks->files : std::vector<std::string>())
    read.rank_files.push_back({"/routing/per_rank/folder", path, path});
  return read;
}

// Also how ranks differ, if that is drawn.
Result<ScenarioRouting> read_scenario_routing(const Scenario& scenario, std::uint64_t seed) {
  GOODPUT_TRY(ScenarioRouting read, read_loads(scenario, seed));
  const bool has_folder =
      scenario.routing && scenario.routing->per_rank && !scenario.routing->per_rank->folder.empty();
  if (has_folder && scenario.routing->is_constant()) {
    return at_routing(
        scenario, "/per_rank/folder",
        "applies only to a recording; set routing/file or routing/model, or per_rank/spread instead");
  }
  if (scenario.routing && scenario.routing->per_rank && read.routing.ranks().is_even())
    read.routing.set_ranks({.spread = scenario.routing->per_rank->spread, .seed = seed});
  return read;
}

// ---- All inputs.

Result<SpotTrace> read_trace(const FailureFile& file, const std::string& path, const std::string& pointer) {
  Result<SpotTrace> trace = read_spot_trace(path, {file.polarity, file.meaning, {}, file.nodes});
  if (trace) return trace;
  Error error = std::move(trace).error();
  if (!error.option.empty()) error.what += fmt::format("; in a scenario, set {}/{}", pointer, error.option);
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
    return error("is missing; the file must be a result of `goodput whatif --json`");
  if (!workers->is_object()) return error("must be an object {\"dp:stage\": slowdown}");
  std::vector<double> slowdowns;
  for (const auto& [worker, slowdown] : workers->items()) {
    if (!slowdown.is_number() || !(slowdown.get<double>() > 0))
      return error(
          fmt::format("the slowdown of worker {} must be a number above 0, not {}", worker, slowdown.dump()));
    if (slowdown.get<double>() > 1) slowdowns.push_back(slowdown.get<double>());
  }
  if (slowdowns.empty())
    return error("contains no worker with a slowdown above 1; use a result that has slow workers");
  return slowdowns;
}

using Traces = std::span<const SpotTrace* const>;

// `sources`, `replays`: of the pool's failure models.
Result<PriceSchedule> prices_of(const PoolView& pool, std::span<const FailureSource> sources,
                                std::span<const std::optional<RecordingReplay>> replays) {
  if (pool.usd_per_node_hour) return PriceSchedule(*pool.usd_per_node_hour);
  if (const auto recording = price_recording(pool, sources))
    return recorded_prices(*sources[*recording].trace, replays[*recording]->start);
  if (pool.name.empty()) return PriceSchedule();
  return Error{"is missing, and no recording of the pool has prices; set the price (0 if the nodes are free)",
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
  const FailureSources sources = inputs.view().failures;
  GOODPUT_TRY(const PoolFailures failures, make_pool_failures(scenario, sources, seed, /*trial=*/0));
  const RecordingReplays replays = replays_of(scenario, sources, seed, /*trial=*/0);
  std::size_t first = 0;
  for (const PoolView& pool : pools_of(scenario)) {
    const std::size_t count = pool.failures.size();
    auto prices =
        prices_of(pool, std::span(sources).subspan(first, count), std::span(replays).subspan(first, count));
    if (!prices) return prices.error().in_file(scenario.file);
    const FailureModel& model = *failures[inputs.pools.size()];
    inputs.pools.push_back({model.nodes(), *std::move(prices), pool.billing, model.most_held()});
    add_names(pool, Traces(inputs.traces).subspan(first, count), model.nodes(), inputs.node_names);
    first += count;
  }
  return Ok{};
}

// What a recording is read as.
std::string trace_name(const FailureFile& wanted, const std::string& file) {
  const auto number = [](const auto& choice) { return choice ? static_cast<int>(*choice) : -1; };
  return fmt::format("{} {} {} {}", number(wanted.polarity), number(wanted.meaning), wanted.nodes, file);
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

// What a timed plan follows from, but for the seed and for errors that are assumed of its prices.
std::string plan_name(const Scenario& scenario) {
  TrainingPlan plan = scenario.plan;
  OrderedJson routing;
  if (scenario.routing) {
    RoutingSource source = *scenario.routing;
    routing = config::write(config_fields(source));
  }
  return fmt::format("{} {} {} {} {}", scenario.plan.file, scenario.plan.pointer,
                     static_cast<int>(scenario.batch), routing.dump(),
                     config::write(config_fields(plan)).dump());
}

// What the scenario says of the nodes, for the policies to go by.
Result<JobTerms> terms_of(const Scenario& scenario, std::uint64_t seed, const ScenarioInputs& inputs) {
  JobTerms terms = scenario.terms();
  std::vector<NodeId> nodes;
  for (const PricedNodes& pool : inputs.pools) {
    nodes.push_back(pool.nodes);
    terms.nodes_ever += pool.reserved();
  }
  GOODPUT_TRY(terms.interruptions_per_s,
              make_interruption_rate(scenario, inputs.view().failures, seed, std::move(nodes)));
  return terms;
}

}  // namespace

SimulationInputs ScenarioInputs::view() const {
  SimulationInputs inputs;
  inputs.job = job.get();
  inputs.pools = pools;
  for (std::size_t i = 0; i < traces.size(); ++i)
    inputs.failures.push_back({traces[i], slowdowns[i], window});
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
    notes.push_back(
        fmt::format("{}: {} does not exist; using {} instead", file.pointer, file.named, file.used));
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
    made = {nullptr, std::move(read.file), std::move(read.model), std::move(read.rank_files)};
    routing = std::move(read.routing);
  }
  const SharedInputs::Plan& source = plan == nullptr ? made : *plan;
  if (source.routing_file) inputs.files.push_back(*source.routing_file);
  inputs.files.insert(inputs.files.end(), source.rank_files.begin(), source.rank_files.end());
  inputs.routing_model = source.routing_model;
  GOODPUT_TRY_STATUS(price_nodes(scenario, seed, inputs));
  GOODPUT_TRY(inputs.content_hash, hash_of(inputs.files, shared));
  GOODPUT_TRY(const JobTerms terms, terms_of(scenario, seed, inputs));
  if (plan == nullptr) {
    TrainingPlan right = terms.plan;
    right.assumed_error.reset();
    GOODPUT_TRY(made.timed, TimedPlan::make(std::move(right), terms.batch, *std::move(routing)));
    plan = &shared.plans.add(name, std::move(made));
  }
  if (price_factor(terms.plan) != 1) {
    GOODPUT_TRY(inputs.in_error,
                TimedPlan::with_error(terms.plan, terms.batch, plan->timed->routing(), *plan->timed));
  }
  inputs.job = JobModel::make(terms, inputs.in_error ? *inputs.in_error : *plan->timed);
  inputs.window = recording_window(scenario, *inputs.job);
  return inputs;
}

Result<ScenarioInputs> read_scenario_inputs(const Scenario& scenario, std::uint64_t seed) {
  auto own = std::make_unique<SharedInputs>();
  GOODPUT_TRY(ScenarioInputs inputs, read_scenario_inputs(scenario, seed, *own));
  inputs.own = std::move(own);
  return inputs;
}

}  // namespace goodput
