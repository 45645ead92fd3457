#include "models/launch/export_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/launch/effective_plan.h"
#include "models/launch/launch_readback.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/config/config.h"

namespace goodput::launch {
namespace {

const Registry<LaunchExport>& registry() {
  static const Registry<LaunchExport> exports{
#define GOODPUT_LAUNCH_EXPORT(name) launch_export_##name(),
#include "models/launch/launch_exports.def"
#undef GOODPUT_LAUNCH_EXPORT
  };
  return exports;
}

// Values of a key in the plan and in what its launch file means; null: the key is not set.
struct Difference {
  std::string pointer;
  OrderedJson ours;
  OrderedJson theirs;
};

std::optional<Difference> first_difference(const OrderedJson& ours, const OrderedJson& theirs,
                                           const std::string& pointer) {
  const auto at = [](const OrderedJson& object, const std::string& key) {
    return object.contains(key) ? object.at(key) : OrderedJson();
  };
  const auto compare = [&](const std::string& key) -> std::optional<Difference> {
    const OrderedJson a = at(ours, key);
    const OrderedJson b = at(theirs, key);
    const std::string below = pointer + "/" + key;
    if (a.is_object() && b.is_object()) return first_difference(a, b, below);
    if (a == b) return std::nullopt;
    return Difference{below, a, b};
  };
  for (const auto& [key, value] : ours.items()) {
    if (auto difference = compare(key)) return difference;
  }
  for (const auto& [key, value] : theirs.items()) {
    if (auto difference = compare(key)) return difference;
  }
  return std::nullopt;
}

OrderedJson comparable(TrainingPlan plan) {
  plan = effective(std::move(plan));
  OrderedJson json = {{"model", config::write(config_fields(plan.model))},
                      {"parallel", config::write(config_fields(plan.parallel))}};
  json["model"].erase("name");
  return json;
}

Error not_expressed(const TrainingPlan& plan, const Difference& difference, std::string_view title) {
  const auto& [pointer, ours, theirs] = difference;
  const std::string value = ours.is_null()     ? "is not set"
                            : ours.is_object() ? "is set"
                                               : fmt::format("is {}", ours.dump());
  const std::string meaning = theirs.is_null()     ? "leaves it unset"
                              : theirs.is_object() ? "sets it"
                                                   : fmt::format("means {}", theirs.dump());
  const bool can_change = pointer.starts_with("/parallel/") && !theirs.is_null();
  return plan.error(
      pointer,
      fmt::format("{}, which {} cannot express: its launch file {}; {}export to another format", value, title,
                  meaning, can_change ? fmt::format("set this key to {}, or ", theirs.dump()) : ""));
}

}  // namespace

std::span<const LaunchExport> launch_exports() {
  return registry().infos();
}

Result<LaunchExport> find_launch_export(std::string_view name) {
  return find_named(launch_exports(), "export format", name);
}

Result<std::string> export_launch(const TrainingPlan& plan, std::string_view format) {
  GOODPUT_TRY(const LaunchExport target, find_launch_export(format));
  TrainingPlan written = effective(plan);
  written.model.ffn = plan.model.ffn;  // known models are recognized by it, even if no layer has a dense FFN
  GOODPUT_TRY(std::string text, target.write(written));
  const auto read = read_back({std::string(target.file_name), text}, plan);
  if (!read) {
    return plan.error("", fmt::format("cannot be exported to {}: goodput does not read the launch file back: "
                                      "{}",
                                      target.title, read.error().message()));
  }
  if (const auto difference = first_difference(comparable(plan), comparable(*read), ""))
    return not_expressed(plan, *difference, target.title);
  return text;
}

Result<LaunchNodes> launch_nodes(const TrainingPlan& plan) {
  const std::int64_t gpus = plan.parallel.gpus();
  const std::int64_t per_node = std::min<std::int64_t>(gpus, plan.cluster.gpus_per_node);
  if (gpus % per_node == 0) return LaunchNodes{gpus / per_node, per_node};
  return plan.error("/parallel/dp",
                    fmt::format("is {}, so the plan has {} GPUs, but launchers start whole nodes of {} GPUs; "
                                "choose a dp that fills its nodes",
                                plan.parallel.dp, gpus, per_node));
}

std::string launch_title(const TrainingPlan& plan) {
  std::string name = plan.model.name;
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return fmt::format("{} on {} GPUs", name, plan.parallel.gpus());
}

}  // namespace goodput::launch
