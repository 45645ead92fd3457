// How ranks exchange counts and rows. A process drives one or more of the ranks, its local ones; the others
// are elsewhere. Implementations: virtual_transport.h (all ranks on one device), nccl/nccl_transport.h (a
// rank a process and device).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace goodput::gpu {

// A local rank's part of an all-gather.
struct CountExchange {
  const std::int32_t* send;  // device, `count` numbers
  std::int32_t* receive;     // device, ranks x count
};

// A local rank's part of an all-to-all of rows. `send` holds send_rows[0] rows for rank 0, then send_rows[1]
// for rank 1, ...; `receive` likewise by source. What two ranks expect of each other is the same number.
struct RowExchange {
  const void* send;                  // device
  void* receive;                     // device
  const std::int32_t* send_rows;     // host, ranks
  const std::int32_t* receive_rows;  // host, ranks
};

class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual std::int32_t ranks() const = 0;
  // Ascending. The vectors below hold an element each, in this order.
  [[nodiscard]] virtual const std::vector<std::int32_t>& local_ranks() const = 0;

  // Every rank's counts to every rank. All ranks must take part, with the same `count`.
  virtual void all_gather(const std::vector<CountExchange>& parts, std::size_t count,
                          cudaStream_t stream) = 0;
  virtual void all_to_all(const std::vector<RowExchange>& parts, std::size_t row_bytes,
                          cudaStream_t stream) = 0;

  // The host waits for all that the stream has been given, or for what the event was recorded behind. Whoever
  // waits for something behind an exchange waits here: where a rank is gone, CUDA's own calls would never
  // return. Throws where the exchange cannot end; what it was to fill is not to be used then.
  virtual void synchronize(cudaStream_t stream) = 0;
  virtual void synchronize(cudaEvent_t event) = 0;
};

}  // namespace goodput::gpu
