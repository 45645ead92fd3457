#include <algorithm>
#include <string>

#include "sim/base/json.h"
#include "tools/placement/placement_report.h"

namespace goodput {
namespace {

// [[expert, ...] a row], in the trace's numbers.
OrderedJson rows_json(const ExpertPlacement& placement, const std::vector<std::int32_t>& experts) {
  OrderedJson rows = OrderedJson::array();
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    OrderedJson row = OrderedJson::array();
    for (const std::int32_t e : placement.node(n)) row.push_back(experts[static_cast<std::size_t>(e)]);
    rows.push_back(std::move(row));
  }
  return rows;
}

OrderedJson imbalance_json(const std::optional<LoadImbalance>& balance) {
  if (!balance) return nullptr;
  return {{"node_max_over_mean", balance->node_max_over_mean},
          {"gpu_max_over_mean", balance->gpu_max_over_mean}};
}

void add_slots(const PlacementReport& report, std::size_t l, OrderedJson& json) {
  const PlacedLayer& placed = report.placed.layers[l];
  const std::vector<std::int32_t>& experts = report.request.layers[l].experts;
  json["replicas"] = placed.layer.replicas;
  json["nodes"] = rows_json(placed.placement, experts);
  if (report.request.nodes.gpus > 1) {
    json["gpus"] =
        rows_json(split_over_gpus(placed.placement, placed.layer, report.request.nodes.gpus), experts);
  }
}

OrderedJson layer_json(const PlacementReport& report, std::size_t l) {
  OrderedJson json = {{"layer", report.request.layers[l].layer},
                      {"experts", report.request.layers[l].experts}};
  add_slots(report, l, json);
  json["balance"] = imbalance_json(report.balance[l]);
  return json;
}

OrderedJson repeated_json(const RepeatedSlots& repeated, const PlacementRequest& request) {
  const RequestedLayer& layer = request.layers[repeated.layer];
  return {{"slots", repeated.slots},
          {"first",
           {{"layer", layer.layer},
            {"gpu", repeated.gpu},
            {"expert", layer.experts[static_cast<std::size_t>(repeated.expert)]}}}};
}

}  // namespace

void add_placement_json(const PlacementReport& report, OrderedJson& json) {
  const PlacementRequest& request = report.request;
  const bool sampled = std::any_of(report.survival.begin(), report.survival.end(),
                                   [](const Survival& s) { return s.method == SurvivalMethod::kMonteCarlo; });
  if (report.placed.layers.size() == 1) add_slots(report, 0, json);
  if (report.request.from_trace) {
    json["layers"] = OrderedJson::array();
    for (std::size_t l = 0; l < report.placed.layers.size(); ++l)
      json["layers"].push_back(layer_json(report, l));
  }
  OrderedJson survival = OrderedJson::object();
  OrderedJson bound = OrderedJson::object();
  OrderedJson intervals = OrderedJson::object();
  for (const Survival& s : report.survival) {
    const std::string k = std::to_string(s.failures);
    survival[k] = s.probability;
    bound[k] = report.bound[static_cast<std::size_t>(s.failures)];
    if (s.method == SurvivalMethod::kMonteCarlo) intervals[k] = {s.low, s.high};
  }
  json["survival"] = std::move(survival);
  json["survival_bound"] = std::move(bound);
  json["method"] = sampled ? "monte_carlo" : "exact";
  json["ci"] = sampled ? std::move(intervals) : OrderedJson(nullptr);
  json["optimal"] = report.proven ? "proven" : "best_found";
  json["balance"] = imbalance_json(worst_imbalance(report));
  json["min_replicas_used"] = report.placed.min_replicas;
  if (request.choice.expert_groups > 1) {
    json["expert_groups"] = {{"groups", request.choice.expert_groups},
                             {"stay_on_one_node", stays_in_groups(request)}};
  }
  if (report.repeated) json["repeated_slots"] = repeated_json(*report.repeated, request);
}

}  // namespace goodput
