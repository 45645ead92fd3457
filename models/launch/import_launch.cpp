#include "models/launch/import_launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "models/launch/known_shape.h"
#include "models/launch/named_model.h"
#include "models/plan/training_plan.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"
#include "sim/config/config.h"

namespace goodput::launch {
namespace {

struct Wanted {
  std::string_view pointer;
  std::string_view what;
};
constexpr Wanted kWantedOfModels[] = {{"/model/layers", "the number of layers"},
                                      {"/model/hidden", "the hidden size"},
                                      {"/model/heads", "the number of attention heads"},
                                      {"/model/ffn", "the FFN size"},
                                      {"/model/vocab", "the vocabulary size"}};
constexpr Wanted kWantedOfPlans[] = {{"/gpus", "the number of GPUs"},
                                     {"/parallel/global_batch", "the global batch"},
                                     {"/parallel/sequence_length", "the sequence length"}};

std::string file_name(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

class Importer {
 public:
  Importer(const ImportRequest& request, const config::Library& library)
      : request_(request), library_(library) {
    options_.environment = request.environment;
    options_.has_recipe = !request.recipe_file.empty();
    options_.library = &library;
  }

  Result<ImportedLaunch> run() {
    GOODPUT_TRY_STATUS(recognize());
    GOODPUT_TRY_STATUS(take_bases());
    for (const auto& [launch, format] : launches_)
      GOODPUT_TRY_STATUS(format->read(launch, options_, draft()));
    result_.is_model = describes_model_only_ && request_.recipe_file.empty();
    if (!result_.is_model && !request_.wants_model_only) GOODPUT_TRY_STATUS(settle_layout());
    find_missing();
    if (!result_.missing.empty()) return std::move(result_);
    if (result_.is_model || request_.wants_model_only)
      GOODPUT_TRY_STATUS(finish_model());
    else
      GOODPUT_TRY_STATUS(finish_plan());
    return std::move(result_);
  }

 private:
  LaunchDraft& draft() { return result_.draft; }

  Status recognize() {
    for (const std::string& file : request_.files) {
      if (std::ranges::count(request_.files, file) > 1) return Error{"is named twice", {.file = file}};
      GOODPUT_TRY(LaunchText launch, read_launch_text(file));
      const LaunchFormat* format = format_of(launch);
      if (format == nullptr) {
        std::vector<std::string_view> known;
        for (const LaunchFormat& one : launch_formats()) known.push_back(one.title);
        return Error{
            fmt::format("is not a launch file that goodput knows; it imports {}", fmt::join(known, ", ")),
            {.file = file}};
      }
      result_.titles.emplace_back(format->title);
      describes_model_only_ &= format->describes_model_only;
      launches_.emplace_back(std::move(launch), format);
    }
    const bool takes_recipe =
        std::ranges::any_of(launches_, [](const auto& launch) { return launch.second->overrides_recipe; });
    if (!request_.recipe_file.empty() && !takes_recipe)
      return Error{"only a Megatron-Bridge config takes a recipe; leave this option out", {}, "recipe"};
    // What describes the model comes first: layouts refer to its layers.
    std::ranges::stable_sort(launches_, [](const auto& a, const auto& b) { return a.second < b.second; });
    return Ok{};
  }

  Status take_bases() {
    constexpr std::string_view kFeatures[] = {"sliding-window", "fp4"};
    for (const std::string& feature : request_.approximated) {
      const auto known = index_of_name(kFeatures, "feature", feature);
      if (!known) return Error{known.error().what, {}, "approximate"};
    }
    draft().approximated = request_.approximated;
    if (!request_.recipe_file.empty())
      GOODPUT_TRY_STATUS(use_recipe(request_.recipe_file, request_.recipe_name, library_, draft()));
    if (!request_.model_file.empty()) {
      GOODPUT_TRY(const ModelShape model, config::read<ModelShape>(request_.model_file, library_));
      GOODPUT_TRY_STATUS(
          use_model(model, request_.model_name.empty() ? file_name(request_.model_file) : request_.model_name,
                    draft()));
      draft().model_name = request_.model_name;
    }
    const auto take = [&](std::string_view pointer, const std::optional<std::int64_t>& value,
                          std::string_view option) {
      if (value)
        draft().set(pointer, std::to_string(*value), fmt::format("the option {}", option), Basis::kOption, {},
                    std::string(option));
    };
    take("/gpus", request_.gpus, "gpus");
    take("/parallel/global_batch", request_.global_batch, "batch");
    take("/parallel/sequence_length", request_.sequence_length, "sequence-length");
    return take_changes();
  }

  static bool has_key(const config::Fields& fields, const std::string& above, std::string_view pointer) {
    return std::ranges::any_of(fields, [&](const config::Field& field) {
      const std::string at = fmt::format("{}/{}", above, field.key);
      return at == pointer || (field.value.fields && pointer.starts_with(at + "/") &&
                               has_key(field.value.fields(), at, pointer));
    });
  }
  static bool is_key(std::string_view pointer) {
    ModelShape model;
    model.latent.emplace();
    model.moe.emplace();
    ParallelPlan parallel;
    return pointer == "/stack" || has_key(config_fields(model), "/model", pointer) ||
           has_key(config_fields(parallel), "/parallel", pointer);
  }

  // They win over what the files say.
  Status take_changes() {
    for (const config::Change& change : request_.changes) {
      const std::string pointer = change.pointer.starts_with('/') ? change.pointer : "/" + change.pointer;
      if (!pointer.starts_with("/model/") && !pointer.starts_with("/parallel/") && pointer != "/stack") {
        return Error{
            fmt::format("{} is not a key that can be set; such keys begin with /model/, /parallel/ or /stack",
                        in_quotes(change.pointer)),
            {},
            "set"};
      }
      if (!is_key(pointer))
        return Error{fmt::format("{} is not a key of a plan", in_quotes(change.pointer)), {}, "set"};
      draft().set(pointer, config::json_or_text(change.value).dump(), "the option set", Basis::kOption, {},
                  "set");
    }
    return Ok{};
  }

  // dp, and the batch where it follows from others.
  Status settle_layout() {
    GOODPUT_TRY(const auto replicas, draft().replicas());
    const auto stated = draft().integer("/parallel/dp");
    if (replicas && stated && *replicas != *stated) {
      const DraftValue& dp = *draft().find("/parallel/dp");
      const DraftValue& gpus = *draft().find("/gpus");
      if (dp.basis == Basis::kStated || dp.basis == Basis::kOption) {
        return Error{fmt::format("{} and {}: {} replicas do not fill {} GPUs, which have room for {}",
                                 dp.origin, gpus.origin, *stated, gpus.json, *replicas),
                     {}};
      }
    }
    if (replicas && !stated)
      draft().derive("/parallel/dp", std::to_string(*replicas), "GPUs / (tp x pp x cp)");
    derive_micro_batch();
    if (!draft().has("/parallel/micro_batch"))
      draft().assume("/parallel/micro_batch", "1", "no file gives it");
    const auto dp = draft().integer("/parallel/dp");
    const auto micro = draft().integer("/parallel/micro_batch");
    std::int64_t batch = 0;
    if (!dp || !micro || __builtin_mul_overflow(*dp, *micro, &batch)) return Ok{};
    if (const DraftValue* accumulated = draft().find("/accumulation");
        accumulated != nullptr && !__builtin_mul_overflow(batch, *draft().integer("/accumulation"), &batch)) {
      draft().assume("/parallel/global_batch", std::to_string(batch),
                     "dp x micro_batch x gradient_accumulation_steps");
    } else if (draft().has_default_batch) {
      draft().assume("/parallel/global_batch", std::to_string(batch), "dp x micro_batch");
    }
    return Ok{};
  }

  // global_batch / (dp x gradient_accumulation_steps)
  void derive_micro_batch() {
    const auto global = draft().integer("/parallel/global_batch");
    const auto dp = draft().integer("/parallel/dp");
    const auto steps = draft().integer("/accumulation");
    std::int64_t parts = 0;
    if (draft().has("/parallel/micro_batch") || !global || !dp || !steps ||
        __builtin_mul_overflow(*dp, *steps, &parts))
      return;
    if (parts > 0 && *global % parts == 0)
      draft().derive("/parallel/micro_batch", std::to_string(*global / parts),
                     "global_batch / (dp x gradient_accumulation_steps)");
  }

  void find_missing() {
    const auto look = [&](std::string_view pointer, std::string_view what) {
      if (!draft().has(pointer)) result_.missing.push_back({std::string(pointer), std::string(what)});
    };
    for (const Wanted& wanted : kWantedOfModels) {
      const bool has_experts_only = wanted.pointer == "/model/ffn" && draft().has("/model/moe/expert_ffn");
      if (!has_experts_only) look(wanted.pointer, wanted.what);
    }
    if (draft().has("/model/moe/experts")) look("/model/moe/expert_ffn", "the size of an expert");
    if (draft().has("/model/moe/experts")) look("/model/moe/top_k", "the number of experts per token");
    if (result_.is_model || request_.wants_model_only) return;
    look("/parallel/dtype", "the precision");
    for (const Wanted& wanted : kWantedOfPlans) {
      if (wanted.pointer != "/gpus" || !draft().has("/parallel/dp")) look(wanted.pointer, wanted.what);
    }
  }

  // ---- The file.

  // The values below `pointer`, in the order of `fields`, with where each comes from.
  OrderedJson object_at(const std::string& pointer, const config::Fields& fields, OrderedJson& sources) {
    OrderedJson object = OrderedJson::object();
    for (const config::Field& field : fields) {
      const std::string at = fmt::format("{}/{}", pointer, field.key);
      const std::string key(field.key);
      if (const DraftValue* value = draft().find(at)) {
        object[key] = OrderedJson::parse(value->json);
        sources[key] = value->basis == Basis::kAssumed ? "assumed: " + value->origin : value->origin;
      } else if (field.value.fields) {
        OrderedJson of_object = OrderedJson::object();
        OrderedJson below = object_at(at, field.value.fields(), of_object);
        if (below.empty()) continue;
        below["sources"] = std::move(of_object);
        object[key] = std::move(below);
      }
    }
    return object;
  }

  OrderedJson with_sources(std::string_view pointer, const config::Fields& fields, OrderedJson head) {
    OrderedJson sources = OrderedJson::object();
    OrderedJson object = object_at(std::string(pointer), fields, sources);
    if (!sources.empty()) head["sources"] = std::move(sources);
    for (const auto& [key, value] : object.items()) head[key] = value;
    return head;
  }

  [[nodiscard]] std::string source_text() const {
    std::vector<std::string> names;
    for (const std::string& file : request_.files) names.push_back(file_name(file));
    return fmt::format("imported from {}", fmt::join(names, " and "));
  }

  // Reads `json` into `into`. Errors name the launch file's line.
  template <typename T>
  Status read_back(const OrderedJson& json, T& into, std::string_view below) {
    const auto read = config::read_object(Json::parse(json.dump()), config::access(into), library_, {});
    return read ? Status(Ok{}) : Status(blamed(read.error(), below));
  }

  // With the place of the setting that the value at the error's pointer comes from.
  Error blamed(const Error& error, std::string_view below) {
    if (!error.where.file.empty()) return error;
    const std::string pointer = std::string(below) + error.where.pointer;
    const std::string what =
        pointer.empty() ? error.what : fmt::format("{} {}", pointer.substr(1), error.what);
    const DraftValue* value = draft().find(pointer);
    if (value != nullptr && value->basis == Basis::kOption) return {what, {}, value->shown};
    if (value != nullptr && !value->shown.empty())
      return {fmt::format("{}: {}", on_one_line(value->shown), what), value->where};
    const std::string because = value != nullptr ? fmt::format(" ({})", value->origin) : "";
    return {what + because, {.file = request_.files.front()}};
  }

  Result<OrderedJson> model_object() {
    ModelShape shape;
    shape.latent.emplace();
    shape.moe.emplace();
    config::Fields fields = config_fields(shape);
    OrderedJson head = OrderedJson::object();
    head["name"] = "imported";
    head["source"] = source_text();
    OrderedJson object = with_sources("/model", fields, std::move(head));
    GOODPUT_TRY_STATUS(read_back(object, result_.plan.model, "/model"));
    if (model_parameters(result_.plan.model).total < 1)
      return Error{"describes a model without parameters", {.file = request_.files.front()}};
    const KnownShape known = known_shape(result_.plan.model, library_);
    std::string name = known.same;
    if (name.empty()) name = draft().title;
    if (name.empty())
      name = fmt::format("decoder-{}x{}", result_.plan.model.layers, result_.plan.model.hidden);
    object["name"] = name;
    result_.plan.model.name = name;
    if (known.same.empty() && !known.nearest.empty())
      draft().warn(known.difference, {.file = request_.files.front()});
    return object;
  }

  Status finish_model() {
    GOODPUT_TRY(const OrderedJson object, model_object());
    result_.text = object.dump(2) + "\n";
    return Ok{};
  }

  Status finish_plan() {
    OrderedJson plan = OrderedJson::object();
    plan["source"] = source_text();
    GOODPUT_TRY(OrderedJson model, model_object());
    const bool is_changed = std::ranges::any_of(draft().values(), [](const auto& value) {
      return value.first.starts_with("/model/") && value.second.basis == Basis::kOption;
    });
    plan["model"] =
        draft().model_name.empty() || is_changed ? std::move(model) : OrderedJson(draft().model_name);
    plan["cluster"] = request_.cluster.empty() ? std::string(kAssumedCluster) : request_.cluster;
    if (request_.cluster.empty())
      draft().assume("/cluster", json_text(kAssumedCluster), "launch files do not name the machines");
    if (const DraftValue* stack = draft().find("/stack")) plan["stack"] = OrderedJson::parse(stack->json);
    ParallelPlan parallel;
    plan["parallel"] = with_sources("/parallel", config_fields(parallel), OrderedJson::object());
    TrainingPlan& read = result_.plan = TrainingPlan{};
    read.library = library_;
    GOODPUT_TRY_STATUS(read_back(plan, read, ""));
    read.parallel = settled(read.parallel, read.cluster.gpus_per_node);
    if (const Status checked = check_training_plan(read); !checked) return blamed(checked.error(), "");
    result_.describes_plan = true;
    result_.text = plan.dump(2) + "\n";
    return Ok{};
  }

  const ImportRequest& request_;
  const config::Library& library_;
  LaunchOptions options_{};
  std::vector<std::pair<LaunchText, const LaunchFormat*>> launches_{};
  bool describes_model_only_ = true;
  ImportedLaunch result_{};
};

}  // namespace

Result<ImportedLaunch> import_launch(const ImportRequest& request, const config::Library& library) {
  return Importer(request, library).run();
}

}  // namespace goodput::launch
