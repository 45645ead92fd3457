#include "tools/plan/plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
#include "tools/plan/prediction_error.h"
#include "tools/plan/sensitivity_budget.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

constexpr std::size_t kLayoutsKept = 8;  // of further searches
constexpr std::size_t kPlansKept = 32;   // of the search, to find fast ones with different replicas among
constexpr std::size_t kUsualInputs = 9;  // of a sensitivity
// A run that loses so many nodes is long enough for few trials to tell the worst contenders from the best.
constexpr double kManyLosses = 32;
constexpr std::int64_t kFewTrials = 4;
constexpr std::int64_t kMostProofTrials = 16'384;
constexpr double kPatience = 5;  // a job that takes so many times its ideal time never ends
constexpr double kLongestYears = 100;

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

// Of plans whose replicas take as many GPUs the fastest: what a failure costs differs by that alone.
std::vector<ParallelPlan> plans_to_simulate(const PlanSearch& search, std::int64_t most) {
  std::vector<ParallelPlan> plans;
  std::set<std::int64_t> sizes;
  for (const RankedPlan& ranked : search.best) {
    if (static_cast<std::int64_t>(plans.size()) == most) break;
    if (sizes.insert(gpus_of_replica(ranked.parallel)).second) plans.push_back(ranked.parallel);
  }
  return plans;
}

// The choices of nodes that the question leaves, with each of the plans.
std::vector<PlannedNodes> node_choices(const PlanQuestion& question, const std::vector<ParallelPlan>& plans) {
  std::vector<PlannedNodes> choices;
  for (const ParallelPlan& parallel : plans) {
    for (const std::int32_t spares : question.spares) {
      const std::int32_t nodes = question.train_nodes() + spares;
      choices.push_back({parallel, spares, 0});
      if (!question.spot) continue;
      for (const std::int32_t spot : question.spot->nodes) {
        if (spot > 0 && spot <= nodes) choices.push_back({parallel, spares, spot});
      }
    }
  }
  return choices;
}

SimDuration patience(const PlanQuestion& question, const PlanSearch& search) {
  const ParallelPlan& parallel = question.plan.parallel;
  const double samples =
      std::ceil(static_cast<double>(question.tokens) / static_cast<double>(parallel.sequence_length));
  const double steps = std::ceil(samples / static_cast<double>(parallel.global_batch));
  const double longest = to_seconds(search.best.back().step);
  return from_seconds(std::min(kPatience * steps * longest, kLongestYears * 365 * 86400));
}

// What sensitivity compares the best answer with: contenders that differ from each other in policy, family of
// layouts, size of a replica, spares or nodes of the market, each at its best interval. The best answer
// first, then the best of each other family of layouts, whose steps may be off by another factor, then by
// mean.
std::vector<std::size_t> rivals_of(const Contenders& contenders, const PlanQuestion& question,
                                   std::size_t best, std::size_t most, std::size_t first_trials) {
  struct Candidate {
    double mean;
    std::size_t contender;
  };
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto trials = contenders.trials(i);
    if (trials.empty() || i == best) continue;
    const std::size_t common = std::min(trials.size(), first_trials);
    if (const auto values = objective_values(question.objective, trials.first(common)))
      all.push_back({estimate_mean(*values).mean, i});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.mean < b.mean; });
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
  for (const Candidate& candidate : all) {
    if (families.insert(family_of_contender(candidate.contender)).second &&
        seen.insert(key(candidate.contender)).second)
      rivals.push_back(candidate.contender);
  }
  for (const Candidate& candidate : all) {
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
    GOODPUT_TRY(answer_.search, search_in(question_.space, kPlansKept));
    if (answer_.search.best.empty()) {
      answer_.lacks = misfit_text(question_, answer_.search);
      return std::move(answer_);
    }
    layouts_ = answer_.search.best;
    GOODPUT_TRY_STATUS(choose_plans());
    GOODPUT_TRY_STATUS(find_layouts());
    begin(PlanPhase::kContest);
    answer_.most = patience(question_, answer_.search);
    GOODPUT_TRY(Contenders contenders, make_contenders());
    GOODPUT_TRY_STATUS(decide(contenders));
    return std::move(answer_);
  }

 private:
  void begin(PlanPhase phase) const {
    if (options_.on_phase) options_.on_phase(phase);
  }

  [[nodiscard]] Result<PlanSearch> search_in(const PlanSpace& space, std::size_t keep) const {
    PlanSearchOptions search;
    search.keep = keep;
    search.jobs = options_.jobs;
    search.seed = options_.seed;
    return search_plans(question_.plan, question_.gpus, space, search);
  }

  // Those of the search, and the fastest with less of ZeRO where the question leaves that open: replicas that
  // go on without each other share nothing, experts that move share their optimizer at the most.
  Status choose_plans() {
    answer_.simulated = plans_to_simulate(answer_.search, question_.plans);
    if (!question_.space.zero.empty()) return Ok{};
    for (const std::int32_t zero : {0, 1}) {
      const bool is_there = std::any_of(answer_.simulated.begin(), answer_.simulated.end(),
                                        [zero](const ParallelPlan& plan) { return plan.zero == zero; });
      if (is_there) continue;
      PlanSpace space = question_.space;
      space.zero = {zero};
      GOODPUT_TRY(const PlanSearch found, search_in(space, kLayoutsKept));
      layouts_.insert(layouts_.end(), found.best.begin(), found.best.end());
      if (!found.best.empty()) answer_.simulated.push_back(found.best.front().parallel);
    }
    return Ok{};
  }

  // Those found so far, with the fastest of the families of dense models that are not among them.
  Status find_layouts() {
    const auto is_fsdp = [](const RankedPlan& ranked) { return ranked.parallel.zero == 3; };
    if (question_.plan.model.moe || !question_.space.zero.empty() ||
        std::ranges::any_of(layouts_, is_fsdp) != std::ranges::all_of(layouts_, is_fsdp))
      return Ok{};
    PlanSpace space = question_.space;
    space.zero = is_fsdp(layouts_.front()) ? std::vector{0, 1, 2} : std::vector{3};
    GOODPUT_TRY(const PlanSearch found, search_in(space, kLayoutsKept));
    layouts_.insert(layouts_.end(), found.best.begin(), found.best.end());
    return Ok{};
  }

  Result<Contenders> make_contenders() {
    std::vector<Entry> entries;
    for (const PlannedNodes& choice : node_choices(question_, answer_.simulated))
      entries.push_back({choice, policies_, question_.intervals});
    answer_.choices = static_cast<std::int64_t>(entries.size());
    GOODPUT_TRY(Contenders contenders, Contenders::make(question_, entries, rules()));
    answer_.contenders = static_cast<std::int64_t>(contenders.size());
    answer_.refused = contenders.refused();
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
