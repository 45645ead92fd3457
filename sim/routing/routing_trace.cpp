#include "sim/routing/routing_trace.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

bool ascends_strictly(const std::vector<std::int64_t>& numbers) {
  return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) == numbers.end();
}

std::optional<std::size_t> find_number(const std::vector<std::int64_t>& ascending, std::int64_t number) {
  const auto found = std::lower_bound(ascending.begin(), ascending.end(), number);
  if (found == ascending.end() || *found != number) return std::nullopt;
  return static_cast<std::size_t>(found - ascending.begin());
}

bool is_valid_row(std::span<const std::int64_t> loads) {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t load : loads) {
    if (load < 0 || load > left) return false;
    left -= load;
  }
  return true;
}

}  // namespace

RoutingTrace::RoutingTrace(std::vector<std::int64_t> iterations, std::vector<std::int64_t> layers,
                           std::int32_t experts, std::vector<std::int64_t> loads)
    : iterations_(std::move(iterations)),
      layers_(std::move(layers)),
      experts_(experts),
      loads_(std::move(loads)) {
  GOODPUT_CHECK(!iterations_.empty() && ascends_strictly(iterations_), "iterations must ascend");
  GOODPUT_CHECK(!layers_.empty() && ascends_strictly(layers_), "layers must ascend");
  GOODPUT_CHECK(experts_ > 0, "a layer must have experts");
  const auto row = static_cast<std::size_t>(experts_);
  GOODPUT_CHECK(loads_.size() == iterations_.size() * layers_.size() * row, "loads must be dense");
  for (std::size_t first = 0; first < loads_.size(); first += row) {
    GOODPUT_CHECK(is_valid_row(std::span(loads_).subspan(first, row)),
                  "loads must not be negative, and their sum must not overflow");
  }
}

std::span<const std::int64_t> RoutingTrace::loads(std::size_t iteration, std::size_t layer) const {
  GOODPUT_CHECK(iteration < iterations_.size() && layer < layers_.size(), "no such iteration or layer");
  const auto row = static_cast<std::size_t>(experts_);
  return std::span(loads_).subspan((iteration * layers_.size() + layer) * row, row);
}

std::int64_t RoutingTrace::total(std::size_t iteration, std::size_t layer) const {
  const std::span<const std::int64_t> row = loads(iteration, layer);
  return std::accumulate(row.begin(), row.end(), std::int64_t{0});
}

std::size_t RoutingTrace::index_at(std::int64_t step) const {
  const auto later = std::upper_bound(iterations_.begin(), iterations_.end(), step);
  return later == iterations_.begin() ? 0 : static_cast<std::size_t>(later - iterations_.begin()) - 1;
}

std::optional<std::size_t> RoutingTrace::find_layer(std::int64_t layer) const {
  return find_number(layers_, layer);
}

}  // namespace goodput
