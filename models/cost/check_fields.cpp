// The fields of a block or step that ran on the machine.
#include "models/cost/calibration.h"
#include "models/cost/measured_times.h"
#include "models/cost/object_lists.h"
#include "models/cost/stated_values.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;
using measured::joined;

}  // namespace

Fields config_fields(BlockParams& params) {
  using stated::choice;
  using stated::count;
  return {
      {"model", Need::kOptional, stated::text(params.model), "model whose sizes the block has"},
      {"tokens", Need::kOptional, count(params.tokens), "number of tokens of the rank"},
      {"hidden", Need::kOptional, count(params.hidden), "number of values per token (hidden size)"},
      {"ffn", Need::kOptional, count(params.ffn), "number of values per token inside a layer or an expert"},
      {"heads", Need::kOptional, count(params.heads), "number of query heads"},
      {"kv_heads", Need::kOptional, count(params.kv_heads), "number of key and value heads"},
      {"head_dim", Need::kOptional, count(params.head_dim), "number of values per attention head"},
      {"tp", Need::kOptional, count(params.tp), "number of ranks that share the layer (tensor parallelism)"},
      {"experts", Need::kOptional, count(params.experts), "number of experts"},
      {"top_k", Need::kOptional, count(params.top_k), "number of experts per token"},
      {"ranks", Need::kOptional, count(params.ranks), "number of ranks that share the experts"},
      {"slots", Need::kOptional, count(params.slots), "number of expert replicas per rank"},
      {"loads", Need::kOptional, stated::text(params.loads), "name of the expert loads"},
      {"dispatch", Need::kOptional, choice(params.dispatch, kMeasuredDispatchNames),
       "whether rows of experts are padded to those of the fullest expert"},
      {"dtype", Need::kOptional, choice(params.dtype, kMeasuredTypeNames), "data type"},
      {"gated", Need::kOptional, stated::flag(params.is_gated), "whether the experts are gated (SwiGLU)"},
      {"load_ratio", Need::kOptional, count(params.load_ratio),
       "how many eighths of the tokens one of eight experts gets"},
      {"sustained", Need::kOptional, stated::flag(params.is_sustained),
       "whether the block ran back to back until the GPU clock settled"},
      {"expert_rows", Need::kOptional,
       stated::unless(params.expert_rows, {}, config::integers(params.expert_rows, 0)),
       "list of the rows that each expert of the rank computes, padding included"},
  };
}

Fields config_fields(MeasuredPart& part) {
  return {
      {"part", Need::kRequired, config::text(part.part), "name of the part"},
      {"backward", Need::kOptional, stated::flag(part.is_backward),
       "whether the part belongs to the backward pass (default: forward pass)"},
      {"median_us", Need::kRequired, config::number(part.median_us, config::at_least(0)),
       "median time of the part inside the block"},
  };
}

Fields config_fields(MeasuredCheck& check) {
  const Fields names = {
      {"name", Need::kRequired, config::text(check.name), "name of the block or training step"},
      {"block", Need::kOptional, stated::choice(check.block, kMeasuredBlockNames), "type of block"},
      {"params", Need::kOptional, stated::unless(check.params, BlockParams{}, config::object(check.params)),
       "sizes of the block"},
      {"source", Need::kOptional, stated::text(check.source), "program that ran the block or training step"}};
  const Fields parts = {{"parts", Need::kOptional, stated::objects(check.parts, "parts"),
                         "list of the block's parts in the order in which they ran"},
                        config::tier(check.tier)};
  return joined(joined(joined(names, measured::time_fields(check)),
                       measured::state_fields(check.sm_mhz, check.power_w, check.is_unsteady)),
                parts);
}

Status config_finish(MeasuredCheck& check) {
  return measured::check_times(check);
}

}  // namespace goodput
