// The checksum of gpu/checksum.h, as a plain loop.
#pragma once

#include <cstdint>
#include <vector>

namespace goodput::gpu::reference {

[[nodiscard]] std::uint64_t checksum(const std::vector<unsigned char>& bytes);

}  // namespace goodput::gpu::reference
