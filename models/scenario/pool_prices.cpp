#include "models/scenario/pool_prices.h"

#include <algorithm>
#include <vector>

namespace goodput {

std::optional<std::size_t> price_recording(const PoolView& pool, std::span<const FailureSource> sources) {
  if (pool.usd_per_node_hour) return std::nullopt;
  const auto has_prices = [](const FailureSource& source) {
    return source.trace != nullptr && !source.trace->prices.empty();
  };
  const auto found = std::find_if(sources.begin(), sources.end(), has_prices);
  if (found == sources.end()) return std::nullopt;
  return static_cast<std::size_t>(found - sources.begin());
}

PriceSchedule recorded_prices(const SpotTrace& trace, SimDuration start) {
  std::vector<SpotPrice> prices;
  for (const SpotPrice& price : trace.prices) {
    const SimTime time = price.time - std::min(start, price.time.time_since_epoch());
    if (!prices.empty() && prices.back().time == time) prices.pop_back();
    prices.push_back({time, price.usd_per_node_hour});
  }
  return PriceSchedule(prices);
}

}  // namespace goodput
