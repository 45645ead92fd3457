#include "tests/reference/reference_dispatch.h"

#include <algorithm>
#include <numeric>

namespace goodput::reference {
namespace {

std::vector<std::int64_t> capacities(const ExpertCase& expert) {
  std::vector<std::size_t> rank_of_replica;
  for (std::size_t rank = 0; rank < expert.replicas.size(); ++rank)
    for (std::int64_t i = 0; i < expert.replicas[rank]; ++i) rank_of_replica.push_back(rank);
  std::vector<std::int64_t> capacity(expert.replicas.size(), 0);
  const std::int64_t tokens = std::accumulate(expert.tokens.begin(), expert.tokens.end(), std::int64_t{0});
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto replica = static_cast<std::size_t>(expert.rotation + t) % rank_of_replica.size();
    ++capacity[rank_of_replica[replica]];
  }
  return capacity;
}

}  // namespace

ExpertDispatch dispatch_one_by_one(const ExpertCase& expert) {
  const std::size_t ranks = expert.tokens.size();
  ExpertDispatch dispatch{capacities(expert), std::vector(ranks, std::vector<std::int64_t>(ranks, 0))};
  std::vector<std::size_t> source_of_surplus;
  std::vector<std::size_t> host_of_place;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t tokens = expert.tokens[rank];
    const std::int64_t capacity = dispatch.capacity[rank];
    dispatch.counts[rank][rank] = std::min(tokens, capacity);
    for (std::int64_t i = capacity; i < tokens; ++i) source_of_surplus.push_back(rank);
    for (std::int64_t i = tokens; i < capacity; ++i) host_of_place.push_back(rank);
  }
  for (std::size_t t = 0; t < source_of_surplus.size(); ++t) {
    const std::size_t place = static_cast<std::size_t>(expert.multiplier) * t % host_of_place.size();
    ++dispatch.counts[source_of_surplus[t]][host_of_place[place]];
  }
  return dispatch;
}

std::vector<std::int64_t> received_when_sources_round_alone(const ExpertCase& expert) {
  const std::vector<std::int64_t> capacity = capacities(expert);
  const std::size_t ranks = capacity.size();
  std::vector<std::int64_t> received(ranks);
  std::vector<std::int64_t> residual(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    received[rank] = std::min(expert.tokens[rank], capacity[rank]);
    residual[rank] = capacity[rank] - received[rank];
  }
  const std::int64_t total = std::accumulate(residual.begin(), residual.end(), std::int64_t{0});
  std::vector<std::size_t> hosts;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (residual[rank] > 0) hosts.push_back(rank);
  for (std::size_t source = 0; source < ranks; ++source) {
    const std::int64_t surplus = expert.tokens[source] - std::min(expert.tokens[source], capacity[source]);
    if (surplus == 0) continue;
    std::int64_t left = surplus;
    for (const std::size_t host : hosts) {
      received[host] += surplus * residual[host] / total;
      left -= surplus * residual[host] / total;
    }
    std::vector<std::size_t> order = hosts;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return surplus * residual[a] % total > surplus * residual[b] % total;
    });
    for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) ++received[order[i]];
  }
  return received;
}

std::vector<float> scatter(const RowCopies& copies, std::span<const float> rows) {
  const auto kept =
      std::count_if(copies.positions.begin(), copies.positions.end(), [](auto p) { return p >= 0; });
  std::vector<float> out(static_cast<std::size_t>(kept) * copies.width, -1);
  for (std::size_t slot = 0; slot < copies.positions.size(); ++slot) {
    if (copies.positions[slot] < 0) continue;
    for (std::size_t i = 0; i < copies.width; ++i)
      out[static_cast<std::size_t>(copies.positions[slot]) * copies.width + i] =
          rows[slot / copies.top_k * copies.width + i];
  }
  return out;
}

std::vector<float> combine(const RowCopies& copies, std::span<const float> rows,
                           std::span<const float> weights) {
  std::vector<float> out(copies.positions.size() / copies.top_k * copies.width, 0);
  for (std::size_t slot = 0; slot < copies.positions.size(); ++slot) {
    if (copies.positions[slot] < 0) continue;
    for (std::size_t i = 0; i < copies.width; ++i)
      out[slot / copies.top_k * copies.width + i] +=
          weights[slot] * rows[static_cast<std::size_t>(copies.positions[slot]) * copies.width + i];
  }
  return out;
}

}  // namespace goodput::reference
