#include "gpu/calibrate/part_times.h"

namespace goodput::gpu::calibrate {

void write_expert_rows(const std::vector<std::int64_t>& rows, bench::JsonWriter& json) {
  if (rows.empty()) return;
  json.key("expert_rows");
  json.begin_array();
  for (const std::int64_t of_expert : rows) json.value(of_expert);
  json.end_array();
}

void write_parts(const std::vector<PartTime>& parts, bench::JsonWriter& json) {
  if (parts.empty()) return;
  json.key("parts");
  json.begin_array();
  for (const PartTime& part : parts) {
    json.begin_object();
    json.member("part", part.part);
    if (part.is_backward) json.member("backward", true);
    json.member("median_us", part.median_us);
    json.end_object();
  }
  json.end_array();
}

}  // namespace goodput::gpu::calibrate
