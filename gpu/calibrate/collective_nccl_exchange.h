// Small facts of every rank, for every rank of a communicator. Whatever ranks decide from what they got here
// they decide alike.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/device_memory.h"
#include "gpu/nccl/communicator.h"

namespace goodput::gpu::calibrate {

// All ranks call the same, in the same order. The communicator must outlive it. Throws as Communicator.
class CollectiveExchange {
 public:
  // `most_bytes`: of a rank, in one call. All memory is allocated here.
  CollectiveExchange(Communicator& communicator, std::size_t most_bytes);

  // By rank, as many bytes from each. Waits for all of them.
  [[nodiscard]] std::vector<std::string> gather(const void* own, std::size_t bytes);

  // Rank 0's, of any length; those of the others are not looked at.
  [[nodiscard]] std::string text_of_first(const std::string& own);

  template <class Fact>
  [[nodiscard]] std::vector<Fact> gather(const Fact& own) {
    static_assert(std::is_trivially_copyable_v<Fact>, "facts are sent as raw bytes");
    std::vector<Fact> all;
    for (const std::string& bytes : gather(&own, sizeof own)) {
      std::memcpy(&all.emplace_back(), bytes.data(), sizeof own);
    }
    return all;
  }

 private:
  Communicator& communicator_;
  std::size_t most_bytes_;
  DeviceBuffer<char> own_;
  DeviceBuffer<char> all_;
  PinnedBuffer<char> host_;
  Stream stream_;
};

}  // namespace goodput::gpu::calibrate
