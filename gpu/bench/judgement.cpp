#include "gpu/bench/judgement.h"

#include <cstdint>
#include <cstdio>

#include "gpu/bench/traffic.h"

namespace goodput::gpu::bench {
namespace {

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace

std::optional<AgainstFloor> judge_floor(std::int64_t bytes, std::optional<double> gb_per_s,
                                        double median_us) {
  if (!gb_per_s || median_us <= 0) return std::nullopt;
  const double floor = floor_us(bytes, *gb_per_s);
  return AgainstFloor{floor, share_of_ceiling(floor, median_us)};
}

bool meets_target(double target_us, std::optional<double> graph_median_us, double events_median_us) {
  return graph_median_us.value_or(events_median_us) <= target_us;
}

bool meets_share(double target, std::optional<double> graph_share, double events_share) {
  return graph_share.value_or(events_share) >= target;
}

std::string percent_text(double share) {
  return fixed(100 * share, 1) + " %";
}

std::string us_text(double us) {
  return fixed(us, us < 1 ? 3 : us < 10 ? 2 : us < 1000 ? 1 : 0);
}

}  // namespace goodput::gpu::bench
