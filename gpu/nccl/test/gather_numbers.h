// Numbers of every rank for every rank, over NCCL.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/nccl/communicator.h"

namespace goodput::gpu::testing {

// As many from every rank; by rank. Throws as Communicator.
[[nodiscard]] std::vector<std::int32_t> gather_numbers(const std::vector<std::int32_t>& own,
                                                       Communicator& communicator);

}  // namespace goodput::gpu::testing
