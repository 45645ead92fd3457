#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/checkpoint/lost_tokens.h"
#include "sim/base/text.h"
#include "tools/cli/duration_text.h"
#include "tools/cli/key_notes.h"
#include "tools/cli/text_table.h"
#include "tools/plan/plan_report.h"
#include "tools/plan/plan_values.h"
#include "tools/plan/prediction_error.h"
#include "tools/plan_step/plan_step_report.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

constexpr std::size_t kMostRows = 12;  // of a table; more is in --json

std::string usd(double amount) {
  return metric_text(TrialMetric::kCost, amount);
}

std::string percent_text(double share) {
  return fmt::format("{:.4g} %", 100 * share);
}

// "98.7 % (98.6 % to 98.8 %)": with what `shown` makes of the numbers.
template <typename Shown>
std::string with_interval(const std::optional<Estimate>& estimate, Shown shown) {
  if (!estimate) return "-";
  std::string text = shown(estimate->mean);
  if (!estimate->interval || (*estimate->interval)[0] == (*estimate->interval)[1]) return text;
  return text + fmt::format(" ({} to {})", shown((*estimate->interval)[0]), shown((*estimate->interval)[1]));
}

template <typename Shown>
std::string mean_text(const std::optional<Estimate>& estimate, Shown shown) {
  return estimate ? shown(estimate->mean) : "-";
}

