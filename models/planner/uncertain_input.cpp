#include "models/planner/uncertain_input.h"

#include <algorithm>
#include <utility>

#include "models/cost/cost_models.h"
#include "models/planner/question_scenario.h"
#include "models/policy/policy.h"
#include "models/stack/step_range.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

using Member = std::optional<double> PlanQuestion::*;

void add_member(const PlanQuestion& question, std::string name, std::string unit, Member member,
                std::vector<UncertainInput>& inputs) {
  const std::optional<double>& value = question.*member;
  if (!value || *value == 0) return;
  const double spread = usual_spread(question.tier);
  inputs.push_back({std::move(name), std::move(unit), question.tier, *value, 1 / spread, spread, true,
                    HUGE_VAL, [member](const PlanQuestion& of, double factor) -> Result<PlanQuestion> {
                      PlanQuestion scaled = of;
                      scaled.*member = *(of.*member) * factor;
                      return scaled;
                    }});
}

// The options of a failure model as they are, with those of its preset.
Json failure_json(FailureConfig failures) {
  return Json::parse(config::write(config_fields(failures)).dump());
}

Result<PlanQuestion> with_failures(const PlanQuestion& question, std::size_t at, const std::string& key,
                                   double factor) {
  PlanQuestion scaled = question;
  Json model = failure_json(question.failures[at]);
  model[key] = model[key].get<double>() * factor;
  std::vector<FailureConfig> made;
  config::Place place{question.file, "/failures", {}, &question.plan.library, nullptr, nullptr};
  GOODPUT_TRY_STATUS(failures_value(made).read(model, place));
  scaled.failures[at] = std::move(made.front());
  return scaled;
}

Tier tier_of(const PlanQuestion& question, const FailureConfig& failures) {
  if (failures.preset() && failures.preset()->tier) return *failures.preset()->tier;
  return question.tier;
}

// Keys of failure models that say how often nodes go and return.
struct FailureKeyInfo {
  const char* key;
  const char* unit;
  double most;  // the value; 0: no limit
};
constexpr FailureKeyInfo kFailureKeys[] = {{"failures_per_1000_node_days", "per 1000 node-days", 0},
                                           {"mtbf_hours", "h", 0},
                                           {"repair_s", "s", 0},
                                           {"loss_probability", "per hour", 1},
                                           {"return_probability", "per hour", 1},
                                           {"per_hour", "per hour", 3600},
                                           {"outage_s", "s", 0}};

// `make`: (key) -> what the question becomes with so many times the value.
template <typename Make>
void add_failure_keys(const Json& model, Tier tier, const std::string& prefix, Make make,
                      std::vector<UncertainInput>& inputs) {
  for (const auto& [key, unit, most] : kFailureKeys) {
    if (!model.contains(key) || !model[key].is_number() || model[key].template get<double>() == 0) continue;
    const double spread = usual_spread(tier);
    const double value = model[key].template get<double>();
    UncertainInput input{prefix + key, unit, tier, value, 1 / spread, spread};
    if (most > 0) input.highest = most / value;
    input.most = std::min(input.most, input.highest);
    input.scaled = make(std::string(key));
    inputs.push_back(std::move(input));
  }
}

void add_failures(const PlanQuestion& question, std::vector<UncertainInput>& inputs) {
  for (std::size_t i = 0; i < question.failures.size(); ++i) {
    const std::string prefix =
        question.failures.size() == 1 ? std::string() : "failures/" + std::to_string(i) + "/";
    add_failure_keys(
        failure_json(question.failures[i]), tier_of(question, question.failures[i]), prefix,
        [i](const std::string& key) {
          return
              [i, key](const PlanQuestion& of, double factor) { return with_failures(of, i, key, factor); };
        },
        inputs);
  }
}

void add_market(const PlanQuestion& question, std::vector<UncertainInput>& inputs) {
  add_failure_keys(
      Json::parse(question.spot->failures), question.tier, "spot/",
      [](const std::string& key) {
        return [key](const PlanQuestion& of, double factor) -> Result<PlanQuestion> {
          PlanQuestion scaled = of;
          Json model = Json::parse(of.spot->failures);
          model[key] = model[key].get<double>() * factor;
          scaled.spot->failures = model.dump();
          return scaled;
        };
      },
      inputs);
  if (question.spot->usd_per_node_hour == 0) return;
  const double spread = usual_spread(question.tier);
  inputs.push_back({"spot/usd_per_node_hour", "USD per hour", question.tier, question.spot->usd_per_node_hour,
                    1 / spread, spread, true, HUGE_VAL,
                    [](const PlanQuestion& of, double factor) -> Result<PlanQuestion> {
                      PlanQuestion scaled = of;
                      scaled.spot->usd_per_node_hour *= factor;
                      return scaled;
                    }});
}

