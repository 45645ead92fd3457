#include "tools/simulate/scenario_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "sim/base/text.h"

namespace goodput {

Result<std::vector<config::Change>> parse_changes(const std::vector<std::string>& texts) {
  std::vector<config::Change> changes;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
      return Error{fmt::format("--set {}: expected POINTER=VALUE, for example --set /failures/every_s=600",
                               on_one_line(text))};
    }
    changes.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return changes;
}

Status select_policies(const std::vector<std::string>& names, Scenario& scenario) {
  if (names.empty()) return Ok{};
  std::vector<std::string_view> known;
  for (const ScenarioPolicy& policy : scenario.policies) known.push_back(policy.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Error{fmt::format("--policy: {} has no policy {}{}; its policies are {}", scenario.file,
                             in_quotes(name), did_you_mean(name, known), fmt::join(known, ", "))};
  }
  std::erase_if(scenario.policies, [&names](const ScenarioPolicy& policy) {
    return !policy.command && std::find(names.begin(), names.end(), policy.name) == names.end();
  });
  return Ok{};
}

}  // namespace goodput
