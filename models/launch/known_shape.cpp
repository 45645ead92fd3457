#include "models/launch/known_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "sim/base/json.h"
#include "sim/config/config.h"

namespace goodput::launch {
namespace {

bool has_same_sizes(const ModelShape& a, const ModelShape& b) {
  const auto experts = [](const ModelShape& model) { return model.moe ? model.moe->experts : 0; };
  return a.layers == b.layers && a.hidden == b.hidden && a.heads == b.heads && a.ffn == b.ffn &&
         experts(a) == experts(b);
}

Json written(ModelShape model) {
  Json json = Json::parse(config::write(config_fields(model)).dump());
  json["name"] = "";
  return json;
}

// "tied_head is true instead of false"
std::vector<std::string> differences(const Json& ours, const Json& theirs) {
  std::vector<std::string> result;
  for (const auto& [key, value] : theirs.items()) {
    const Json mine = ours.contains(key) ? ours.at(key) : Json(nullptr);
    if (mine != value)
      result.push_back(fmt::format("{} is {} instead of {}", key, mine.dump(), value.dump()));
  }
  return result;
}

}  // namespace

KnownShape known_shape(const ModelShape& model, const config::Library& library) {
  KnownShape known;
  const Json ours = written(model);
  for (const std::string& name : config::names_of(library, kModelFiles)) {
    const auto source = config::find(library, kModelFiles, name);
    if (!source) continue;
    const auto other = config::read<ModelShape>(source->file, library);
    if (!other || !has_same_sizes(model, *other)) continue;
    const std::vector<std::string> differ = differences(ours, written(*other));
    if (differ.empty()) return {other->name, {}, {}};
    known.nearest = name;
    known.difference =
        fmt::format("the model has the sizes of {} but differs: {}; check for a missing setting", other->name,
                    fmt::join(differ, ", "));
  }
  return known;
}

}  // namespace goodput::launch
