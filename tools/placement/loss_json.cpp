#include <map>
#include <utility>

#include "sim/base/json.h"
#include "tools/placement/loss_report.h"

namespace goodput {
namespace {

OrderedJson time_json(const TimeRange& time) {
  return {{"min", to_seconds(time.least)}, {"max", to_seconds(time.most)}};
}

OrderedJson range_json(const LossSpread::Range& range) {
  return {{"min", range.least}, {"mean", range.mean}, {"max", range.most}};
}

// [{from, to, experts, dense}], ascending.
OrderedJson moves_json(const Migration& migration) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::int64_t, bool>> moves;
  for (const ExpertTransfer& move : migration.moves.transfers) ++moves[{move.from, move.to}].first;
  for (const DenseTransfer& move : migration.dense) moves[{move.from, move.to}].second = true;
  OrderedJson json = OrderedJson::array();
  for (const auto& [nodes, what] : moves) {
    json.push_back(
        {{"from", nodes.first}, {"to", nodes.second}, {"experts", what.first}, {"dense_state", what.second}});
  }
  return json;
}

OrderedJson lost_json(const LossReport& report) {
  std::map<std::pair<std::int32_t, std::int32_t>, bool> seen;
  OrderedJson json = OrderedJson::array();
  for (const ExpertRestore& restore : report.migration->moves.from_checkpoint) {
    if (!seen.try_emplace({restore.layer, restore.expert}, true).second) continue;
    const auto layer = static_cast<std::size_t>(restore.layer);
    json.push_back({{"layer", report.layers[layer]},
                    {"expert", report.experts[layer][static_cast<std::size_t>(restore.expert)]}});
  }
  return json;
}

void add_one_loss(const LossReport& report, OrderedJson& json) {
  const Migration& migration = *report.migration;
  const ReconfigurationTiming& timing = report.request.timing;
  const TimeRange plan{timing.moves.plan, timing.moves.plan};
  const TimeRange transfer{report.transfer, report.transfer};
  const bool survives = migration.moves.from_checkpoint.empty();
  json["lost"] = report.request.lost;
  json["survives"] = survives;
  json["lost_experts"] = lost_json(report);
  json["places"] = survives ? OrderedJson(migration.placed.node_ids) : OrderedJson(nullptr);
  json["experts_moved"] = survives ? OrderedJson(migration.newly_assigned) : OrderedJson(nullptr);
  json["moves"] = survives ? moves_json(migration) : OrderedJson(nullptr);
  json["time_s"] = nullptr;
  if (!survives || !report.request.bytes) return;
  json["time_s"] = {{"detect", time_json(timing.detect)},
                    {"regroup", time_json(timing.regroup)},
                    {"plan", to_seconds(timing.moves.plan)},
                    {"transfer", to_seconds(report.transfer)},
                    {"total", time_json(until_regrouped(timing) + plan + transfer)}};
}

void add_many_losses(const LossReport& report, OrderedJson& json) {
  const LossSpread& spread = *report.spread;
  const bool has_times = report.request.bytes && spread.survived > 0;
  json["sets"] = spread.sets;
  json["sets_sampled"] = spread.is_sampled;
  json["sets_survived"] = spread.survived;
  json["experts_moved"] = spread.survived > 0 ? range_json(spread.experts) : OrderedJson(nullptr);
  json["transfer_s"] = has_times ? range_json(spread.transfer_s) : OrderedJson(nullptr);
  json["total_s"] = has_times ? range_json(total_seconds(report)) : OrderedJson(nullptr);
}

}  // namespace

OrderedJson loss_json(const LossReport& report) {
  const LossRequest& request = report.request;
  OrderedJson json = {{"nodes_lost", request.lose},
                      {"nodes_joined", request.joined},
                      {"nodes_after", report.nodes_after},
                      {"mapping", kMappingRuleNames[static_cast<std::size_t>(request.mapping)]},
                      {"overlap", request.timing.overlap},
                      {"expert_bytes", nullptr},
                      {"dense_bytes", nullptr},
                      {"min_replicas_used", report.min_replicas}};
  if (request.bytes) {
    json["expert_bytes"] = request.bytes->expert.value;
    json["dense_bytes"] = request.timing.dense_state ? request.bytes->dense.value : 0;
  }
  if (report.migration) {
    add_one_loss(report, json);
  } else {
    add_many_losses(report, json);
  }
  return json;
}

}  // namespace goodput
