#include "tools/shipped_configs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <variant>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/cost/calibration.h"
#include "models/failure/failure_models.h"
#include "models/fleet/fleet_mixture.h"
#include "models/plan/training_plan.h"
#include "models/planner/plan_question.h"
#include "models/routing/synthetic_routing.h"
#include "models/scenario/scenario.h"
#include "models/shape/model_file.h"
#include "models/stack/software_stack.h"
#include "models/sweep/sweep_points.h"
#include "sim/base/json.h"
#include "sim/config/json_file.h"
#include "sim/machine/cluster.h"
#include "tools/alerting/alerting_config.h"
#include "tools/check/suite.h"
#include "tools/plan/plan_report.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

std::string billions(std::int64_t parameters) {
  return fmt::format("{:.3g} B", 1e-9 * static_cast<double>(parameters));
}

std::string describe(const ModelShape& model) {
  const ModelParameters parameters = model_parameters(model);
  std::string text =
      fmt::format("{}: {} layers, {} parameters", model.name, model.layers, billions(parameters.total));
  if (model.moe)
    text += fmt::format(" ({} activated), {} experts", billions(parameters.activated), model.moe->experts);
  return text;
}

std::string describe(const SwinModel& model) {
  const CheckpointModel modules = checkpoint_model(model);
  std::string text = fmt::format("{}: {} blocks in {} stages, {} parameters", model.name, model.swin.blocks(),
                                 model.swin.depths.size(), billions(modules.parameters()));
  if (modules.experts > 0) text += fmt::format(", {} experts", modules.experts);
  return text + " (checkpoint only)";
}

Result<std::string> describe_model(const std::string& file, const config::Library& /*library*/) {
  GOODPUT_TRY(const AnyModel model, read_any_model(file));
  return std::visit([](const auto& shape) { return describe(shape); }, model);
}

Result<std::string> describe_cluster(const std::string& file, const config::Library& /*library*/) {
  GOODPUT_TRY(const ClusterConfig config, read_cluster(file));
  const ClusterSpec& cluster = config.cluster;
  return fmt::format("{}: {} x {} {}", cluster.name, cluster.nodes, cluster.gpus_per_node, cluster.gpu.name);
}

// The software, its factors on what a lone kernel reaches, and how many measured steps say how far off it is.
Result<std::string> describe_stack(const std::string& file, const config::Library& library) {
  GOODPUT_TRY(const SoftwareStack stack, read_stack(file, library));
  std::vector<std::string> factors;
  const auto add = [&factors](std::string_view name, const std::optional<double>& factor) {
    if (factor) factors.push_back(fmt::format("{} {:.2f}", name, *factor));
  };
  add("GEMM", stack.factors.gemm);
  add("fp8 GEMM", stack.factors.fp8_gemm);
  add("attention", stack.factors.attention);
  add("memory", stack.factors.memory);
  std::size_t rows = 0;
  for (const LeftOutRows& left_out : stack.left_out) rows += left_out.ratios.size();
  GOODPUT_TRY(const Json json, config::parse_file(file));
  const std::string source = json.contains("source") ? json.at("source").get<std::string>() : stack.name;
  std::string text = source.substr(0, source.find_first_of(".:,"));
  std::vector<std::string> gpus;  // with their own factors
  for (const GpuFactors& some : stack.gpu_factors)
    gpus.insert(gpus.end(), some.gpus.begin(), some.gpus.end());
  if (!factors.empty()) {
    text += fmt::format("; speed relative to a kernel run alone: {}", fmt::join(factors, ", "));
    if (!gpus.empty()) text += fmt::format(" (other factors on {})", fmt::join(gpus, ", "));
  }
  return fmt::format("{}; compared with {} measured steps", text, rows);
}

Result<std::string> describe_plan(const std::string& file, const config::Library& library) {
  GOODPUT_TRY(const TrainingPlan plan, read_training_plan(file, library));
  return fmt::format("{} on {} x {}", plan.model.name, plan.parallel.gpus(), plan.cluster.gpu.name);
}

// The job, what happens to its nodes, who competes, how often.
Result<std::string> describe_scenario(const std::string& file, const config::Library& library) {
  GOODPUT_TRY(const Scenario scenario, read_scenario(file, {}, library));
  std::vector<std::string> failures;
  for (const PoolView& pool : pools_of(scenario)) {
    for (const FailureConfig& config : pool.failures)
      failures.push_back(fmt::format("{}{}{}", pool.name, pool.name.empty() ? "" : " ", config.model().name));
  }
  std::vector<std::string_view> policies;
  for (const ScenarioPolicy& policy : scenario.policies) policies.push_back(policy.name);
  const ClusterSpec& cluster = scenario.plan.cluster;
  return fmt::format("{} on {} x {} {}, {}; failures: {}; policies: {}; {} trial{}", scenario.plan.model.name,
                     scenario.most_nodes(), cluster.gpus_per_node, cluster.gpu.name, goal_text(scenario),
                     fmt::join(failures, " and "), fmt::join(policies, ", "), scenario.trials,
                     scenario.trials == 1 ? "" : "s");
}

// The job, the GPUs that train, by when, for how much.
Result<std::string> describe_question(const std::string& file, const config::Library& library) {
  GOODPUT_TRY(const PlanQuestion question, read_plan_question(file, {}, library));
  return question_summary(question);
}

