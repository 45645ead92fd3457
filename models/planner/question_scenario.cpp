#include "models/planner/question_scenario.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "sim/base/json.h"

namespace goodput {
namespace {

// By key of policies' options.
using Settings = std::map<std::string_view, double>;

Settings settings_of(const PlanQuestion& question) {
  Settings settings;
  const auto set = [&settings](std::optional<double> value, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      if (value) settings[key] = *value;
    }
  };
  set(question.storage_gb_per_s, {"write_gb_per_s", "read_gb_per_s"});
  set(question.detect_s, {"detect_s"});
  set(question.startup_s, {"startup_s", "rejoin_s"});
  set(question.swap_s, {"swap_s"});
  set(question.storage_duty, {"storage_duty"});
  return settings;
}

// Wherever `fields` have such keys and `options` do not.
void apply_settings(const Settings& settings, const config::Fields& fields, Json& options) {
  for (const config::Field& field : fields) {
    const std::string key(field.key);
    if (const auto setting = settings.find(field.key); setting != settings.end()) {
      if (!options.contains(key)) options[key] = setting->second;
    } else if (field.value.fields) {
      Json below = options.value(key, Json::object());
      if (below.is_object()) apply_settings(settings, field.value.fields(), below);
      if (!below.empty()) options[key] = std::move(below);
    }
  }
}

bool has_key(const config::Fields& fields, std::string_view object, std::string_view key) {
  for (const config::Field& field : fields) {
    if (field.key != object || !field.value.fields) continue;
    const config::Fields below = field.value.fields();
    return std::any_of(below.begin(), below.end(),
                       [key](const config::Field& one) { return one.key == key; });
  }
  return false;
}

// What is known of the job before any is chosen.
PolicyContext context_of(const PlanQuestion& question) {
  Scenario scenario;
  scenario.plan = question.plan;
  scenario.failures = question.failures;
  return policy_context(scenario);
}

// As they are by default, but that spares run where the question says what a swap takes.
std::vector<ScenarioPolicy> all_policies(const PlanQuestion& question) {
  std::vector<ScenarioPolicy> policies;
  for (const PolicyInfo& info : recovery_policies()) {
    const std::string name(info.name);
    const bool is_gemini = question.swap_s && name == "gemini";
    policies.push_back({name, name, is_gemini ? R"({"spares":"hot"})" : "{}", {}});
  }
  return policies;
}

// A job pays for no more nodes of a recording than it holds. Further nodes of a spot market stand by; further
// nodes of the job's own would be spares that nobody pays for.
enum class OtherNodes : std::uint8_t { kStandBy, kAreNotThere };
std::vector<FailureConfig> with_cap(std::vector<FailureConfig> failures, std::int32_t nodes,
                                    OtherNodes others) {
  for (FailureConfig& one : failures) one.setup().cap_nodes(nodes, others == OtherNodes::kStandBy);
  return failures;
}

// So many nodes of the market: a recording is capped, other models are told.
Result<std::vector<FailureConfig>> spot_failures_of(const PlanQuestion& question, std::int32_t nodes) {
  Json model = Json::parse(question.spot->failures);
  if (model.value("model", "") != "trace") model["nodes"] = nodes;
  std::vector<FailureConfig> failures;
  config::Place place{question.file, "/spot/failures", {}, &question.plan.library, nullptr, nullptr};
  GOODPUT_TRY_STATUS(failures_value(failures).read(model, place));
  return with_cap(std::move(failures), nodes, OtherNodes::kStandBy);
}

Status set_nodes(const PlanQuestion& question, const PlannedNodes& choice, Scenario& scenario) {
  scenario.nodes = question.train_nodes() + choice.spares;
  scenario.max_training_nodes = question.train_nodes();
  // As many for all choices, which then share the times of steps.
  scenario.plan.cluster.nodes =
      std::max(scenario.plan.cluster.nodes, question.train_nodes() + question.spares.back());
  if (choice.spot_nodes == 0) {
    scenario.failures = with_cap(question.failures, scenario.nodes, OtherNodes::kAreNotThere);
    scenario.usd_per_node_hour = question.usd_per_node_hour;
    scenario.billing = question.billing;
    return Ok{};
  }
  const std::int32_t reserved = scenario.nodes - choice.spot_nodes;
  if (reserved > 0) {
    PoolConfig pool{"reserved", with_cap(question.failures, reserved, OtherNodes::kAreNotThere),
                    question.usd_per_node_hour, question.billing};
    for (FailureConfig& failures : pool.failures) failures.setup().set_default_nodes(reserved);
    scenario.pools.push_back(std::move(pool));
  }
  GOODPUT_TRY(std::vector<FailureConfig> market, spot_failures_of(question, choice.spot_nodes));
  scenario.pools.push_back({"spot", std::move(market), question.spot->usd_per_node_hour, Billing::kHeld});
  return Ok{};
}

// Known keys, values in range: whether the policy can run the job is another matter.
Status check_options(const PlanQuestion& question, const ScenarioPolicy& policy) {
  Scenario scenario;
  scenario.file = question.file;
  scenario.plan = question.plan;
  scenario.failures = question.failures;
  const auto made = make_policy(scenario, policy);
  return made ? Status(Ok{}) : Status(made.error());
}

}  // namespace

std::vector<ScenarioPolicy> listed_policies(const PlanQuestion& question) {
  return question.policies.empty() ? all_policies(question) : question.policies;
}

Result<std::vector<ScenarioPolicy>> competing_policies(const PlanQuestion& question) {
  const Settings settings = settings_of(question);
  const PolicyContext context = context_of(question);
  std::vector<ScenarioPolicy> policies = listed_policies(question);
  for (ScenarioPolicy& policy : policies) {
    GOODPUT_TRY(const PolicyInfo info, find_policy(policy.policy));
    Json options = Json::parse(policy.options);
    apply_settings(settings, info.make()->fields(context), options);
    policy.options = options.dump();
    GOODPUT_TRY_STATUS(check_options(question, policy));
  }
  return policies;
}

Result<bool> has_interval(const PlanQuestion& question, const ScenarioPolicy& policy) {
  GOODPUT_TRY(const PolicyInfo info, find_policy(policy.policy));
  return has_key(info.make()->fields(context_of(question)), "checkpoint", "interval");
}

ScenarioPolicy with_interval(ScenarioPolicy policy, std::int64_t steps, std::string name) {
  Json options = Json::parse(policy.options);
  Json& checkpoint = options["checkpoint"];
  checkpoint["interval"] = steps == 0 ? "optimal" : "fixed";
  if (steps > 0) checkpoint["interval_steps"] = steps;
  policy.options = options.dump();
  policy.name = std::move(name);
  return policy;
}

Result<Scenario> question_scenario(const PlanQuestion& question, const PlannedNodes& choice,
                                   std::vector<ScenarioPolicy> policies, SimDuration most) {
  Scenario scenario;
  scenario.file = question.file;
  scenario.sources = question.plan.sources;
  scenario.plan = question.plan;
  scenario.plan.parallel = choice.parallel;
  scenario.tokens = question.tokens;
  scenario.duration = most;
  if (question.deadline) {
    scenario.deadline = question.deadline->value;
    scenario.duration = std::max(most, scenario.deadline);
  }
  scenario.usd_per_tb_written = question.usd_per_tb_written;
  scenario.tier = question.tier;
  scenario.policies = std::move(policies);
  GOODPUT_TRY_STATUS(set_nodes(question, choice, scenario));
  GOODPUT_TRY_STATUS(config_finish(scenario));
  return scenario;
}

}  // namespace goodput
