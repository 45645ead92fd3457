#include "models/launch/launch_readback.h"

#include <string>

#include "models/launch/launch_draft.h"
#include "models/stack/software_stack.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/config.h"

namespace goodput::launch {
namespace {

// {"model": {...}, "parallel": {...}}
Json draft_object(const LaunchDraft& draft) {
  Json object = {{"model", {{"name", "imported"}}}, {"parallel", Json::object()}};
  for (const auto& [pointer, value] : draft.values()) {
    if (!pointer.starts_with("/model/") && !pointer.starts_with("/parallel/")) continue;
    Json* into = &object;
    for (const std::string_view key : split(std::string_view(pointer).substr(1), '/'))
      into = &(*into)[std::string(key)];
    *into = Json::parse(value.json);
  }
  return object;
}

}  // namespace

Result<TrainingPlan> read_back(const LaunchText& launch, const TrainingPlan& plan) {
  const LaunchFormat* format = format_of(launch);
  GOODPUT_CHECK(format != nullptr, "an export in a format that can be imported");
  LaunchDraft draft;
  LaunchOptions options;
  options.library = &plan.library;
  GOODPUT_TRY_STATUS(format->read(launch, options, draft));
  GOODPUT_TRY(const auto replicas, draft.replicas());
  if (replicas && !draft.has("/parallel/dp"))
    draft.derive("/parallel/dp", std::to_string(*replicas), "GPUs / (tp x pp x cp)");
  const Json object = draft_object(draft);
  TrainingPlan read = plan;
  read.model = {};
  read.parallel = {};
  read.parallel_keys.clear();
  for (const auto& [key, value] : object.at("parallel").items()) read.parallel_keys.insert(key);
  GOODPUT_TRY(const auto of_model,
              config::read_object(object.at("model"), config::access(read.model), plan.library, {}));
  GOODPUT_TRY(const auto of_parallel,
              config::read_object(object.at("parallel"), config::access(read.parallel), plan.library, {}));
  if (const DraftValue* stack = draft.find("/stack")) {
    const auto name = Json::parse(stack->json).get<std::string>();
    GOODPUT_TRY(const config::Source source, config::find(plan.library, kStackFiles, name));
    GOODPUT_TRY(const SoftwareStack software, read_stack(source.file, plan.library));
    use_stack(read, software);
  }
  return read;
}

}  // namespace goodput::launch
