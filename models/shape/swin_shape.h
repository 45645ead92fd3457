// The shape of a Swin transformer V2, with or without experts (Liu et al., arXiv 2111.09883; its mixture of
// experts: Tutel, arXiv 2206.03382): what determines its parameters.
//
// A hierarchy of stages: each halves the resolution and doubles the width of the one before. Only
// checkpoints know it; plans, costs and memory take decoders (models/shape/model_shape.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config.h"

namespace goodput {

struct SwinMoe {
  std::int32_t experts = 0;
  std::int32_t top_k = 1;
  std::vector<std::int32_t> stages{};  // that have experts, ascending
  std::int32_t first_block = 1;        // of such a stage, in place of whose FFN they are
  std::int32_t block_step = 2;         // from there on every block_step-th
};

struct SwinShape {
  std::int32_t channels = 3;           // of an image
  std::int32_t patch = 4;              // its side, in pixels
  std::int32_t hidden = 0;             // of the first stage
  std::vector<std::int32_t> depths{};  // blocks of every stage
  std::vector<std::int32_t> heads{};   // of every stage
  std::int32_t ffn_ratio = 4;          // hidden size of an FFN, or of an expert, in widths of its stage
  std::int32_t position_hidden = 512;  // of the small network that yields the positions' biases
  std::int32_t classes = 0;            // of the head
  std::optional<SwinMoe> moe{};

  [[nodiscard]] std::int64_t width(std::size_t stage) const { return std::int64_t{hidden} << stage; }
  [[nodiscard]] std::int32_t blocks() const;
  [[nodiscard]] bool is_moe_block(std::size_t stage, std::int32_t block) const;
};

struct SwinModel {
  std::string name{};
  SwinShape swin{};
};

// Numbers of parameters of a block of a stage.
struct SwinBlockParameters {
  std::int64_t attention = 0;  // with scales of the heads and the positions' network
  std::int64_t norm = 0;       // each of two
  std::int64_t ffn = 0;        // the dense one, or one expert
  std::int64_t gate = 0;       // of a block with experts
};
[[nodiscard]] SwinBlockParameters block_parameters(const SwinShape& swin, std::size_t stage);

// The projection of patches to the first width; merging of four patches behind a stage; each with its norm.
[[nodiscard]] std::int64_t patch_parameters(const SwinShape& swin);
[[nodiscard]] std::int64_t merging_parameters(const SwinShape& swin, std::size_t stage);

[[nodiscard]] config::Fields config_fields(SwinModel& model);
[[nodiscard]] config::Fields config_fields(SwinShape& swin);
[[nodiscard]] config::Fields config_fields(SwinMoe& moe);
[[nodiscard]] Status config_finish(SwinShape& swin);

}  // namespace goodput
