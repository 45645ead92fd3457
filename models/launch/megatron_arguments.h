// The arguments of Megatron-LM in a shell script, an argument file or the YAML of its functional tests, as
// settings by name: --num-layers 80 is "num_layers".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "models/launch/launch_draft.h"
#include "models/launch/settings.h"
#include "sim/base/errors.h"

namespace goodput::launch {

struct MegatronArguments {
  Settings settings;
  // GPUs that the launcher (torchrun, srun, deepspeed, mpirun, #SBATCH) asks for; none: it does not say.
  std::optional<Setting> gpus{};
  std::vector<LaunchWarning> warnings{};
};

// Whether the text passes any of Megatron-LM's arguments for the shape of a model.
[[nodiscard]] bool has_megatron_arguments(std::string_view text);

// `environment`: shell variables that are set outside. Errors: no command, or several, with such arguments.
Result<MegatronArguments> read_megatron_arguments(const std::string& text, const std::string& file,
                                                  const std::map<std::string, std::string>& environment);

// Sorts the settings that nobody read. Those that change the model, its layout, precision or memory become
// warnings, and so do those that Megatron-LM does not have. All others go to the draft's `ignored`.
void explain_unused(const Settings& settings, LaunchDraft& draft);

}  // namespace goodput::launch
