#include "traces/spot/spot_format.h"

namespace goodput {

std::vector<SpotFormat> spot_formats() {
  return {
#define GOODPUT_SPOT_FORMAT(name) name##_spot_format(),
#include "traces/spot/spot_formats.def"
#undef GOODPUT_SPOT_FORMAT
  };
}

}  // namespace goodput
