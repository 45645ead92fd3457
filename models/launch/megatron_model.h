// Megatron-Core's settings of a model and its layout, under Megatron-LM's names: "num_layers". Megatron-LM's
// arguments, NeMo's YAML and Megatron-Bridge's YAML all come to these.
#pragma once

#include <string_view>

#include "models/launch/launch_draft.h"
#include "models/launch/settings.h"
#include "sim/base/errors.h"

namespace goodput::launch {

// How the frameworks on top of Megatron-Core differ.
struct MegatronDialect {
  std::string_view name;        // "Megatron-LM"
  bool has_default_ffn = true;  // four times the width, unless the file says otherwise
  bool is_deepspeed = false;    // Megatron-DeepSpeed
  // Whether num_query_groups takes effect only with group_query_attention.
  bool asks_for_groups = false;
  bool has_gpt2_tokenizer = false;  // unless the file names another
  // Whether settings that are absent have the framework's defaults; otherwise they are a recipe's.
  bool has_defaults = true;
};

// REQUIRES: the draft has what the user names as the base.
Status read_megatron_model(Settings& settings, const MegatronDialect& dialect, LaunchDraft& draft);
// REQUIRES: read_megatron_model() before, and /gpus where it is known.
Status read_megatron_layout(Settings& settings, const MegatronDialect& dialect, LaunchDraft& draft);

}  // namespace goodput::launch
