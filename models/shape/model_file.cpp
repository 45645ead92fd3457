#include "models/shape/model_file.h"

#include "sim/base/json.h"
#include "sim/config/json_file.h"

namespace goodput {
namespace {

template <typename Model>
Result<AnyModel> read_as(const Json& text, const std::string& path) {
  Model model;
  config::Place place{path, {}, {}};
  GOODPUT_TRY_STATUS(config::object(model).read(text, place));
  return AnyModel{std::move(model)};
}

}  // namespace

// Parsed once, so that a pipe will do.
Result<AnyModel> read_any_model(const std::string& path, const config::Library& library) {
  GOODPUT_TRY(const Json text, config::parse_file(path, library, kModelFiles));
  return text.contains("swin") ? read_as<SwinModel>(text, path) : read_as<ModelShape>(text, path);
}

}  // namespace goodput
