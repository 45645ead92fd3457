#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/placement/placement_report.h"

namespace goodput {
namespace {

using Json = nlohmann::ordered_json;

// [[expert, ...] a row], in the trace's numbers.
Json rows_json(const ExpertPlacement& placement, const std::vector<std::int32_t>& experts) {
  Json rows = Json::array();
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    Json row = Json::array();
    for (const std::int32_t e : placement.node(n)) row.push_back(experts[static_cast<std::size_t>(e)]);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json imbalance_json(const std::optional<LoadImbalance>& balance) {
  if (!balance) return nullptr;
  return {{"node_max_over_mean", balance->node_max_over_mean},
          {"gpu_max_over_mean", balance->gpu_max_over_mean}};
}

void add_slots(const PlacementReport& report, std::size_t l, Json& json) {
  const PlacedLayer& placed = report.placed.layers[l];
  const std::vector<std::int32_t>& experts = report.request.layers[l].experts;
  json["replicas"] = placed.layer.replicas;
  json["nodes"] = rows_json(placed.placement, experts);
  if (report.request.nodes.gpus > 1) {
    json["gpus"] =
        rows_json(split_over_gpus(placed.placement, placed.layer, report.request.nodes.gpus), experts);
  }
}

Json layer_json(const PlacementReport& report, std::size_t l) {
  Json json = {{"layer", report.request.layers[l].layer}, {"experts", report.request.layers[l].experts}};
  add_slots(report, l, json);
  json["balance"] = imbalance_json(report.balance[l]);
  return json;
}

}  // namespace

void add_placement_json(const PlacementReport& report, Json& json) {
  const bool sampled = std::any_of(report.survival.begin(), report.survival.end(),
                                   [](const Survival& s) { return s.method == SurvivalMethod::kMonteCarlo; });
  if (report.placed.layers.size() == 1) add_slots(report, 0, json);
  if (report.request.from_trace) {
    json["layers"] = Json::array();
    for (std::size_t l = 0; l < report.placed.layers.size(); ++l)
      json["layers"].push_back(layer_json(report, l));
  }
  Json survival = Json::object();
  Json bound = Json::object();
  Json intervals = Json::object();
  for (const Survival& s : report.survival) {
    const std::string k = std::to_string(s.failures);
    survival[k] = s.probability;
    bound[k] = report.bound[static_cast<std::size_t>(s.failures)];
    if (s.method == SurvivalMethod::kMonteCarlo) intervals[k] = {s.low, s.high};
  }
  json["survival"] = std::move(survival);
  json["survival_bound"] = std::move(bound);
  json["method"] = sampled ? "monte_carlo" : "exact";
  json["ci"] = sampled ? std::move(intervals) : Json(nullptr);
  json["optimal"] = report.proven ? "proven" : "best_found";
  json["balance"] = imbalance_json(worst_imbalance(report));
  json["min_replicas_used"] = report.placed.min_replicas;
}

}  // namespace goodput
