#include "traces/routing/routing_format.h"

#include "sim/base/registry.h"

namespace goodput {

std::span<const RoutingFormat> routing_formats() {
  static const Registry<RoutingFormat> all = {
#define GOODPUT_ROUTING_FORMAT(name) routing_format_##name(),
#include "traces/routing/routing_formats.def"
#undef GOODPUT_ROUTING_FORMAT
  };
  return all.infos();
}

}  // namespace goodput
