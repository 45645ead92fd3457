#include "tools/plan/plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "models/planner/contest.h"
#include "models/planner/no_plan.h"
#include "models/planner/pareto_front.h"
#include "models/scenario/trial_metrics.h"
#include "tools/plan/closest_option.h"
#include "tools/plan/contenders.h"
#include "tools/plan/plan_values.h"
#include "tools/plan/policy_plans.h"
#include "tools/plan/prediction_error.h"
#include "tools/plan/sensitivity_budget.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

constexpr std::size_t kUsualInputs = 9;  // of a sensitivity
// A run that loses so many nodes is long enough for few trials to tell the worst contenders from the best.
constexpr double kManyLosses = 32;
constexpr std::int64_t kFewTrials = 4;
// Of each policy, so many of its best contenders get so many trials, to compare the policies.
constexpr std::size_t kStandingRivals = 3;
constexpr std::int64_t kStandingTrials = 64;
constexpr std::int64_t kMostProofTrials = 16'384;

// What the search found instead of a plan that fits.
std::string misfit_text(const PlanQuestion& question, const PlanSearch& search) {
  if (!search.closest) return no_plan_text(question.plan, question.gpus, question.space, search);
  return fmt::format(
      "no parallel plan fits in memory; the closest, TP {} x PP {} x DP {}, needs {:.1f} GiB, but only "
      "{:.1f} GiB are available",
      search.closest->parallel.tp, search.closest->parallel.pp, search.closest->parallel.dp,
      in_gib(search.closest->memory), in_gib(search.closest->available));
}

std::int64_t gpus_of_replica(const ParallelPlan& plan) {
  return std::int64_t{plan.tp} * plan.pp * plan.cp;
}

// The choices of nodes that the question leaves, with each of the plans.
std::vector<PlannedNodes> node_choices(const PlanQuestion& question, const ParallelPlan& parallel) {
  std::vector<PlannedNodes> choices;
  for (const std::int32_t spares : question.spares) {
    const std::int32_t nodes = question.train_nodes() + spares;
    choices.push_back({parallel, spares, 0});
    if (!question.spot) continue;
    for (const std::int32_t spot : question.spot->nodes) {
      if (spot > 0 && spot <= nodes) choices.push_back({parallel, spares, spot});
    }
  }
  return choices;
}

// A plan with the policies that compete with it.
struct CompetingPlan {
  ParallelPlan parallel{};
  std::vector<ScenarioPolicy> policies{};
};

std::vector<CompetingPlan> competing_plans(const std::vector<PolicyPlans>& found,
                                           const std::vector<ScenarioPolicy>& policies) {
  std::vector<CompetingPlan> competing;
  std::map<std::string, std::size_t> position;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const PolicyPlan& plan : found[i].plans) {
      const auto [known, is_new] = position.emplace(text_key(plan.parallel), competing.size());
      if (is_new) competing.push_back({plan.parallel});
      competing[known->second].policies.push_back(policies[i]);
    }
  }
  return competing;
}

// The longest step of any plan that the search kept or a policy competes with.
SimDuration longest_step(const FoundPlans& found) {
  SimDuration longest{};
  if (!found.search.best.empty()) longest = found.search.best.back().step;
  for (const PolicyPlans& policy : found.policies) {
    for (const PolicyPlan& plan : policy.plans) longest = std::max(longest, plan.step.value_or(longest));
  }
  return longest;
}

struct RankedContender {
  std::size_t contender = 0;
  double mean = 0;            // of the objective, less is better
  bool breaks_limit = false;  // probably
};

// Those that finished in every trial, by the mean of their first trials.
std::vector<RankedContender> ranked_contenders(const Contenders& contenders, const PlanQuestion& question,
                                               std::size_t first_trials) {
  std::vector<RankedContender> all;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto trials = contenders.trials(i);
    if (trials.empty()) continue;
    const std::size_t common = std::min(trials.size(), first_trials);
    if (const auto values = objective_values(question.objective, trials.first(common)))
      all.push_back(
          {i, estimate_mean(*values).mean, within_limits(question, trials) < WithinLimits::kPerhaps});
  }
  std::ranges::stable_sort(all, {}, &RankedContender::mean);
  return all;
}

bool has_uncertain_option(const Contenders& contenders, std::size_t contender) {
  const Scenario& scenario = contenders.setting(contender).scenario;
  const auto info = find_policy(scenario.policies[contenders[contender].policy].policy);
  return info && info->uncertain;
}

