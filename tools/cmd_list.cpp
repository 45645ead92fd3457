// `goodput list WHAT`: everything built in, and the configs beside it, one line each.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/cost/cost_models.h"
#include "models/failure/failure_models.h"
#include "models/plan/training_plan.h"
#include "models/policy/policy.h"
#include "models/schedule/schedule.h"
#include "models/shape/model_file.h"
#include "sim/base/text.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "traces/op/op_trace_format.h"
#include "traces/routing/routing_format.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

struct Listed {
  std::string name;
  std::string summary;
};

template <typename Info>
std::vector<Listed> names_and_summaries(std::span<Info> infos) {
  std::vector<Listed> listed;
  for (const auto& info : infos) listed.push_back({std::string(info.name), std::string(info.summary)});
  return listed;
}

// ---- What is compiled in.

Result<std::vector<Listed>> list_formats(const std::string& /*configs*/) {
  std::vector<Listed> listed = names_and_summaries(op_trace_formats());
  for (Listed& format : names_and_summaries(routing_formats())) listed.push_back(std::move(format));
  for (Listed& format : names_and_summaries(spot_formats())) listed.push_back(std::move(format));
  return listed;
}
Result<std::vector<Listed>> list_schedules(const std::string& /*configs*/) {
  return names_and_summaries(schedules());
}
Result<std::vector<Listed>> list_cost_models(const std::string& /*configs*/) {
  return names_and_summaries(cost_models());
}
Result<std::vector<Listed>> list_policies(const std::string& /*configs*/) {
  return names_and_summaries(recovery_policies());
}
Result<std::vector<Listed>> list_failures(const std::string& /*configs*/) {
  return names_and_summaries(failure_models());
}

// ---- What lies in a folder of configs.

// Installed, or built inside the repository: above the program.
Result<std::string> find_configs() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  for (fs::path above = program.parent_path(); !failed && above.has_relative_path();
       above = above.parent_path()) {
    for (const char* folder : {"configs", "share/goodput/configs"}) {
      if (fs::is_directory(above / folder / "models", failed)) return (above / folder).string();
    }
    failed.clear();
  }
  return Error{"no configs folder above the program; name one with --configs DIR"};
}

// A line each file of configs/FOLDER, by name; the first that cannot be read fails.
template <typename Describe>
Result<std::vector<Listed>> list_files(std::string configs, const std::string& folder, Describe describe) {
  if (configs.empty()) {
    GOODPUT_TRY(configs, find_configs());
  }
  std::vector<fs::path> files;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(configs) / folder, failed)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (failed) {
    return Error{
        fmt::format("{}; --configs wants the folder that holds models, clusters and plans", failed.message()),
        {.file = (fs::path(configs) / folder).string()}};
  }
  std::sort(files.begin(), files.end());
  std::vector<Listed> listed;
  for (const fs::path& file : files) {
    GOODPUT_TRY(std::string summary, describe(file.string()));
    listed.push_back({file.stem().string(), std::move(summary)});
  }
  return listed;
}

std::string billions(std::int64_t parameters) {
  return fmt::format("{:.3g} B", 1e-9 * static_cast<double>(parameters));
}

std::string describe(const ModelShape& model) {
  const ModelParameters parameters = model_parameters(model);
  std::string text =
      fmt::format("{}: {} layers, {} parameters", model.name, model.layers, billions(parameters.total));
  if (model.moe)
    text += fmt::format(" ({} activated), {} experts", billions(parameters.activated), model.moe->experts);
  return text;
}

std::string describe(const SwinModel& model) {
  const CheckpointModel modules = checkpoint_model(model);
  std::string text = fmt::format("{}: {} blocks in {} stages, {} parameters", model.name, model.swin.blocks(),
                                 model.swin.depths.size(), billions(modules.parameters()));
  if (modules.experts > 0) text += fmt::format(", {} experts", modules.experts);
  return text + " (checkpoint only)";
}

Result<std::string> describe_model(const std::string& file) {
  GOODPUT_TRY(const AnyModel model, read_any_model(file));
  return std::visit([](const auto& shape) { return describe(shape); }, model);
}

Result<std::string> describe_cluster(const std::string& file) {
  GOODPUT_TRY(const ClusterConfig config, read_cluster(file));
  const ClusterSpec& cluster = config.cluster;
  return fmt::format("{}: {} x {} {}", cluster.name, cluster.nodes, cluster.gpus_per_node, cluster.gpu.name);
}

Result<std::string> describe_plan(const std::string& file) {
  GOODPUT_TRY(const TrainingPlan plan, read_training_plan(file));
  return fmt::format("{} on {} x {}", plan.model.name, plan.parallel.gpus(), plan.cluster.gpu.name);
}

Result<std::vector<Listed>> list_models(const std::string& configs) {
  return list_files(configs, "models", describe_model);
}
Result<std::vector<Listed>> list_clusters(const std::string& configs) {
  return list_files(configs, "clusters", describe_cluster);
}
Result<std::vector<Listed>> list_plans(const std::string& configs) {
  return list_files(configs, "plans", describe_plan);
}

// What can be listed, and how. A line a registry.
struct Registry {
  std::string_view name;
  Result<std::vector<Listed>> (*list)(const std::string& configs);
};
constexpr Registry kRegistries[] = {
    {"formats", list_formats},   {"schedules", list_schedules}, {"cost-models", list_cost_models},
    {"policies", list_policies}, {"failures", list_failures},   {"models", list_models},
    {"clusters", list_clusters}, {"plans", list_plans},
};

std::vector<std::string_view> registry_names() {
  std::vector<std::string_view> names;
  for (const Registry& registry : kRegistries) names.push_back(registry.name);
  return names;
}

Result<Registry> find_registry(std::string_view name) {
  for (const Registry& registry : kRegistries) {
    if (registry.name == name) return registry;
  }
  const std::vector<std::string_view> known = registry_names();
  return Error{fmt::format("goodput list: cannot list {}{}; known: {}", in_quotes(name),
                           did_you_mean(name, known), fmt::join(known, ", "))};
}

class ListCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add("what", what_, "WHAT", fmt::format("What to list: {}", fmt::join(registry_names(), ", ")))
        .required();
    options.add("--configs", configs_, "DIR",
                "Where models, clusters and plans lie (default: the configs folder above the program)");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY(const Registry registry, find_registry(what_));
    GOODPUT_TRY(const std::vector<Listed> items, registry.list(configs_));
    nlohmann::ordered_json result = begin_json_result("list", context, {});
    result[what_] = nlohmann::ordered_json::array();
    std::size_t width = 10;
    for (const Listed& item : items) width = std::max(width, item.name.size());
    for (const Listed& item : items) {
      context.print(fmt::format("{:<{}} {}\n", item.name, width, item.summary));
      result[what_].push_back({{"name", item.name}, {"summary", item.summary}});
    }
    GOODPUT_TRY_STATUS(write_json_result(result, context));
    return ExitCode::kOk;
  }

 private:
  std::string what_;
  std::string configs_;
};

}  // namespace

CommandInfo command_list() {
  return {.name = "list",
          .summary = "what is built in, one line each",
          .example = "goodput list formats",
          .make = make_command<ListCommand>};
}

}  // namespace goodput
