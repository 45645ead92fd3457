#include "gpu/calibrate/matmul.h"

namespace goodput::gpu::calibrate {

std::string text_of(const GemmShape& shape) {
  std::string text = name_of(shape.type);
  if (shape.layout != OperandLayout::kForward) text += std::string(" ") + name_of(shape.layout);
  return text + " m=" + std::to_string(shape.m) + " n=" + std::to_string(shape.n) +
         " k=" + std::to_string(shape.k);
}

std::int64_t GroupedShape::all_rows() const {
  std::int64_t sum = 0;
  for (const std::int64_t of_expert : rows) sum += of_expert;
  return sum;
}

double GroupedShape::flops() const {
  return 2.0 * static_cast<double>(all_rows()) * static_cast<double>(n) * static_cast<double>(k);
}

std::int64_t GroupedShape::bytes() const {
  std::int64_t weights = 0;
  for (const std::int64_t of_expert : rows) weights += of_expert > 0 ? n * k : 0;
  return 2 * (weights + all_rows() * (k + n));
}

}  // namespace goodput::gpu::calibrate
