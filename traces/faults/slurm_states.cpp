#include "traces/faults/slurm_states.h"

#include <algorithm>
#include <iterator>

#include "sim/base/text.h"

namespace goodput {

NodeStateKind node_state_kind(std::string_view state) {
  constexpr std::string_view kFlags = "*~#%$@^!-";
  constexpr char kMaintenance = '$';
  constexpr std::string_view kFaults[] = {"DOWN",  "DRAIN", "DRAINED",        "DRAINING",
                                          "DRNG",  "FAIL",  "FAILING",        "FAILG",
                                          "ERROR", "INVAL", "NOT_RESPONDING", "INVALID_REG"};
  constexpr std::string_view kPlanned[] = {
      "MAINT", "MAINTENANCE", "REBOOT",   "POWERED_DOWN", "POWERED_DN", "POWERING_DOWN", "POWER_DOWN",
      "BOOT",  "POWERING_UP", "POWER_UP", "PLANNED",      "FUTURE",     "RESERVED",      "REBOOT_ISSUED"};
  NodeStateKind kind = NodeStateKind::kOther;
  for (std::string_view part : split(state, '+')) {
    while (!part.empty() && kFlags.find(part.back()) != std::string_view::npos) {
      if (part.back() == kMaintenance) return NodeStateKind::kPlanned;
      part.remove_suffix(1);
    }
    if (std::find(std::begin(kPlanned), std::end(kPlanned), part) != std::end(kPlanned))
      return NodeStateKind::kPlanned;
    if (std::find(std::begin(kFaults), std::end(kFaults), part) != std::end(kFaults))
      kind = NodeStateKind::kFault;
  }
  return kind;
}

}  // namespace goodput
