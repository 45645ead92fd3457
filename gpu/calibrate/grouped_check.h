// Checks the grouped products of experts on data whose exact results are known.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/calibrate/matmul.h"
#include "gpu/calibrate/product_data.h"
#include "gpu/device_memory.h"

namespace goodput::gpu::calibrate {

// The operands, of `seed` and `seed` + 1. They are the caller's to write.
void fill_groups(const GroupedShape& shape, const GroupedOperands& operands, MatrixFill fill,
                 std::uint64_t seed, cudaStream_t stream);
// The result: what a product leaves unwritten is wrong then.
void poison_groups(const GroupedShape& shape, const GroupedOperands& operands, cudaStream_t stream);

// Wrong elements of those looked at (count_wrong_products()), of operands that were filled with kExact. Waits
// for the stream.
[[nodiscard]] std::uint64_t count_wrong_groups(const GroupedShape& shape, std::uint64_t seed, const Bf16* y,
                                               const Stream& stream);
// Fills, runs and checks one set. Overwrites its operands.
[[nodiscard]] std::uint64_t count_wrong(const GroupedGemm& gemm, int set, const GroupedOperands& operands,
                                        const Stream& stream);

}  // namespace goodput::gpu::calibrate
