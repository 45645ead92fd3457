// Which experts a partial checkpoint saves and which rank writes what, against Partial Experts Checkpoint
// (arXiv 2408.04307), against bounds that hold for every model, and against exhaustive search on small ones.
#include "models/checkpoint/partial_checkpoint.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "sim/base/random.h"

namespace goodput {
namespace {

constexpr Sharding kShardings[] = {Sharding::kNone, Sharding::kEdps, Sharding::kAdps};

ModuleBytes gpt2_moe_small() {
  const Result<AnyModel> model = read_any_model(GOODPUT_CONFIGS "/models/gpt2-moe-small.json");
  REQUIRE(model);
  return module_bytes(*checkpoint_model(*model), 12);
}

double percent(double share, double digits) {
  return std::round(100 * digits * share) / digits;
}

std::int32_t draw(RandomStream& random, std::int32_t least, std::int32_t most) {
  return least + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

ModuleBytes random_modules(RandomStream& random) {
  ModuleBytes modules;
  modules.experts = draw(random, 1, 16);
  modules.dense.resize(random.below(30));
  modules.expert_each.resize(1 + random.below(8));
  for (Bytes& size : modules.dense) size = Bytes{draw(random, 0, 1000)};
  for (Bytes& size : modules.expert_each) size = Bytes{draw(random, 1, 300)};
  return modules;
}

ExpertTokens random_tokens(RandomStream& random, const ModuleBytes& modules) {
  ExpertTokens tokens(modules.expert_each.size());
  for (auto& layer : tokens) {
    for (std::int32_t expert = 0; expert < modules.experts; ++expert) layer.push_back(draw(random, 0, 20));
  }
  return tokens;
}

Bytes sum(const std::vector<Bytes>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Bytes{});
}

// The least that the fullest of `ranks` can have, by trying every assignment.
Bytes best_peak(const std::vector<Bytes>& modules, std::size_t next, std::vector<Bytes>& loads) {
  if (next == modules.size()) return *std::max_element(loads.begin(), loads.end());
  Bytes best = sum(modules);
  for (Bytes& load : loads) {
    const Bytes before = load;
    load = load + modules[next];
    best = std::min(best, best_peak(modules, next + 1, loads));
    load = before;
  }
  return best;
}

}  // namespace

TEST_CASE("pec: one of eight experts saves 54.25 % of GPT2-MoE-Small's checkpoint") {
  // 7 E / (NE + 8 E) with E = 340,015,104 and NE = 1,667,205,120 bytes; the paper prints 54.2 %.
  const ModuleBytes modules = gpt2_moe_small();
  CHECK(non_redundant_saving(modules, 1) ==
        doctest::Approx(7 * 340'015'104. / 4'387'325'952.).epsilon(1e-14));
  CHECK(percent(non_redundant_saving(modules, 1), 100) == 54.25);
  CHECK(non_redundant_saving(modules, 8) == 0);
}

TEST_CASE("pec: without sharding a rank of eight saves 14.8 % on average, with ADPS the heaviest 76.92 %") {
  const ModuleBytes modules = gpt2_moe_small();
  const RankWrites full = full_rank_writes(modules, 8);
  CHECK(full.peak == Bytes{1'667'205'120 + 340'015'104});  // everything else and its own experts
  CHECK(full.mean_bytes == 2'007'220'224);

  const RankWrites unsharded = rotation_writes(modules, {1, 1}, Sharding::kNone, 8);
  // In eight checkpoints every rank writes each of its six experts once: 7/8 of E less.
  CHECK(unsharded.mean_bytes == 1'667'205'120 + 340'015'104 / 8.);
  CHECK(percent(per_rank_saving(unsharded, full, Sharding::kNone), 10) == 14.8);
  // Never two of a rank's six at once: sequential selection sets layers one expert apart.
  CHECK(unsharded.peak == Bytes{1'667'205'120 + 340'015'104 / 6});

  const RankWrites adaptive = rotation_writes(modules, {1, 1}, Sharding::kAdps, 8);
  CHECK(adaptive.peak == Bytes{463'168'512});  // the embedding alone
  CHECK(percent(per_rank_saving(adaptive, full, Sharding::kAdps), 100) == 76.92);
}

TEST_CASE("pec: the heaviest rank writes 10.9 % less with ADPS than with EDPS") {
  const ModuleBytes modules = gpt2_moe_small();
  const RankWrites equal = rotation_writes(modules, {1, 1}, Sharding::kEdps, 8);
  const RankWrites adaptive = rotation_writes(modules, {1, 1}, Sharding::kAdps, 8);
  CHECK(equal.peak == Bytes{463'168'512 + 340'015'104 / 6});  // the embedding's rank has an expert's turn too
  CHECK(percent(1 - adaptive.peak / equal.peak, 10) == 10.9);
}

TEST_CASE("pec: expert e belongs to rank floor(e R / E)") {
  const auto owners = [](std::int32_t experts, std::int32_t ranks) {
    std::vector<std::int32_t> result;
    for (std::int32_t expert = 0; expert < experts; ++expert)
      result.push_back(expert_owner(expert, experts, ranks));
    return result;
  };
  CHECK(owners(8, 8) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(owners(8, 3) == std::vector<std::int32_t>{0, 0, 0, 1, 1, 1, 2, 2});
  CHECK(owners(3, 6) == std::vector<std::int32_t>{0, 2, 4});
  CHECK(owners(4, 1) == std::vector<std::int32_t>{0, 0, 0, 0});
}

TEST_CASE("pec: a snapshot holds the experts that are persisted, and others evenly around the ring") {
  CHECK(snapshot_offsets(8, {1, 1}) == std::vector<std::int32_t>{0});
  CHECK(snapshot_offsets(8, {4, 1}) == std::vector<std::int32_t>{0, 2, 4, 6});
  CHECK(snapshot_offsets(8, {3, 1}) == std::vector<std::int32_t>{0, 2, 5});        // 0, 8/3, 16/3
  CHECK(snapshot_offsets(8, {4, 2}) == std::vector<std::int32_t>{0, 1, 4, 5});     // blocks of two
  CHECK(snapshot_offsets(8, {5, 2}) == std::vector<std::int32_t>{0, 1, 2, 3, 4});  // of blocks 0, 1, 2
  CHECK(snapshot_offsets(8, {8, 3}) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  // Checkpoint 1 persists expert 1 of layer 0 and 2 of layer 1.
  CHECK(select_sequential(2, 8, {2, 1}, 1) == SavedExperts{{1, 5}, {2, 6}});
  for (std::int32_t experts = 1; experts <= 20; ++experts) {
    for (std::int32_t snapshot = 1; snapshot <= experts; ++snapshot) {
      for (std::int32_t persist = 1; persist <= snapshot; ++persist) {
        CAPTURE(experts);
        CAPTURE(snapshot);
        CAPTURE(persist);
        const std::vector<std::int32_t> offsets = snapshot_offsets(experts, {snapshot, persist});
        const std::set<std::int32_t> once(offsets.begin(), offsets.end());
        REQUIRE(std::ssize(once) == snapshot);
        CHECK(*once.begin() == 0);
        CHECK(*once.rbegin() < experts);
        for (std::int32_t i = 0; i < persist; ++i) CHECK(offsets[static_cast<std::size_t>(i)] == i);
      }
    }
  }
}

TEST_CASE("pec: copies in memory are equally old where blocks fit evenly") {
  // 8 experts, K = 4 and 1: every expert is copied at every second checkpoint, also without being persisted.
  for (std::int32_t expert = 0; expert < 8; ++expert) {
    std::vector<std::int64_t> copied;
    for (std::int64_t checkpoint = 0; checkpoint < 8; ++checkpoint) {
      const std::vector<std::int32_t> saved = select_sequential(1, 8, {4, 1}, checkpoint)[0];
      if (std::find(saved.begin(), saved.end(), expert) != saved.end()) copied.push_back(checkpoint);
    }
    CHECK(copied.size() == 4);
    for (std::size_t i = 1; i < copied.size(); ++i) CHECK(copied[i] - copied[i - 1] == 2);
  }
}

TEST_CASE("pec: sequential selection sets each layer one expert ahead") {
  CHECK(select_sequential(3, 4, {2, 2}, 0) == SavedExperts{{0, 1}, {1, 2}, {2, 3}});
  CHECK(select_sequential(3, 4, {2, 2}, 1) == SavedExperts{{2, 3}, {3, 0}, {0, 1}});
  CHECK(select_sequential(3, 4, {2, 2}, 2) == select_sequential(3, 4, {2, 2}, 0));
  CHECK(rotation_length(4, 2) == 2);
  CHECK(rotation_length(8, 3) == 8);
  CHECK(rotation_length(8, 6) == 4);
}

TEST_CASE("pec: ceil(E / K) sequential checkpoints in a row save every expert of every layer") {
  for (std::int32_t experts = 1; experts <= 12; ++experts) {
    for (std::int32_t k = 1; k <= experts; ++k) {
      for (const std::int64_t first : {std::int64_t{0}, std::int64_t{5}, std::int64_t{1} << 40}) {
        std::vector<std::set<std::int32_t>> saved(3);
        for (std::int64_t i = 0; i < (experts + k - 1) / k; ++i) {
          const SavedExperts now = select_sequential(3, experts, {k, k}, first + i);
          for (std::size_t layer = 0; layer < 3; ++layer) {
            CHECK(std::set(now[layer].begin(), now[layer].end()).size() == static_cast<std::size_t>(k));
            saved[layer].insert(now[layer].begin(), now[layer].end());
          }
        }
        for (const auto& layer : saved) CHECK(layer.size() == static_cast<std::size_t>(experts));
      }
    }
  }
}

TEST_CASE("pec: load-aware selection takes the most unsaved tokens, while their rank has capacity") {
  // Two layers, four experts on two ranks {0, 1} and {2, 3}, K = 1: one expert a rank. The last layer chooses
  // first: 1. The first layer would take 0, on the same rank; it gets 3.
  CHECK(load_aware_capacity(2, 4, 1, 2) == 1);
  CHECK(select_load_aware({{9, 0, 5, 7}, {1, 8, 2, 2}}, 1, 2) == SavedExperts{{3}, {1}});
  // Of equals the lower id.
  CHECK(select_load_aware({{5, 5, 5, 5}}, 2, 1) == SavedExperts{{0, 1}});
  // All at once need no capacity: ceil(1 * 3 / 2) = 2 would leave out one of rank 0's three experts.
  CHECK(select_load_aware({{0, 0, 0, 0, 0}}, 5, 2) == SavedExperts{{0, 1, 2, 3, 4}});
}

TEST_CASE("pec: a rank never saves more than the load-aware capacity, and no layer more than K") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "load-aware");
    const ModuleBytes modules = random_modules(random);
    const std::int32_t k = draw(random, 1, modules.experts);
    const std::int32_t ranks = draw(random, 1, 20);
    const std::size_t layers = modules.expert_each.size();
    const ExpertTokens tokens = random_tokens(random, modules);
    const SavedExperts saved = select_load_aware(tokens, k, ranks);
    std::vector<std::int64_t> by_rank(static_cast<std::size_t>(ranks));
    for (std::size_t layer = 0; layer < layers; ++layer) {
      CHECK(std::ssize(saved[layer]) <= k);
      CHECK(std::set(saved[layer].begin(), saved[layer].end()).size() == saved[layer].size());
      for (const std::int32_t expert : saved[layer])
        ++by_rank[static_cast<std::size_t>(expert_owner(expert, modules.experts, ranks))];
    }
    const std::int64_t capacity = load_aware_capacity(layers, modules.experts, k, ranks);
    if (k < modules.experts) CHECK(*std::max_element(by_rank.begin(), by_rank.end()) <= capacity);
    // The last layer chooses freely where a rank can take K of its experts.
    if (capacity >= k) {
      std::vector<std::int64_t> sorted = tokens.back();
      std::sort(sorted.rbegin(), sorted.rend());
      std::vector<std::int64_t> chosen;
      for (const std::int32_t expert : saved.back())
        chosen.push_back(tokens.back()[static_cast<std::size_t>(expert)]);
      std::sort(chosen.rbegin(), chosen.rend());
      sorted.resize(static_cast<std::size_t>(k));
      CHECK(chosen == sorted);
    }
  }
}

TEST_CASE("pec: shards hold every module once, and every expert that is saved") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "shards");
    const ModuleBytes modules = random_modules(random);
    const std::int32_t k = draw(random, 0, modules.experts);
    const std::int32_t ranks = draw(random, 1, 20);
    const SavedExperts saved =
        select_sequential(modules.expert_each.size(), modules.experts, {k, k}, draw(random, 0, 99));
    for (const Sharding sharding : kShardings) {
      const CheckpointShards shards = shard_checkpoint(modules, saved, sharding, ranks);
      REQUIRE(std::ssize(shards.written) == ranks);
      if (sharding == Sharding::kNone) {
        CHECK(sum(shards.written) == ranks * modules.dense_total() + k * modules.one_expert());
        continue;
      }
      CHECK(sum(shards.written) == modules.partial(k));
      // Written again from who writes what.
      REQUIRE(shards.writer.size() == modules.dense.size());
      std::vector<Bytes> written(static_cast<std::size_t>(ranks));
      const auto add = [&](std::int32_t rank, Bytes size) {
        Bytes& load = written.at(static_cast<std::size_t>(rank));
        load = load + size;
      };
      for (std::size_t i = 0; i < modules.dense.size(); ++i) add(shards.writer[i], modules.dense[i]);
      for (std::size_t layer = 0; layer < saved.size(); ++layer) {
        for (const std::int32_t expert : saved[layer])
          add(expert_owner(expert, modules.experts, ranks), modules.expert_each[layer]);
      }
      CHECK(written == shards.written);
    }
  }
}

TEST_CASE("pec: ADPS stays within the bound of list scheduling") {
  // A module goes to the rank with least, which has at most the mean of all else: (total - module) / R. So
  // the peak is that of the experts alone or at most total / R + (1 - 1/R) x the largest module.
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "bound");
    const ModuleBytes modules = random_modules(random);
    const std::int32_t k = draw(random, 1, modules.experts);
    const std::int32_t ranks = draw(random, 1, 20);
    const SavedExperts saved = select_sequential(modules.expert_each.size(), modules.experts, {k, k}, 3);
    ModuleBytes experts_only = modules;
    experts_only.dense.clear();
    const auto peak = [&](const ModuleBytes& of, Sharding sharding) {
      const std::vector<Bytes> written = shard_checkpoint(of, saved, sharding, ranks).written;
      return static_cast<double>(std::max_element(written.begin(), written.end())->value);
    };
    const auto largest =
        modules.dense.empty() ? Bytes{} : *std::max_element(modules.dense.begin(), modules.dense.end());
    const auto total = static_cast<double>(modules.partial(k).value);
    const double bound = total / ranks + (1 - 1. / ranks) * static_cast<double>(largest.value);
    const double adaptive = peak(modules, Sharding::kAdps);
    CHECK(adaptive <= std::max(peak(experts_only, Sharding::kAdps), bound) + 1e-6);
    // What no sharding of whole modules can beat.
    CHECK(adaptive >= std::max(peak(experts_only, Sharding::kAdps), static_cast<double>(largest.value)));
    CHECK(adaptive >= total / ranks - 1e-6);
    CHECK(peak(modules, Sharding::kEdps) >= total / ranks - 1e-6);
    CHECK(peak(modules, Sharding::kNone) >= adaptive);
  }
}

TEST_CASE("pec: dealing out by size is within 4/3 of the best there is") {
  // Graham 1969: largest first on R machines takes at most 4/3 - 1/(3R) of the optimum, here by trying all.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "graham");
    ModuleBytes modules;
    for (int i = 0; i < 7; ++i) modules.dense.push_back(Bytes{draw(random, 1, 60)});
    const std::int32_t ranks = draw(random, 1, 4);
    std::vector<Bytes> loads(static_cast<std::size_t>(ranks));
    const auto best = static_cast<double>(best_peak(modules.dense, 0, loads).value);
    for (const Sharding sharding : {Sharding::kEdps, Sharding::kAdps}) {
      const RankWrites writes = rotation_writes(modules, {0, 0}, sharding, ranks);
      CHECK(static_cast<double>(writes.peak.value) >= best);
      CHECK(static_cast<double>(writes.peak.value) <= (4. / 3 - 1 / (3. * ranks)) * best + 1e-9);
    }
  }
}

TEST_CASE("pec: on one rank nothing but the experts left out is saved") {
  const ModuleBytes modules = gpt2_moe_small();
  for (const Sharding sharding : kShardings) {
    CHECK(rotation_writes(modules, {3, 3}, sharding, 1).peak == modules.partial(3));
    const RankWrites full = full_rank_writes(modules, 1);
    const double saving = per_rank_saving(rotation_writes(modules, {3, 3}, sharding, 1), full, sharding);
    CHECK(saving == doctest::Approx(non_redundant_saving(modules, 3)).epsilon(1e-14));
  }
}

}  // namespace goodput
