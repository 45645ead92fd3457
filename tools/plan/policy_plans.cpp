#include "tools/plan/policy_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "models/planner/no_plan.h"
#include "models/policy/plan_limits.h"
#include "sim/base/parallel.h"

namespace goodput {
namespace {

constexpr std::size_t kPlansKept = 32;    // of the question's search, whoever can run them
constexpr std::size_t kLayoutsKept = 8;   // of each family of dense models
constexpr std::size_t kLayoutsTried = 9;  // of a policy that places plans in its own way
constexpr double kPatience = 5;           // a job that takes so many times its ideal time never ends
constexpr double kLongestYears = 100;

// What a policy says before any plan is searched.
struct Applicant {
  std::unique_ptr<PolicySetup> setup{};  // which its limits refer to
  PlanLimits limits{};
  std::string reason{};  // why it can run no plan; empty: it may
  std::vector<RankedPlan> candidates{};
  std::vector<std::optional<Result<PolicyPlan>>> tried{};  // by candidate
};

Result<Applicant> applicant_of(const PlanQuestion& question, const ScenarioPolicy& policy) {
  Scenario scenario;
  scenario.file = question.file;
  scenario.plan = question.plan;
  scenario.failures = question.failures;
  Applicant applicant;
  GOODPUT_TRY(applicant.setup, make_policy(scenario, policy));
  Result<PlanLimits> limits = applicant.setup->plan_limits(question.plan);
  if (limits)
    applicant.limits = *std::move(limits);
  else
    applicant.reason = refusal_text(limits.error());
  return applicant;
}

// So that the answer shows layouts of both families of dense models.
std::vector<PlanGate> gates_of_families(const PlanQuestion& question) {
  if (question.plan.model.moe || !question.space.zero.empty()) return {};
  const auto family = [](bool is_fsdp) {
    const auto check = [is_fsdp](const ParallelPlan& plan) -> Status {
      return (plan.zero == 3) == is_fsdp ? Status(Ok{}) : Status(Error{});
    };
    return PlanGate{{.check = check}, 0, kLayoutsKept};
  };
  return {family(false), family(true)};
}

std::string no_plan_of(const Applicant& applicant, const AdmittedPlans& admitted, const PlanSearch& search) {
  if (admitted.closest) {
    const auto& [parallel, memory, available] = *admitted.closest;
    return fmt::format(
        "no plan that it can run fits in memory; the closest, TP {} x PP {} x DP {}, needs {:.1f} GiB, but "
        "only {:.1f} GiB are available",
        parallel.tp, parallel.pp, parallel.dp, in_gib(memory), in_gib(available));
  }
  if (!search.best.empty() && applicant.limits.check) {
    const Status check = applicant.limits.check(search.best.front().parallel);
    if (!check) return refusal_text(check.error());
  }
  return "no parallel plan of the search suits it";
}

class PlanFinder {
 public:
  PlanFinder(const PlanQuestion& question, const std::vector<ScenarioPolicy>& policies,
             const ContenderRules& rules)
      : question_(question), policies_(policies), rules_(rules) {}

  Result<FoundPlans> find() && {
    for (const ScenarioPolicy& policy : policies_) {
      GOODPUT_TRY(Applicant applicant, applicant_of(question_, policy));
      applicants_.push_back(std::move(applicant));
      found_.policies.push_back({policy.name});
    }
    GOODPUT_TRY_STATUS(search());
    GOODPUT_TRY_STATUS(prepare_all());
    for (std::size_t i = 0; i < policies_.size(); ++i) choose(i);
    return std::move(found_);
  }

 private:
  Status search() {
    PlanSearchOptions options;
    options.keep = kPlansKept;
    options.gates = gates_of_families(question_);
    options.jobs = rules_.jobs;
    options.seed = rules_.seed;
    const std::size_t others = options.gates.size();
    std::vector<std::size_t> searching;
    for (std::size_t i = 0; i < applicants_.size(); ++i) {
      const Applicant& applicant = applicants_[i];
      if (!applicant.reason.empty()) continue;
      const std::size_t layouts = applicant.limits.placed ? kLayoutsTried : 0;
      options.gates.push_back({applicant.limits, static_cast<std::size_t>(question_.plans), layouts});
      searching.push_back(i);
    }
    GOODPUT_TRY(found_.search, search_plans(question_.plan, question_.gpus, question_.space, options));
    add_layouts(found_.search.best);
    for (const AdmittedPlans& admitted : found_.search.admitted) add_layouts(admitted.best);
    for (std::size_t i = 0; i < searching.size(); ++i) {
      Applicant& applicant = applicants_[searching[i]];
      const AdmittedPlans& admitted = found_.search.admitted[others + i];
      applicant.candidates = admitted.best;
      if (admitted.best.empty()) applicant.reason = no_plan_of(applicant, admitted, found_.search);
    }
    return Ok{};
  }

