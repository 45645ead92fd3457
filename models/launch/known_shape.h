// Which model of the library a shape is, or nearly is: launch files that forget an argument describe another
// model than their authors believe.
#pragma once

#include <string>

#include "models/shape/model_shape.h"
#include "sim/config/library.h"

namespace goodput::launch {

struct KnownShape {
  std::string same{};        // name of the model that is equal
  std::string nearest{};     // file name of the one that has the same sizes and differs otherwise
  std::string difference{};  // "the model has the sizes of Llama 3 70B but differs: tied_head is true ..."
};

// Models that cannot be read are passed over.
[[nodiscard]] KnownShape known_shape(const ModelShape& model, const config::Library& library);

}  // namespace goodput::launch
