// MoE layers that are alike: their experts get the same tokens. What follows from the loads of a layer alone
// (who holds which expert, what its GPUs compute and send) is found once for all layers of a class. Balanced
// routing makes one class of all layers; recorded layers hardly ever are alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput {

class LayerClasses {
 public:
  LayerClasses() = default;
  // Each in a class of its own.
  [[nodiscard]] static LayerClasses distinct(std::size_t layers);
  // All in one.
  [[nodiscard]] static LayerClasses together(std::size_t layers);

  // Parts layers of a class whose loads differ here. REQUIRES: the loads of every layer.
  void part(std::span<const std::vector<std::int64_t>> loads);

  [[nodiscard]] std::size_t layers() const { return class_of_.size(); }
  [[nodiscard]] std::size_t classes() const { return first_.size(); }
  [[nodiscard]] std::size_t of(std::size_t layer) const { return class_of_[layer]; }
  [[nodiscard]] std::span<const std::size_t> by_layer() const { return class_of_; }
  // The first layer of a class, by which classes ascend.
  [[nodiscard]] std::size_t first(std::size_t of_class) const { return first_[of_class]; }
  [[nodiscard]] std::vector<std::int32_t> sizes() const;  // layers of each class

  // Those of the first layers. REQUIRES: the loads of every layer.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> one_of_each(
      std::span<const std::vector<std::int64_t>> loads) const;

  friend bool operator==(const LayerClasses&, const LayerClasses&) = default;

 private:
  std::vector<std::size_t> class_of_{};  // by layer
  std::vector<std::size_t> first_{};     // layer, by class
};

}  // namespace goodput
