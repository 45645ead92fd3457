#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/json.h"
#include "tools/checkpoint/checkpoint_report.h"
#include "tools/cli/json_result.h"

namespace goodput {
namespace {

void add_run(const CheckpointRunReport& report, OrderedJson& json) {
  const auto& [run, costs, recommended, assumed] = report;
  json["interval_steps"] = run.interval;
  json["save"] = kSaveModeNames[static_cast<std::size_t>(run.mode)];
  json["snapshot_s"] = to_seconds(costs.times.snapshot);
  json["persist_s"] = to_seconds(costs.times.persist);
  json["save_s"] = to_seconds(costs.stall);
  json["least_interval_steps"] = costs.least_interval;
  json["mean_interval_steps"] = costs.mean_interval;
  json["recommended"] = nullptr;
  if (recommended)
    json["recommended"] = {{"snapshot_k", recommended->snapshot}, {"pec_k", recommended->persist}};
  json["o_ckpt_s"] = costs.overhead.total_s();
  json["o_ckpt_parts_s"] = {{"save", costs.overhead.save_s},
                            {"restart", costs.overhead.restart_s},
                            {"lost", costs.overhead.lost_s}};
  json["plt"] = costs.loss.plt;
  json["faults"] = OrderedJson::array();
  for (std::size_t i = 0; i < costs.loss.faults.size(); ++i) {
    const FaultLoss& fault = costs.loss.faults[i];
    OrderedJson entry = {{"step", fault.fault.step}};
    entry["ranks"] = fault.fault.ranks ? OrderedJson(*fault.fault.ranks) : OrderedJson();
    entry["recovered_step"] = fault.recovered_step;
    entry["tokens_lost"] = fault.tokens_lost;
    entry["storage_bytes"] = costs.restores[i].reads.storage.value;
    entry["restore_s"] = to_seconds(costs.restores[i].time);
    entry["pec_k_after"] = fault.k_after.persist;
    entry["snapshot_k_after"] = fault.k_after.snapshot;
    json["faults"].push_back(std::move(entry));
  }
  json["assumed"] = OrderedJson::object();
  for (const auto& [option, value] : assumed) {
    std::string key(option);
    std::replace(key.begin(), key.end(), '-', '_');
    json["assumed"][key] = value;
  }
}

OrderedJson modules_json(const CheckpointModel& model, const ModuleBytes& bytes) {
  OrderedJson modules = OrderedJson::array();
  const auto add = [&](std::string name, std::int64_t parameters, Bytes size) {
    modules.push_back({{"name", std::move(name)}, {"parameters", parameters}, {"bytes", size.value}});
  };
  for (std::size_t i = 0; i < model.dense.size(); ++i)
    add(model.dense[i].name, model.dense[i].parameters, bytes.dense[i]);
  for (std::size_t layer = 0; layer < model.expert_layers.size(); ++layer) {
    const ExpertLayer& experts = model.expert_layers[layer];
    for (std::int32_t expert = 0; expert < model.experts; ++expert)
      add(experts.expert_name(expert), experts.parameters, bytes.expert_each[layer]);
  }
  return modules;
}

}  // namespace

void add_checkpoint_json(const CheckpointReport& report, OrderedJson& json) {
  const PartialCheckpoint& checkpoint = report.checkpoint;
  json["model"] = report.model.name;
  json["parameters"] = report.model.parameters();
  json["bytes_per_parameter"] = report.bytes_per_parameter;
  json["total_bytes"] = report.bytes.total().value;
  json["dense_bytes"] = dense_counterpart(report.model, report.bytes).value;
  json["non_expert_bytes"] = report.bytes.dense_total().value;
  json["expert_bytes"] = report.bytes.one_expert().value;
  json["experts"] = report.model.experts;
  json["moe_layers"] = report.model.expert_layers.size();
  json["pec_k"] = checkpoint.k.persist;
  json["snapshot_k"] = checkpoint.k.snapshot;
  json["selection"] = kExpertSelectionNames[static_cast<std::size_t>(checkpoint.selection)];
  json["ranks"] = checkpoint.ranks;
  json["sharding"] = kShardingNames[static_cast<std::size_t>(checkpoint.sharding)];
  json["pec_bytes"] = report.bytes.partial(checkpoint.k.persist).value;
  json["non_redundant_saving"] = non_redundant_saving(report.bytes, checkpoint.k.persist);
  json["per_rank_saving"] = per_rank_saving(report.partial, report.full, checkpoint.sharding);
  json["per_rank_max_bytes"] = report.partial.peak.value;
  json["per_rank_mean_bytes"] = report.partial.mean_bytes;
  json["per_rank_full_bytes"] = report.full.peak.value;
  if (report.run) add_run(*report.run, json);
  json["modules"] = modules_json(report.model, report.bytes);
}

}  // namespace goodput
