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
};

// The key of the policy's options that is wrong, if it is one.
std::string refusal_of(const Error& error) {
  return error.where.pointer.empty() ? error.what : error.where.pointer + " " + error.what;
}

class SettingMaker {
 public:
  SettingMaker(const PlanQuestion& question, const ContenderRules& rules)
      : question_(question), rules_(rules) {}

  [[nodiscard]] Result<MadeSetting> make(const Entry& entry) const {
    MadeSetting made;
    made.setting = std::make_unique<Setting>();
    Setting& setting = *made.setting;
    setting.choice = entry.choice;
    GOODPUT_TRY(setting.scenario, question_scenario(question_, entry.choice, {}, rules_.most));
    GOODPUT_TRY(setting.inputs, read_scenario_inputs(setting.scenario, rules_.seed));
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
    const ScenarioPolicy probe = saves ? with_interval(policy, 0, policy.name) : policy;
    Setting& setting = *made.setting;
    GOODPUT_TRY(const std::unique_ptr<PolicySetup> setup, make_policy(setting.scenario, probe));
    const auto prepared = setup->prepare(*setting.inputs.job);
    if (!prepared) {
      made.refused.emplace_back(policy.name, refusal_of(prepared.error()));
      return Ok{};
    }
    if (!(*prepared)->fits()) {
      made.refused.emplace_back(policy.name, "does not fit into memory");
      return Ok{};
    }
    std::int64_t optimal = 0;
    if (saves) {
      GOODPUT_TRY(const JobResult first, run_policy(setting.scenario, setting.inputs.view(), **prepared,
                                                    rules_.seed, /*trial=*/0, nullptr));
      if (first.first_saving) optimal = first.first_saving->interval;
    }
    if (optimal == 0) {
      add_contender(policy, {.base = policy.name}, made);
      return Ok{};
    }
    std::int64_t last = 0;
    for (const double multiple : intervals) {
      const auto steps = std::max<std::int64_t>(1, std::llround(static_cast<double>(optimal) * multiple));
      if (steps == std::exchange(last, steps)) continue;
      add_contender(with_interval(policy, steps, fmt::format("{}, every {} steps", policy.name, steps)),
                    {.base = policy.name, .interval_steps = steps, .interval = multiple}, made);
    }
    return Ok{};
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

Result<Contenders> Contenders::make(const PlanQuestion& question, std::span<const Entry> entries,
                                    const ContenderRules& rules) {
  const SettingMaker maker(question, rules);
  std::vector<std::optional<Result<MadeSetting>>> made(entries.size());
  parallel_pieces(rules.jobs, entries.size(), 1,
                  [&](std::size_t i, std::size_t) { made[i] = maker.make(entries[i]); });
  Contenders contenders(rules.jobs);
  for (std::size_t i = 0; i < made.size(); ++i) {
    GOODPUT_TRY(MadeSetting one, *std::move(made[i]));
    for (auto& [policy, reason] : one.refused) {
      Refusal& refusal = contenders.refused_[policy];
      if (refusal.choices++ == 0) refusal.reason = std::move(reason);
    }
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
