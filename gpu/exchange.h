// The dispatchers of a process' local ranks and a transport, put together.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/dispatcher.h"
#include "gpu/transport.h"

namespace goodput::gpu {

// The counts of every rank to all_counts() of every local one. REQUIRES: count() on each.
void gather_counts(std::vector<Dispatcher>& dispatchers, Transport& transport, cudaStream_t stream);

// What every dispatcher's host has to know. REQUIRES: schedule() on each. Throws as Transport::synchronize().
std::vector<HostCounts> wait_host_counts(std::vector<Dispatcher>& dispatchers, Transport& transport);

enum class Direction : std::uint8_t {
  kToExperts,  // from send buffers to receive buffers
  kBack,       // from receive buffers to send buffers
};

// A buffer a local rank. `counts` are those of the local ranks.
void exchange_rows(Direction direction, const std::vector<HostCounts>& counts,
                   const std::vector<const void*>& from, const std::vector<void*>& to, std::size_t row_bytes,
                   Transport& transport, cudaStream_t stream);

}  // namespace goodput::gpu
