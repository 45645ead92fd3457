#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tools/cli/text_table.h"
#include "tools/cli/unused_keys.h"
#include "tools/plan/plan_report.h"
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

// "$645.7 k (645.1 to 646.3)": with what `shown` makes of the numbers.
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

std::string spares_text(const PlannedNodes& choice) {
  std::string text = fmt::format("{} spare{}", choice.spares, choice.spares == 1 ? "" : "s");
  if (choice.spot_nodes > 0) text += fmt::format(", {} nodes of the spot market", choice.spot_nodes);
  return text;
}

std::string interval_text(const PlanOption& option) {
  if (option.interval_steps == 0) return "";
  if (option.interval_steps == 1) return ", a checkpoint every step";
  return fmt::format(", a checkpoint every {} steps", option.interval_steps);
}

// ---- What was asked.

std::string question_text(const PlanQuestion& question) {
  const ParallelPlan& parallel = question.plan.parallel;
  return fmt::format("{}\n{} nodes train on batches of {} x {} tokens; {} a node-hour, {}\n",
                     question_summary(question), question.train_nodes(), parallel.global_batch,
                     parallel.sequence_length, usd(question.usd_per_node_hour),
                     question.billing == Billing::kReserved
                         ? "all nodes reserved from start to end, spares too"
                         : "paid while nodes are held, not while they are repaired");
}

// ---- The answer.

std::string option_text(const PlanOption& option, const PlanQuestion& question) {
  std::string text = fmt::format("  {} with {}{}\n  {}\n", option.policy, spares_text(option.choice),
                                 interval_text(option), plan_name(option.choice.parallel));
  std::vector<TextRow> rows;
  text += fmt::format("  done in   {}", with_interval(option.jct_s, duration_text));
  if (option.jct_p95_s) text += fmt::format(", in {} with 95 %", duration_text(option.jct_p95_s->mean));
  text += '\n';
  if (option.cost_usd) {
    text += fmt::format("  cost      {}, ${:.4g} a million tokens\n", with_interval(option.cost_usd, usd),
                        option.cost_usd->mean / (1e-6 * static_cast<double>(question.tokens)));
  }
  text += fmt::format("  goodput   {}\n", with_interval(option.goodput, percent_text));
  if (option.p_deadline)
    text += fmt::format("  deadline  met with {}\n", with_interval(option.p_deadline, percent_text));
  if (option.p_budget)
    text += fmt::format("  budget    kept with {}\n", with_interval(option.p_budget, percent_text));
  for (const std::string& warning : option.warnings) text += fmt::format("  warning: {}\n", warning);
  return text;
}

// Rows of the same plan, policy and spares are one, with the range of their intervals.
struct OptionRange {
  const PlanOption* first = nullptr;
  std::int64_t least = 0, most = 0;  // steps
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
      ranges.push_back({&option, option.interval_steps, option.interval_steps});
    } else {
      same->least = std::min(same->least, option.interval_steps);
      same->most = std::max(same->most, option.interval_steps);
    }
  }
  return ranges;
}

std::string options_table(const std::vector<PlanOption>& options, const PlanQuestion& question) {
  std::vector<TextRow> rows = {
      {"policy", "spares", "every steps", "cost", "done in", "95 % by", "goodput", "plan"}};
  if (question.spot) rows.front().insert(rows.front().begin() + 2, "spot");
  const std::vector<OptionRange> ranges = ranges_of(options);
  for (const OptionRange& range : ranges) {
    if (rows.size() > kMostRows) break;
    const PlanOption& option = *range.first;
    std::string steps = range.least == 0 ? "-" : std::to_string(range.least);
    if (range.most > range.least) steps += fmt::format("-{}", range.most);
    TextRow row = {option.policy,
                   std::to_string(option.choice.spares),
                   steps,
                   mean_text(option.cost_usd, usd),
                   mean_text(option.jct_s, duration_text),
                   mean_text(option.jct_p95_s, duration_text),
                   mean_text(option.goodput, percent_text),
                   parallel_text(option.choice.parallel)};
    if (question.spot) row.insert(row.begin() + 2, std::to_string(option.choice.spot_nodes));
    rows.push_back(std::move(row));
  }
  std::string text = aligned(rows);
  if (ranges.size() > kMostRows) text += fmt::format("... and {} more\n", ranges.size() - kMostRows);
  return text;
}

// ---- What it rests on.

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
  if (!shift.objective) return "not done";
  const double percent = 100 * *shift.change;
  const std::string_view sign = std::abs(percent) < 0.05 ? "" : percent < 0 ? "-" : "+";
  return fmt::format("{} ({}{:.1f} %)", objective_text(objective, *shift.objective), sign, std::abs(percent));
}

std::string rival_text(const Rival& rival) {
  return fmt::format("{} with {} on {}", rival.policy, spares_text(rival.choice),
                     parallel_text(rival.choice.parallel));
}

