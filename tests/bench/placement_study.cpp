// placement_study [NODES SLOTS EXPERTS [MOST]]: how often placements are optimal where maximum rank overlap
// is not known to be: truncated layers, whose best placement is found by trying all. Prints the table of
// docs/validation.md; a setting given on the command line is studied alone, on MOST of its vectors of
// replicas (every so many). Every vector where `best` falls short of a placement that is best at every number
// of failures is named on stderr.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "models/placement/placement_rules.h"
#include "models/placement_search/best_plan.h"
#include "models/placement_search/layer_search.h"
#include "tests/reference/placement_enumeration.h"

namespace goodput::testing {
namespace {

using reference::SurvivalOptimum;
using reference::SurvivedSets;

struct Setting {
  SlotGrid grid{};
  std::int32_t experts = 0;
  std::size_t most = 1000;  // vectors of replicas
};

constexpr std::int32_t kMostSlots = 36;
constexpr std::size_t kMostVectors = 250;
constexpr std::int64_t kMostTried =
    5'000'000;  // partial placements, before a vector is left out: some seconds

struct Score {
  std::size_t vectors = 0;
  std::size_t mro = 0;
  std::size_t first_plans = 0;
  std::size_t best = 0;
  std::size_t not_at_once = 0;  // no placement is best at every k
  std::size_t unfinished = 0;   // left out
  double lowest = 1;            // what `best` survives over what can be, at the worst k
  void add(const Score& other) {
    vectors += other.vectors;
    mro += other.mro;
    first_plans += other.first_plans;
    best += other.best;
    not_at_once += other.not_at_once;
    unfinished += other.unfinished;
    lowest = std::min(lowest, other.lowest);
  }
};

SurvivedSets survived(const ExpertPlacement& placement) {
  std::vector<std::uint32_t> nodes_of(static_cast<std::size_t>(placement.experts));
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    for (const std::int32_t e : placement.node(n)) nodes_of[static_cast<std::size_t>(e)] |= 1U << n;
  }
  return reference::survived_sets(nodes_of, placement.nodes);
}

double worst_share(const SurvivedSets& of, const SurvivedSets& most) {
  double worst = 1;
  for (std::size_t k = 0; k < of.size(); ++k) {
    if (most[k] > 0) worst = std::min(worst, static_cast<double>(of[k]) / static_cast<double>(most[k]));
  }
  return worst;
}

void study(const LayerDemand& layer, const SlotGrid& grid, Score& score) {
  const SurvivedSets best = survived(place_best({&layer, 1}, grid).front());
  const auto tried =
      reference::try_classes_of_nodes(layer.replicas, grid.nodes, grid.slots, best, kMostTried);
  if (!tried) {
    ++score.unfinished;
    return;
  }
  const SurvivalOptimum& optimum = *tried;
  const auto is_optimal = [&](const ExpertPlacement& plan) { return survived(plan) == optimum.most; };
  ++score.vectors;
  score.mro += is_optimal(place_mro(layer, grid)) ? 1 : 0;
  score.first_plans += std::ranges::any_of(starting_plans(layer, grid), is_optimal) ? 1 : 0;
  score.best += best == optimum.most ? 1 : 0;
  score.not_at_once += optimum.at_every_k_at_once ? 0 : 1;
  score.lowest = std::min(score.lowest, worst_share(best, optimum.most));
  if (best == optimum.most) return;
  fmt::print(stderr, "{} nodes x {} slots, replicas {}: best {}, possible {}{}\n", grid.nodes, grid.slots,
             fmt::join(layer.replicas, ","), fmt::join(best, " "), fmt::join(optimum.most, " "),
             optimum.at_every_k_at_once ? " AT ONCE" : ", not at once");
}

std::vector<LayerDemand> truncated_layers(const Setting& setting) {
  std::vector<LayerDemand> layers;
  const auto total = static_cast<std::int32_t>(setting.grid.total());
  for (auto& replicas : reference::replica_vectors(setting.experts, total, 1)) {
    LayerDemand layer{std::move(replicas), {}};
    if (!is_untruncated(layer, setting.grid)) layers.push_back(std::move(layer));
  }
  if (layers.size() <= setting.most) return layers;
  std::vector<LayerDemand> some;
  for (std::size_t i = 0; i < setting.most; ++i) some.push_back(layers[i * layers.size() / setting.most]);
  return some;
}

void print_row(std::string_view name, const Score& score) {
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {:.3f} |\n", name, score.vectors, score.mro,
             score.first_plans, score.best, score.not_at_once, score.unfinished, score.lowest);
  std::fflush(stdout);
}

Score study(const Setting& setting) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Score score;
  for (const LayerDemand& layer : truncated_layers(setting)) study(layer, setting.grid, score);
  if (score.vectors + score.unfinished == 0) return score;
  print_row(fmt::format("{} {} {}", setting.grid.nodes, setting.grid.slots, setting.experts), score);
  fmt::print(stderr, "{:.1f} s\n", std::chrono::duration<double>(Clock::now() - start).count());
  return score;
}

std::vector<Setting> settings(std::span<char* const> arguments) {
  if (arguments.size() >= 3) {
    Setting one{{std::atoi(arguments[0]), std::atoi(arguments[1])}, std::atoi(arguments[2])};
    if (arguments.size() > 3) one.most = static_cast<std::size_t>(std::atoi(arguments[3]));
    return {one};
  }
  std::vector<Setting> all;
  for (std::int32_t nodes = 4; nodes <= 10; ++nodes) {
    for (std::int32_t slots = 2; slots <= 5; ++slots) {
      if (nodes * slots <= 12 || nodes * slots > kMostSlots) continue;
      for (std::int32_t experts = slots + 1; experts <= 9; ++experts) {
        if (experts % slots != 0) all.push_back({{nodes, slots}, experts, kMostVectors});
      }
    }
  }
  return all;
}

}  // namespace
}  // namespace goodput::testing

int main(int argc, char** argv) {
  using namespace goodput::testing;  // NOLINT(google-build-using-namespace)
  fmt::print(
      "| nodes, slots, experts | replica vectors | MRO optimal | first plans | best | none at every k | "
      "left out | lowest |\n|---|---|---|---|---|---|---|---|\n");
  Score all;
  for (const Setting& setting : settings(std::span(argv, static_cast<std::size_t>(argc)).subspan(1))) {
    all.add(study(setting));
  }
  print_row("all", all);
}
