#include "gpu/nccl/test/gather_numbers.h"

#include "gpu/device_memory.h"
#include "gpu/nccl/nccl_transport.h"

namespace goodput::gpu::testing {

std::vector<std::int32_t> gather_numbers(const std::vector<std::int32_t>& own, Communicator& communicator) {
  const DeviceBuffer<std::int32_t> send = upload(own);
  DeviceBuffer<std::int32_t> all(own.size() * static_cast<std::size_t>(communicator.ranks()));
  NcclTransport transport(communicator);
  const Stream stream;
  transport.all_gather({{send.data(), all.data()}}, own.size(), stream.get());
  transport.synchronize(stream.get());
  return download(all.data(), all.size());
}

}  // namespace goodput::gpu::testing
