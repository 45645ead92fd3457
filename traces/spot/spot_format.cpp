#include "traces/spot/spot_format.h"

#include "sim/base/registry.h"

namespace goodput {

std::span<const SpotFormat> spot_formats() {
  static const Registry<SpotFormat> all = {
#define GOODPUT_SPOT_FORMAT(name) spot_format_##name(),
#include "traces/spot/spot_formats.def"
#undef GOODPUT_SPOT_FORMAT
  };
  return all.infos();
}

}  // namespace goodput