// What sensitivity compares the best answer with: contenders that differ from each other in policy, family of
// layouts, size of a replica, spares or nodes of the market, each at its best interval. The best answer
// first, then the best of each other family of layouts, whose steps may be off by another factor, and of each
// policy with an uncertain option, then by mean.
std::vector<std::size_t> rivals_of(const Contenders& contenders, const PlanQuestion& question,
                                   std::size_t best, std::size_t most, std::size_t first_trials) {
  const std::vector<RankedContender> all = ranked_contenders(contenders, question, first_trials);
  const auto family_of_contender = [&](std::size_t i) {
    return family_of(question.plan, contenders.setting(i).choice.parallel);
  };
  const auto key = [&](std::size_t i) {
    const PlannedNodes& choice = contenders.setting(i).choice;
    return fmt::format("{}/{}/{}/{}/{}", contenders[i].base, to_string(family_of_contender(i)),
                       gpus_of_replica(choice.parallel), choice.spares, choice.spot_nodes);
  };
  std::set<std::string> seen{key(best)};
  std::vector<std::size_t> rivals{best};
  std::set<StepFamily> families{family_of_contender(best)};
  for (const RankedContender& candidate : all) {
    if (families.insert(family_of_contender(candidate.contender)).second &&
        seen.insert(key(candidate.contender)).second)
      rivals.push_back(candidate.contender);
  }
  std::set<std::string> uncertain;  // policies
  for (const RankedContender& candidate : all) {
    const std::size_t i = candidate.contender;
    if (has_uncertain_option(contenders, i) && uncertain.insert(contenders[i].base).second &&
        seen.insert(key(i)).second)
      rivals.push_back(i);
  }
  for (const RankedContender& candidate : all) {
    if (rivals.size() >= most) break;
    if (seen.insert(key(candidate.contender)).second) rivals.push_back(candidate.contender);
  }
  return rivals;
}

// Those that always finish and have a price, the cheapest first.
std::vector<PlanOption> finishing_options(const Contenders& contenders, const PlanQuestion& question) {
  std::vector<PlanOption> options;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (contenders.trials(i).empty()) continue;
    PlanOption option = plan_option(contenders, question, i);
    if (option.cost_usd && option.jct_s) options.push_back(std::move(option));
  }
  std::stable_sort(options.begin(), options.end(), [](const PlanOption& a, const PlanOption& b) {
    return a.cost_usd->mean < b.cost_usd->mean;
  });
  return options;
}

// Enough to show the probabilities that are asked for, with a few misses.
std::int64_t proof_trials(const PlanQuestion& question) {
  double probability = 0;
  if (question.deadline) probability = question.deadline->probability;
  if (question.budget) probability = std::max(probability, question.budget->probability);
  return probability > 0 ? std::min(2 * trials_to_show(probability), kMostProofTrials) : 0;
}

class Answering {
 public:
  Answering(const PlanQuestion& question, const PlanRunOptions& options)
      : question_(question), options_(options) {
    answer_.tier = question.tier;
  }

  Result<PlanAnswer> run() {
    begin(PlanPhase::kPlans);
    GOODPUT_TRY(policies_, competing_policies(question_));
    GOODPUT_TRY(FoundPlans found, find_plans(question_, policies_, rules()));
    const std::vector<CompetingPlan> competing = competing_plans(found.policies, policies_);
    answer_.most = patience(question_, longest_step(found));
    answer_.policies = std::move(found.policies);
    answer_.search = std::move(found.search);
    layouts_ = std::move(found.layouts);
    for (const CompetingPlan& plan : competing) answer_.simulated.push_back(plan.parallel);
    if (competing.empty()) {
      answer_.lacks =
          answer_.search.best.empty() ? misfit_text(question_, answer_.search) : "no policy can run the job";
      return std::move(answer_);
    }
    begin(PlanPhase::kContest);
    GOODPUT_TRY(Contenders contenders, make_contenders(competing));
    GOODPUT_TRY_STATUS(decide(contenders));
    return std::move(answer_);
  }

 private:
  void begin(PlanPhase phase) const {
    if (options_.on_phase) options_.on_phase(phase);
  }

  Result<Contenders> make_contenders(const std::vector<CompetingPlan>& competing) {
    std::vector<Entry> entries;
    for (const CompetingPlan& plan : competing) {
      for (const PlannedNodes& choice : node_choices(question_, plan.parallel))
        entries.push_back({choice, plan.policies, question_.intervals});
    }
    GOODPUT_TRY(Contenders contenders, Contenders::make(question_, entries, rules()));
    answer_.contenders = static_cast<std::int64_t>(contenders.size());
    for (const auto& [policy, refusal] : contenders.refused()) {
      const auto of = std::ranges::find(answer_.policies, policy, &PolicyPlans::policy);
      if (refusal.choices < refusal.of)
        answer_.refused[policy] = refusal;
      else
        *of = {policy, {}, refusal.reason};
    }
    return contenders;
  }

