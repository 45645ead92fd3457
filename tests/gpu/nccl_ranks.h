// Ranks of a test: processes of this one, each with an emulated device and a communicator.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "gpu/nccl/communicator.h"
#include "gpu/nccl/rank_launcher.h"

namespace goodput::gpu::testing {

struct NcclRanks {
  std::int32_t ranks = 2;
  std::chrono::milliseconds deadline{20'000};        // of every wait
  std::function<void(std::int32_t rank)> prepare{};  // before NCCL is called: faults
};

// What became of each. `body` ends with the communicator closed, or throws.
inline std::vector<RankEnd> run_nccl_ranks(const NcclRanks& of,
                                           const std::function<void(Communicator&)>& body) {
  LaunchOptions options;
  options.ranks = of.ranks;
  options.limit = std::chrono::seconds(60);
  options.prepare = of.prepare;
  return run_ranks(options, [&](RankProcess& process) {
    Communicator communicator(process, of.deadline);
    body(communicator);
    communicator.close();
  });
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What ended one.
inline std::string error_of(const std::vector<RankEnd>& ends, std::size_t rank) {
  return ends.at(rank).error;
}

}  // namespace goodput::gpu::testing
