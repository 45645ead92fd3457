// What norms, residual sums and dropouts read and write: kernels whose time is that of their memory traffic.
//
// Factors are bytes an element: 16 bits for every number read or written, a byte for one of a dropout's mask.
// They count the kernels of Megatron-LM v2.6: megatron/fused_kernels/layer_norm_cuda_kernel.cu (norms) and
// megatron/model/transformer.py (bias_dropout_add_fused_train, which is one kernel after torch.jit.script).
#pragma once

#include "models/step/block_scope.h"
#include "models/step/kernel_sequence.h"

namespace goodput {

inline constexpr double kMaskByte = 1;
// Forwards it writes the mask, backwards it reads it.
inline constexpr double kDropoutBytes = 2 * kBytes16 + kMaskByte;

// Whether operations that Megatron-LM fuses run one by one. Models with biases have layer norms, which are a
// single kernel in PyTorch as well.
[[nodiscard]] bool is_eager(const BlockScope& scope);

// Whether the backward pass recomputes the norm's output.
[[nodiscard]] bool recomputes_norm(const BlockScope& scope, Gradients gradients);

// Of a block's input.
void norm_forward(KernelSequence& kernels, const BlockScope& scope);
void norm_backward(KernelSequence& kernels, const BlockScope& scope);
// Of so many elements.
void norm_forward(KernelSequence& kernels, const BlockScope& scope, double elements);
void norm_backward(KernelSequence& kernels, const BlockScope& scope, double elements);

// The sum of a block's output and what went past it; with biases (GPT-2 and 3) of the bias too, and dropout.
void residual_forward(KernelSequence& kernels, const BlockScope& scope);
void residual_backward(KernelSequence& kernels, const BlockScope& scope);

}  // namespace goodput