// The device, what was measured on it, who says so.
Result<std::string> describe_calibration(const std::string& file, const config::Library& /*library*/) {
  GOODPUT_TRY(const Calibration calibration, read_calibration(file));
  const MeasuredMachine& machine = calibration.machine;
  std::string text = fmt::format("{} x {}", machine.gpus, machine.gpu);
  if (!machine.stands_for.empty()) text += fmt::format(" (also for {})", fmt::join(machine.stands_for, ", "));
  std::array<std::size_t, kMeasuredOpNames.size()> tables{};
  for (const Measurement& measured : calibration.ops) ++tables[static_cast<std::size_t>(measured.op)];
  std::vector<std::string> ops;
  for (std::size_t op = 0; op < tables.size(); ++op) {
    if (tables[op] > 0) ops.push_back(fmt::format("{} {}", tables[op], kMeasuredOpNames[op]));
  }
  text += ops.empty() ? ": nothing measured" : fmt::format(": {} tables", fmt::join(ops, ", "));
  return calibration.source.empty() ? text : text + "; " + calibration.source;
}

// What a suite holds is not read here: where its expectations come from, if it says so.
Result<std::string> describe_suite(const std::string& file, const config::Library& /*library*/) {
  GOODPUT_TRY(const Json suite, config::parse_file(file));
  const auto source = suite.is_object() ? suite.find("source") : suite.end();
  return suite.is_object() && source != suite.end() && source->is_string() ? source->get<std::string>() : "";
}

// The model, and what its numbers are of.
Result<std::string> describe_failures(const std::string& file, const config::Library& /*library*/) {
  GOODPUT_TRY(const FailureConfig failures, read_failure_preset({file, {}}));
  const Json preset = Json::parse(failures.text());
  std::string text(failures.model().name);
  return preset.contains("source") ? text + ": " + preset.at("source").get<std::string>() : text;
}

Result<std::string> describe_routing(const std::string& file, const config::Library& /*library*/) {
  GOODPUT_TRY(const RoutingModel model, config::read<RoutingModel>(file));
  return fmt::format("{} layers x {} experts, top {}, {} iterations recorded, starting at {} in steps of {}",
                     model.layers, model.experts, model.top_k, model.iterations, model.first_iteration,
                     model.interval);
}

// The scenario, how many points, what varies. A Latin hypercube is drawn by the seed of a run.
Result<std::string> describe_sweep(const std::string& file, const config::Library& library) {
  GOODPUT_TRY(const SweepConfig sweep, config::read<SweepConfig>(file, library));
  const Result<SweepPoints> points = SweepPoints::make(sweep, /*seed=*/0);
  if (!points) return points.error().in_file(file);
  return fmt::format("{}: {} points ({}) of {}", sweep.scenario, points->size(),
                     kSweepDesignNames[static_cast<std::size_t>(sweep.design)],
                     fmt::join(points->parameters(), ", "));
}

// The kinds of its rules, where alerts go.
Result<std::string> describe_alert_rules(const std::string& file, const config::Library& /*library*/) {
  GOODPUT_TRY(const AlertingConfig config, read_alerting_config(file));
  std::vector<std::string_view> rules;
  for (const AlertRule& rule : config.rules) rules.push_back(rule.kind());
  std::vector<std::string_view> sinks;
  for (const SinkConfig& sink : config.sinks) sinks.push_back(sink.kind());
  return fmt::format("{} rule{}: {}; sent to {}", rules.size(), rules.size() == 1 ? "" : "s",
                     fmt::join(rules, ", "),
                     sinks.empty() ? "nobody" : fmt::format("{}", fmt::join(sinks, ", ")));
}

// Why jobs straggle, and how many of them.
Result<std::string> describe_fleet(const std::string& file, const config::Library& library) {
  GOODPUT_TRY(const FleetMixture mixture, read_fleet_mixture(file, library));
  std::vector<std::string> causes;
  for (const FleetCause& cause : mixture.causes)
    causes.push_back(fmt::format("{:g} % {}", 100 * cause.share, kStragglerKinds[cause.kind]));
  return fmt::format("jobs of {} shapes; causes of stragglers: {}", mixture.shapes.size(),
                     fmt::join(causes, ", "));
}

}  // namespace

std::vector<ConfigKind> config_kinds() {
  return {{"models", kModelFiles, describe_model},
          {"clusters", kClusterFiles, describe_cluster},
          {"stacks", kStackFiles, describe_stack},
          {"plans", kPlanFiles, describe_plan},
          {"recipes", kRecipeFiles, describe_plan},
          {"scenarios", kScenarioFiles, describe_scenario},
          {"sweeps", kSweepFiles, describe_sweep},
          {"questions", kPlanQuestionFiles, describe_question},
          {"failure-presets", kFailurePresetFiles, describe_failures},
          {"routing-models", kRoutingModelFiles, describe_routing},
          {"suites", kSuiteFiles, describe_suite},
          {"calibrations", kCalibrationFiles, describe_calibration},
          {"fleets", kFleetFiles, describe_fleet},
          {"alert-rules", kAlertRuleFiles, describe_alert_rules}};
}

Result<Listing> list_configs(const ConfigKind& kind, const config::Library& library) {
  Listing listing;
  for (const std::string& name : config::names_of(library, kind.kind)) {
    Result<config::Source> source = config::find(library, kind.kind, name);
    Result<std::string> summary = source ? kind.describe(source->file, library) : source.error();
    if (summary)
      listing.items.push_back({name, *std::move(summary), *std::move(source)});
    else
      listing.errors.push_back(std::move(summary).error());
  }
  if (listing.items.empty() && listing.errors.empty())
    listing.note = fmt::format("no {} in {}", kind.name, fmt::join(library.folders, ", "));
  return listing;
}

}  // namespace goodput
