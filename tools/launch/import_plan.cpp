#include "tools/launch/import_plan.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "models/launch/import_launch.h"
#include "models/plan/training_plan.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"
#include "tools/launch/import_text.h"
#include "tools/launch/launch_files.h"

namespace goodput {
namespace {

using launch::ImportedLaunch;
using launch::ImportRequest;

Result<std::pair<std::string, std::string>> name_and_value(std::string_view option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{fmt::format("--{} {}: must be NAME=VALUE", option, text)};
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

// A name stays a name; a path is seen from everywhere.
std::string portable(const std::string& argument) {
  return config::is_name(argument) ? argument : std::filesystem::absolute(argument).string();
}

Result<ImportRequest> request_of(const ImportPlanOptions& options, const config::Library& library,
                                 const CommandContext& context) {
  ImportRequest request;
  request.files = options.files;
  request.gpus = options.gpus;
  request.global_batch = options.batch;
  request.sequence_length = options.sequence_length;
  request.approximated = options.approximated;
  if (!options.model.empty()) {
    GOODPUT_TRY(request.model_file, config_file(options.model, kModelFiles, library, context));
    if (config::is_name(options.model)) request.model_name = options.model;
  }
  if (!options.recipe.empty()) {
    GOODPUT_TRY(request.recipe_file, config_file(options.recipe, kRecipeFiles, library, context));
    request.recipe_name = options.recipe;
  }
  if (!options.cluster.empty()) {
    GOODPUT_TRY(const std::string file, config_file(options.cluster, kClusterFiles, library, context));
    request.cluster = portable(options.cluster);
  }
  for (const std::string& change : options.changes) {
    GOODPUT_TRY(auto parts, name_and_value("set", change));
    request.changes.push_back({std::move(parts.first), std::move(parts.second)});
  }
  for (const std::string& variable : options.environment) {
    GOODPUT_TRY(auto parts, name_and_value("env", variable));
    request.environment.insert_or_assign(std::move(parts.first), std::move(parts.second));
  }
  return request;
}

OrderedJson import_json(const ImportedLaunch& imported, OrderedJson json) {
  json["kind"] = imported.is_model ? "model" : "plan";
  json["formats"] = OrderedJson::array();
  for (const std::string& title : imported.titles) json["formats"].push_back(title);
  json[imported.is_model ? "model" : "plan"] = OrderedJson::parse(imported.text);
  json["parameters"] = model_parameters(imported.plan.model).total;
  json["assumed"] = OrderedJson::array();
  for (const auto& [pointer, value] : imported.draft.values()) {
    if (value.basis != launch::Basis::kAssumed) continue;
    OrderedJson one = OrderedJson::object();
    one["key"] = pointer;
    one["value"] = OrderedJson::parse(value.json);
    one["why"] = value.origin;
    json["assumed"].push_back(std::move(one));
  }
  json["warnings"] = OrderedJson::array();
  for (const std::string& line : warning_lines(imported)) json["warnings"].push_back(line);
  json["ignored"] = OrderedJson::array();
  for (const std::string& key : imported.draft.ignored) json["ignored"].push_back(key);
  return json;
}

}  // namespace

void add_import_plan_options(Options& plan, ImportPlanOptions& options) {
  plan.add("file", options.files, "FILE",
           "Launch script of Megatron-LM, config.json of Hugging Face, YAML of NeMo or Megatron-Bridge, "
           "TOML of TorchTitan, "
           "JSON of DeepSpeed; several files that belong together make one plan")
      .required()
      .input();
  plan.add("--out", options.out, "FILE", "Write the plan or model to this file; - writes it to stdout")
      .required()
      .output();
  plan.add("--cluster", options.cluster, "CLUSTER",
           fmt::format("Cluster to train on: a name from 'goodput list clusters', or a file (default {})",
                       launch::kAssumedCluster))
      .listed("clusters");
  plan.add("--gpus", options.gpus, "N", "Number of GPUs, in place of what the files say");
  plan.add("--model", options.model, "MODEL",
           "Model to train: a name from 'goodput list models', or a file; the files must agree with it")
      .listed("models");
  plan.add("--recipe", options.recipe, "RECIPE",
           "Recipe that a Megatron-Bridge YAML changes: a name from 'goodput list recipes', or a plan file")
      .listed("recipes");
  plan.add("--batch", options.batch, "N",
           "Number of sequences per step (global batch size), in place of what the files say");
  plan.add("--sequence-length", options.sequence_length, "N",
           "Number of tokens per sequence, in place of what the files say");
  plan.add("--set", options.changes, "POINTER=VALUE",
           "Set a key of the plan, for example /model/vocab=32000; repeatable")
      .one_value_each();
  plan.add("--env", options.environment, "NAME=VALUE",
           "Set a shell variable that a launch script reads, for example NNODES=16; repeatable")
      .one_value_each();
  plan.add("--approximate", options.approximated, "FEATURE",
           "Accept that a feature is not modeled, for example sliding-window; error messages name the "
           "feature; repeatable")
      .one_value_each();
}

Result<ExitCode> run_import_plan(const ImportPlanOptions& options, const CommandContext& context) {
  GOODPUT_TRY(const config::Library library, config_library(context));
  GOODPUT_TRY_STATUS(check_file_roles(options.files, {{"--out", options.out}}, context));
  GOODPUT_TRY(const ImportRequest request, request_of(options, library, context));
  GOODPUT_TRY(const ImportedLaunch imported, launch::import_launch(request, library));
  const bool gives_layout =
      request.gpus || request.global_batch || request.sequence_length || !request.cluster.empty();
  if (imported.is_model && gives_layout) {
    context.note(fmt::format(
        "{} describes only a model: --cluster, --gpus, --batch and --sequence-length have no effect; "
        "`goodput plan --model` finds a layout",
        options.files.front()));
  }
  if (!imported.missing.empty()) return missing_values(imported, options.files.front());
  for (const std::string& line : warning_lines(imported)) context.note(line);
  if (options.out != "-") GOODPUT_TRY_STATUS(write_text_atomically(options.out, imported.text));
  if (context.options.wants_result()) {
    Hash hash;
    hash.add(imported.text);
    Provenance provenance;
    provenance.config_hash = hash.value();
    provenance.config_files = options.files;
    provenance.lowest_tier = "assumed";
    GOODPUT_TRY_STATUS(write_json_result(
        import_json(imported, begin_json_result("import-plan", context, provenance)), context));
  }
  if (options.out == "-") {
    context.out << imported.text;
    return ExitCode::kOk;
  }
  context.print(import_report(imported, options.files) +
                fmt::format("\nWrote {}: {}\n", options.out,
                            imported.is_model ? "a model; name it in a plan, or: goodput plan --model " +
                                                    options.out + " ..."
                                              : "a plan; next: goodput plan-step " + options.out));
  return ExitCode::kOk;
}

}  // namespace goodput
