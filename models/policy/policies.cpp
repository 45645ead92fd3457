#include <fmt/format.h>

#include "models/policy/policy.h"
#include "sim/base/text.h"

namespace goodput {

std::vector<PolicyInfo> recovery_policies() {
  return {
#define GOODPUT_POLICY(name) name##_policy(),
#include "models/policy/policies.def"
#undef GOODPUT_POLICY
  };
}

Result<PolicyInfo> find_policy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PolicyInfo& policy : recovery_policies()) {
    if (policy.name == name) return policy;
    names.push_back(policy.name);
  }
  return Error{fmt::format("no policy {}{}; goodput list policies shows all", in_quotes(name),
                           did_you_mean(name, names))};
}

}  // namespace goodput
