// What the states of nodes and jobs of Slurm mean for faults.
#pragma once

#include <cstdint>
#include <string_view>

namespace goodput {

enum class NodeStateKind : std::uint8_t {
  kFault,    // the node is down, draining or failing
  kPlanned,  // maintenance, a reboot, power saving
  kOther,
};

// Of a State as sacctmgr or scontrol prints it: "DOWN*", "IDLE+DRAIN", "DOWN$".
[[nodiscard]] NodeStateKind node_state_kind(std::string_view state);

}  // namespace goodput