  Status decide(Contenders& contenders) {
    if (contenders.size() == 0) {
      answer_.lacks = "no policy can run the job";
      return Ok{};
    }
    const Observations observations = contenders.observations(question_.max_trials);
    if (!observations.note.empty()) answer_.notes.push_back(observations.note);
    max_trials_ = observations.trials;
    if (contenders.losses_per_run() >= kManyLosses) first_trials_ = kFewTrials;
    GOODPUT_TRY(const ContestResult result, hold_contest(contenders));
    answer_.trials = result.trials;
    GOODPUT_TRY_STATUS(find_front(contenders, result));
    answer_.finishing = finishing_options(contenders, question_);
    GOODPUT_TRY_STATUS(find_standings(contenders, result.best));
    if (!result.best) {
      const ClosestOption closest = closest_option(contenders, question_);
      if (closest.contender) answer_.closest = plan_option(contenders, question_, *closest.contender);
      answer_.lacks = closest.lacks;
      return Ok{};
    }
    answer_.best = plan_option(contenders, question_, *result.best);
    answer_.tier = lowest(answer_.tier, answer_.best->tier);
    const ParallelPlan& parallel = answer_.best->choice.parallel;
    answer_.best_layout = layout_found(parallel, layouts_);
    answer_.within_prediction_error = layouts_within_error(question_.plan, parallel, layouts_);
    for (const std::size_t i : result.ties) answer_.ties.push_back(plan_option(contenders, question_, i));
    answer_.curves = one_factor_curves(contenders, question_, *result.best);
    if (!options_.has_sensitivity) return Ok{};
    begin(PlanPhase::kSensitivity);
    return look_at_inputs(contenders, *result.best);
  }

  [[nodiscard]] auto run_of(Contenders& contenders) {
    return [this, &contenders](std::span<const std::size_t> racing, std::int64_t trials) {
      return contenders.run(racing, trials, [this] { ++answer_.runs; });
    };
  }

  Result<ContestResult> hold_contest(Contenders& contenders) {
    const ContestTrials trials{
        run_of(contenders),
        [&](std::size_t i) { return objective_values(question_.objective, contenders.trials(i)); },
        [&](std::size_t i) { return within_limits(question_, contenders.trials(i)); },
        [&](std::size_t i) {
          const auto of = contenders.trials(i);
          const auto by = values_of(TrialMetric::kJct, of);
          return TieRank{by ? estimate_quantile(*by, 0.95).mean : HUGE_VAL, contenders.nodes_held(i),
                         estimate_of(TrialMetric::kStoredBytes, of)->mean};
        }};
    ContestRules rules;
    rules.max_trials = max_trials_;
    rules.least_trials = std::min(rules.least_trials, rules.max_trials);
    rules.first_trials = first_trials_;
    if (max_trials_ == question_.max_trials) rules.proof_trials = proof_trials(question_);
    rules.is_out_of_time = options_.is_out_of_time;
    return run_contest(contenders.size(), rules, trials);
  }

  Status find_front(Contenders& contenders, const ContestResult& result) {
    const auto values = [&contenders](TrialMetric metric) {
      return [&contenders, metric](std::size_t i) { return values_of(metric, contenders.trials(i)); };
    };
    FrontRules rules;
    rules.first_trials = first_trials_;
    rules.trials = result.trials;
    rules.is_out_of_time = options_.is_out_of_time;
    const FrontTrials trials{run_of(contenders), values(TrialMetric::kCost), values(TrialMetric::kJct)};
    GOODPUT_TRY(const ParetoFront front, find_pareto_front(contenders.size(), rules, trials, result.best));
    for (const std::size_t i : front.rows)
      answer_.pareto.push_back(plan_option(contenders, question_, i, front.trials));
    return Ok{};
  }

