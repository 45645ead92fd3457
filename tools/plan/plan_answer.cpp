#include "tools/plan/plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "models/planner/contest.h"
#include "models/scenario/trial_metrics.h"
#include "tools/plan/contenders.h"
#include "tools/plan/plan_values.h"
#include "tools/plan/prediction_error.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

// ---- What there is to choose between cost and time.

using RunTrials = std::function<Status(std::span<const std::size_t>, std::int64_t)>;

constexpr double kWorthwhile = 0.005;  // relative: of time that costs more
constexpr int kRounds = 4;             // of the front getting trials, which may move it

struct CostAndTime {
  std::size_t contender = 0;
  double cost = 0;
  double time = 0;
};

// None without a cost, or where some trial did not finish.
std::optional<CostAndTime> cost_and_time(const Contenders& contenders, std::size_t contender) {
  const auto trials = contenders.trials(contender);
  if (trials.empty()) return std::nullopt;
  const auto cost = values_of(TrialMetric::kCost, trials);
  const auto time = values_of(TrialMetric::kJct, trials);
  if (!cost || !time) return std::nullopt;
  return CostAndTime{contender, estimate_mean(*cost).mean, estimate_mean(*time).mean};
}

std::vector<std::size_t> front_of(const Contenders& contenders) {
  std::vector<CostAndTime> all;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (const auto one = cost_and_time(contenders, i)) all.push_back(*one);
  }
  std::stable_sort(all.begin(), all.end(), [](const CostAndTime& a, const CostAndTime& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.time < b.time;
  });
  std::vector<std::size_t> front;
  double best_time = 0;
  for (const CostAndTime& one : all) {
    if (!front.empty() && one.time > best_time * (1 - kWorthwhile)) continue;
    front.push_back(one.contender);
    best_time = one.time;
  }
  return front;
}

// The Pareto front of mean cost and time, among contenders that always finish; cheapest first. A contender
// that saves less than half a percent of time is left out. Runs the contenders on the front until each has
// `trials` trials.
Result<std::vector<std::size_t>> pareto_front(const Contenders& contenders, std::int64_t trials,
                                              const RunTrials& run) {
  std::vector<std::size_t> front = front_of(contenders);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::size_t> few;
    for (const std::size_t i : front) {
      if (static_cast<std::int64_t>(contenders.trials(i).size()) < trials) few.push_back(i);
    }
    if (few.empty()) break;
    GOODPUT_TRY_STATUS(run(few, trials));
    front = front_of(contenders);
  }
  return front;
}

// ---- What comes nearest to limits that nothing keeps to.

struct ClosestOption {
  std::optional<std::size_t> contender{};  // none: no job finishes, whatever is chosen
  std::string lacks{};                     // in which respect, and by how much
};

// What a contender comes to, by the trials it has.
struct Closeness {
  std::size_t contender = 0;
  bool in_time = true, in_budget = true;
  double p_deadline = 1;
  double cost = 0;
  double time = 0;
};

std::vector<Closeness> all_of(const Contenders& contenders, const PlanQuestion& question) {
  std::vector<Closeness> found;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto trials = contenders.trials(i);
    if (trials.empty()) continue;
    const auto time = values_of(TrialMetric::kJct, trials);
    if (!time) continue;
    Closeness one;
    one.contender = i;
    one.time = estimate_mean(*time).mean;
    if (const auto cost = values_of(TrialMetric::kCost, trials)) one.cost = estimate_mean(*cost).mean;
    if (question.deadline) one.p_deadline = deadline_share(trials).mean;
    one.in_time = within_deadline(question, trials) >= WithinLimits::kPerhaps;
    one.in_budget = within_budget(question, trials) >= WithinLimits::kPerhaps;
    found.push_back(one);
  }
  return found;
}

