#include "models/checkpoint/partial_checkpoint.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Adds the experts that a checkpoint saves to what their owners write.
void add_experts(const ModuleBytes& modules, const SavedExperts& saved, std::vector<Bytes>& written) {
  GOODPUT_CHECK(saved.size() == modules.expert_each.size(), "the selection must cover every MoE layer");
  const auto ranks = static_cast<std::int32_t>(written.size());
  for (std::size_t layer = 0; layer < saved.size(); ++layer) {
    for (const std::int32_t expert : saved[layer]) {
      Bytes& of_rank = written[index(expert_owner(expert, modules.experts, ranks))];
      of_rank = of_rank + modules.expert_each[layer];
    }
  }
}

// Modules by size descending, each to the rank with fewest bytes; returns the ranks and adds to `loads`.
std::vector<std::int32_t> deal_out(const std::vector<Bytes>& modules, std::vector<Bytes>& loads) {
  std::vector<std::size_t> order(modules.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return modules[a] > modules[b]; });
  using Load = std::pair<Bytes, std::int32_t>;  // and the rank
  std::vector<Load> ranks;
  ranks.reserve(loads.size());
  for (std::size_t rank = 0; rank < loads.size(); ++rank)
    ranks.emplace_back(loads[rank], static_cast<std::int32_t>(rank));
  std::priority_queue<Load, std::vector<Load>, std::greater<>> lightest(std::greater<>{}, std::move(ranks));
  std::vector<std::int32_t> writer(modules.size());
  for (const std::size_t module : order) {
    const auto [load, rank] = lightest.top();
    lightest.pop();
    writer[module] = rank;
    loads[index(rank)] = load + modules[module];
    lightest.emplace(loads[index(rank)], rank);
  }
  return writer;
}

SavedExperts all_experts(std::size_t layers, std::int32_t experts) {
  return select_sequential(layers, experts, {experts, experts}, 0);
}

}  // namespace

std::int32_t expert_owner(std::int32_t expert, std::int32_t experts, std::int32_t ranks) {
  return static_cast<std::int32_t>(std::int64_t{expert} * ranks / experts);
}

std::int32_t first_sequential(std::size_t layer, std::int32_t experts, std::int32_t persist,
                              std::int64_t checkpoint) {
  const std::int64_t turn = checkpoint % experts * persist % experts;
  return static_cast<std::int32_t>((turn + static_cast<std::int64_t>(layer)) % experts);
}

std::vector<std::int32_t> snapshot_offsets(std::int32_t experts, const PecLevels& k) {
  GOODPUT_CHECK(0 <= k.persist && k.persist <= k.snapshot && k.snapshot <= experts,
                "K must satisfy 0 <= K_persist <= K_snapshot <= experts");
  std::vector<std::int32_t> offsets;
  if (k.persist == 0) return offsets;
  const std::int64_t ring = ceil_div(experts, k.persist);  // blocks around it
  const std::int64_t blocks = ceil_div(k.snapshot, k.persist);
  for (std::int32_t i = 0; i < k.snapshot; ++i) {
    const std::int64_t block = i / k.persist * ring / blocks;
    offsets.push_back(static_cast<std::int32_t>(k.persist * block) + i % k.persist);
  }
  return offsets;
}

SavedExperts select_sequential(std::size_t layers, std::int32_t experts, const PecLevels& k,
                               std::int64_t checkpoint) {
  GOODPUT_CHECK(checkpoint >= 0, "checkpoints count from 0");
  SavedExperts saved(layers);
  if (experts == 0) return saved;
  const std::vector<std::int32_t> offsets = snapshot_offsets(experts, k);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::int64_t first = first_sequential(layer, experts, k.persist, checkpoint);
    for (const std::int32_t offset : offsets)
      saved[layer].push_back(static_cast<std::int32_t>((first + offset) % experts));
  }
  return saved;
}