std::string sensitivity_text(const Sensitivity& sensitivity, Objective objective) {
  if (sensitivity.inputs.empty()) return "";
  std::vector<TextRow> rows = {{"input", "tier", "now", "low", "", "high", ""}};
  for (const InputSensitivity& input : sensitivity.inputs) {
    TextRow row = {input.input, std::string(to_string(input.tier))};
    row.push_back(input.value == 0 ? "" : value_text(input, input.value));
    if (input.shifts.size() == 1) row.insert(row.end(), {"", ""});
    for (const Shift& shift : input.shifts) {
      row.push_back(input.value == 0 ? "" : bare_value_text(input, shift.value));
      row.push_back(shift_text(shift, objective));
    }
    rows.push_back(std::move(row));
  }
  std::string text = fmt::format("What it rests on, the least certain first ({} trials each)\n{}",
                                 sensitivity.trials, aligned(rows));
  for (const InputSensitivity& input : sensitivity.inputs) {
    if (input.value == 0 && !input.shifts.empty() && input.shifts.front().instead) {
      text += fmt::format("by {} {} is better\n", input.input,
                          rival_text(sensitivity.rivals[*input.shifts.front().instead]));
    }
    for (const Shift& even : input.break_evens) {
      text += fmt::format("{} {} {}: {} is better\n", input.input,
                          even.factor < 1 ? "at or below" : "at or above", value_text(input, even.value),
                          rival_text(sensitivity.rivals[*even.instead]));
    }
  }
  return text + '\n';
}

std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [reason, count] : counts) text += fmt::format("  {:>9}  {}\n", count, reason);
  return text;
}

std::string refusals_text(const PlanAnswer& answer) {
  std::vector<TextRow> rows;
  for (const auto& [policy, refusal] : answer.refused) {
    const std::string where =
        refusal.choices == answer.choices
            ? "everywhere"
            : fmt::format("{} of {} choices of plan and nodes", refusal.choices, answer.choices);
    rows.push_back({fmt::format("  {}: {}: {}", policy, where, refusal.reason)});
  }
  return aligned(rows);
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
  return text + fmt::format("  within prediction error of this step: {}{}\n", fmt::join(shown, "; "),
                            more > 0 ? fmt::format("; and {} more layouts", more) : "");
}

std::string search_text(const PlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  std::string text = fmt::format("Parallel plans: {} looked at, {} timed, {} ruled out by a bound",
                                 search.candidates, search.timed, search.pruned);
  text += search.rejected.empty() ? "\n" : "; rejected:\n" + counts_text(search.rejected);
  if (!search.best.empty()) {
    const RankedPlan& fastest = search.best.front();
    text += fmt::format("  fastest: {}; {} a step, MFU {:.1f} %, {:.1f} of {:.1f} GiB\n",
                        plan_name(fastest.parallel), duration_text(to_seconds(fastest.step)),
                        100 * fastest.mfu, in_gib(fastest.memory), in_gib(fastest.available));
  }
  text += fmt::format("Simulated: {} choices of plan, policy, spares and interval, {} runs",
                      answer.contenders, answer.runs);
  text += answer.refused.empty() ? "\n" : "; no contenders:\n" + refusals_text(answer);
  return text;
}

}  // namespace

std::string question_summary(const PlanQuestion& question) {
  std::string text = fmt::format("{}: {} tokens on {} {}", question.plan.model.name,
                                 count_text(static_cast<double>(question.tokens)), question.gpus,
                                 question.plan.cluster.gpu.name);
  if (question.deadline) {
    text += fmt::format(", in {} with {}", duration_text(to_seconds(question.deadline->value)),
                        percent_text(question.deadline->probability));
  }
  if (question.budget) text += fmt::format(", within {}", usd(question.budget->value));
  if (question.budget && question.budget->probability > 0)
    text += fmt::format(" with {}", percent_text(question.budget->probability));
  return text + fmt::format(", {} {}",
                            info(metric_of(question.objective)).better == Better::kMore ? "most" : "least",
                            kObjectiveNames[static_cast<std::size_t>(question.objective)]);
}

std::string plan_text(const PlanReport& report) {
  const auto& [question, answer] = report;
  std::string text = question_text(question) + '\n';
  if (answer.best) {
    text += fmt::format("Best, the mean of {} trials\n{}{}\n", answer.best->trials,
                        option_text(*answer.best, question), prediction_text(answer, question.plan));
  } else {
    text += fmt::format("No answer: {}\n", answer.lacks);
    if (answer.closest) text += "Closest\n" + option_text(*answer.closest, question);
    text += '\n';
  }
  if (!answer.ties.empty()) {
    text += fmt::format("No different (the paired 95 % interval holds 0, or within 0.5 %): {}\n{}\n",
                        answer.ties.size(), options_table(answer.ties, question));
  }
  if (answer.pareto.size() > 1)
    text += "Cost against time: nothing is better in both\n" + options_table(answer.pareto, question) + '\n';
  text += sensitivity_text(answer.sensitivity, question.objective);
  text += search_text(answer);
  return text + fmt::format("\nLowest tier: {}\n", to_string(answer.tier));
}

}  // namespace goodput
