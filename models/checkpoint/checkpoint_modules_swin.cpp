#include <fmt/format.h>

#include <utility>

#include "models/checkpoint/checkpoint_modules.h"

namespace goodput {
namespace {

void add_block(const SwinShape& swin, std::size_t stage, std::int32_t block, CheckpointModel& table) {
  const std::string name = fmt::format("stages.{}.blocks.{}", stage, block);
  const SwinBlockParameters parameters = block_parameters(swin, stage);
  table.dense.push_back({name + ".attention", ModulePart::kAttention, parameters.attention});
  table.dense.push_back({name + ".attention_norm", ModulePart::kNorm, parameters.norm});
  if (swin.is_moe_block(stage, block)) {
    table.dense.push_back({name + ".gate", ModulePart::kGate, parameters.gate});
    table.expert_layers.push_back({name, parameters.ffn});
  } else {
    table.dense.push_back({name + ".ffn", ModulePart::kFfn, parameters.ffn});
  }
  table.dense.push_back({name + ".ffn_norm", ModulePart::kNorm, parameters.norm});
}

}  // namespace

CheckpointModel checkpoint_model(const SwinModel& model) {
  const SwinShape& swin = model.swin;
  CheckpointModel table;
  table.name = model.name;
  table.experts = swin.moe ? swin.moe->experts : 0;
  table.top_k = swin.moe ? swin.moe->top_k : 0;
  table.dense.push_back({"patch_embedding", ModulePart::kEmbedding, patch_parameters(swin)});
  for (std::size_t stage = 0; stage < swin.depths.size(); ++stage) {
    for (std::int32_t block = 0; block < swin.depths[stage]; ++block) add_block(swin, stage, block, table);
    if (stage + 1 == swin.depths.size()) break;
    table.dense.push_back(
        {fmt::format("stages.{}.merging", stage), ModulePart::kProjection, merging_parameters(swin, stage)});
  }
  const std::int64_t width = swin.width(swin.depths.size() - 1);
  table.dense.push_back({"final_norm", ModulePart::kNorm, 2 * width});
  if (swin.classes > 0) table.dense.push_back({"head", ModulePart::kHead, (width + 1) * swin.classes});
  return table;
}

}  // namespace goodput
