#include "models/shape/swin_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/shape/model_shape.h"

namespace goodput {
namespace {

using config::Need;

constexpr std::int64_t kMostSwinWidth = 100'000;
constexpr std::int64_t kMostBlocks = 10'000;
constexpr std::size_t kMostStages = 8;

Status check_stages(const SwinShape& swin) {
  if (swin.depths.empty() || swin.depths.size() > kMostStages)
    return Error{fmt::format("must have 1 to {} stages, not {}", kMostStages, swin.depths.size()),
                 {.pointer = "/depths"}};
  if (swin.heads.size() != swin.depths.size()) {
    return Error{fmt::format("has {} entries, but must have one for each of the {} stages", swin.heads.size(),
                             swin.depths.size()),
                 {.pointer = "/heads"}};
  }
  for (std::size_t stage = 0; stage < swin.heads.size(); ++stage) {
    if (swin.width(stage) % swin.heads[stage] == 0) continue;
    return Error{fmt::format("is {}, which does not divide the stage's width ({})", swin.heads[stage],
                             swin.width(stage)),
                 {.pointer = fmt::format("/heads/{}", stage)}};
  }
  return Ok{};
}

Status check_moe(const SwinShape& swin, const SwinMoe& moe) {
  if (moe.top_k > moe.experts)
    return Error{fmt::format("must be at most the number of experts ({}), not {}", moe.experts, moe.top_k),
                 {.pointer = "/moe/top_k"}};
  const auto stages = static_cast<std::int32_t>(swin.depths.size());
  for (std::size_t i = 0; i < moe.stages.size(); ++i) {
    if (moe.stages[i] < stages && (i == 0 || moe.stages[i] > moe.stages[i - 1])) continue;
    return Error{fmt::format("is {}; stages must be in ascending order and below {}", moe.stages[i], stages),
                 {.pointer = fmt::format("/moe/stages/{}", i)}};
  }
  for (std::size_t i = 0; i < moe.stages.size(); ++i) {
    const std::int32_t depth = swin.depths[static_cast<std::size_t>(moe.stages[i])];
    if (moe.first_block < depth) continue;
    return Error{fmt::format("is {}, but this stage has only {} blocks and first_block is {}", moe.stages[i],
                             depth, moe.first_block),
                 {.pointer = fmt::format("/moe/stages/{}", i)}};
  }
  if (moe.stages.empty())
    return Error{"is empty; remove \"moe\" if no block has experts", {.pointer = "/moe/stages"}};
  return Ok{};
}

// An upper bound: every block as wide as the last, with experts.
double parameters_at_most(const SwinShape& swin) {
  const double width = swin.hidden * std::exp2(static_cast<double>(swin.depths.size()));
  const double ffns = swin.moe ? swin.moe->experts : 1;
  const double positions = width * (swin.position_hidden + 3.0);
  return swin.blocks() * (width * width * (8 + 3.0 * swin.ffn_ratio * ffns) + positions) +
         width * (swin.classes + 1.0 * swin.channels * swin.patch * swin.patch);
}

}  // namespace

std::int32_t SwinShape::blocks() const {
  return std::accumulate(depths.begin(), depths.end(), 0);
}

bool SwinShape::is_moe_block(std::size_t stage, std::int32_t block) const {
  if (!moe || !std::binary_search(moe->stages.begin(), moe->stages.end(), static_cast<std::int32_t>(stage)))
    return false;
  return block >= moe->first_block && (block - moe->first_block) % moe->block_step == 0;
}

// Queries and values have biases, keys have none; a learned temperature a head; the biases of positions come
// from a network 2 -> position_hidden -> heads, without a bias at its end.
SwinBlockParameters block_parameters(const SwinShape& swin, std::size_t stage) {
  const std::int64_t width = swin.width(stage);
  const std::int64_t heads = swin.heads[stage];
  const std::int64_t ffn = swin.ffn_ratio * width;
  SwinBlockParameters block;
  block.attention = 4 * width * width + 3 * width + heads + std::int64_t{3} * swin.position_hidden +
                    heads * swin.position_hidden;
  block.norm = 2 * width;
  block.ffn = 2 * width * ffn + ffn + width;
  block.gate = swin.moe ? width * swin.moe->experts : 0;
  return block;
}

std::int64_t patch_parameters(const SwinShape& swin) {
  const std::int64_t width = swin.hidden;
  return std::int64_t{swin.channels} * swin.patch * swin.patch * width + width + 2 * width;
}

// Four patches side by side, to twice the width, without a bias.
std::int64_t merging_parameters(const SwinShape& swin, std::size_t stage) {
  const std::int64_t width = swin.width(stage);
  return 8 * width * width + 4 * width;
}

config::Fields config_fields(SwinMoe& moe) {
  return {
      {"experts", Need::kRequired, config::integer(moe.experts, 1, 65'536), "number of experts per block"},
      {"top_k", Need::kRequired, config::integer(moe.top_k, 1, 65'536),
       "number of experts that each token is sent to"},
      {"stages", Need::kRequired, config::integers(moe.stages, 0, static_cast<std::int64_t>(kMostStages) - 1),
       "list of stages that have experts, counted from 0"},
      {"first_block", Need::kOptional, config::integer(moe.first_block, 0, kMostBlocks),
       "first block with experts in each of the stages, counted from 0"},
      {"block_step", Need::kOptional, config::integer(moe.block_step, 1, kMostBlocks),
       "every block_step-th block from first_block on has experts"},
  };
}

config::Fields config_fields(SwinShape& swin) {
  return {
      {"channels", Need::kOptional, config::integer(swin.channels, 1, 1000),
       "number of channels of an image"},
      {"patch", Need::kOptional, config::integer(swin.patch, 1, 1000), "side of a patch in pixels"},
      {"hidden", Need::kRequired, config::integer(swin.hidden, 1, kMostSwinWidth),
       "width of the first stage; each later stage is twice as wide as the previous stage"},
      {"depths", Need::kRequired, config::integers(swin.depths, 1, kMostBlocks),
       "list of the number of blocks in each stage"},
      {"heads", Need::kRequired, config::integers(swin.heads, 1, kMostSwinWidth),
       "list of the number of attention heads in each stage"},
      {"ffn_ratio", Need::kOptional, config::integer(swin.ffn_ratio, 1, 1000),
       "hidden size of an FFN or expert as a multiple of the stage's width"},
      {"position_hidden", Need::kOptional, config::integer(swin.position_hidden, 1, kMostSwinWidth),
       "hidden size of the network that computes the position biases"},
      {"classes", Need::kRequired, config::integer(swin.classes, 0, 100'000'000),
       "number of classes; 0: no classification head"},
      {"moe", Need::kOptional, config::object(swin.moe), "mixture of experts that replaces FFNs"},
  };
}

config::Fields config_fields(SwinModel& model) {
  return {
      {"name", Need::kRequired, config::text(model.name), "name for reports"},
      {"swin", Need::kRequired, config::object(model.swin), "shape of the Swin transformer"},
  };
}

Status config_finish(SwinShape& swin) {
  GOODPUT_TRY_STATUS(check_stages(swin));
  if (swin.moe) GOODPUT_TRY_STATUS(check_moe(swin, *swin.moe));
  if (parameters_at_most(swin) > kMostParameters)
    return Error{"the model would have more than 1e16 parameters; reduce its depths or widths",
                 {.pointer = "/depths"}};
  return Ok{};
}

}  // namespace goodput
