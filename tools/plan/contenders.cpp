#include "tools/plan/contenders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include "sim/base/parallel.h"

namespace goodput {
namespace {

// A setting with its contenders, `setting` of which is not set yet.
struct MadeSetting {
  std::unique_ptr<Setting> setting{};  // none: no policy can run there
  std::vector<Contender> contenders{};
  std::vector<std::pair<std::string, std::string>> refused{};  // policy, reason
  double losses = 0;                                           // of nodes, in a run
};

class SettingMaker {
 public:
  SettingMaker(const PlanQuestion& question, const ContenderRules& rules)
      : question_(question), rules_(rules) {}

  [[nodiscard]] Result<MadeSetting> make(const Entry& entry, std::unique_ptr<Setting> read) const {
    MadeSetting made;
    made.setting = std::move(read);
    Setting& setting = *made.setting;
    for (const ScenarioPolicy& policy : entry.policies)
      GOODPUT_TRY_STATUS(add(policy, entry.intervals, made));
    if (made.contenders.empty()) {
      made.setting = nullptr;
      return made;
    }
    GOODPUT_TRY(setting.runs, TrialRuns::prepare(setting.scenario, setting.inputs.view(), rules_.seed));
    return made;
  }

 private:
  // Its contenders: one for every interval, or itself.
  Status add(const ScenarioPolicy& policy, const std::vector<double>& intervals, MadeSetting& made) const {
    GOODPUT_TRY(const bool saves, has_interval(question_, policy));
    Setting& setting = *made.setting;
    const auto prepared = prepare_policy(question_, policy, setting);
    if (!prepared) {
      made.refused.emplace_back(policy.name, refusal_text(prepared.error()));
      return Ok{};
    }
    std::int64_t optimal = 0;
    if (saves) {
      GOODPUT_TRY(optimal, first_interval(setting, **prepared, made.losses));
    }
    if (optimal == 0) {
      add_contender(policy, {.base = policy.name}, made);
      return Ok{};
    }
    GOODPUT_TRY(const std::int64_t shortest, shortest_interval(setting, policy, made.losses));
    std::int64_t last = 0;
    for (const double multiple : intervals) {
      const auto steps =
          std::max<std::int64_t>(shortest, std::llround(static_cast<double>(optimal) * multiple));
      if (steps == std::exchange(last, steps)) continue;
      add_contender(with_interval(policy, steps, fmt::format("{}, every {} steps", policy.name, steps)),
                    {.base = policy.name, .interval_steps = steps, .interval = multiple}, made);
    }
    return Ok{};
  }

  // Steps between checkpoints when the job first trains; 0: there are none.
  [[nodiscard]] Result<std::int64_t> first_interval(const Setting& setting, const PreparedPolicy& prepared,
                                                    double& losses) const {
    GOODPUT_TRY(const JobResult first, run_policy(setting.scenario, setting.inputs.view(), prepared,
                                                  rules_.seed, /*trial=*/0, nullptr));
    losses = static_cast<double>(first.nodes_lost);
    return first.first_saving ? first.first_saving->interval : 0;
  }

  // That storage takes: what becomes of a checkpoint at every step.
  [[nodiscard]] Result<std::int64_t> shortest_interval(const Setting& setting, const ScenarioPolicy& policy,
                                                       double& losses) const {
    const ScenarioPolicy often = with_interval(policy, 1, policy.name);
    GOODPUT_TRY(const std::unique_ptr<PolicySetup> setup, make_policy(setting.scenario, often));
    GOODPUT_TRY(const auto prepared, setup->prepare(*setting.inputs.job));
    return first_interval(setting, *prepared, losses);
  }

  static void add_contender(const ScenarioPolicy& policy, Contender contender, MadeSetting& made) {
    contender.policy = made.setting->scenario.policies.size();
    made.setting->scenario.policies.push_back(policy);
    made.contenders.push_back(std::move(contender));
  }

