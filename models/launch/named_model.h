// Models and recipes of the library as the base of a draft.
#pragma once

#include <string>

#include "models/launch/launch_draft.h"
#include "models/launch/settings.h"
#include "models/shape/model_shape.h"
#include "sim/base/errors.h"
#include "sim/config/library.h"

namespace goodput::launch {

// The model that a launch file names, by a name or an alias of the library's: "torchtitan:llama3:70B".
Status state_named_model(const std::string& name, const Setting& by, const config::Library& library,
                         LaunchDraft& draft);

// Takes the model that the user names. What files state of it later must agree (LaunchDraft::fix_model).
Status use_model(const ModelShape& model, const std::string& name, LaunchDraft& draft);

// A plan of the library, without its number of replicas; its GPUs where the draft has none.
Status use_recipe(const std::string& file, const std::string& name, const config::Library& library,
                  LaunchDraft& draft);

}  // namespace goodput::launch
