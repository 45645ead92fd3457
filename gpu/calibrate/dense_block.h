// A dense transformer layer of a rank of tensor parallelism: its products, norms and elementwise traffic,
// forward and backward. Attention itself is left out: CUDA's libraries have none (attention.py measures it).
#pragma once

#include <cstdint>
#include <string>

#include "gpu/calibrate/block.h"

namespace goodput::gpu::calibrate {

struct DenseShape {
  std::string model;  // "llama3-8b"
  std::int64_t tokens;
  std::int64_t hidden;
  std::int64_t ffn;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;
  std::int64_t tp;  // ranks that share the layer; divides ffn, heads and kv_heads

  [[nodiscard]] std::int64_t qkv() const { return (heads + 2 * kv_heads) * head_dim / tp; }
  [[nodiscard]] std::int64_t attended() const { return heads * head_dim / tp; }
  [[nodiscard]] std::int64_t ffn_of_rank() const { return ffn / tp; }
  // Of the rank's products, weights times and gradients included.
  [[nodiscard]] double flops() const;
};

// Parts, of T tokens, hidden h, with q, o and f columns on the rank:
//   norm_1, qkv (T,q,h), attention_output (T,h,o), residual_1, norm_2, gate_up (T,2f,h), activation,
//   down (T,h,f), residual_2;
//   backward: down_dgrad, down_wgrad, activation, gate_up_dgrad, gate_up_wgrad, norm_2, residual_2,
//   attention_output_dgrad, attention_output_wgrad, qkv_dgrad, qkv_wgrad, norm_1, residual_1.
// Activations and residual sums are copies that read and write as many bytes together: 6 T f forward (SwiGLU
// reads 2f and writes f values a token), 10 T f backward, 6 T h for a sum of two. Throws MatmulError and
// CudaError.
[[nodiscard]] Block make_dense_block(const DenseShape& shape);

}  // namespace goodput::gpu::calibrate
