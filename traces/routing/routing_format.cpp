#include "traces/routing/routing_format.h"

#include "sim/base/registry.h"

namespace goodput {

std::span<const RoutingFormat> routing_formats() {
  static const auto registered = registry_of("routing trace format", std::vector<RoutingFormat>{
#define GOODPUT_ROUTING_FORMAT(name) routing_format_##name(),
#include "traces/routing/routing_formats.def"
#undef GOODPUT_ROUTING_FORMAT
                                                                     });
  return registered;
}

}  // namespace goodput
