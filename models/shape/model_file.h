// A model file of any kind. Plans take decoders only; checkpoints and lists take all.
#pragma once

#include <string>
#include <variant>

#include "models/shape/model_shape.h"
#include "models/shape/swin_shape.h"
#include "sim/base/errors.h"

namespace goodput {

using AnyModel = std::variant<ModelShape, SwinModel>;

// configs/models/*.json: a file with "swin" is a Swin transformer, all others are decoders.
[[nodiscard]] Result<AnyModel> read_any_model(const std::string& path, const config::Library& library = {});

}  // namespace goodput
