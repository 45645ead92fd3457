// What the parts of a block take, and what a rank's experts get, as the journal and the calibration file say
// it. Host only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/bench/json.h"

namespace goodput::gpu::calibrate {

struct PartTime {
  std::string part;
  bool is_backward;
  double median_us;  // 0: less than events resolve
};

// Members "expert_rows" and "parts" of an object; what is empty is left out.
void write_expert_rows(const std::vector<std::int64_t>& rows, bench::JsonWriter& json);
void write_parts(const std::vector<PartTime>& parts, bench::JsonWriter& json);

}  // namespace goodput::gpu::calibrate
