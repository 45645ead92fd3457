#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tools/placement/placement_report.h"

namespace goodput {
namespace {

constexpr std::int32_t kMaxNodes = 32;  // in a picture; of more the first and the last are shown
constexpr std::int32_t kMaxSlots = 24;  // of a node
constexpr int kBarWidth = 40;
constexpr std::size_t kMaxLayers = 32;

std::string describe_choice(const PlacementReport& report) {
  const PlacementRequest& request = report.request;
  const std::size_t experts = request.layers.front().experts.size();
  std::string text = fmt::format("Placed {} experts", experts);
  if (stays_in_groups(request)) text += fmt::format(" in {} groups", request.choice.expert_groups);
  text += fmt::format(" on {} nodes x {} slots", request.nodes.nodes, request.nodes.slots);
  if (request.nodes.gpus > 1) text += fmt::format(" ({} GPUs per node)", request.nodes.gpus);
  if (request.from_trace) text += fmt::format(", {} layers", request.layers.size());
  return text + fmt::format(", with at least {} replica{} each.\n", report.placed.min_replicas,
                            report.placed.min_replicas == 1 ? "" : "s");
}

// A row a node, a number a slot: the expert.
std::string picture(const ExpertPlacement& placement, const std::vector<std::int32_t>& experts) {
  const std::size_t width = std::to_string(experts.back()).size();
  const std::size_t node_width = std::to_string(placement.nodes - 1).size();
  const std::int32_t shown = std::min(placement.slots, kMaxSlots);
  std::string text;
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    if (placement.nodes > kMaxNodes && n == kMaxNodes / 2) {
      n = placement.nodes - kMaxNodes / 2;
      text += fmt::format("  ... {} more nodes\n", placement.nodes - kMaxNodes);
    }
    text += fmt::format("  node {:>{}} |", n, node_width);
    for (const std::int32_t e : placement.node(n).first(static_cast<std::size_t>(shown))) {
      text += fmt::format(" {:>{}}", experts[static_cast<std::size_t>(e)], width);
    }
    text += shown < placement.slots ? fmt::format(" ... {} more\n", placement.slots - shown) : "\n";
  }
  return text;
}

std::string count_replicas(std::vector<std::int32_t> replicas) {
  std::sort(replicas.begin(), replicas.end());
  return fmt::format("{} to {}, median {}", replicas.front(), replicas.back(), replicas[replicas.size() / 2]);
}

std::string describe_layers(const PlacementReport& report) {
  std::string text = fmt::format("{:>7}  {:<24} {:>13} {:>13}\n", "layer", "replicas per expert",
                                 "node max/mean", "GPU max/mean");
  for (std::size_t l = 0; l < std::min(report.placed.layers.size(), kMaxLayers); ++l) {
    text += fmt::format("{:>7}  {:<24}", report.request.layers[l].layer,
                        count_replicas(report.placed.layers[l].layer.replicas));
    const std::optional<LoadImbalance>& balance = report.balance[l];
    text += balance ? fmt::format(" {:>13.3f} {:>13.3f}\n", balance->node_max_over_mean,
                                  balance->gpu_max_over_mean)
                    : "             -             -\n";
  }
  if (report.placed.layers.size() > kMaxLayers) {
    text += fmt::format("    ... {} more layers\n", report.placed.layers.size() - kMaxLayers);
  }
  return text;
}

std::string survival_curve(const PlacementReport& report) {
  std::string text = "nodes lost  survives\n";
  for (const Survival& s : report.survival) {
    const auto full = static_cast<int>(std::lround(kBarWidth * s.probability));
    std::string bar;
    for (int i = 0; i < full; ++i) bar += "█";
    const double bound = report.bound[static_cast<std::size_t>(s.failures)];
    text += fmt::format("{:>10}  {:>7.3f} % {:<{}}", s.failures, 100 * s.probability, bar, kBarWidth);
    if (s.method == SurvivalMethod::kMonteCarlo) {
      text += fmt::format(" 95 % confidence: {:.3f} to {:.3f}", 100 * s.low, 100 * s.high);
    } else if (s.probability < bound - 5e-6) {
      text += fmt::format(" bound {:.3f} %", 100 * bound);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

bool meets_bound(const PlacementReport& report) {
  return std::all_of(report.survival.begin(), report.survival.end(), [&](const Survival& s) {
    return s.method == SurvivalMethod::kExact &&
           s.probability >= report.bound[static_cast<std::size_t>(s.failures)] - kSameProbability;
  });
}

std::string describe_proof(const PlacementReport& report) {
  if (report.proven) {
    return "Proven optimal: no placement of these replicas survives more often, however many nodes fail.\n";
  }
  return meets_bound(report) ? "No other placement of these replicas survives these failures more often.\n"
                             : "Not proven optimal; no placement of these replicas can exceed the bound.\n";
}

}  // namespace

std::string placement_text(const PlacementReport& report) {
  std::string text = describe_choice(report);
  const RequestedLayer& first = report.request.layers.front();
  text += report.placed.layers.size() > 1 ? fmt::format("\nLayer {}: expert in each slot\n", first.layer)
                                          : "\nExpert in each slot\n";
  text += picture(report.placed.layers.front().placement, first.experts) + "\n";
  text += describe_layers(report) + "\n" + survival_curve(report) + describe_proof(report);
  return text;
}

}  // namespace goodput