bool is_measured(const Json& options) {
  return options.value("tier", "") == to_string(Tier::kMeasured);
}

// Of all policies for which it is uncertain.
PlanQuestion with_policy_option(const PlanQuestion& question, const std::string& key, double factor) {
  PlanQuestion scaled = question;
  scaled.policies = listed_policies(question);
  for (ScenarioPolicy& policy : scaled.policies) {
    const auto info = find_policy(policy.policy);
    if (!info || !info->uncertain || info->uncertain->key != key) continue;
    Json options = Json::parse(policy.options);
    if (options.contains(key) && is_measured(options)) continue;
    options[key] = options.value(key, info->uncertain->value) * factor;
    policy.options = options.dump();
  }
  return scaled;
}

// How far off steps of each family may be, each by itself.
void add_step_times(const PlanQuestion& question, const std::set<StepFamily>& families,
                    std::vector<UncertainInput>& inputs) {
  for (const StepFamily& family : families) {
    const StepRange range = range_for(question.plan.stack, family);
    inputs.push_back({"step time, " + to_string(family), "x predicted", question.plan.stack.tier, 1,
                      range.low, range.high, true, HUGE_VAL,
                      [family](const PlanQuestion& of, double factor) -> Result<PlanQuestion> {
                        PlanQuestion off = of;
                        off.plan.assumed_error = FamilyError{family, factor};
                        return off;
                      }});
  }
}

// The same key of several policies is one input.
void add_policy_options(const PlanQuestion& question, const std::set<std::string>& compared,
                        std::vector<UncertainInput>& inputs) {
  std::set<std::string> keys;
  for (const ScenarioPolicy& policy : listed_policies(question)) {
    const auto info = find_policy(policy.policy);
    if (!compared.contains(policy.name) || !info || !info->uncertain) continue;
    const UncertainOption& option = *info->uncertain;
    const std::string key(option.key);
    const Json options = Json::parse(policy.options);
    if ((options.contains(key) && is_measured(options)) || !keys.insert(key).second) continue;
    const double value = options.value(key, option.value);
    inputs.push_back({key, "x", Tier::kAssumed, value, std::min(1.0, option.low / value),
                      std::max(1.0, option.high / value), true, HUGE_VAL,
                      [key](const PlanQuestion& of, double factor) -> Result<PlanQuestion> {
                        return with_policy_option(of, key, factor);
                      }});
  }
}

void add_cost_models(const PlanQuestion& question, std::vector<UncertainInput>& inputs) {
  for (const CostModelInfo& info : cost_models()) {
    if (info.name == question.plan.cost_model) continue;
    inputs.push_back(
        {"cost model " + std::string(info.name), "", Tier::kModel, 0, 1, 1, false, HUGE_VAL,
         [name = std::string(info.name)](const PlanQuestion& of, double) -> Result<PlanQuestion> {
           PlanQuestion other = of;
           other.plan.cost_model = name;
           other.plan.calibration.clear();
           return other;
         }});
  }
}

}  // namespace

double usual_spread(Tier tier) {
  switch (tier) {
    case Tier::kMeasured:
      return 1.05;
    case Tier::kLiterature:
    case Tier::kDatasheet:
      return 1.2;
    case Tier::kModel:
      return 1.25;
    case Tier::kAssumed:
      break;
  }
  return 2;
}

std::vector<UncertainInput> uncertain_inputs(const PlanQuestion& question, const ComparedAnswers& compared) {
  std::vector<UncertainInput> inputs;
  add_failures(question, inputs);
  if (compared.hold_spot && question.spot) add_market(question, inputs);
  add_member(question, "storage_gb_per_s", "GB/s", &PlanQuestion::storage_gb_per_s, inputs);
  add_member(question, "detect_s", "s", &PlanQuestion::detect_s, inputs);
  add_member(question, "startup_s", "s", &PlanQuestion::startup_s, inputs);
  add_member(question, "swap_s", "s", &PlanQuestion::swap_s, inputs);
  add_policy_options(question, compared.policies, inputs);
  add_step_times(question, compared.families, inputs);
  add_cost_models(question, inputs);
  std::stable_sort(inputs.begin(), inputs.end(), [](const UncertainInput& a, const UncertainInput& b) {
    return a.tier != b.tier && lowest(a.tier, b.tier) == a.tier;
  });
  return inputs;
}

}  // namespace goodput
