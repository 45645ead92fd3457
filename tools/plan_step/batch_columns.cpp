#include "tools/plan_step/batch_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/plan_step/csv_rows.h"

namespace goodput {
namespace {

constexpr std::string_view kGpusPointer = "/gpus";
constexpr std::string_view kClusterPointer = "/cluster";
constexpr std::string_view kModelPointer = "/model";
constexpr std::string_view kStackPointer = "/stack";

template <typename T>
Json written(T& value) {
  return Json::parse(config::write(config_fields(value)).dump());
}

// The objects whose keys are columns by their plain names. Each lists every key, with a value of its kind.
const std::vector<std::pair<std::string, Json>>& objects_with_columns() {
  static const auto objects = [] {
    ParallelPlan parallel;
    // Keys without effect, and some that have their default, are not written.
    parallel.overlap_tp_reduce = true;
    parallel.cp = 2;
    parallel.optimizer_bytes = 12;
    parallel.zero = 3;
    parallel.tp = 2;
    parallel.dtype = Dtype::kFp8;
    parallel.recompute = Recompute::kSelective;
    parallel.ep = parallel.etp = parallel.dispatch_bytes = 2;
    parallel.dispatcher = TokenDispatcher::kHierarchical;
    parallel.expert_matmuls = ExpertMatmuls::kGrouped;
    ModelShape model;
    model.latent.emplace();
    model.moe.emplace();
    model.moe->expert_groups = model.moe->top_groups = 1;
    model.moe->shared_gate = model.qk_norm = model.attention_sinks = true;
    Json of_model = written(model);
    const Json latent = of_model.at("latent");
    const Json moe = of_model.at("moe");
    of_model["head_dim"] = of_model["kv_heads"] = 0;
    return std::vector<std::pair<std::string, Json>>{{"/parallel", written(parallel)},
                                                     {"/model", of_model},
                                                     {"/model/moe", moe},
                                                     {"/model/latent", latent}};
  }();
  return objects;
}

// The pointer that a column sets; none if it is not a key.
std::optional<std::string> pointer_of(std::string_view name, const Json& plan) {
  if (name == "gpus") return std::string(kGpusPointer);
  if (name == "cluster") return std::string(kClusterPointer);
  if (name == "model") return std::string(kModelPointer);
  if (name == "stack") return std::string(kStackPointer);
  if (name.starts_with('/')) {
    const std::size_t end = name.find('/', 1);
    const std::string_view top = end == std::string_view::npos ? std::string_view{} : name.substr(1, end - 1);
    const bool is_known = plan.contains(top) || top == "efficiency";
    return is_known ? std::optional(std::string(name)) : std::nullopt;
  }
  for (const auto& [pointer, keys] : objects_with_columns()) {
    const auto found = keys.find(name);
    if (found != keys.end() && !found->is_object() && name != "name")
      return fmt::format("{}/{}", pointer, name);
  }
  return std::nullopt;
}

// A value of the kind that plans have at the pointer; null if unknown.
Json kind_at(const std::string& pointer, const Json& plan) {
  for (const auto& [above, keys] : objects_with_columns()) {
    if (!pointer.starts_with(above + '/')) continue;
    const auto found = keys.find(std::string_view(pointer).substr(above.size() + 1));
    if (found != keys.end()) return *found;
  }
  try {
    const JsonPointer at(pointer);
    return plan.contains(at) ? plan.at(at) : Json();
  } catch (const JsonError&) {
    return {};
  }
}

// A cell as JSON of the wanted kind. A cell of another kind becomes a string, which the reader of the field
// then refuses with the field's name.
Json value_of(std::string_view cell, const Json& kind) {
  if (kind.is_string()) return Json(std::string(cell));
  if (kind.is_boolean() && (cell == "1" || cell == "0")) return Json(cell == "1");
  if (kind.is_array()) {
    Json list = Json::array();
    for (std::string_view rest = cell; !rest.empty();) {
      const std::size_t end = rest.find_first_of(" ;");
      if (end != 0) list.push_back(config::json_or_text(rest.substr(0, end)));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    return list;
  }
  return config::json_or_text(cell);
}

// Fails if the text is not a pointer, or if it leads through a number.
Status set(Json& plan, const std::string& pointer, Json value) {
  try {
    const JsonPointer at(pointer);
    const JsonPointer above = at.parent_pointer();
    if (!plan.contains(above)) plan[above] = Json::object();
    plan[at] = std::move(value);
  } catch (const JsonError&) {
    return Error{fmt::format("column {} is not a key of a plan", in_quotes(pointer))};
  }
  return Ok{};
}

// The config with this name, with every key written out.
template <typename T>
Result<Json> config_by_name(const config::Library& library, const config::Kind& kind, std::string_view name) {
  GOODPUT_TRY(const config::Source source, config::find(library, kind, name));
  GOODPUT_TRY(T value, config::read<T>(source.file, library));
  return written(value);
}

Status set_gpus(std::string_view cell, TrainingPlan& plan) {
  std::int64_t gpus = 0;
  const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), gpus);
  if (problem != std::errc{} || end != cell.data() + cell.size() || gpus < 1 || gpus > 1'000'000'000)
    return Error{fmt::format("gpus must be a whole number from 1 to 1000000000, not {}", in_quotes(cell))};
  if (gpus != plan.parallel.gpus())
    return Error{fmt::format("gpus is {}, but dp x pp x tp x cp is {}", gpus, plan.parallel.gpus())};
  const std::int64_t per_node = plan.cluster.gpus_per_node;
  plan.cluster.nodes = std::max(plan.cluster.nodes, static_cast<std::int32_t>((gpus - 1) / per_node + 1));
  return Ok{};
}

}  // namespace

Result<BatchColumns> BatchColumns::find(std::span<const std::string> header, const TrainingPlan& base) {
  TrainingPlan plan = base;
  BatchColumns columns(base, std::make_shared<const Json>(written(plan)));
  for (const std::string_view key : kStackDefaultKeys) {
    if (!base.parallel_keys.contains(std::string(key))) columns.stack_settings_.emplace_back(key);
  }
  std::map<std::string, std::string_view> seen;
  for (std::size_t at = 0; at < header.size(); ++at) {
    const std::string_view name = trimmed(header[at]);
    const auto pointer = pointer_of(name, *columns.plan_);
    if (!pointer) {
      columns.others_.emplace_back(name);
      continue;
    }
    const auto [other, is_new] = seen.try_emplace(*pointer, name);
    if (!is_new && other->second == name)
      return Error{fmt::format("column {} appears twice", in_quotes(name))};
    if (!is_new)
      return Error{
          fmt::format("columns {} and {} set the same key", in_quotes(other->second), in_quotes(name))};
    columns.columns_.push_back({at, *pointer});
  }
  if (columns.columns_.empty())
    return Error{
        "no column is a key of a plan (tp, dp, layers, hidden, cluster, gpus, /parallel/tp, ...) or a column "
        "of vTrain's tables (# GPUs, global batch, ...)"};
  return columns;
}

Result<TrainingPlan> BatchColumns::plan_of(std::span<const std::string> cells) const {
  std::map<std::string, std::string_view> given;  // by pointer
  for (const Column& column : columns_) {
    if (const std::string_view cell = trimmed(cells[column.at]); !cell.empty()) given[column.pointer] = cell;
  }
  const auto has = [&](const char* pointer) { return given.contains(pointer); };
  const std::string_view model = has("/model") ? given.at("/model") : std::string_view{};
  Json json = *plan_;
  for (const std::string& key : stack_settings_) json["parallel"].erase(key);
  if (has("/cluster")) {
    GOODPUT_TRY(json["cluster"],
                config_by_name<ClusterConfig>(library_, kClusterFiles, given.at("/cluster")));
    json.erase("efficiency");
  }
  if (has("/stack")) json["stack"] = std::string(given.at("/stack"));
  const bool has_dimensions = has("/model/layers") || has("/model/hidden") || has("/model/heads");
  if (has("/model/layers") && has("/model/hidden") && has("/model/heads") && has("/model/vocab")) {
    json["model"] = Json::object();
    json["model"]["name"] = std::string(model.empty() ? "model" : model);
  } else if (!model.empty() && has_dimensions) {
    json["model"]["name"] = std::string(model);
  } else if (!model.empty()) {
    GOODPUT_TRY(json["model"], config_by_name<ModelShape>(library_, kModelFiles, model));
  }
  if (has("/model/heads") || has("/model/hidden")) {
    json["model"].erase("kv_heads");
    json["model"].erase("head_dim");
  }
  for (const auto& [pointer, cell] : given) {
    if (pointer == kModelPointer || pointer == kClusterPointer || pointer == kStackPointer ||
        pointer == kGpusPointer)
      continue;
    GOODPUT_TRY_STATUS(set(json, pointer, value_of(cell, kind_at(pointer, *plan_))));
  }
  TrainingPlan plan;
  plan.library = library_;
  GOODPUT_TRY(plan.unused, config::read_object(json, config::access(plan), library_, {}));
  if (has("/gpus")) GOODPUT_TRY_STATUS(set_gpus(given.at("/gpus"), plan));
  plan.parallel = settled(plan.parallel, plan.cluster.gpus_per_node);
  GOODPUT_TRY_STATUS(check_training_plan(plan));
  return plan;
}

}  // namespace goodput
