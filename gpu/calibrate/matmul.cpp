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

std::int64_t GroupedShape::a_elements() const {
  return all_rows() * (layout == OperandLayout::kForward ? k : n);
}

std::int64_t GroupedShape::b_elements() const {
  return layout == OperandLayout::kWgrad ? all_rows() * k : static_cast<std::int64_t>(rows.size()) * n * k;
}

std::int64_t GroupedShape::y_elements() const {
  if (layout == OperandLayout::kWgrad) return static_cast<std::int64_t>(rows.size()) * n * k;
  return all_rows() * (layout == OperandLayout::kForward ? n : k);
}

std::vector<GroupProduct> GroupedShape::products() const {
  std::vector<GroupProduct> all;
  std::int64_t begin = 0;
  for (std::size_t expert = 0; expert < rows.size(); ++expert) {
    const std::int64_t count = rows[expert];
    const std::int64_t weight = static_cast<std::int64_t>(expert) * n * k;
    if (count > 0) {
      switch (layout) {
        case OperandLayout::kForward:
          all.push_back({{count, n, k}, begin * k, weight, begin * n});
          break;
        case OperandLayout::kDgrad:
          all.push_back({{count, k, n, MatrixType::kBf16, layout}, begin * n, weight, begin * k});
          break;
        case OperandLayout::kWgrad:
          all.push_back({{n, k, count, MatrixType::kBf16, layout}, begin * n, begin * k, weight});
          break;
      }
    }
    begin += count;
  }
  return all;
}

}  // namespace goodput::gpu::calibrate
