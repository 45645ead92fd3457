#include "gpu/host_tables.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "models/dispatch/dispatch.h"

namespace goodput::gpu {
namespace {

void check(std::int32_t ranks, std::int32_t experts, const std::vector<std::int32_t>& replicas) {
  const std::int64_t size = std::int64_t{ranks} * experts;
  if (ranks < 1 || experts < 1 || static_cast<std::int64_t>(replicas.size()) != size) {
    throw std::invalid_argument("placement: " + std::to_string(replicas.size()) + " replica counts for " +
                                std::to_string(ranks) + " ranks x " + std::to_string(experts) + " experts");
  }
}

std::string place(std::int32_t rank, std::int32_t expert) {
  return "placement: rank " + std::to_string(rank) + ", expert " + std::to_string(expert) + ": ";
}

}  // namespace

std::int32_t HostTables::most_hosts() const {
  std::int32_t most = 0;
  for (std::size_t expert = 0; expert + 1 < expert_begin.size(); ++expert) {
    most = std::max(most, expert_begin[expert + 1] - expert_begin[expert]);
  }
  return most;
}

HostTables make_placement(std::int32_t ranks, std::int32_t experts,
                          const std::vector<std::int32_t>& replicas) {
  check(ranks, experts, replicas);
  const auto at = [&](std::int32_t rank, std::int32_t expert) {
    return replicas[static_cast<std::size_t>(rank) * static_cast<std::size_t>(experts) +
                    static_cast<std::size_t>(expert)];
  };
  HostTables placement{ranks, experts, {}, {0}, {}, {0}};
  for (std::int32_t expert = 0; expert < experts; ++expert) {
    std::int64_t before = 0;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::int32_t count = at(rank, expert);
      if (count < 0)
        throw std::invalid_argument(place(rank, expert) + std::to_string(count) +
                                    " replicas; it must have 0 or more");
      if (count == 0) continue;
      if (before + count > moe::kMostReplicas)
        throw std::invalid_argument(place(rank, expert) + "more than " + std::to_string(moe::kMostReplicas) +
                                    " replicas of the expert on all ranks");
      placement.hosts.push_back({rank, count, static_cast<std::int32_t>(before), -1});
      before += count;
    }
    placement.expert_begin.push_back(static_cast<std::int32_t>(placement.hosts.size()));
  }
  std::vector<std::int32_t> next(placement.expert_begin.begin(), placement.expert_begin.end() - 1);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    for (std::int32_t expert = 0; expert < experts; ++expert) {
      if (at(rank, expert) == 0) continue;
      const std::int32_t host = next[static_cast<std::size_t>(expert)]++;
      placement.hosts[static_cast<std::size_t>(host)].entry =
          static_cast<std::int32_t>(placement.entries.size());
      placement.entries.push_back({expert, host});
    }
    placement.rank_begin.push_back(static_cast<std::int32_t>(placement.entries.size()));
  }
  return placement;
}

}  // namespace goodput::gpu