  // The contest drops most contenders after few trials. Those that look best for each policy get more.
  Status find_standings(Contenders& contenders, std::optional<std::size_t> best) {
    std::optional<std::int32_t> nodes;
    if (best) nodes = contenders.nodes_held(*best);
    std::vector<std::size_t> racing;
    for (const bool is_equal : {false, true}) {
      for (const auto& [policy, ranked] :
           by_policy(contenders, first_trials_, is_equal ? nodes : std::nullopt)) {
        const std::size_t most = std::min(ranked.size(), kStandingRivals);
        racing.insert(racing.end(), ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(most));
      }
    }
    std::ranges::sort(racing);
    racing.erase(std::unique(racing.begin(), racing.end()), racing.end());
    const bool is_late = options_.is_out_of_time && options_.is_out_of_time();
    const std::int64_t trials = std::min(max_trials_, is_late ? first_trials_ : kStandingTrials);
    GOODPUT_TRY_STATUS(run_of(contenders)(racing, trials));
    const auto options = [&](std::optional<std::int32_t> of_nodes) {
      std::map<std::string, PlanOption> first;
      if (best) first.emplace(contenders[*best].base, plan_option(contenders, question_, *best));
      for (const auto& [policy, ranked] : by_policy(contenders, trials, of_nodes, racing))
        first.emplace(policy, plan_option(contenders, question_, ranked.front()));
      return first;
    };
    const auto all = options({});
    const auto equal = nodes ? options(nodes) : std::map<std::string, PlanOption>();
    const auto at = [](const std::map<std::string, PlanOption>& of, const std::string& policy) {
      const auto found = of.find(policy);
      return found == of.end() ? std::nullopt : std::optional(found->second);
    };
    for (const PolicyPlans& policy : answer_.policies)
      answer_.standings.push_back({at(all, policy.policy), at(equal, policy.policy)});
    return Ok{};
  }

  // Contenders of each policy, the best by so many trials first; of those that hold so many nodes, if that is
  // given, and of `among`, unless it is empty.
  [[nodiscard]] std::map<std::string, std::vector<std::size_t>> by_policy(
      const Contenders& contenders, std::int64_t trials, std::optional<std::int32_t> nodes,
      std::span<const std::size_t> among = {}) const {
    std::vector<RankedContender> ranked =
        ranked_contenders(contenders, question_, static_cast<std::size_t>(trials));
    std::stable_partition(ranked.begin(), ranked.end(),
                          [](const RankedContender& one) { return !one.breaks_limit; });
    std::map<std::string, std::vector<std::size_t>> policies;
    for (const RankedContender& one : ranked) {
      const bool is_wanted = among.empty() || std::ranges::binary_search(among, one.contender);
      if (is_wanted && (!nodes || contenders.nodes_held(one.contender) == *nodes))
        policies[contenders[one.contender].base].push_back(one.contender);
    }
    return policies;
  }

  [[nodiscard]] static double contest_work(const Contenders& contenders) {
    double work = 0;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const auto trials = contenders.trials(i);
      if (!trials.empty())
        work += static_cast<double>(trials.size()) * work_of(trials.front(), contenders.nodes_held(i));
    }
    return work;
  }

  Status look_at_inputs(Contenders& contenders, std::size_t best) {
    const SensitivitySize size =
        sensitivity_size(kUsualInputs, contest_work(contenders),
                         work_of(contenders.trials(best).front(), contenders.nodes_held(best)));
    const std::vector<std::size_t> rivals =
        rivals_of(contenders, question_, best, size.rivals, static_cast<std::size_t>(first_trials_));
    SensitivityOptions options;
    options.rules = rules();
    options.trials = std::min(size.trials, max_trials_);
    options.is_out_of_time = options_.is_out_of_time;
    options.on_input = options_.on_input;
    GOODPUT_TRY_STATUS(run_of(contenders)(rivals, options.trials));
    std::vector<Rival> named;
    std::vector<std::span<const TrialSummary>> trials;
    for (const std::size_t i : rivals) {
      named.push_back({contenders.setting(i).choice, contenders[i].base, contenders[i].interval});
      trials.push_back(contenders.trials(i));
    }
    GOODPUT_TRY(answer_.sensitivity, sensitivity_of(question_, named, trials, options));
    return Ok{};
  }

  [[nodiscard]] ContenderRules rules() const { return {options_.seed, options_.jobs, answer_.most, shared_}; }

  const PlanQuestion& question_;
  const PlanRunOptions& options_;
  std::vector<ScenarioPolicy> policies_{};
  std::vector<RankedPlan> layouts_{};  // of all searches
  std::int64_t max_trials_ = 0;        // that differ
  std::int64_t first_trials_ = 16;     // of every contender
  std::shared_ptr<SharedInputs> shared_ = std::make_shared<SharedInputs>();
  PlanAnswer answer_{};
};

}  // namespace

Result<PlanAnswer> answer_question(const PlanQuestion& question, const PlanRunOptions& options) {
  return Answering(question, options).run();
}

}  // namespace goodput
