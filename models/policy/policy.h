// The recovery policies that a scenario can name.
//
// Adding one is a file models/policy/<name>.cpp that defines `PolicyInfo policy_<name>()`, and its name in
// models/policy/policies.def. The file holds a struct of options with their defaults, `config_fields()` of
// it, and a function that prepares the policy for a job; policy_setup() makes a PolicySetup of these.
// Policies that restart from checkpoints are put together from parts (models/policy/restart_policy.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/job/job_model.h"
#include "models/policy/plan_limits.h"
#include "models/policy/policy_options.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/config/config.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

// Which run of a job it is: what the random draws of a policy depend on, as those of its failures do.
struct RunKey {
  std::uint64_t seed = 0;
  std::uint64_t trial = 0;
};

// A policy that knows its job. What it finds out about the job (plans, step times) it keeps for all runs,
// which any number of threads may start: memos of sim/base/shared_memo.h, and nothing else that changes.
class PreparedPolicy {
 public:
  explicit PreparedPolicy(Tier tier, std::vector<std::string> warnings = {}, bool fits = true,
                          std::optional<SimDuration> step = {})
      : tier_(tier), warnings_(std::move(warnings)), fits_(fits), step_(step) {}
  virtual ~PreparedPolicy() = default;
  PreparedPolicy(const PreparedPolicy&) = delete;
  PreparedPolicy& operator=(const PreparedPolicy&) = delete;

  // The policy of one run, for one thread. It refers to this object.
  [[nodiscard]] virtual std::unique_ptr<RecoveryPolicy> start_run(const RunKey& run) const = 0;

  // The lowest of what its times rest on.
  [[nodiscard]] Tier tier() const { return tier_; }
  // Something to know: what does not fit into memory.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  // Into the memory of its GPUs. Else a warning says what does not.
  [[nodiscard]] bool fits() const { return fits_; }
  // The first step on all nodes that the policy uses of the job's, all of them healthy. None: not known.
  [[nodiscard]] std::optional<SimDuration> step() const { return step_; }

 private:
  Tier tier_;
  std::vector<std::string> warnings_;
  bool fits_;
  std::optional<SimDuration> step_;
};

// A policy with its options, which does not know a job yet.
class PolicySetup {
 public:
  virtual ~PolicySetup() = default;

  // The options: for reading, echoing and describing. They refer to this object.
  // By the default context none is idle for what stands elsewhere in a scenario.
  [[nodiscard]] virtual config::Fields fields(const PolicyContext& context) = 0;

  // Which parallel plans the policy can run on their own nodes, with a fixed batch. `base` says model,
  // machines and what no plan changes; the result refers to it, and to this object. Fails where the policy
  // can run no plan of the model.
  [[nodiscard]] virtual Result<PlanLimits> plan_limits(const TrainingPlan& /*base*/) const {
    return PlanLimits{};
  }

  // Fails where the options make no sense for this job, with a place that is a pointer from the options, in a
  // file of the plan's, or empty. `job` must outlive the result; this object need not.
  [[nodiscard]] virtual Result<std::unique_ptr<PreparedPolicy>> prepare(const JobModel& job) const = 0;
};

// A number among a policy's options that its default only assumes, and what it may be.
struct UncertainOption {
  std::string_view key;
  double value;
  double low, high;
};

struct PolicyInfo {
  std::string_view name;
  std::string_view summary;  // one line for `goodput list policies`
  std::unique_ptr<PolicySetup> (*make)();
  std::optional<UncertainOption> uncertain{};
};

#define GOODPUT_POLICY(name) PolicyInfo policy_##name();
#include "models/policy/policies.def"
#undef GOODPUT_POLICY

// All of them, in the order of models/policy/policies.def.
[[nodiscard]] std::span<const PolicyInfo> recovery_policies();

// Fails, with did-you-mean, on an unknown name.
[[nodiscard]] Result<PolicyInfo> find_policy(std::string_view name);

// ---- For the files of policies.

// `starter`: () or (const RunKey&) -> std::unique_ptr<RecoveryPolicy>, also from several threads at once. It
// owns what is kept for all runs; the policies it returns may refer to that.
template <typename StartRun>
[[nodiscard]] std::unique_ptr<PreparedPolicy> prepared_policy(Tier tier, std::vector<std::string> warnings,
                                                              StartRun starter, bool fits = true,
                                                              std::optional<SimDuration> step = {}) {
  class Prepared final : public PreparedPolicy {
   public:
    Prepared(Tier tier, std::vector<std::string> warnings, StartRun starter, bool fits,
             std::optional<SimDuration> step)
        : PreparedPolicy(tier, std::move(warnings), fits, step), starter_(std::move(starter)) {}
    [[nodiscard]] std::unique_ptr<RecoveryPolicy> start_run(const RunKey& run) const override {
      if constexpr (requires { starter_(run); }) {
        return starter_(run);
      } else {
        return starter_();
      }
    }

   private:
    StartRun starter_;
  };
  return std::make_unique<Prepared>(tier, std::move(warnings), std::move(starter), fits, step);
}

// What PolicySetup::prepare() returns, of these options and a job.
template <typename Options>
using PreparePolicy = Result<std::unique_ptr<PreparedPolicy>> (*)(const Options&, const JobModel&);

// What PolicySetup::plan_limits() returns, of these options and a base plan.
template <typename Options>
using LimitPlans = Result<PlanLimits> (*)(const Options&, const TrainingPlan&);

// `limits`: null for a policy that runs every plan. REQUIRES: config_fields(Options&) or
// config_fields(Options&, const PolicyContext&).
template <typename Options>
[[nodiscard]] std::unique_ptr<PolicySetup> policy_setup(Options defaults, PreparePolicy<Options> maker,
                                                        LimitPlans<Options> limits = nullptr) {
  class Setup final : public PolicySetup {
   public:
    Setup(Options options, PreparePolicy<Options> maker, LimitPlans<Options> limits)
        : options_(std::move(options)), maker_(maker), limits_(limits) {}
    [[nodiscard]] config::Fields fields(const PolicyContext& context) override {
      if constexpr (requires { config_fields(options_, context); }) {
        return config_fields(options_, context);
      } else {
        return config_fields(options_);
      }
    }
    [[nodiscard]] Result<PlanLimits> plan_limits(const TrainingPlan& base) const override {
      return limits_ == nullptr ? PlanLimits{} : limits_(options_, base);
    }
    [[nodiscard]] Result<std::unique_ptr<PreparedPolicy>> prepare(const JobModel& job) const override {
      return maker_(options_, job);
    }

   private:
    Options options_;
    PreparePolicy<Options> maker_;
    LimitPlans<Options> limits_;
  };
  return std::make_unique<Setup>(std::move(defaults), maker, limits);
}

}  // namespace goodput
