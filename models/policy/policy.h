// The recovery policies that a scenario can name. Adding one is a file models/policy/<name>.cpp with
// `PolicyInfo <name>_policy()` and a line in models/policy/policies.def.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job_model.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "sim/config/config.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

// A policy with its options: makes one for every run. What it finds out about the job (plans, step times) it
// keeps for all runs, so it belongs to one thread.
class PolicySetup {
 public:
  virtual ~PolicySetup() = default;

  // The options: for reading, echoing and describing. They refer to this object.
  [[nodiscard]] virtual config::Fields fields() = 0;

  // Whether the options make sense, for this job. Error::where is a pointer from the options, or empty.
  // `job` must outlive this object.
  [[nodiscard]] virtual Status prepare(const JobModel& job) = 0;

  // REQUIRES: prepare() succeeded, here and for all that follow. The policy refers to this object.
  [[nodiscard]] virtual std::unique_ptr<RecoveryPolicy> make() = 0;

  // Something to know: what does not fit into memory.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
  // The lowest of what its times rest on.
  [[nodiscard]] virtual Tier tier() const = 0;
};

struct PolicyInfo {
  std::string_view name;
  std::string_view summary;  // one line for `goodput list policies`
  std::unique_ptr<PolicySetup> (*make)();
};

#define GOODPUT_POLICY(name) PolicyInfo name##_policy();
#include "models/policy/policies.def"
#undef GOODPUT_POLICY

// All of them, in the order of models/policy/policies.def.
[[nodiscard]] std::span<const PolicyInfo> recovery_policies();

// Fails, with did-you-mean, on an unknown name.
[[nodiscard]] Result<PolicyInfo> find_policy(std::string_view name);

}  // namespace goodput
