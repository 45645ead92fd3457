// The cost of casting tensors to 8 bits, as in NVIDIA's Transformer Engine 1.x and 2.x
// (transformer_engine/common/{cast,transpose,recipe}). A tensor is cast once before a matmul, in two layouts:
// one for the forward matmul and one for the weight gradient.
#pragma once

#include "models/plan/parallel_plan.h"

namespace goodput {

struct Fp8Casts {
  double bytes = 0;                // per element, read and written; 0: casts are not counted
  int kernels = 0;                 // a tensor
  bool weights_each_pass = false;  // because they are gathered in each pass; else they are cast once per step
  // Rows that are gathered from tensor-parallel peers are cast before the gather and sent in 8 bits. The
  // second layout is made from the gathered rows.
  bool in_front_of_gathers = false;

  // Bytes per element that is cast before it is gathered from tp peers.
  [[nodiscard]] double gathered_bytes(double tp) const;

  explicit Fp8Casts(const ParallelPlan& plan);
};

}  // namespace goodput