  void add_layouts(const std::vector<RankedPlan>& plans) {
    for (const RankedPlan& ranked : plans) {
      if (known_.insert(text_key(ranked.parallel)).second) found_.layouts.push_back(ranked);
    }
  }

  // A plan, and the policies that may run it.
  struct Trial {
    std::unique_ptr<Setting> setting{};
    std::vector<std::pair<std::size_t, std::size_t>> candidates{};  // policy, position
  };

  Status prepare_all() {
    std::map<std::string, std::size_t> position;
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < applicants_.size(); ++i) {
      applicants_[i].tried.resize(applicants_[i].candidates.size());
      for (std::size_t k = 0; k < applicants_[i].candidates.size(); ++k) {
        const RankedPlan& ranked = applicants_[i].candidates[k];
        const auto [known, is_new] = position.emplace(text_key(ranked.parallel), trials.size());
        if (is_new) {
          ContenderRules rules = rules_;
          rules.most = patience(question_, ranked.step);
          GOODPUT_TRY(auto setting, read_setting(question_, {ranked.parallel}, rules));
          trials.push_back({std::move(setting)});
        }
        trials[known->second].candidates.emplace_back(i, k);
      }
    }
    parallel_pieces(rules_.jobs, trials.size(), 1, [&](std::size_t i, std::size_t) { prepare(trials[i]); });
    return Ok{};
  }

  void prepare(const Trial& trial) {
    for (const auto& [i, k] : trial.candidates) {
      const auto prepared = prepare_policy(question_, policies_[i], *trial.setting);
      applicants_[i].tried[k] =
          prepared ? Result<PolicyPlan>(PolicyPlan{trial.setting->choice.parallel, (*prepared)->step()})
                   : Result<PolicyPlan>(prepared.error());
    }
  }

  // The fastest of each size of replicas, by steps of its own or in the order of the search; and one of
  // another family if all of them are FSDP.
  void choose(std::size_t i) {
    PolicyPlans& policy = found_.policies[i];
    policy.reason = applicants_[i].reason;
    for (const auto& tried : applicants_[i].tried) {
      if (*tried)
        policy.plans.push_back(**tried);
      else if (policy.reason.empty())
        policy.reason = refusal_text(tried->error());
    }
    if (policy.plans.empty()) return;
    policy.reason.clear();
    std::stable_sort(policy.plans.begin(), policy.plans.end(), [](const PolicyPlan& a, const PolicyPlan& b) {
      return a.step && b.step && *a.step < *b.step;
    });
    std::set<std::int64_t> sizes;
    std::vector<PolicyPlan> others;
    std::vector<PolicyPlan> chosen;
    for (PolicyPlan& one : policy.plans) {
      const ParallelPlan& plan = one.parallel;
      const bool is_new = std::ssize(chosen) < question_.plans &&
                          sizes.insert(std::int64_t{plan.tp} * plan.pp * plan.cp).second;
      (is_new ? chosen : others).push_back(std::move(one));
    }
    const auto is_fsdp = [this](const PolicyPlan& one) {
      return family_of(question_.plan, one.parallel).parallelism == Parallelism::kFsdp;
    };
    const auto other = std::ranges::find_if_not(others, is_fsdp);
    if (std::ranges::all_of(chosen, is_fsdp) && other != others.end()) chosen.push_back(std::move(*other));
    policy.plans = std::move(chosen);
  }

  const PlanQuestion& question_;
  const std::vector<ScenarioPolicy>& policies_;
  const ContenderRules& rules_;
  std::vector<Applicant> applicants_{};
  std::set<std::string> known_{};  // layouts
  FoundPlans found_{};
};

}  // namespace

SimDuration patience(const PlanQuestion& question, SimDuration step) {
  const ParallelPlan& parallel = question.plan.parallel;
  const double samples =
      std::ceil(static_cast<double>(question.tokens) / static_cast<double>(parallel.sequence_length));
  const double steps = std::ceil(samples / static_cast<double>(parallel.global_batch));
  return from_seconds(std::min(kPatience * steps * to_seconds(step), kLongestYears * 365 * 86400));
}

Result<FoundPlans> find_plans(const PlanQuestion& question, const std::vector<ScenarioPolicy>& policies,
                              const ContenderRules& rules) {
  return PlanFinder(question, policies, rules).find();
}

}  // namespace goodput
