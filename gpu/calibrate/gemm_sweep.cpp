#include "gpu/calibrate/gemm_sweep.h"

#include "gpu/calibrate/gemm_case.h"
#include "gpu/calibrate/gemm_families.h"

namespace goodput::gpu::calibrate {
namespace {

SweepPoint gemm_point(const GemmShape& shape) {
  TableKey table{"gemm", {{"n", shape.n}, {"k", shape.k}, {"dtype", std::string(name_of(shape.type))}}};
  if (shape.layout != OperandLayout::kForward)
    table.params.push_back({"layout", std::string(name_of(shape.layout))});
  return {{std::move(table), "m", shape.m},
          product_visit_estimate_s(shape.flops(), shape.bytes(), shape.type),
          [shape](PointMeasurer& measurer, Checking checking) {
            return visit_gemm(shape, 0, measurer, checking);
          },
          {}};
}

// Every kind of point, small.
std::vector<GemmShape> quick_shapes() {
  std::vector<GemmShape> shapes;
  for (const std::int64_t m : {16, 64}) {
    shapes.push_back({m, 32, 48});
    shapes.push_back({m, 16, 32, MatrixType::kFp8});
  }
  shapes.push_back({16, 32, 48, MatrixType::kBf16, OperandLayout::kDgrad});
  shapes.push_back({16, 32, 48, MatrixType::kBf16, OperandLayout::kWgrad});
  return shapes;
}

void add_all_rows(std::vector<GemmShape>& shapes, GemmShape family) {
  constexpr std::int64_t kLeastRows = 16;
  constexpr std::int64_t kMostRows = 16'384;
  for (family.m = kLeastRows; family.m <= kMostRows; family.m *= 2) shapes.push_back(family);
}

std::vector<GemmShape> full_shapes() {
  std::vector<GemmShape> shapes;
  for (const GemmFamily& f : kGemmFamilies) add_all_rows(shapes, {0, f.n, f.k});
  for (const GemmFamily& f : kGemmFamilies) {
    if (f.fp8) add_all_rows(shapes, {0, f.n, f.k, MatrixType::kFp8});
  }
  for (const OperandLayout layout : {OperandLayout::kDgrad, OperandLayout::kWgrad}) {
    for (const GroupedFamily& f : kGradientFamilies)
      add_all_rows(shapes, {0, f.n, f.k, MatrixType::kBf16, layout});
  }
  return shapes;
}

}  // namespace

Sweep gemm_sweep(Sizes sizes) {
  Sweep sweep{"gemm", {}, {}};
  for (const GemmShape& shape : sizes == Sizes::kQuick ? quick_shapes() : full_shapes())
    sweep.points.push_back(gemm_point(shape));
  return sweep;
}

std::vector<SweepPoint> gemm_ceiling_points(Sizes sizes) {
  constexpr int kAnswers = 8;
  const std::string name = "gemm_bf16_tflops";
  const std::int64_t side = sizes == Sizes::kQuick ? 32 : 8192;
  const GemmShape shape{side, side, side};
  std::vector<SweepPoint> points;
  for (int answer = 0; answer < (sizes == Sizes::kQuick ? 2 : kAnswers); ++answer) {
    points.push_back(
        {{{"ceiling", {{"name", name}, {"kernel", "answer " + std::to_string(answer + 1)}}}, "", 0},
         product_visit_estimate_s(shape.flops(), shape.bytes(), shape.type),
         [shape, answer](PointMeasurer& measurer, Checking checking) {
           return visit_gemm(shape, answer, measurer, checking);
         },
         CeilingWork{name, shape.flops()}});
  }
  return points;
}

}  // namespace goodput::gpu::calibrate