const Closeness* cheapest(const std::vector<Closeness>& all, bool of_those_in_time) {
  const Closeness* best = nullptr;
  for (const Closeness& one : all) {
    if ((!of_those_in_time || one.in_time) && (best == nullptr || one.cost < best->cost)) best = &one;
  }
  return best;
}

// The likeliest to be in time, of those the fastest.
const Closeness* soonest(const std::vector<Closeness>& all, bool of_those_in_budget) {
  const Closeness* best = nullptr;
  for (const Closeness& one : all) {
    if (of_those_in_budget && !one.in_budget) continue;
    const bool is_better = best == nullptr || one.p_deadline > best->p_deadline ||
                           (one.p_deadline == best->p_deadline && one.time < best->time);
    if (is_better) best = &one;
  }
  return best;
}

std::string late_text(const PlanQuestion& question, const Closeness& one) {
  return fmt::format(
      "is done by the deadline in {:.1f} % of trials, {:g} % are asked; it takes {} in the mean",
      100 * one.p_deadline, 100 * question.deadline->probability, duration_text(one.time));
}

std::string dear_text(const PlanQuestion& question, const Closeness& one) {
  return fmt::format("costs {} in the mean, the budget is {}", metric_text(TrialMetric::kCost, one.cost),
                     metric_text(TrialMetric::kCost, question.budget->value));
}

// By the trials there are. Where deadline and budget could each be kept alone, it says that the two
// contradict each other.
ClosestOption closest_option(const Contenders& contenders, const PlanQuestion& question) {
  const std::vector<Closeness> all = all_of(contenders, question);
  if (all.empty()) return {std::nullopt, "no policy finishes the job in every trial, whatever is chosen"};
  const bool some_in_time = std::any_of(all.begin(), all.end(), [](const auto& one) { return one.in_time; });
  const bool some_in_budget =
      std::any_of(all.begin(), all.end(), [](const auto& one) { return one.in_budget; });
  if (!some_in_time) {
    const Closeness* best = soonest(all, /*of_those_in_budget=*/false);
    return {best->contender, "the deadline: the soonest " + late_text(question, *best)};
  }
  const Closeness* in_time = cheapest(all, /*of_those_in_time=*/true);
  if (!some_in_budget) {
    const Closeness* best = cheapest(all, /*of_those_in_time=*/false);
    return {best->contender, "the budget: the cheapest " + dear_text(question, *best)};
  }
  const Closeness* in_budget = soonest(all, /*of_those_in_budget=*/true);
  return {
      in_time->contender,
      fmt::format("deadline and budget contradict each other: what is in time {}; what is within the budget "
                  "{}",
                  dear_text(question, *in_time), late_text(question, *in_budget))};
}

// ---- The answer.

constexpr std::size_t kLayoutsKept = 8;   // of further searches
constexpr std::size_t kPlansKept = 32;    // of the search, to find fast ones with different replicas among
constexpr std::size_t kMostRivals = 8;    // that sensitivity looks at, the best answer among them
constexpr std::size_t kRivalTrials = 16;  // the first of a contender, by which rivals are ranked
constexpr double kPatience = 5;           // a job that takes so many times its ideal time never ends
constexpr double kLongestYears = 100;

