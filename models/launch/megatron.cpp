// Megatron-LM and Megatron-DeepSpeed: a launch script, an argument file, or the YAML of a functional test.
#include <string>
#include <utility>

#include "models/launch/launch_format.h"
#include "models/launch/megatron_arguments.h"
#include "models/launch/megatron_model.h"
#include "models/launch/structured_text.h"

namespace goodput::launch {
namespace {

constexpr std::string_view kTestSection = "MODEL_ARGS.";

bool is_megatron(const LaunchText& launch) {
  return !launch.is_json() && has_megatron_arguments(launch.text);
}

bool is_test_config(const LaunchText& launch) {
  return launch.text.find("MODEL_ARGS:") != std::string::npos;
}

// MODEL_ARGS: {--num-layers: 12} of Megatron-LM's functional tests.
Result<MegatronArguments> read_test_config(const LaunchText& launch) {
  GOODPUT_TRY(const Settings yaml, yaml_settings(launch.text, launch.file));
  MegatronArguments arguments{Settings(launch.file)};
  for (Setting setting : yaml.all()) {
    if (!setting.key.starts_with(kTestSection)) continue;
    setting.key.erase(0, kTestSection.size());
    if (!setting.key.starts_with("--")) continue;
    setting.key.erase(0, 2);
    for (char& c : setting.key)
      if (c == '-') c = '_';
    arguments.settings.add(std::move(setting));
  }
  return arguments;
}

bool is_deepspeed_run(const Settings& settings) {
  return settings.has("deepspeed") || settings.has("deepspeed_config") || settings.has("zero_stage");
}

Status read_megatron(const LaunchText& launch, const LaunchOptions& options, LaunchDraft& draft) {
  GOODPUT_TRY(MegatronArguments arguments,
              is_test_config(launch)
                  ? read_test_config(launch)
                  : read_megatron_arguments(launch.text, launch.file, options.environment));
  Settings& settings = arguments.settings;
  draft.warnings.insert(draft.warnings.end(), arguments.warnings.begin(), arguments.warnings.end());
  const bool uses_deepspeed = is_deepspeed_run(settings);
  const MegatronDialect dialect{.name = uses_deepspeed ? "Megatron-DeepSpeed" : "Megatron-LM",
                                .has_default_ffn = true,
                                .is_deepspeed = uses_deepspeed,
                                .asks_for_groups = true,
                                .has_gpt2_tokenizer = true,
                                .has_defaults = true};
  if (arguments.gpus && (!draft.has("/gpus") || draft.find("/gpus")->basis != Basis::kOption))
    GOODPUT_TRY_STATUS(draft.state_integer("/gpus", &*arguments.gpus));
  if (const Setting* config = settings.find("deepspeed_config"); config != nullptr)
    draft.warn(*config, "import this file together with the script: it has ZeRO, precision and batch");
  GOODPUT_TRY_STATUS(read_megatron_model(settings, dialect, draft));
  GOODPUT_TRY_STATUS(read_megatron_layout(settings, dialect, draft));
  explain_unused(settings, draft);
  draft.has_default_batch = true;
  draft.assume("/stack", json_text(uses_deepspeed ? "megatron-2022" : "nemo"),
               uses_deepspeed ? "Megatron-DeepSpeed's kernels" : "Megatron-Core's kernels");
  return Ok{};
}

}  // namespace

LaunchFormat launch_format_megatron() {
  return {.name = "megatron",
          .title = "Megatron-LM arguments",
          .summary = "shell script or argument file of Megatron-LM: model, layout, batch",
          .describes_model_only = false,
          .matches = is_megatron,
          .read = read_megatron};
}

}  // namespace goodput::launch
