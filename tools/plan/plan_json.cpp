#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "tools/cli/config_files.h"
#include "tools/plan/plan_report.h"
#include "tools/plan/prediction_error.h"
#include "tools/plan_step/plan_provenance.h"

namespace goodput {
namespace {

OrderedJson parallel_json(ParallelPlan parallel) {
  return config::write(config_fields(parallel));
}

OrderedJson mean_json(const std::optional<Estimate>& estimate) {
  return estimate ? OrderedJson(estimate->mean) : OrderedJson(nullptr);
}

OrderedJson interval_json(const std::optional<Estimate>& estimate) {
  return estimate && estimate->interval ? OrderedJson(*estimate->interval) : OrderedJson(nullptr);
}

OrderedJson intervals_json(const PlanOption& option) {
  return {{"cost_usd", interval_json(option.cost_usd)},     {"jct_s", interval_json(option.jct_s)},
          {"jct_p95_s", interval_json(option.jct_p95_s)},   {"goodput", interval_json(option.goodput)},
          {"p_deadline", interval_json(option.p_deadline)}, {"p_budget", interval_json(option.p_budget)}};
}

// Whether the interval of the share supports the probability.
OrderedJson shown_json(const std::optional<Estimate>& share, double required) {
  return share ? OrderedJson((*share->interval)[0] >= required) : OrderedJson(nullptr);
}

OrderedJson option_json(const PlanOption& option, const PlanQuestion& question) {
  OrderedJson json;
  json["parallel"] = parallel_json(option.choice.parallel);
  json["policy"] = option.policy;
  json["options"] = OrderedJson::parse(option.options.options);
  json["nodes_held"] = option.nodes_held;
  json["training_nodes"] = mean_json(option.training_nodes);
  json["spares"] = option.choice.spares;
  if (question.spot) json["spot_nodes"] = option.choice.spot_nodes;
  json["interval_steps"] =
      option.interval_steps > 0 ? OrderedJson(option.interval_steps) : OrderedJson(nullptr);
  json["interval_s"] = option.interval_steps > 0 ? OrderedJson(option.interval_s) : OrderedJson(nullptr);
  json["cost_usd"] = mean_json(option.cost_usd);
  json["usd_per_million_tokens"] =
      option.cost_usd ? OrderedJson(option.cost_usd->mean / (static_cast<double>(question.tokens) * 1e-6))
                      : OrderedJson(nullptr);
  json["jct_s"] = mean_json(option.jct_s);
  json["jct_p95_s"] = mean_json(option.jct_p95_s);
  json["goodput"] = mean_json(option.goodput);
  json["p_deadline"] = mean_json(option.p_deadline);
  if (option.p_deadline)
    json["deadline_shown"] = shown_json(option.p_deadline, question.deadline->probability);
  if (option.p_budget) {
    json["p_budget"] = mean_json(option.p_budget);
    json["budget_shown"] = shown_json(option.p_budget, question.budget->probability);
  }
  json["stored_bytes"] = mean_json(option.stored_bytes);
  json["ci"] = intervals_json(option);
  json["trials"] = option.trials;
  json["warnings"] = option.warnings;
  return json;
}

OrderedJson options_json(const std::vector<PlanOption>& options, const PlanQuestion& question) {
  OrderedJson json = OrderedJson::array();
  for (const PlanOption& option : options) json.push_back(option_json(option, question));
  return json;
}

OrderedJson optional_json(const std::optional<PlanOption>& option, const PlanQuestion& question) {
  return option ? option_json(*option, question) : OrderedJson(nullptr);
}

// The numbers of options that are the best one but for the factor; what else they are is said there.
OrderedJson curve_point_json(PlanFactor factor, const PlanOption& option) {
  return {{"value", factor_value(factor, option)},
          {"interval_steps",
           option.interval_steps > 0 ? OrderedJson(option.interval_steps) : OrderedJson(nullptr)},
          {"cost_usd", mean_json(option.cost_usd)},
          {"jct_s", mean_json(option.jct_s)},
          {"goodput", mean_json(option.goodput)},
          {"p_deadline", mean_json(option.p_deadline)},
          {"ci", intervals_json(option)},
          {"trials", option.trials}};
}

OrderedJson curves_json(const std::vector<OneFactorCurve>& curves) {
  OrderedJson json = OrderedJson::object();
  for (const OneFactorCurve& curve : curves) {
    OrderedJson& points = json[std::string(kPlanFactorNames[static_cast<std::size_t>(curve.factor)])];
    points = OrderedJson::array();
    for (const PlanOption& option : curve.options) points.push_back(curve_point_json(curve.factor, option));
  }
  return json;
}

constexpr std::size_t kMostContenders = 1000;

// A value an option.
template <typename Of>
OrderedJson option_column(std::span<const PlanOption> options, Of of) {
  OrderedJson values = OrderedJson::array();
  for (const PlanOption& option : options) values.push_back(of(option));
  return values;
}

OrderedJson columns_json(const std::vector<PlanOption>& finishing) {
  const std::span<const PlanOption> shown =
      std::span(finishing).first(std::min(finishing.size(), kMostContenders));
  const auto column = [&shown](auto of) { return option_column(shown, of); };
  return {
      {"left_out", finishing.size() - shown.size()},
      {"policy", column([](const PlanOption& option) { return option.policy; })},
      {"parallel", column([](const PlanOption& option) { return parallel_json(option.choice.parallel); })},
      {"nodes_held", column([](const PlanOption& option) { return option.nodes_held; })},
      {"spares", column([](const PlanOption& option) { return option.choice.spares; })},
      {"spot_nodes", column([](const PlanOption& option) { return option.choice.spot_nodes; })},
      {"interval_steps", column([](const PlanOption& option) { return option.interval_steps; })},
      {"cost_usd", column([](const PlanOption& option) { return option.cost_usd->mean; })},
      {"jct_s", column([](const PlanOption& option) { return option.jct_s->mean; })},
      {"trials", column([](const PlanOption& option) { return option.trials; })}};
}

OrderedJson policy_plan_json(const PolicyPlan& plan) {
  return {{"parallel", parallel_json(plan.parallel)},
          {"step_s", plan.step ? OrderedJson(to_seconds(*plan.step)) : OrderedJson(nullptr)}};
}

OrderedJson contenders_json(const PlanAnswer& answer) {
  OrderedJson json = OrderedJson::array();
  for (const PolicyPlans& policy : answer.policies) {
    OrderedJson& one = json.emplace_back(OrderedJson{{"policy", policy.policy}});
    if (policy.plans.empty()) {
      one["reason"] = policy.reason;
      continue;
    }
    one.update(policy_plan_json(policy.plans.front()));
    for (const PolicyPlan& plan : policy.plans) one["plans"].push_back(policy_plan_json(plan));
    if (const auto refused = answer.refused.find(policy.policy); refused != answer.refused.end())
      one["refused"] = {{"choices", refused->second.choices}, {"reason", refused->second.reason}};
  }
  return json;
}

OrderedJson rival_json(const Rival& rival) {
  return {{"policy", rival.policy},
          {"spares", rival.choice.spares},
          {"spot_nodes", rival.choice.spot_nodes},
          {"interval", rival.interval},
          {"parallel", parallel_json(rival.choice.parallel)}};
}

OrderedJson shift_json(const Shift& shift, const Sensitivity& sensitivity) {
  OrderedJson json = {{"factor", shift.factor},
                      {"value", shift.value},
                      {"objective", or_null(shift.objective)},
                      {"change", or_null(shift.change)}};
  if (shift.p_deadline) json["p_deadline"] = *shift.p_deadline;
  json["within_limits"] = shift.within_limits ? OrderedJson(*shift.within_limits) : OrderedJson(nullptr);
  json["instead"] = shift.instead ? rival_json(sensitivity.rivals[*shift.instead]) : OrderedJson(nullptr);
  return json;
}

OrderedJson break_even_json(const BreakEven& even, const Sensitivity& sensitivity) {
  return {{"factor", even.factor},
          {"value", even.value},
          {"interval", even.interval},
          {"instead", rival_json(sensitivity.rivals[even.instead])}};
}

OrderedJson sensitivity_json(const Sensitivity& sensitivity) {
  OrderedJson inputs = OrderedJson::array();
  for (const InputSensitivity& input : sensitivity.inputs) {
    OrderedJson shifts = OrderedJson::array();
    OrderedJson break_evens = OrderedJson::array();
    for (const Shift& shift : input.shifts) shifts.push_back(shift_json(shift, sensitivity));
    for (const BreakEven& even : input.break_evens) break_evens.push_back(break_even_json(even, sensitivity));
    inputs.push_back({{"input", input.input},
                      {"unit", input.unit},
                      {"tier", to_string(input.tier)},
                      {"value", input.value},
                      {"shifts", std::move(shifts)},
                      {"break_even", std::move(break_evens)}});
  }
  return inputs;
}

OrderedJson layout_json(const RankedPlan& ranked, const TrainingPlan& plan) {
  const RangedStep step = ranged_step(plan, ranked);
  return {{"parallel", parallel_json(ranked.parallel)}, {"step_s", step.seconds},
          {"step_range_s", {step.low_s, step.high_s}},  {"mfu", ranked.mfu},
          {"memory_bytes", ranked.memory.value},        {"available_bytes", ranked.available.value}};
}

OrderedJson layouts_json(std::span<const RankedPlan> layouts, const TrainingPlan& plan) {
  OrderedJson json = OrderedJson::array();
  for (const RankedPlan& ranked : layouts) json.push_back(layout_json(ranked, plan));
  return json;
}

OrderedJson search_json(const PlanSearch& search, const TrainingPlan& plan) {
  OrderedJson json = {{"candidates", search.candidates}, {"timed", search.timed}, {"pruned", search.pruned}};
  json["fastest"] = layouts_json(search.best, plan);
  return json;
}

OrderedJson question_json(PlanQuestion question) {
  return config::write(config_fields(question));
}

}  // namespace

void add_plan_json(const PlanReport& report, OrderedJson& json) {
  const auto& [question, answer] = report;
  json["question"] = question_json(question);
  json["objective"] = kObjectiveNames[static_cast<std::size_t>(question.objective)];
  json["best"] = optional_json(answer.best, question);
  json["ties"] = options_json(answer.ties, question);
  json["stack"] = question.plan.stack.name;
  json["best_layout"] =
      answer.best_layout ? layout_json(*answer.best_layout, question.plan) : OrderedJson(nullptr);
  json["within_prediction_error"] = layouts_json(answer.within_prediction_error, question.plan);
  json["pareto"] = options_json(answer.pareto, question);
  json["contenders"] = contenders_json(answer);
  json["options"] = columns_json(answer.finishing);
  json["one_factor"] = curves_json(answer.curves);
  json["sensitivity"] = sensitivity_json(answer.sensitivity);
  json["not_examined"] = answer.sensitivity.left_out;
  json["rejected"] = answer.search.rejected;
  json["closest"] = optional_json(answer.closest, question);
  json["lacks"] = answer.lacks.empty() ? OrderedJson(nullptr) : OrderedJson(answer.lacks);
  json["search"] = search_json(answer.search, question.plan);
  json["notes"] = answer.notes;
  json["contest"] = {{"contenders", answer.contenders}, {"runs", answer.runs}, {"trials", answer.trials}};
}

Result<Provenance> plan_provenance(const PlanReport& report) {
  GOODPUT_TRY(Provenance provenance,
              plan_provenance(report.question.plan, Granularity::kLayers, report.answer.tier));
  Hash hash;
  hash.add(provenance.config_hash.value_or(0));
  hash.add(question_json(report.question).dump());
  provenance.config_hash = hash.value();
  return provenance;
}

}  // namespace goodput
