#include "traces/spot/spot_format.h"

#include "sim/base/registry.h"

namespace goodput {

std::span<const SpotFormat> spot_formats() {
  static const auto registered = registry_of("spot trace format", std::vector<SpotFormat>{
#define GOODPUT_SPOT_FORMAT(name) spot_format_##name(),
#include "traces/spot/spot_formats.def"
#undef GOODPUT_SPOT_FORMAT
                                                                  });
  return registered;
}

}  // namespace goodput
