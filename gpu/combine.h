// K6: a token's output from the rows its experts returned, and the way back.
//
// Sums are of fixed order, so that results are the same in every run and on the CPU, bit for bit:
//   y[t]        an fp32 accumulator a column, from 0: acc = fma(weight[t, j], row[t, j], acc) for j
//   ascending,
//               rounded once; choices without a row are skipped;
//   d_weight    the dot product of dy[t] and row[t, j]: with V elements in 16 bytes, lane (i / V) % 32 sums
//               its elements i in ascending order by fma; then lane l adds lane l ^ 16, ^ 8, ^ 4, ^ 2, ^ 1.
// The slow way (rows or addresses that are no multiple of 16 bytes) gives the same bits. Only NaNs of fp32
// are whatever the machine makes of them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/element.h"
#include "gpu/row_copy.h"

namespace goodput::gpu {

// Rows of activations and which of them belong to each token.
struct TokenRows {
  ElementType element;
  std::int32_t hidden;
  std::int64_t tokens;
  std::int32_t top_k;
  const std::int32_t* positions;  // tokens x top_k: a row, or negative: none
};

// Of both: REQUIRES that what is written does not overlap what is read.

// y: tokens x hidden. `weights`: tokens x top_k, null: all 1 (that is the backward of scatter_rows).
void combine_rows(const TokenRows& shape, const void* rows, const float* weights, void* y,
                  const CopyDevice& device, cudaStream_t stream);

// d_rows: as rows; written where `positions` points. d_weights: tokens x top_k; 0 without a row.
void combine_rows_backward(const TokenRows& shape, const void* dy, const void* rows, const float* weights,
                           void* d_rows, float* d_weights, const CopyDevice& device, cudaStream_t stream);

}  // namespace goodput::gpu
