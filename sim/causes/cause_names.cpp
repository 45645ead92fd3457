#include "sim/causes/cause_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace goodput {

std::string_view plain_cause_name(std::string_view cause) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"worker-fault", "slow workers"},     {"slow-replica", "slow replicas"},
      {"slow-host", "slow hosts"},          {"slow-rank", "slow ranks"},
      {"slow-switch", "slow switches"},     {"slow-rack", "slow racks"},
      {"stage-partition", "uneven stages"}, {"sequence-length", "sequence lengths"},
      {"gc-pauses", "GC pauses"},           {"launch-delay", "late launches"},
      {"slow-link", "slow links"},          {"communication-flap", "network"}};
  const auto* const found =
      std::ranges::find(kNames, cause, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kNames) ? cause : found->second;
}

}  // namespace goodput