  const PlanQuestion& question_;
  const ContenderRules& rules_;
};

}  // namespace

Result<std::unique_ptr<Setting>> read_setting(const PlanQuestion& question, const PlannedNodes& choice,
                                              const ContenderRules& rules) {
  auto setting = std::make_unique<Setting>();
  setting->choice = choice;
  GOODPUT_TRY(setting->scenario, question_scenario(question, choice, {}, rules.most));
  GOODPUT_TRY(setting->inputs, read_scenario_inputs(setting->scenario, rules.seed, *rules.shared));
  return setting;
}

Result<std::unique_ptr<PreparedPolicy>> prepare_policy(const PlanQuestion& question,
                                                       const ScenarioPolicy& policy, const Setting& setting) {
  GOODPUT_TRY(const bool saves, has_interval(question, policy));
  const ScenarioPolicy probe = saves ? with_interval(policy, 0, policy.name) : policy;
  GOODPUT_TRY(const std::unique_ptr<PolicySetup> setup, make_policy(setting.scenario, probe));
  GOODPUT_TRY(std::unique_ptr<PreparedPolicy> prepared, setup->prepare(*setting.inputs.job));
  if (!prepared->fits()) return Error{"does not fit in memory"};
  return prepared;
}

std::string refusal_text(const Error& error) {
  return error.where.pointer.empty() ? error.what : error.where.pointer + " " + error.what;
}

Result<Contenders> Contenders::make(const PlanQuestion& question, std::span<const Entry> entries,
                                    const ContenderRules& rules) {
  ContenderRules shared = rules;
  if (!shared.shared) shared.shared = std::make_shared<SharedInputs>();
  const SettingMaker maker(question, shared);
  std::vector<std::unique_ptr<Setting>> read;
  for (const Entry& entry : entries) {
    GOODPUT_TRY(std::unique_ptr<Setting> one, read_setting(question, entry.choice, shared));
    read.push_back(std::move(one));
  }
  std::vector<std::optional<Result<MadeSetting>>> made(entries.size());
  parallel_pieces(rules.jobs, entries.size(), 1,
                  [&](std::size_t i, std::size_t) { made[i] = maker.make(entries[i], std::move(read[i])); });
  Contenders contenders(rules.jobs, shared.shared);
  std::map<std::string, std::int64_t> choices;  // by policy
  for (const Entry& entry : entries) {
    for (const ScenarioPolicy& policy : entry.policies) ++choices[policy.name];
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    GOODPUT_TRY(MadeSetting one, *std::move(made[i]));
    for (auto& [policy, reason] : one.refused) {
      Refusal& refusal = contenders.refused_[policy];
      refusal.of = choices[policy];
      if (refusal.choices++ == 0) refusal.reason = std::move(reason);
    }
    contenders.losses_per_run_ = std::max(contenders.losses_per_run_, one.losses);
    if (!one.setting) continue;
    for (Contender& contender : one.contenders) {
      contender.entry = i;
      contender.setting = contenders.settings_.size();
      contenders.contenders_.push_back(std::move(contender));
    }
    contenders.settings_.push_back(std::move(one.setting));
  }
  return contenders;
}

Observations Contenders::observations(std::int64_t trials) const {
  Observations fewest{.trials = trials};
  for (const auto& setting : settings_) {
    Observations one = observations_of(setting->scenario, setting->inputs.view().failures, trials);
    const bool says_more = one.repeats > fewest.repeats || fewest.note.empty();
    if (one.trials < fewest.trials || (one.trials == fewest.trials && says_more)) fewest = std::move(one);
  }
  return fewest;
}

Status Contenders::run(std::span<const std::size_t> contenders, std::int64_t trials,
                       const TrialRuns::OnRun& on_run) {
  std::vector<std::vector<std::size_t>> of_setting(settings_.size());
  for (const std::size_t i : contenders) of_setting[contenders_[i].setting].push_back(contenders_[i].policy);
  std::vector<std::size_t> busy;
  for (std::size_t i = 0; i < of_setting.size(); ++i) {
    if (!of_setting[i].empty()) busy.push_back(i);
  }
  std::mutex one_at_a_time;
  const TrialRuns::OnRun counted = [&] {
    const std::scoped_lock lock(one_at_a_time);
    if (on_run) on_run();
  };
  // Threads share settings out, or, where those are few, the trials of each.
  const bool has_many = busy.size() >= 2 * std::size_t{jobs_};
  std::vector<Status> done(busy.size(), Ok{});
  parallel_pieces(has_many ? jobs_ : 1, busy.size(), 1, [&](std::size_t i, std::size_t) {
    done[i] = settings_[busy[i]]->runs->extend(of_setting[busy[i]], trials, has_many ? 1 : jobs_, counted);
  });
  for (const Status& status : done) GOODPUT_TRY_STATUS(status);
  return Ok{};
}

}  // namespace goodput
