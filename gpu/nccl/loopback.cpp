#include "gpu/nccl/loopback.h"

#include <cstdint>
#include <cstdlib>

namespace goodput::gpu {

std::vector<std::pair<std::string, std::string>> loopback_environment(std::int32_t rank, std::int64_t run) {
  return {
      {"NCCL_HOSTID", "loopback-" + std::to_string(run) + "-" + std::to_string(rank)},
      {"NCCL_SOCKET_IFNAME", "lo"},
      {"NCCL_IB_DISABLE", "1"},
      {"NCCL_MNNVL_ENABLE", "0"},  // GPUs of several hosts in one NVLink domain: here they are one GPU
      {"NCCL_NVLS_ENABLE", "0"},
      // Kernels that take turns had better be small.
      {"NCCL_MAX_NCHANNELS", "2"},
      {"NCCL_MAX_P2P_NCHANNELS", "2"},
  };
}

void enter_loopback(std::int32_t rank, std::int64_t run) {
  constexpr int kKeep = 0;
  for (const auto& [name, value] : loopback_environment(rank, run))
    setenv(name.c_str(), value.c_str(), kKeep);
}

}  // namespace goodput::gpu