std::int32_t rotation_length(std::int32_t experts, std::int32_t persist) {
  return experts == 0 ? 1 : experts / std::gcd(experts, persist);
}

std::int64_t load_aware_capacity(std::size_t layers, std::int32_t experts, std::int32_t k,
                                 std::int32_t ranks) {
  return ceil_div(static_cast<std::int64_t>(layers) * k, std::min(ranks, experts));
}

SavedExperts select_load_aware(const ExpertTokens& unsaved, std::int32_t k, std::int32_t ranks) {
  const std::size_t layers = unsaved.size();
  if (layers == 0) return {};
  const auto experts = static_cast<std::int32_t>(unsaved.front().size());
  GOODPUT_CHECK(k >= 1 && k <= experts, "K must be from 1 to the number of experts in a layer");
  if (k == experts) return all_experts(layers, experts);
  std::vector<std::int64_t> capacity(index(ranks), load_aware_capacity(layers, experts, k, ranks));
  SavedExperts saved(layers);
  std::vector<std::int32_t> order(index(experts));
  for (std::size_t layer = layers; layer-- > 0;) {
    const std::vector<std::int64_t>& tokens = unsaved[layer];
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return tokens[index(a)] > tokens[index(b)]; });
    for (const std::int32_t expert : order) {
      if (std::ssize(saved[layer]) == k || tokens[index(expert)] < 0) break;
      std::int64_t& left = capacity[index(expert_owner(expert, experts, ranks))];
      if (left == 0) continue;
      --left;
      saved[layer].push_back(expert);
    }
  }
  return saved;
}

CheckpointShards shard_checkpoint(const ModuleBytes& modules, const SavedExperts& saved, Sharding sharding,
                                  std::int32_t ranks) {
  GOODPUT_CHECK(ranks >= 1, "at least one rank must write");
  CheckpointShards shards;
  shards.written.assign(index(ranks), sharding == Sharding::kNone ? modules.dense_total() : Bytes{});
  if (sharding == Sharding::kEdps) shards.writer = deal_out(modules.dense, shards.written);
  add_experts(modules, saved, shards.written);
  if (sharding == Sharding::kAdps) shards.writer = deal_out(modules.dense, shards.written);
  return shards;
}

RankWrites rank_writes(const ModuleBytes& modules, const CheckpointSeries& series, std::int64_t checkpoints,
                       Sharding sharding, std::int32_t ranks) {
  GOODPUT_CHECK(checkpoints >= 1, "the mean needs at least one checkpoint");
  RankWrites writes;
  double sum = 0;
  for (std::int64_t checkpoint = 0; checkpoint < checkpoints; ++checkpoint) {
    for (const Bytes written : shard_checkpoint(modules, series(checkpoint), sharding, ranks).written) {
      writes.peak = std::max(writes.peak, written);
      sum += static_cast<double>(written.value);
    }
  }
  writes.mean_bytes = sum / static_cast<double>(checkpoints) / ranks;
  return writes;
}

RankWrites rotation_writes(const ModuleBytes& modules, const PecLevels& k, Sharding sharding,
                           std::int32_t ranks) {
  const auto sequential = [&](std::int64_t checkpoint) {
    return select_sequential(modules.expert_each.size(), modules.experts, k, checkpoint);
  };
  return rank_writes(modules, sequential, rotation_length(modules.experts, k.persist), sharding, ranks);
}

RankWrites full_rank_writes(const ModuleBytes& modules, std::int32_t ranks) {
  return rotation_writes(modules, {modules.experts, modules.experts}, Sharding::kNone, ranks);
}

double non_redundant_saving(const ModuleBytes& modules, std::int32_t k) {
  return 1 - modules.partial(k) / modules.total();
}

double per_rank_saving(const RankWrites& partial, const RankWrites& full, Sharding sharding) {
  return sharding == Sharding::kNone ? 1 - partial.mean_bytes / full.mean_bytes
                                     : 1 - partial.peak / full.peak;
}

}  // namespace goodput
