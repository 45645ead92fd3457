// The communication that c10d, the layer of PyTorch above gloo and NCCL, launches on the host.
#pragma once

#include <array>
#include <string_view>

#include "sim/ops/rank_activity.h"

namespace goodput {

struct GlooOp {
  std::string_view launch;  // the cpu_op: "c10d::allreduce_"
  std::string_view name;    // "all_reduce"
  CommunicationPart::Kind kind = CommunicationPart::Kind::kCollective;
  std::array<std::string_view, 2> ends{};  // names of the gloo events that may end it
};

// Null if no operation is launched under this name.
[[nodiscard]] const GlooOp* find_gloo_op(std::string_view launch);

}  // namespace goodput
