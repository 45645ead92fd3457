// The matrix products of a feed-forward network and the activation function between them: of a dense one, and
// of all experts of a GPU at once.
#pragma once

#include <cstdint>

#include "models/step/block_scope.h"
#include "models/step/kernel_sequence.h"

namespace goodput {

// The two or three matrices of an FFN, this GPU's part. Of a gated one the first two are one matrix.
struct FfnShape {
  Linear up;
  Linear down;
  double activations = 0;  // elements that go into the activation function, a row

  // `copies`: experts side by side, 1 for a dense FFN. `cuts`: GPUs that share each of the copies.
  FfnShape(const BlockScope& scope, double hidden_size, double copies, std::int32_t cuts);
};

// `rows`: tokens, over all copies.
void ffn_products_forward(KernelSequence& kernels, const BlockScope& scope, const FfnShape& ffn, double rows);
void ffn_products_backward(KernelSequence& kernels, const BlockScope& scope, const FfnShape& ffn, double rows,
                           Gradients gradients);

}  // namespace goodput