std::string plan_name(const ParallelPlan& plan) {
  std::string text =
      fmt::format("{}, micro-batch {}, {}", parallel_text(plan), plan.micro_batch, plan.schedule);
  if (plan.recompute != Recompute::kNone)
    text += fmt::format(", recompute {}", kRecomputeNames[static_cast<std::size_t>(plan.recompute)]);
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string spares_text(const PlannedNodes& choice) {
  std::string text = choice.spares == 0 ? "no spares" : counted(choice.spares, "spare");
  if (choice.spot_nodes > 0)
    text += fmt::format(", {} from the spot market", counted(choice.spot_nodes, "node"));
  return text;
}

// "15 min", as people set it.
std::string interval_time(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// ---- The answer.

std::string question_text(const PlanQuestion& question) {
  const ParallelPlan& parallel = question.plan.parallel;
  std::string text = fmt::format(
      "Question: {}; {} x {} tokens per step; {} per node-hour, {}\n", question_summary(question),
      parallel.global_batch, parallel.sequence_length, usd(question.usd_per_node_hour),
      question.billing == Billing::kReserved ? "all nodes are billed from start to end"
                                             : "nodes are billed while held, but not while under repair");
  if (question.assumes_storage) {
    text += fmt::format(
        "Assumed: storage reads and writes at {:.4g} GB/s, {:g} GB/s per training node (change with "
        "--storage-gb-per-s)\n",
        *question.storage_gb_per_s, kAssumedStorageOfNode);
  }
  return text;
}

// "132 nodes: 128 train, 4 are spares".
std::string nodes_text(const PlanOption& option, const PlanQuestion& question) {
  std::string text = counted(option.nodes_held, "node");
  if (option.choice.spot_nodes == option.nodes_held) {
    text += " (all from the spot market)";
  } else if (option.choice.spot_nodes > 0) {
    text += fmt::format(" ({} reserved, {} from the spot market)",
                        option.nodes_held - option.choice.spot_nodes, option.choice.spot_nodes);
  }
  const std::int32_t train = question.train_nodes();
  const bool grows = option.training_nodes && option.training_nodes->mean > train + 0.05;
  if (grows) return text + fmt::format(": all can train; {:.1f} do on average", option.training_nodes->mean);
  if (option.choice.spares == 0) return text + ": all train, no spares";
  return text + fmt::format(": {} train, {} {}", train, option.choice.spares,
                            option.choice.spares == 1 ? "is a spare" : "are spares");
}

std::string done_text(const PlanOption& option) {
  if (!option.jct_s) return "not every run finishes";
  std::string text = fmt::format("finishes in {} on average", duration_text(option.jct_s->mean));
  if (option.jct_p95_s && option.trials > 1)
    text += fmt::format("; 95 % of runs finish within {}", duration_text(option.jct_p95_s->mean));
  return text;
}

std::string cost_text(const PlanOption& option, const PlanQuestion& question) {
  if (!option.cost_usd) return "";
  std::string interval;
  if (option.cost_usd->interval) {
    interval = fmt::format(" (95 % confidence: {} to {})", usd((*option.cost_usd->interval)[0]),
                           usd((*option.cost_usd->interval)[1]));
  }
  return fmt::format("It costs {} on average{}, ${:.4g} per million tokens.\n", usd(option.cost_usd->mean),
                     interval, option.cost_usd->mean / (1e-6 * static_cast<double>(question.tokens)));
}

// How sure it is that a limit holds with the probability that is required.
std::string certainty_text(std::string_view limit, std::string_view kept, double required,
                           const Estimate& share, std::int64_t trials) {
  if (trials == 1)
    return fmt::format("{}: {}{} in this run; a single run cannot show a probability.\n", limit,
                       share.mean == 1 ? "" : "not ", kept);
  const double low = share.interval ? (*share.interval)[0] : 0;
  std::string text = fmt::format("{}: {} in {} of {} runs; {} is required", limit, kept,
                                 percent_text(share.mean), trials, percent_text(required));
  if (low >= required)
    return text + fmt::format(", and the true share is at least {} at 95 % confidence.\n", percent_text(low));
  if (share.mean < required) return text + ".\n";
  const auto needed = trials_to_show(required, share.mean);
  if (!needed) return text + ", which these runs cannot confirm.\n";
  return text + fmt::format(", but confirming it takes about {:.0f} trials.\n",
                            std::round(static_cast<double>(*needed) / 100) * 100);
}

std::string limits_text(const PlanOption& option, const PlanQuestion& question) {
  std::string text;
  if (question.deadline && option.p_deadline) {
    text += certainty_text(fmt::format("Deadline of {}", duration_text(to_seconds(question.deadline->value))),
                           "met", question.deadline->probability, *option.p_deadline, option.trials);
  }
  if (!question.budget || !option.cost_usd) return text;
  const std::string budget = fmt::format("Budget of {}", usd(question.budget->value));
  if (option.p_budget)
    return text +
           certainty_text(budget, "met", question.budget->probability, *option.p_budget, option.trials);
  const bool is_kept = option.cost_usd->mean <= question.budget->value;
  return text + fmt::format("{}: the average cost is {} it.\n", budget, is_kept ? "within" : "above");
}

// "1.24 PB"
std::string bytes_text(double bytes) {
  constexpr std::pair<double, std::string_view> kUnits[] = {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes >= unit) return fmt::format("{:.3g} {}", bytes / unit, name);
  }
  return fmt::format("{:.0f} bytes", bytes);
}

std::string policy_text(const PlanOption& option) {
  if (option.interval_steps == 0) return option.policy;
  return fmt::format("{}, a checkpoint to storage every {} ({})", option.policy,
                     interval_time(option.interval_s), counted(option.interval_steps, "step"));
}

std::string details_text(const PlanOption& option) {
  std::string text =
      fmt::format("  policy    {}\n  layout    {}\n", policy_text(option), plan_name(option.choice.parallel));
  text += fmt::format("  goodput   {}\n", with_interval(option.goodput, percent_text));
  if (option.stored_bytes && option.stored_bytes->mean > 0)
    text += fmt::format("  storage   checkpoints write {}\n", bytes_text(option.stored_bytes->mean));
  for (const std::string& warning : option.warnings) text += fmt::format("  warning   {}\n", warning);
  return text;
}

// ---- Tables of choices.

// Rows of the same plan, policy and spares are one, with the range of their intervals.
struct OptionRange {
  const PlanOption* first = nullptr;
  double least = 0, most = 0;  // seconds
};

std::vector<OptionRange> ranges_of(const std::vector<PlanOption>& options) {
  std::vector<OptionRange> ranges;
  for (const PlanOption& option : options) {
    const auto same = std::find_if(ranges.begin(), ranges.end(), [&option](const OptionRange& range) {
      const PlannedNodes& a = range.first->choice;
      const PlannedNodes& b = option.choice;
      return range.first->policy == option.policy && a.spares == b.spares && a.spot_nodes == b.spot_nodes &&
             parallel_text(a.parallel) == parallel_text(b.parallel);
    });
    if (same == ranges.end()) {
      ranges.push_back({&option, option.interval_s, option.interval_s});
    } else {
      same->least = std::min(same->least, option.interval_s);
      same->most = std::max(same->most, option.interval_s);
    }
  }
  return ranges;
}

std::vector<OptionRange> one_each(const std::vector<PlanOption>& options) {
  std::vector<OptionRange> ranges;
  for (const PlanOption& option : options) ranges.push_back({&option, option.interval_s, option.interval_s});
  return ranges;
}

// "$3217 +- 0.8 %"
template <typename Shown>
std::string spread_text(const std::optional<Estimate>& estimate, Shown shown) {
  if (!estimate) return "-";
  if (!estimate->interval || estimate->mean == 0) return shown(estimate->mean);
  const double half = ((*estimate->interval)[1] - (*estimate->interval)[0]) / 2;
  return fmt::format("{} ± {:.1f} %", shown(estimate->mean), 100 * half / estimate->mean);
}

std::string options_table(const std::vector<OptionRange>& ranges, const PlanQuestion& question) {
  std::vector<TextRow> rows = {{"policy", "nodes", "spares"}};
  const auto add = [](TextRow& row, std::initializer_list<std::string> cells) {
    row.insert(row.end(), cells);
  };
  if (question.spot) add(rows.front(), {"spot"});
  add(rows.front(), {"checkpoint every", "cost", "mean time", "95 % within"});
  if (question.deadline) add(rows.front(), {"meets deadline"});
  add(rows.front(), {"goodput", "trials", "plan"});
  for (const OptionRange& range : ranges) {
    if (rows.size() > kMostRows) break;
    const PlanOption& option = *range.first;
    std::string every = range.least == 0 ? "-" : interval_time(range.least);
    if (range.most > range.least) every += fmt::format(" to {}", interval_time(range.most));
    TextRow row = {option.policy, std::to_string(option.nodes_held), std::to_string(option.choice.spares)};
    if (question.spot) add(row, {std::to_string(option.choice.spot_nodes)});
    add(row, {every, spread_text(option.cost_usd, usd), spread_text(option.jct_s, duration_text),
              mean_text(option.jct_p95_s, duration_text)});
    if (question.deadline) add(row, {mean_text(option.p_deadline, percent_text)});
    add(row, {mean_text(option.goodput, percent_text), std::to_string(option.trials),
              parallel_text(option.choice.parallel)});
    rows.push_back(std::move(row));
  }
  std::string text = aligned(rows);
  if (ranges.size() > kMostRows) text += fmt::format("... and {} more\n", ranges.size() - kMostRows);
  return text;
}

// Its step is the policy's own.
std::string step_text(const PolicyPlans& policy, const ParallelPlan& parallel) {
  const auto plan = std::ranges::find_if(
      policy.plans, [&](const PolicyPlan& one) { return text_key(one.parallel) == text_key(parallel); });
  return plan != policy.plans.end() && plan->step ? duration_text(to_seconds(*plan->step)) : "-";
}

// Warnings about policies whose best choice loses many tokens.
std::string lost_tokens_text(const PlanAnswer& answer) {
  std::string text;
  for (std::size_t i = 0; i < answer.standings.size(); ++i) {
    const auto& [best, equal] = answer.standings[i];
    if (!best) continue;
    if (const std::string warning = plt_warning(best->plt); !warning.empty())
      text += fmt::format("warning: {}: {}\n", answer.policies[i].policy, warning);
  }
  return text;
}

// Each policy with its best choice; and with as many nodes as the answer, if that is another one.
std::string policies_table(const PlanAnswer& answer) {
  std::vector<TextRow> rows = {{"policy", "step", "nodes", "cost", "mean time", "plan"}};
  for (std::size_t i = 0; i < answer.standings.size(); ++i) {
    const PolicyPlans& policy = answer.policies[i];
    if (policy.plans.empty()) continue;
    const auto& [best, equal] = answer.standings[i];
    if (!best) {
      rows.push_back({policy.policy, step_text(policy, policy.plans.front().parallel), "-", "does not finish",
                      "-", parallel_text(policy.plans.front().parallel)});
      continue;
    }
    const auto add = [&](const PlanOption& option) {
      rows.push_back({policy.policy, step_text(policy, option.choice.parallel),
                      std::to_string(option.nodes_held), spread_text(option.cost_usd, usd),
                      spread_text(option.jct_s, duration_text), parallel_text(option.choice.parallel)});
    };
    add(*best);
    if (equal && equal->nodes_held != best->nodes_held) add(*equal);
  }
  if (rows.size() <= 2) return "";
  return "Each policy on its own best plan\n" + aligned(rows) + lost_tokens_text(answer) + '\n';
}

// ---- What it rests on.

constexpr double kNoMatter = 0.003;  // relative: of the objective; inputs that move it less are one line

std::string objective_text(Objective objective, double value) {
  return metric_text(metric_of(objective), value);
}

std::string bare_value_text(const InputSensitivity& input, double value) {
  return input.unit == "s" ? duration_text(value) : fmt::format("{:.4g}", value);
}

std::string value_text(const InputSensitivity& input, double value) {
  const std::string bare = bare_value_text(input, value);
  return input.unit.empty() || input.unit == "s" ? bare : fmt::format("{} {}", bare, input.unit);
}

std::string shift_text(const Shift& shift, Objective objective) {
  if (!shift.objective) return "does not finish";
  const double percent = 100 * *shift.change;
  const std::string_view sign = std::abs(percent) < 0.05 ? "" : percent < 0 ? "-" : "+";
  return fmt::format("{} ({}{:.1f} %){}", objective_text(objective, *shift.objective), sign,
                     std::abs(percent), shift.within_limits.value_or(true) ? "" : ", exceeds a limit");
}

std::string rival_text(const Rival& rival) {
  return fmt::format("{} with {} on {}", rival.policy, spares_text(rival.choice),
                     parallel_text(rival.choice.parallel));
}

// Nothing else is better there, no limit breaks, and the objective hardly moves.
bool hardly_matters(const InputSensitivity& input) {
  return std::all_of(input.shifts.begin(), input.shifts.end(), [](const Shift& shift) {
    return shift.change && std::abs(*shift.change) < kNoMatter && shift.within_limits.value_or(true) &&
           !shift.instead;
  });
}

std::string inputs_table(const Sensitivity& sensitivity, Objective objective) {
  std::vector<TextRow> rows = {{"input", "tier", "now", "low", "", "high", ""}};
  std::vector<std::string> others;
  for (const InputSensitivity& input : sensitivity.inputs) {
    if (hardly_matters(input)) {
      others.push_back(input.input);
      continue;
    }
    TextRow row = {input.input, std::string(to_string(input.tier))};
    row.push_back(input.value == 0 ? "" : value_text(input, input.value));
    if (input.shifts.size() == 1) row.insert(row.end(), {"", ""});
    for (const Shift& shift : input.shifts) {
      row.push_back(input.value == 0 ? "" : bare_value_text(input, shift.value));
      row.push_back(shift_text(shift, objective));
    }
    rows.push_back(std::move(row));
  }
  std::string text = rows.size() > 1 ? aligned(rows) : "";
  if (!others.empty())
    text += fmt::format("Inputs with an effect below {:g} %: {}\n", 100 * kNoMatter, fmt::join(others, ", "));
  if (!sensitivity.left_out.empty())
    text += fmt::format("Not examined because time ran out: {}\n", fmt::join(sensitivity.left_out, ", "));
  return text;
}

std::string sensitivity_text(const Sensitivity& sensitivity, Objective objective) {
  if (sensitivity.inputs.empty() && sensitivity.left_out.empty()) return "";
  std::string text =
      fmt::format("How much each input changes the result, least certain inputs first ({} trials each)\n{}",
                  sensitivity.trials, inputs_table(sensitivity, objective));
  for (const InputSensitivity& input : sensitivity.inputs) {
    if (input.value == 0 && !input.shifts.empty() && input.shifts.front().instead) {
      text += fmt::format("According to {}, {} is better.\n", input.input,
                          rival_text(sensitivity.rivals[*input.shifts.front().instead]));
    }
    for (const BreakEven& even : input.break_evens) {
      text += fmt::format("If {} is {} {} (95 % confidence: {} to {}), {} is better.\n", input.input,
                          even.factor < 1 ? "below" : "above", value_text(input, even.value),
                          bare_value_text(input, even.interval[0]), bare_value_text(input, even.interval[1]),
                          rival_text(sensitivity.rivals[even.instead]));
    }
  }
  return text + '\n';
}

// ---- What was looked at.

std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [reason, count] : counts) text += fmt::format("  {:>9}  {}\n", count, reason);
  return text;
}

