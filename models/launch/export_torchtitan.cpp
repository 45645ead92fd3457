// A config of TorchTitan.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/launch/effective_plan.h"
#include "models/launch/export_launch.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/config.h"
#include "sim/config/json_file.h"

namespace goodput::launch {
namespace {

constexpr std::string_view kTitan = "TorchTitan";
constexpr std::string_view kAliasPrefix = "torchtitan:";

struct Flavor {
  std::string name;    // llama3
  std::string flavor;  // 70B
};

// Sections of TOML, with a key per line.
class TomlText {
 public:
  void section(std::string_view name) { text_ += fmt::format("\n[{}]\n", name); }
  void set(std::string_view key, std::int64_t value) { text_ += fmt::format("{} = {}\n", key, value); }
  void set_text(std::string_view key, std::string_view value) {
    text_ += fmt::format("{} = \"{}\"\n", key, value);
  }
  void set_flag(std::string_view key, bool value) { text_ += fmt::format("{} = {}\n", key, value); }
  void set_list(std::string_view key, std::string_view only) {
    text_ += fmt::format("{} = [\"{}\"]\n", key, only);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Equal for models that mean the same.
std::string shape_text(TrainingPlan plan, const ModelShape& model) {
  plan.model = model;
  plan = effective(std::move(plan));
  plan.model.name.clear();
  return config::write(config_fields(plan.model)).dump();
}

std::optional<Flavor> flavor_of(const Json& file) {
  const auto aliases = file.find(config::kAliasesKey);
  if (aliases == file.end() || !aliases->is_array()) return std::nullopt;
  for (const Json& alias : *aliases) {
    if (!alias.is_string() || !alias.get<std::string>().starts_with(kAliasPrefix)) continue;
    const std::string name = alias.get<std::string>().substr(kAliasPrefix.size());
    const std::size_t colon = name.find(':');
    if (colon != std::string::npos) return Flavor{name.substr(0, colon), name.substr(colon + 1)};
  }
  return std::nullopt;
}

// Of the library's model that has the plan's shape and such an alias.
Result<Flavor> find_flavor(const TrainingPlan& plan) {
  for (const std::string& name : config::names_of(plan.library, kModelFiles)) {
    const auto source = config::find(plan.library, kModelFiles, name);
    if (!source) continue;
    const auto file = config::parse_file(source->file, plan.library.parsed);
    const auto flavor = file ? flavor_of(*file) : std::nullopt;
    if (!flavor) continue;
    const auto model = config::read<ModelShape>(source->file, plan.library);
    if (model && shape_text(plan, *model) == shape_text(plan, plan.model)) return *flavor;
  }
  return plan.error(
      "/model",
      "is not a model that TorchTitan has by name, as far as goodput knows; to name it, give its "
      "model file an alias such as \"torchtitan:llama3:70B\"");
}

struct Limit {
  bool is_exceeded;
  std::string_view pointer;
  std::string_view what;
};

Status check_torchtitan(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  const Limit limits[] = {
      {parallel.dtype != Dtype::kBf16 && parallel.dtype != Dtype::kFp8 && parallel.dtype != Dtype::kFp32,
       "/parallel/dtype", "must be bf16, fp8 or fp32 for TorchTitan"},
      {parallel.zero == 1 || parallel.zero == 2, "/parallel/zero",
       "must be 0 or 3 for TorchTitan, which shards parameters too or nothing"},
      {parallel.offload_optimizer, "/parallel/offload_optimizer",
       "is true, but TorchTitan offloads parameters and gradients too, which goodput does not model; set it "
       "to false"},
      {parallel.has_fp8() && parallel.fp8_recipe != Fp8Recipe::kCurrent &&
           parallel.fp8_recipe != Fp8Recipe::kMx,
       "/parallel/fp8_recipe", "must be current or mx for TorchTitan"},
      {parallel.overlap_tp_reduce && !parallel.compiled, "/parallel/overlap_tp_reduce",
       "is true, which TorchTitan supports only with compiled true"},
      {parallel.recompute == Recompute::kSelective &&
           parallel.selective_recompute != SelectiveRecompute::kEverySecondMatmul,
       "/parallel/selective_recompute",
       "is \"cheap\", which is how Megatron-LM recomputes; for TorchTitan, set it to every_second_matmul"},
  };
  for (const Limit& limit : limits) {
    if (limit.is_exceeded) return plan.error(limit.pointer, std::string(limit.what));
  }
  return Ok{};
}

struct Schedule {
  std::string_view ours;
  std::string_view theirs;
  std::int64_t parts;  // per GPU, unless the file says otherwise
};
constexpr Schedule kTitanSchedules[] = {{"1f1b", "1F1B", 1},
                                        {"gpipe", "GPipe", 1},
                                        {"interleaved", "Interleaved1F1B", 2},
                                        {"zb-v", "ZBVZeroBubble", 2},
                                        {"dualpipev", "DualPipeV", 2}};

// How many layers the embedding and the output head count as, so that TorchTitan deals out the plan's split.
struct Weights {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

std::optional<Weights> weights_of(const std::vector<std::int32_t>& split, std::int64_t layers) {
  const auto parts = static_cast<std::int64_t>(split.size());
  constexpr std::int64_t kMostWeight = 16;
  for (std::int64_t first = 0; first <= kMostWeight; ++first) {
    for (std::int64_t last = 0; last <= kMostWeight; ++last) {
      const std::int64_t counted = layers + first + last;
      bool is_same = true;
      for (std::int64_t part = 0; part < parts && is_same; ++part) {
        is_same = split[static_cast<std::size_t>(part)] ==
                  counted / parts + (part < counted % parts ? 1 : 0) - (part == 0 ? first : 0) -
                      (part == parts - 1 ? last : 0);
      }
      if (is_same) return Weights{first, last};
    }
  }
  return std::nullopt;
}

Status set_pipeline(const TrainingPlan& plan, TomlText& toml) {
  const ParallelPlan& parallel = plan.parallel;
  toml.set("pipeline_parallel_degree", parallel.pp);
  if (parallel.pp == 1) return Ok{};
  const auto* const schedule = std::ranges::find(kTitanSchedules, parallel.schedule, &Schedule::ours);
  if (schedule == std::end(kTitanSchedules)) {
    return plan.error("/parallel/schedule",
                      fmt::format("is {}, which TorchTitan does not have; use 1f1b, gpipe, interleaved, zb-v "
                                  "or dualpipev",
                                  in_quotes(parallel.schedule)));
  }
  toml.set_text("pipeline_parallel_schedule", schedule->theirs);
  toml.set("pipeline_parallel_microbatch_size", parallel.micro_batch);
  const bool has_chunks = parallel.schedule == "interleaved";
  const std::int64_t parts = parallel.pp * (has_chunks ? parallel.vpp : schedule->parts);
  std::vector<std::int32_t> split = parallel.layers_per_stage;
  if (split.empty())
    split.assign(static_cast<std::size_t>(parts), static_cast<std::int32_t>(plan.model.layers / parts));
  const auto weights = weights_of(split, plan.model.layers);
  const bool has_default_parts = parts == parallel.pp * schedule->parts;
  const std::int64_t counted = weights ? plan.model.layers + weights->first + weights->last : 0;
  const std::int64_t each = (counted + parts - 1) / parts;
  const bool has_parts = has_default_parts || (each > 0 && (counted + each - 1) / each == parts);
  if (!weights || !has_parts) {
    return plan.error("/parallel/layers_per_stage",
                      "is a split that TorchTitan does not make: it gives all stages equally many layers, "
                      "except for one fewer in the first and in the last stage");
  }
  toml.set("pipeline_parallel_first_stage_less_layers", weights->first);
  toml.set("pipeline_parallel_last_stage_less_layers", weights->last);
  if (!has_default_parts) toml.set("pipeline_parallel_layers_per_stage", each);
  return Ok{};
}

Status set_parallelism(const TrainingPlan& plan, TomlText& toml) {
  constexpr std::array<std::string_view, 3> kReshard = {"always", "never", "default"};
  const ParallelPlan& parallel = plan.parallel;
  toml.section("parallelism");
  const std::int64_t copies = parallel.zero == 3 ? parallel.zero_instances : parallel.dp;
  toml.set("data_parallel_replicate_degree", copies);
  toml.set("data_parallel_shard_degree", parallel.dp / copies);
  if (parallel.zero == 3)
    toml.set_text("fsdp_reshard_after_forward",
                  kReshard.at(static_cast<std::size_t>(parallel.reshard_after_forward)));
  toml.set("tensor_parallel_degree", parallel.tp);
  if (parallel.tp > 1) toml.set_flag("enable_async_tensor_parallel", parallel.overlap_tp_reduce);
  toml.set("context_parallel_degree", parallel.cp);
  if (plan.model.moe) {
    toml.set("expert_parallel_degree", parallel.ep);
    toml.set("expert_tensor_parallel_degree", parallel.expert_tp());
  }
  return set_pipeline(plan, toml);
}

void set_training(const ParallelPlan& parallel, TomlText& toml) {
  toml.section("training");
  toml.set("seq_len", parallel.sequence_length);
  // With a pipeline, a local batch is all that passes through it between two updates.
  toml.set("local_batch_size",
           parallel.pp > 1 ? parallel.global_batch / parallel.dp : std::int64_t{parallel.micro_batch});
  toml.set("global_batch_size", parallel.global_batch);
  toml.set_text("mixed_precision_param", parallel.dtype == Dtype::kFp32 ? "float32" : "bfloat16");
  toml.set_text("mixed_precision_reduce", parallel.gradient_bytes == 2 ? "bfloat16" : "float32");
}

Result<std::string> write_torchtitan(const TrainingPlan& plan) {
  GOODPUT_TRY(const Flavor flavor, find_flavor(plan));
  GOODPUT_TRY_STATUS(check_torchtitan(plan));
  GOODPUT_TRY(const LaunchNodes launch, launch_nodes(plan));
  const ParallelPlan& parallel = plan.parallel;
  TomlText toml;
  toml.section("model");
  toml.set_text("name", flavor.name);
  toml.set_text("flavor", flavor.flavor);
  const bool is_mx = parallel.fp8_recipe == Fp8Recipe::kMx;
  if (parallel.has_fp8())
    toml.set_list("converters", is_mx ? "quantize.linear.mx" : "quantize.linear.float8");
  set_training(parallel, toml);
  GOODPUT_TRY_STATUS(set_parallelism(plan, toml));
  toml.section("activation_checkpoint");
  toml.set_text("mode", kRecomputeNames.at(static_cast<std::size_t>(parallel.recompute)));
  if (parallel.recompute == Recompute::kSelective) toml.set_text("selective_ac_option", "op");
  toml.section("compile");
  toml.set_flag("enable", parallel.compiled);
  return fmt::format(
      "# TorchTitan: {}. Written by goodput export plan.\n"
      "# Start it with torchrun on {} nodes of {} GPUs. Add the tokenizer, data, number of steps, optimizer "
      "and\n"
      "# checkpoints.\n"
      "{}",
      launch_title(plan), launch.nodes, launch.gpus_per_node, toml.text());
}

}  // namespace

LaunchExport launch_export_torchtitan() {
  return {.name = "torchtitan",
          .title = kTitan,
          .summary = "TOML of TorchTitan, for models that it has by name",
          .file_name = "launch-torchtitan.toml",
          .to_do = "add the tokenizer, data, number of steps, optimizer and checkpoints",
          .write = write_torchtitan};
}

}  // namespace goodput::launch
