#include "models/policy/policy.h"
#include "sim/base/registry.h"

namespace goodput {

std::span<const PolicyInfo> recovery_policies() {
  static const Registry<PolicyInfo> all = {
#define GOODPUT_POLICY(name) policy_##name(),
#include "models/policy/policies.def"
#undef GOODPUT_POLICY
  };
  return all.infos();
}

Result<PolicyInfo> find_policy(std::string_view name) {
  return find_named(recovery_policies(), "policy", name);
}

}  // namespace goodput
