// Sums of what ranks contribute to a reduction.
#pragma once

#include <cstddef>

#include "tests/simt/nccl.h"

namespace simt {

bool is_summable(ncclDataType_t type);

// Adds element by element: bf16 in fp32, rounded to nearest even after every addition. REQUIRES:
// is_summable(type), and `bytes` of whole elements.
void add_to(void* sum, const void* summand, std::size_t bytes, ncclDataType_t type);

}  // namespace simt
