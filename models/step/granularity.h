// How finely a planned step is looked at.
#pragma once

#include <cstdint>

namespace goodput {

enum class Granularity : std::uint8_t {
  kOps,     // as NDTimeline records: forward-compute, backward-compute, ...
  kLayers,  // passes in parts: attention, dispatch, experts, ... of each layer
};

}  // namespace goodput
