#include "sim/nodes/price_schedule.h"

#include <algorithm>

#include "sim/base/errors.h"

namespace goodput {
namespace {

double hours(SimDuration duration) {
  return to_seconds(duration) / 3600;
}

}  // namespace

PriceSchedule::PriceSchedule(double usd_per_node_hour)
    : PriceSchedule(std::span<const SpotPrice>(std::vector<SpotPrice>{{SimTime{}, usd_per_node_hour}})) {}

PriceSchedule::PriceSchedule(std::span<const SpotPrice> prices) : prices_(prices.begin(), prices.end()) {
  double usd = 0;
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    GOODPUT_CHECK(prices_[i].usd_per_node_hour >= 0, "a price must not be negative");
    if (i > 0) {
      GOODPUT_CHECK(prices_[i - 1].time < prices_[i].time, "prices must be in order of time");
      usd += hours(prices_[i].time - prices_[i - 1].time) * prices_[i - 1].usd_per_node_hour;
    } else {
      prices_[i].time = SimTime{};
    }
    before_.push_back(usd);
  }
}

double PriceSchedule::up_to(SimTime time) const {
  const auto behind = std::upper_bound(prices_.begin(), prices_.end(), time,
                                       [](SimTime t, const SpotPrice& price) { return t < price.time; });
  const auto at = static_cast<std::size_t>(behind - prices_.begin()) - 1;
  return before_[at] + hours(time - prices_[at].time) * prices_[at].usd_per_node_hour;
}

double PriceSchedule::cost(SimTime begin, SimTime end) const {
  if (prices_.empty()) return 0;
  if (prices_.size() == 1) return hours(end - begin) * prices_.front().usd_per_node_hour;
  return up_to(end) - up_to(begin);
}

}  // namespace goodput
