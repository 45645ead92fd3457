#include "models/plan/training_plan.h"

#include <fmt/format.h>

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

config::Fields cluster_fields(ClusterSpec& cluster, RooflineParameters& roofline) {
  config::Fields fields = config_fields(cluster);
  fields.push_back({"efficiency", Need::kOptional, config::object(roofline),
                    "what software reaches of the ratings (cost model \"roofline\")"});
  return fields;
}

// The plan's own word on what the cluster file says already; echoed there.
config::Value override_of(RooflineParameters& roofline) {
  config::Value value = config::object(roofline);
  value.write = nullptr;
  value.fields = nullptr;
  return value;
}

// Of a name that no cost model has nothing is known.
std::string no_calibration(const TrainingPlan& plan) {
  for (const CostModelInfo& info : cost_models()) {
    if (info.name == plan.cost_model && !info.reads_calibration)
      return fmt::format("cost model {} reads none", in_quotes(info.name));
  }
  return "";
}

config::Fields cost_fields(TrainingPlan& plan) {
  return {
      {"model", Need::kOptional, config::text(plan.cost_model), "who prices the ops"},
      {"calibration", Need::kOptional, config::path_or_name(plan.calibration, kCalibrationFiles),
       "measured costs: a path, relative to the plan, or a name; absent: the cost model's default",
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
       "tokens per expert ~ 1 / rank^skew (Zipf); 0: balanced",
       [&plan] { return plan.model.moe ? "" : "the model has no experts"; }},
  };
}

}  // namespace

config::Fields config_fields(RooflineParameters& roofline) {
  const auto fraction = [](double& value) { return config::number(value, config::kFraction); };
  const auto amount = [](double& value) { return config::number(value, config::between(0, 1e9)); };
  return {
      {"gemm_efficiency", Need::kOptional, fraction(roofline.gemm_efficiency),
       "of the rated FLOP/s, for deep tiles that fill the GPU"},
      {"gemm_fill", Need::kOptional, amount(roofline.gemm_fill), "depth k lost to filling a tile's pipeline"},
      {"misaligned_efficiency", Need::kOptional, fraction(roofline.misaligned_efficiency),
       "of gemm_efficiency, where n or k is no multiple of 4; its root where of 8"},
      {"attention_efficiency", Need::kOptional, fraction(roofline.attention_efficiency),
       "of the rated FLOP/s, for fused attention"},
      {"memory_efficiency", Need::kOptional, fraction(roofline.memory_efficiency),
       "of the rated memory bandwidth"},
      {"kernel_us", Need::kOptional, amount(roofline.kernel_us), "GPU time of a kernel with nothing to do"},
      {"launch_us", Need::kOptional, amount(roofline.launch_us), "CPU time to launch a kernel"},
      {"step_us", Need::kOptional, amount(roofline.step_us),
       "of a step, outside all kernels: Python, data loading"},
      config::tier(roofline.tier),
  };
}

config::Fields config_fields(ClusterConfig& config) {
  return cluster_fields(config.cluster, config.roofline);
}

config::Fields config_fields(TrainingPlan& plan) {
  const auto cluster = [&plan] { return cluster_fields(plan.cluster, plan.roofline); };
  const auto cost = [&plan] { return cost_fields(plan); };
  const auto of_synth = [] { return "only `goodput synth` uses it"; };
  const auto load = [&plan] { return load_fields(plan); };
  return {
      {"model", Need::kRequired,
       config::object_or_name(config::access(plan.model), kModelFiles, plan.sources), "what is trained"},
      {"cluster", Need::kRequired, config::object_or_name(group(cluster), kClusterFiles, plan.sources),
       "on which machines"},
      {"parallel", Need::kRequired, config::object(plan.parallel), "how it is cut up"},
      {"cost", Need::kOptional, config::object(group(cost)), "how ops are priced"},
      {"efficiency", Need::kOptional, override_of(plan.roofline), "instead of the cluster's, key by key"},
      {"expert_load", Need::kOptional, config::object(group(load)), "how tokens spread over experts"},
      {"stragglers", Need::kOptional, checked_only(stragglers_value),
       "what slows workers down, for `goodput synth`", of_synth},
      {"trace", Need::kOptional, checked_only(config::object<TraceSettings>),
       "length and noise, for `goodput synth`", of_synth},
  };
}

CostInputs cost_inputs(const TrainingPlan& plan) {
  return {plan.cost_model, plan.cluster, plan.roofline, plan.calibration,
          plan.file,       plan.pointer, plan.library};
}

Result<ClusterConfig> read_cluster(const std::string& path) {
  return config::read<ClusterConfig>(path);
}

Error TrainingPlan::error(std::string_view at, std::string what) const {
  return {std::move(what), {.file = file, .pointer = pointer + std::string(at)}};
}

Result<TrainingPlan> read_training_plan(const std::string& path, const config::Library& library) {
  TrainingPlan plan;
  plan.file = path;
  plan.sources = {{path, {}}};
  plan.library = library;
  GOODPUT_TRY(plan.unused, config::read_file(path, config::access(plan), library));
  return plan;
}

}  // namespace goodput
