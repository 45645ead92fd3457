// placement_pareto: balance against survival, by allocation and plan, on the published trace and on Zipf
// loads. Prints the tables of docs/validation.md.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "models/placement/gpu_slots.h"
#include "models/placement/survival.h"
#include "models/placement_search/place_experts.h"
#include "tests/support/placement_case.h"

namespace goodput::testing {
namespace {

struct Row {
  std::string_view name;
  Allocation allocation;
  PlacementRule plan;
};
constexpr Row kRows[] = {{"eq1 + mro", Allocation::kEq1, PlacementRule::kMro},
                         {"eplb + eplb", Allocation::kEplb, PlacementRule::kEplb},
                         {"eplb + mro", Allocation::kEplb, PlacementRule::kMro},
                         {"balanced + mro", Allocation::kBalanced, PlacementRule::kMro},
                         {"eq1 + best", Allocation::kEq1, PlacementRule::kBest},
                         {"balanced + best (default)", Allocation::kBalanced, PlacementRule::kBest}};
constexpr std::int32_t kFailures = 6;

struct Unevenness {
  double mean = 0;
  double most = 0;
};

// GPU max over mean, over layers.
Unevenness unevenness(const PlacedLayers& placed, std::int32_t gpus) {
  Unevenness over;
  for (const PlacedLayer& layer : placed.layers) {
    const double uneven = load_imbalance(layer.placement, layer.layer, gpus).gpu_max_over_mean;
    over.mean += uneven / static_cast<double>(placed.layers.size());
    over.most = std::max(over.most, uneven);
  }
  return over;
}

void print_table(std::string_view title, const LayerLoads& loads, const ExpertNodes& nodes) {
  fmt::print("\n{}\n\n| |", title);
  for (std::int32_t k = 1; k <= kFailures; ++k) fmt::print(" {} |", k);
  fmt::print(" GPU max/mean, mean | most |\n|---|");
  for (std::int32_t k = 0; k < kFailures + 2; ++k) fmt::print("---|");
  fmt::print("\n");
  for (const Row& row : kRows) {
    const auto placed = place_experts(loads, nodes, {row.allocation, row.plan, 2, {}});
    GOODPUT_CHECK(placed.has_value(), "experts fit into the slots");
    fmt::print("| {} |", row.name);
    for (const Survival& at : survival(deciding_sets(placements_of(placed->layers)), 1, kFailures)) {
      fmt::print(" {}{:.4f} |", at.method == SurvivalMethod::kExact ? "" : "~", at.probability);
    }
    const Unevenness uneven = unevenness(*placed, nodes.gpus);
    fmt::print(" {:.3f} | {:.3f} |\n", uneven.mean, uneven.most);
  }
}

void print_tables() {
  struct Published {
    std::string_view name;
    std::size_t experts;
  };
  for (const auto& [name, experts] :
       {Published{"GPT-S", 8}, Published{"GPT-M", 12}, Published{"GPT-L", 16}}) {
    const auto loads = published_loads(201, experts);
    if (!loads) {
      fmt::print("skipped: no shared data\n");
      break;
    }
    print_table(
        fmt::format("Trace, iteration 201, {} ({} experts), 12 layers, 10 nodes x 6 slots:", name, experts),
        *loads, {10, 6, 1});
  }
  for (const double skew : {0.5, 1.0, 1.5}) {
    print_table(fmt::format("Zipf s = {}, 16 experts, 4 layers, 12 nodes x 4 slots:", skew),
                zipf_loads({4, 16, skew, 1}), {12, 4, 1});
  }
  for (const double skew : {0.5, 1.0, 1.5}) {
    print_table(fmt::format("Zipf s = {}, 256 experts, a layer, 128 nodes x 32 slots, 8 GPUs a node:", skew),
                zipf_loads({1, 256, skew, 1}), {128, 32, 8});
  }
}

}  // namespace
}  // namespace goodput::testing

int main() {
  goodput::testing::print_tables();
}