// What the search found instead of a plan that fits.
std::string misfit_text(const PlanSearch& search) {
  if (!search.closest) return "no parallel plan is possible";
  return fmt::format(
      "no parallel plan fits into memory: the nearest, TP {} x PP {} x DP {}, needs {:.1f} of {:.1f} GiB",
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

WithinLimits limits_of(const PlanQuestion& question, std::span<const TrialSummary> trials) {
  return std::min(within_deadline(question, trials), within_budget(question, trials));
}

// What differs from the best answer in one way: the best of each such.
std::vector<Rival> rivals_of(const Contenders& contenders, const PlanQuestion& question, std::size_t best) {
  struct Candidate {
    double mean;
    std::size_t contender;
  };
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto trials = contenders.trials(i);
    if (trials.empty() || i == best) continue;
    const std::size_t common = std::min(trials.size(), kRivalTrials);
    if (const auto values = objective_values(question.objective, trials.first(common)))
      all.push_back({estimate_mean(*values).mean, i});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.mean < b.mean; });
  const auto rival = [&contenders](std::size_t i) {
    return Rival{contenders.setting(i).choice, contenders[i].base, contenders[i].interval};
  };
  const auto family_of_contender = [&](std::size_t i) {
    return family_of(question.plan, contenders.setting(i).choice.parallel);
  };
  // A policy, or another plan, spares or nodes of the market with the same policy: once each.
  std::set<std::string> seen;
  const auto key = [&](std::size_t i) {
    const PlannedNodes& choice = contenders.setting(i).choice;
    const PlannedNodes& of_best = contenders.setting(best).choice;
    if (contenders[i].base != contenders[best].base) return contenders[i].base;
    return fmt::format("/{}/{}/{}/{}", to_string(family_of_contender(i)),
                       gpus_of_replica(choice.parallel) == gpus_of_replica(of_best.parallel), choice.spares,
                       choice.spot_nodes);
  };
  std::vector<Rival> rivals{rival(best)};
  seen.insert(key(best));
  // The best of each other family: how far off its steps may be differs.
  std::set<StepFamily> families{family_of_contender(best)};
  for (const Candidate& candidate : all) {
    if (families.insert(family_of_contender(candidate.contender)).second &&
        seen.insert(key(candidate.contender)).second)
      rivals.push_back(rival(candidate.contender));
  }
  for (const Candidate& candidate : all) {
    if (rivals.size() == kMostRivals) break;
    if (seen.insert(key(candidate.contender)).second) rivals.push_back(rival(candidate.contender));
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
      answer_.lacks = misfit_text(answer_.search);
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
    GOODPUT_TRY(Contenders contenders,
                Contenders::make(question_, entries, {options_.seed, options_.jobs, answer_.most}));
    answer_.contenders = static_cast<std::int64_t>(contenders.size());
    answer_.refused = contenders.refused();
    return contenders;
  }

  Status decide(Contenders& contenders) {
    const auto run = [&](std::span<const std::size_t> racing, std::int64_t trials) {
      return contenders.run(racing, trials, [this] { ++answer_.runs; });
    };
    if (contenders.size() == 0) {
      answer_.lacks = "no policy can run the job";
      return Ok{};
    }
    const ContestTrials trials{
        run, [&](std::size_t i) { return objective_values(question_.objective, contenders.trials(i)); },
        [&](std::size_t i) { return limits_of(question_, contenders.trials(i)); }};
    ContestRules rules;
    rules.most_trials = question_.most_trials;
    rules.least_trials = std::min(rules.least_trials, rules.most_trials);
    GOODPUT_TRY(const ContestResult result, run_contest(contenders.size(), rules, trials));
    answer_.trials = result.trials;
    GOODPUT_TRY(const std::vector<std::size_t> front, pareto_front(contenders, rules.least_trials, run));
    for (const std::size_t i : front) answer_.pareto.push_back(plan_option(contenders, question_, i));
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
    SensitivityOptions sensitivity;
    sensitivity.seed = options_.seed;
    sensitivity.jobs = options_.jobs;
    sensitivity.tie = rules.tie;
    sensitivity.most = answer_.most;
    GOODPUT_TRY(answer_.sensitivity,
                sensitivity_of(question_, rivals_of(contenders, question_, *result.best), sensitivity));
    return Ok{};
  }

  const PlanQuestion& question_;
  const PlanRunOptions& options_;
  std::vector<ScenarioPolicy> policies_{};
  std::vector<RankedPlan> layouts_{};  // of all searches
  PlanAnswer answer_{};
};

}  // namespace

Result<PlanAnswer> answer_question(const PlanQuestion& question, const PlanRunOptions& options) {
  return Answering(question, options).run();
}

}  // namespace goodput
