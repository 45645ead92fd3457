#include "traces/routing/routing_format.h"

namespace goodput {

std::vector<RoutingFormat> routing_formats() {
  return {
#define GOODPUT_ROUTING_FORMAT(name) name##_routing_format(),
#include "traces/routing/routing_formats.def"
#undef GOODPUT_ROUTING_FORMAT
  };
}

}  // namespace goodput
