// The workers of a job: replicas x stages, their global ranks, and the hosts, switches and racks they run on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace goodput {

struct WorkerGrid {
  std::int32_t dp_size = 1;
  std::int32_t pp_size = 1;
  std::int32_t vpp_size = 1;
  std::vector<std::int32_t> ranks;  // global rank of worker (dp, stage), at dp * pp_size + stage

  enum class Naming : std::uint8_t {
    kByPlace,  // `dp 2 stage 3 (rank 140)`
    kByRank,   // `rank 140`: where replicas and stages are none of the user's words
  };
  Naming naming = Naming::kByPlace;

  // Where the workers run, if known: hosts first, then the switches and racks that hosts share.
  struct PlaceKind {
    std::string name;                    // "host", "switch", "rack"
    std::vector<std::string> of_worker;  // in the order of `ranks`; empty: unknown for this worker
  };
  std::vector<PlaceKind> places;

  // Of a worker index, dp_rank * pp_size + stage.
  struct Worker {
    std::size_t dp_rank = 0;
    std::size_t stage = 0;
  };
  [[nodiscard]] Worker worker(std::size_t index) const {
    const auto stages = static_cast<std::size_t>(pp_size);
    return {index / stages, index % stages};
  }
};

// As its naming says.
[[nodiscard]] std::string worker_name(const WorkerGrid& grid, std::size_t worker);

}  // namespace goodput
