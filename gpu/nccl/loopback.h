// Ranks that share one GPU, to check what NCCL moves, never to time it: one process a rank, each telling NCCL
// that it is a host of its own, for NCCL refuses two ranks of one host on one GPU (2.28.9, init.cc:
// "Duplicate GPU detected"). What they exchange goes through sockets of the loopback interface, and their
// kernels take turns.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace goodput::gpu {

// Names and values for the environment of rank `rank`; `run` tells this run's ranks from those of another.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> loopback_environment(std::int32_t rank,
                                                                                    std::int64_t run);

// Sets them in this process. What the user has set is left alone. To be called before NCCL is.
void enter_loopback(std::int32_t rank, std::int64_t run);

}  // namespace goodput::gpu
