#include "models/plan/training_plan.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "models/cost/calibration.h"
#include "models/cost/cost_models.h"
#include "models/plan/stragglers.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using config::Need;

config::ObjectAccess group(std::function<config::Fields()> fields) {
  return {[] { return true; }, std::move(fields), []() -> Status { return Ok{}; }};
}

config::Fields cluster_fields(ClusterSpec& cluster, RooflineParameters& lone_kernels) {
  config::Fields fields = config_fields(cluster);
  fields.push_back({"efficiency", Need::kOptional, config::object(lone_kernels),
                    "fractions of the peak rates that a single kernel reaches (cost model \"roofline\")"});
  return fields;
}

// Described with clusters.
config::Value own_efficiency(StatedEfficiency& efficiency) {
  config::Value value = config::object(efficiency);
  value.write = [&efficiency](OrderedJson& into) {
    OrderedJson stated = config::write(config_fields(efficiency));
    if (!stated.empty()) into = std::move(stated);
  };
  value.fields = nullptr;
  return value;
}

// What the stack does by default, unless the plan says so itself.
void set_defaults(TrainingPlan& plan) {
  ParallelPlan& parallel = plan.parallel;
  const StackDefaults& defaults = plan.stack.defaults;
#define GOODPUT_STACK_DEFAULT(type, key, how) \
  if (defaults.key && !plan.parallel_keys.contains(#key)) parallel.key = *defaults.key;
#include "models/stack/stack_defaults.def"
#undef GOODPUT_STACK_DEFAULT
}

// Once it is read, `parallel` has the stack's defaults; the plan's own keys are read after it.
config::Field stack_of(TrainingPlan& plan) {
  config::Field field = stack_field(plan.stack, plan.sources);
  field.value.read = [&plan, read = std::move(field.value.read)](const Json& from,
                                                                 config::Place& place) -> Status {
    GOODPUT_TRY_STATUS(read(from, place));
    set_defaults(plan);
    return Ok{};
  };
  field.absent = [&plan, absent = std::move(field.absent)](config::Place& place) -> Status {
    GOODPUT_TRY_STATUS(absent(place));
    set_defaults(plan);
    return Ok{};
  };
  return field;
}

// Of a name that no cost model has nothing is known.
std::string no_calibration(const TrainingPlan& plan) {
  for (const CostModelInfo& info : cost_models()) {
    if (info.name == plan.cost_model && !info.reads_calibration)
      return fmt::format("cost model {} uses no calibration", in_quotes(info.name));
  }
  return "";
}

config::Fields cost_fields(TrainingPlan& plan) {
  return {
      {"model", Need::kOptional, config::text(plan.cost_model), "cost model; see `goodput list cost-models`"},
      {"calibration", Need::kOptional, config::path_or_name(plan.calibration, kCalibrationFiles),
       "file of measured costs: a path relative to the plan file, or a name (default: the calibration of the "
       "cost model)",
       [&plan] { return no_calibration(plan); }},
  };
}

// A key of `goodput synth`: errors are found whoever reads the plan.
template <typename T>
config::Value checked_only(config::Value (*value_of)(T&)) {
  T dropped{};
  config::Value value = value_of(dropped);
  value.read = [value_of](const Json& from, config::Place& place) {
    T read{};
    return value_of(read).read(from, place);
  };
  value.write = nullptr;
  value.fields = nullptr;
  return value;
}

config::Fields load_fields(TrainingPlan& plan) {
  return {
      {"skew", Need::kOptional, config::number(plan.expert_load.skew, config::between(0, 10)),
       "the r-th busiest expert gets a share of the tokens ~ 1 / r^skew (Zipf); 0: balanced",
       [&plan] { return plan.model.moe ? "" : "the model has no experts"; }},
  };
}

config::Value own_parallel(TrainingPlan& plan) {
  config::Value value = config::object(plan.parallel);
  value.read = [&plan, read = std::move(value.read)](const Json& from, config::Place& place) -> Status {
    if (from.is_object()) {
      for (const auto& [key, setting] : from.items()) plan.parallel_keys.insert(key);
    }
    return read(from, place);
  };
  return value;
}

}  // namespace

config::Fields config_fields(ClusterConfig& config) {
  return cluster_fields(config.cluster, config.lone_kernels);
}

config::Fields config_fields(TrainingPlan& plan) {
  const auto cluster = [&plan] { return cluster_fields(plan.cluster, plan.lone_kernels); };
  const auto cost = [&plan] { return cost_fields(plan); };
  const auto of_synth = [] { return "only `goodput synth` uses this key"; };
  const auto load = [&plan] { return load_fields(plan); };
  return {
      {"model", Need::kRequired,
       config::object_or_name(config::access(plan.model), kModelFiles, plan.sources), "model to train"},
      {"cluster", Need::kRequired, config::object_or_name(group(cluster), kClusterFiles, plan.sources),
       "machines to train on"},
      stack_of(plan),
      {"parallel", Need::kRequired, own_parallel(plan), "parallel layout"},
      {"cost", Need::kOptional, config::object(group(cost)), "how the times of ops are computed"},
      {"efficiency", Need::kOptional, own_efficiency(plan.efficiency),
       "values that replace the cluster's efficiencies, key by key"},
      {"expert_load", Need::kOptional, config::object(group(load)),
       "how tokens are distributed over experts"},
      {"stragglers", Need::kOptional, checked_only(stragglers_value), "stragglers, for `goodput synth`",
       of_synth},
      {"trace", Need::kOptional, checked_only(config::object<TraceSettings>),
       "number of steps and noise of the trace, for `goodput synth`", of_synth},
  };
}

StepFamily family_of(const TrainingPlan& plan, const ParallelPlan& parallel) {
  const Parallelism parallelism = plan.model.moe       ? Parallelism::kMoe
                                  : parallel.zero == 3 ? Parallelism::kFsdp
                                                       : Parallelism::kTpPp;
  return {parallelism, generation_of(plan.cluster.gpu.name),
          parallel.dtype == Dtype::kFp8 ? StepPrecision::kFp8 : StepPrecision::k16Bit};
}

void use_stack(TrainingPlan& plan, const SoftwareStack& stack) {
  plan.stack = stack;
  set_defaults(plan);
  settle_experts(plan);
  settle_efficiency(plan);
}

void settle_experts(TrainingPlan& plan) {
  ParallelPlan& parallel = plan.parallel;
  if (plan.parallel_keys.contains("etp")) return;
  const bool have_own_tokens = parallel.tp == 1 || parallel.sequence_parallel;
  if (!plan.model.moe || (!have_own_tokens && parallel.etp != parallel.tp)) parallel.etp = 0;
  if (!plan.model.moe || parallel.etp > 0 || !have_own_tokens) return;
  const std::int64_t holders = std::int64_t{parallel.dp} * parallel.cp;
  if (holders % parallel.ep != 0 && holders * parallel.tp % parallel.ep == 0) parallel.etp = 1;
}

void settle_efficiency(TrainingPlan& plan) {
  plan.roofline = replaced(in_stack(plan.lone_kernels, plan.stack, plan.cluster.gpu.name), plan.efficiency);
}

double price_factor(const TrainingPlan& plan) {
  const bool is_off = plan.assumed_error && plan.assumed_error->family == family_of(plan, plan.parallel);
  return is_off ? plan.assumed_error->factor : 1;
}

CostInputs cost_inputs(const TrainingPlan& plan) {
  ClusterSpec cluster = plan.cluster;
  if (plan.roofline.bulk_hop_us > 0)
    cluster.inter_node.bulk_hop_latency = from_seconds(1e-6 * plan.roofline.bulk_hop_us);
  return {plan.cost_model, std::move(cluster), plan.roofline, plan.calibration,
          plan.file,       plan.pointer,       plan.library,  price_factor(plan)};
}

Result<ClusterConfig> read_cluster(const std::string& path) {
  return config::read<ClusterConfig>(path);
}

Error TrainingPlan::error(std::string_view at, std::string what) const {
  return {std::move(what), {.file = file, .pointer = pointer + std::string(at)}};
}

Result<TrainingPlan> read_training_plan(const std::string& path, const config::Library& library,
                                        const std::vector<config::Change>& changes) {
  TrainingPlan plan;
  plan.file = path;
  plan.sources = {{path, {}}};
  plan.library = library;
  GOODPUT_TRY(plan.unused, config::read_file(path, config::access(plan), library,
                                             config::Changes(changes, "plan", "set"), &kPlanFiles));
  return plan;
}

}  // namespace goodput
