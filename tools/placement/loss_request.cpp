#include "tools/placement/loss_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/shape/model_file.h"
#include "sim/base/json.h"
#include "sim/base/number_ranges.h"
#include "sim/config/json_file.h"
#include "tools/cli/config_files.h"
#include "tools/cli/named_choice.h"

namespace goodput {
namespace {

constexpr std::int64_t kAdamBytes = 14;  // per parameter: bf16 weight, fp32 copy and both moments
constexpr std::int64_t kMostExpertBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMostJoined = 100'000;

Result<std::int64_t> within(std::string_view option, std::int64_t value, std::int64_t least,
                            std::int64_t most) {
  if (value >= least && value <= most) return value;
  return Error{fmt::format("{} must be a whole number from {} to {}, not {}", option, least, most, value)};
}

Result<std::vector<std::int32_t>> parse_lost(const std::string& list, std::int32_t nodes) {
  Result<std::vector<NumberRange>> ranges = parse_number_ranges(list);
  if (!ranges) return ranges.error().of_option("after-loss");
  std::vector<std::int32_t> lost;
  for (const auto& [first, last] : *ranges) {
    for (const std::int64_t node : {first, last}) {
      if (node < 0 || node >= nodes)
        return Error{
            fmt::format("--after-loss: node {} does not exist; use nodes from 0 to {}", node, nodes - 1)};
    }
    for (std::int64_t node = first; node <= last; ++node) lost.push_back(static_cast<std::int32_t>(node));
  }
  std::sort(lost.begin(), lost.end());
  const auto twice = std::adjacent_find(lost.begin(), lost.end());
  if (twice != lost.end())
    return Error{fmt::format("--after-loss: node {} is listed twice; list each lost node once", *twice)};
  return lost;
}

// A file, or the object itself.
Result<ReconfigurationTiming> read_timing(const std::string& source) {
  const std::size_t begin = source.find_first_not_of(" \t\n");
  if (begin == std::string::npos || source[begin] != '{') return config::read<ReconfigurationTiming>(source);
  ReconfigurationTiming timing;
  Result<Json> object = config::parse_text(source, "--migration");
  if (!object) return object.error();
  const auto read = config::read_object(*object, config::access(timing), {}, {});
  if (!read) return read.error().in_file("--migration");
  return timing;
}

Result<StateBytes> bytes_of_model(const LossOptions& options, std::int32_t experts,
                                  const CommandContext& context) {
  GOODPUT_TRY(const std::int64_t each,
              within("--bytes-per-param", options.bytes_per_parameter.value_or(kAdamBytes), 1, 64));
  GOODPUT_TRY(const config::Library library, config_library(context));
  GOODPUT_TRY(const std::string path, config_file(options.model, kModelFiles, library, context));
  GOODPUT_TRY(const AnyModel shape, read_any_model(path, library));
  const Result<CheckpointModel> model = checkpoint_model(shape);
  if (!model) return model.error().in_file(path);
  if (model->experts != experts) {
    return Error{
        fmt::format("--model: {} has {} experts per layer, but {} are placed; choose a model with {}",
                    model->name, model->experts, experts, experts)};
  }
  const ModuleBytes bytes = module_bytes(*model, static_cast<std::int32_t>(each));
  return StateBytes{bytes.expert_each.front(), bytes.dense_total()};
}

Result<std::optional<StateBytes>> read_bytes(const LossOptions& options, std::int32_t experts,
                                             const CommandContext& context) {
  if (!options.model.empty() && options.expert_bytes)
    return Error{"--model and --expert-bytes exclude each other; leave one out"};
  if (options.bytes_per_parameter && options.model.empty())
    return Error{"--bytes-per-param applies only to --model; name a model, or leave it out"};
  if (!options.model.empty()) {
    GOODPUT_TRY(const StateBytes bytes, bytes_of_model(options, experts, context));
    return std::optional(bytes);
  }
  if (!options.expert_bytes) return std::optional<StateBytes>();
  GOODPUT_TRY(const std::int64_t bytes, within("--expert-bytes", *options.expert_bytes, 1, kMostExpertBytes));
  return std::optional(StateBytes{Bytes{bytes}, {}});
}

}  // namespace

void LossOptions::configure(Options& options) {
  const std::string group = "Loss of nodes";
  options
      .add("--after-loss", after_loss, "NODES",
           "List of lost nodes, for example 2,5-6: shows which experts then move, and how long that takes")
      .in_group(group);
  options
      .add(
          "--lose", lose, "K",
          "Number of lost nodes: shows how much moves over all sets of K nodes (or over 1000 random sets, if "
          "there are more than 2000)")
      .in_group(group);
  options
      .add("--joined", joined, "J",
           "Number of new nodes, numbered from N, that replace lost ones (default 0)")
      .in_group(group);
  options
      .add("--mapping", mapping, "NAME",
           "Rule for which node takes which place of the new placement: greedy (default, Lazarus) or optimal")
      .one_of(kMappingRuleNames)
      .in_group(group);
  options
      .add("--migration", migration, "FILE|JSON",
           "Times of a reconfiguration, as in \"migration\" of the policy lazarus, for example "
           R"({"detect_s": {"uniform": [10, 20]}, "node_gb_per_s": 1})")
      .in_group(group);
  options
      .add("--model", model, "MODEL",
           "Model whose experts move: a name from 'goodput list models', or a file; needed for times")
      .listed("models")
      .in_group(group);
  options
      .add("--bytes-per-param", bytes_per_parameter, "B",
           "Bytes per parameter of --model, with optimizer state (default 14)")
      .in_group(group);
  options
      .add("--expert-bytes", expert_bytes, "BYTES",
           "Bytes of an expert in one layer, with optimizer state, instead of --model")
      .in_group(group);
}

std::string_view LossOptions::needs_loss() const {
  const std::pair<std::string_view, bool> given[] = {{"--joined", joined.has_value()},
                                                     {"--mapping", !mapping.empty()},
                                                     {"--migration", !migration.empty()},
                                                     {"--model", !model.empty()},
                                                     {"--bytes-per-param", bytes_per_parameter.has_value()},
                                                     {"--expert-bytes", expert_bytes.has_value()}};
  for (const auto& [option, is_given] : given) {
    if (is_given) return option;
  }
  return "";
}

void LossRequest::add_to(Hash& hash) const {
  hash.add("loss");
  for (const std::int32_t node : lost) hash.add(node);
  hash.add(lose);
  hash.add(joined);
  hash.add(static_cast<int>(mapping));
  ReconfigurationTiming copy = timing;
  hash.add(config::write(config_fields(copy)).dump());
  hash.add(bytes ? bytes->expert.value : 0);
  hash.add(bytes ? bytes->dense.value : 0);
}

Result<LossRequest> read_loss_request(const LossOptions& options, std::int32_t nodes, std::int32_t experts,
                                      const CommandContext& context) {
  if (!options.after_loss.empty() && options.lose)
    return Error{"--after-loss and --lose exclude each other; leave one out"};
  LossRequest request;
  if (!options.after_loss.empty()) {
    GOODPUT_TRY(request.lost, parse_lost(options.after_loss, nodes));
  }
  request.lose = static_cast<std::int32_t>(std::ssize(request.lost));
  if (options.lose) {
    GOODPUT_TRY(const std::int64_t lose, within("--lose", *options.lose, 1, std::max(1, nodes - 1)));
    request.lose = static_cast<std::int32_t>(lose);
  }
  GOODPUT_TRY(const std::int64_t joined, within("--joined", options.joined.value_or(0), 0, kMostJoined));
  request.joined = static_cast<std::int32_t>(joined);
  if (request.lose == nodes) return Error{"every node is lost, so no state is left to move; lose fewer"};
  if (!options.mapping.empty()) {
    GOODPUT_TRY(request.mapping,
                choose<MappingRule>("mapping", "mapping", options.mapping, kMappingRuleNames));
  }
  if (!options.migration.empty()) {
    GOODPUT_TRY(request.timing, read_timing(options.migration));
  }
  GOODPUT_TRY(request.bytes, read_bytes(options, experts, context));
  return request;
}

}  // namespace goodput
