// What a node costs over time: a step function, and what it adds up to.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {

class PriceSchedule {
 public:
  // Free of charge.
  PriceSchedule() = default;
  explicit PriceSchedule(double usd_per_node_hour);
  // From each time on, the first from the start. REQUIRES: times ascend, prices are not negative.
  explicit PriceSchedule(std::span<const SpotPrice> prices);

  // USD for one node that is held in [begin, end). O(log changes). REQUIRES: begin <= end.
  [[nodiscard]] double cost(SimTime begin, SimTime end) const;

  [[nodiscard]] bool is_free() const { return prices_.empty(); }

 private:
  [[nodiscard]] double up_to(SimTime time) const;

  std::vector<SpotPrice> prices_;
  std::vector<double> before_;  // USD up to each change
};

}  // namespace goodput
