#include "models/placement/layer_classes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {

LayerClasses LayerClasses::distinct(std::size_t layers) {
  LayerClasses all;
  all.class_of_.resize(layers);
  std::iota(all.class_of_.begin(), all.class_of_.end(), std::size_t{0});
  all.first_ = all.class_of_;
  return all;
}

LayerClasses LayerClasses::together(std::size_t layers) {
  LayerClasses all;
  all.class_of_.resize(layers);
  if (layers > 0) all.first_ = {0};
  return all;
}

void LayerClasses::part(std::span<const std::vector<std::int64_t>> loads) {
  GOODPUT_CHECK(loads.size() == layers(), "loads must be given for every layer");
  if (classes() == layers()) return;
  LayerClasses parted;
  for (std::size_t layer = 0; layer < layers(); ++layer) {
    const auto alike = std::ranges::find_if(parted.first_, [&](std::size_t first) {
      return class_of_[first] == class_of_[layer] && loads[first] == loads[layer];
    });
    parted.class_of_.push_back(static_cast<std::size_t>(alike - parted.first_.begin()));
    if (alike == parted.first_.end()) parted.first_.push_back(layer);
  }
  *this = std::move(parted);
}

std::vector<std::int32_t> LayerClasses::sizes() const {
  std::vector<std::int32_t> sizes(classes());
  for (const std::size_t of_class : class_of_) ++sizes[of_class];
  return sizes;
}

std::vector<std::vector<std::int64_t>> LayerClasses::one_of_each(
    std::span<const std::vector<std::int64_t>> loads) const {
  GOODPUT_CHECK(loads.size() == layers(), "loads must be given for every layer");
  std::vector<std::vector<std::int64_t>> of_classes;
  for (const std::size_t layer : first_) of_classes.push_back(loads[layer]);
  return of_classes;
}

}  // namespace goodput
