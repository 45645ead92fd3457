#include "models/launch/named_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "models/plan/training_plan.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "sim/config/json_file.h"

namespace goodput::launch {
namespace {

// Every value of an object by its pointer. Lists are values.
template <typename Take>
Status for_each_value(const OrderedJson& object, const std::string& pointer, const Take& take) {
  for (const auto& [key, value] : object.items()) {
    const std::string below = fmt::format("{}/{}", pointer, key);
    if (value.is_object())
      GOODPUT_TRY_STATUS(for_each_value(value, below, take));
    else
      GOODPUT_TRY_STATUS(take(below, value.dump()));
  }
  return Ok{};
}

Status use_shape(const ModelShape& model, const std::string& origin, LaunchDraft& draft) {
  ModelShape copy = model;
  const OrderedJson written = config::write(config_fields(copy));
  draft.title = model.name;
  return for_each_value(written, "/model", [&](const std::string& pointer, std::string json) -> Status {
    if (pointer == "/model/name") return Ok{};
    draft.set(pointer, std::move(json), origin, Basis::kBase);
    return Ok{};
  });
}

}  // namespace

Status state_named_model(const std::string& name, const Setting& by, const config::Library& library,
                         LaunchDraft& draft) {
  const Result<config::Source> source = config::find(library, kModelFiles, name);
  if (!source) {
    Error unknown = by.error(fmt::format("goodput has no model {}; describe it in a model file and give {}",
                                         name.substr(name.find(':') + 1), kOption));
    return std::move(unknown).of_option("model");
  }
  GOODPUT_TRY(const ModelShape model, config::read<ModelShape>(source->file, library));
  if (!draft.fixed_model.empty()) {
    const DraftValue* hidden = draft.find("/model/hidden");
    const bool agrees = draft.integer("/model/layers") == model.layers && hidden != nullptr &&
                        draft.integer("/model/hidden") == model.hidden;
    return agrees ? Status(Ok{}) : by.error(fmt::format("contradicts {}", draft.fixed_model));
  }
  draft.model_name = std::filesystem::path(source->file).stem().string();
  GOODPUT_TRY_STATUS(use_shape(model, origin_of(by), draft));
  draft.fix_model(fmt::format("the model {}", draft.model_name));
  return Ok{};
}

Status use_model(const ModelShape& model, const std::string& name, LaunchDraft& draft) {
  GOODPUT_TRY_STATUS(use_shape(model, fmt::format("the model {}", name), draft));
  draft.fix_model(fmt::format("the model {}", name));
  return Ok{};
}

Status use_recipe(const std::string& file, const std::string& name, const config::Library& library,
                  LaunchDraft& draft) {
  GOODPUT_TRY(TrainingPlan plan, read_training_plan(file, library));
  GOODPUT_TRY(const Json text, config::parse_file(file));
  const std::string origin = fmt::format("the recipe {}", name);
  GOODPUT_TRY_STATUS(use_shape(plan.model, origin, draft));
  draft.set("/gpus", std::to_string(plan.parallel.gpus()), origin, Basis::kBase);
  OrderedJson parallel = config::write(config_fields(plan.parallel));
  const Status set =
      for_each_value(parallel, "/parallel", [&](const std::string& pointer, std::string json) -> Status {
        const std::string key = pointer.substr(pointer.rfind('/') + 1);
        if (key != "dp" && plan.parallel_keys.contains(key))
          draft.set(pointer, std::move(json), origin, Basis::kBase);
        return Ok{};
      });
  GOODPUT_TRY_STATUS(set);
  if (text.contains("stack")) draft.set("/stack", text.at("stack").dump(), origin, Basis::kBase);
  if (text.contains("model") && text.at("model").is_string())
    draft.model_name = text.at("model").get<std::string>();
  return Ok{};
}

}  // namespace goodput::launch