// Policies by reason: "ds, tutel (the model has no experts); elastic_dp in 14 of 28 settings (...)".
std::string refusals_text(const PlanAnswer& answer) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> policies;  // by where and why
  const auto add = [&](const std::string& policy, const std::string& reason, const std::string& where) {
    policies[{reason.substr(0, reason.find(';')), where}].push_back(policy);
  };
  for (const PolicyPlans& policy : answer.policies) {
    if (policy.plans.empty()) add(policy.policy, policy.reason, "");
  }
  for (const auto& [policy, refusal] : answer.refused)
    add(policy, refusal.reason, fmt::format(" in {} of {} settings", refusal.choices, refusal.of));
  if (policies.empty() || answer.search.best.empty()) return "";  // no plan fits, as the answer says
  std::vector<std::string> groups;
  for (const auto& [why, names] : policies)
    groups.push_back(fmt::format("{}{} ({})", fmt::join(names, ", "), why.second, why.first));
  return fmt::format("Policies not simulated: {}\n", fmt::join(groups, "; "));
}

// How far off the best plan's step may be, and what cannot be told from it for that reason.
std::string prediction_text(const PlanAnswer& answer, const TrainingPlan& plan) {
  if (!answer.best_layout) return "";
  const RangedStep step = ranged_step(plan, *answer.best_layout);
  std::string text = fmt::format("  step      {}, 80 % range {} to {} ({}; software stack {})\n",
                                 duration_text(step.seconds), duration_text(step.low_s),
                                 duration_text(step.high_s), step.range.basis, plan.stack.name);
  if (answer.within_prediction_error.empty()) return text;
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  for (const RankedPlan& ranked : answer.within_prediction_error) {
    if (shown.size() == kShown) break;
    shown.push_back(
        fmt::format("{} ({})", parallel_text(ranked.parallel), duration_text(to_seconds(ranked.step))));
  }
  const std::size_t more = answer.within_prediction_error.size() - shown.size();
  return text + fmt::format("  layouts within the prediction error of this step: {}{}\n",
                            fmt::join(shown, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

std::string search_text(const PlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  std::string text =
      fmt::format("Parallel plans: {} considered, {} timed, {} ruled out by a bound on the step time",
                  search.candidates, search.timed, search.pruned);
  text += search.rejected.empty() ? "\n" : "; rejected:\n" + counts_text(search.rejected);
  if (!search.best.empty()) {
    const RankedPlan& fastest = search.best.front();
    text += fmt::format("  fastest: {}; {} per step, MFU {:.1f} %, {:.1f} of {:.1f} GiB of GPU memory\n",
                        plan_name(fastest.parallel), duration_text(to_seconds(fastest.step)),
                        100 * fastest.mfu, in_gib(fastest.memory), in_gib(fastest.available));
  }
  text +=
      fmt::format("Simulated: {} combinations of plan, policy, spares and checkpoint interval in {} runs\n",
                  answer.contenders, answer.runs);
  return text + refusals_text(answer);
}

std::string answer_text(const PlanOption& option, const PlanQuestion& question) {
  return fmt::format("{}. The job {}.\n{}{}", nodes_text(option, question), done_text(option),
                     cost_text(option, question), limits_text(option, question));
}

}  // namespace

std::string question_summary(const PlanQuestion& question) {
  std::string text = fmt::format("{}, {} tokens on {} {}", question.plan.model.name,
                                 count_text(static_cast<double>(question.tokens)), question.gpus,
                                 question.plan.cluster.gpu.name);
  if (question.deadline) {
    text += fmt::format(", within {} in {} of runs", duration_text(to_seconds(question.deadline->value)),
                        percent_text(question.deadline->probability));
  }
  if (question.budget) text += fmt::format(", for {} or less", usd(question.budget->value));
  if (question.budget && question.budget->probability > 0)
    text += fmt::format(" in {} of runs", percent_text(question.budget->probability));
  return text +
         fmt::format(", {} {}",
                     info(metric_of(question.objective)).better == Better::kMore ? "maximize" : "minimize",
                     kObjectiveNames[static_cast<std::size_t>(question.objective)]);
}

std::string plan_text(const PlanReport& report) {
  const auto& [question, answer] = report;
  std::string text;
  if (answer.best) {
    text += fmt::format("Use {}{}", answer_text(*answer.best, question), question_text(question));
    for (const std::string& note : answer.notes) text += fmt::format("Note: {}\n", on_one_line(note));
    text += fmt::format("\nBest choice ({})\n{}{}\n", counted(answer.best->trials, "trial"),
                        details_text(*answer.best), prediction_text(answer, question.plan));
  } else {
    text += fmt::format("No answer: {}.\n{}", answer.lacks, question_text(question));
    for (const std::string& note : answer.notes) text += fmt::format("Note: {}\n", on_one_line(note));
    if (answer.closest) {
      text += fmt::format("\nClosest choice: {}{}", answer_text(*answer.closest, question),
                          details_text(*answer.closest));
    }
    text += '\n';
  }
  if (!answer.ties.empty()) {
    text += fmt::format("{} equally good (the difference is within 0.5 % or not significant):\n{}\n",
                        answer.ties.size() == 1 ? "One other choice is"
                                                : fmt::format("{} other choices are", answer.ties.size()),
                        options_table(ranges_of(answer.ties), question));
  }
  if (answer.pareto.size() > 1) {
    text += "Cost versus time: no choice is both cheaper and faster than one of these\n" +
            options_table(one_each(answer.pareto), question) + '\n';
  }
  text += policies_table(answer);
  text += sensitivity_text(answer.sensitivity, question.objective);
  text += search_text(answer);
  return text + fmt::format("\nLowest tier: {}\n", to_string(answer.tier));
}

}  // namespace goodput
