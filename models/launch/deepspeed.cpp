// A DeepSpeed config: batch, ZeRO and precision; the model and its layout are in other files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "models/launch/launch_format.h"
#include "models/launch/structured_text.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

// Sections that change memory or time and that plans cannot express.
constexpr std::array<std::string_view, 10> kNotModelled = {"zero_optimization.offload_param",
                                                           "zero_optimization.zero_hpz_partition_size",
                                                           "zero_optimization.mics_shard_size",
                                                           "zero_optimization.zero_quantized_weights",
                                                           "zero_optimization.zero_quantized_gradients",
                                                           "sparse_attention",
                                                           "compression_training",
                                                           "data_efficiency",
                                                           "progressive_layer_drop",
                                                           "curriculum_learning"};

// The Hugging Face trainer fills in "auto".
const Setting* find_stated(Settings& settings, std::string_view key) {
  const Setting* setting = settings.find(key);
  const bool is_auto = setting != nullptr && setting->texts.size() == 1 && setting->texts[0] == "auto";
  return is_auto ? nullptr : setting;
}

Status read_batch(Settings& settings, LaunchDraft& draft) {
  const Setting* global = find_stated(settings, "train_batch_size");
  const Setting* micro = find_stated(settings, "train_micro_batch_size_per_gpu");
  const Setting* steps = find_stated(settings, "gradient_accumulation_steps");
  GOODPUT_TRY_STATUS(draft.state_integer("/parallel/global_batch", global));
  GOODPUT_TRY_STATUS(draft.state_integer("/parallel/micro_batch", micro));
  if (steps == nullptr) {
    if (micro == nullptr && global != nullptr) draft.assume("/accumulation", "1", "DeepSpeed's default");
    return Ok{};
  }
  GOODPUT_TRY(const std::int64_t accumulated, integer_of(*steps));
  if (accumulated < 1) return steps->error("must be at least 1");
  const auto in_step = draft.integer("/parallel/global_batch");
  const auto per_gpu = draft.integer("/parallel/micro_batch");
  std::int64_t per_replica = 0;
  if (in_step && per_gpu && *per_gpu > 0 && !__builtin_mul_overflow(*per_gpu, accumulated, &per_replica)) {
    if (*in_step % per_replica != 0)
      return steps->error(fmt::format("train_batch_size ({}) must be a multiple of {} x {}", *in_step,
                                      *per_gpu, accumulated));
    return draft.state("/parallel/dp", std::to_string(*in_step / per_replica), *steps);
  }
  // dp x this is the batch, once dp is known.
  return draft.state("/accumulation", std::to_string(accumulated), *steps);
}

Status read_zero(Settings& settings, LaunchDraft& draft) {
  const Setting* stage = find_stated(settings, "zero_optimization.stage");
  GOODPUT_TRY_STATUS(draft.state_integer("/parallel/zero", stage));
  draft.assume("/parallel/zero", "0", "DeepSpeed's default");
  const bool is_zero3 = draft.integer_or("/parallel/zero", 0) == 3;
  const Setting* overlap = find_stated(settings, "zero_optimization.overlap_comm");
  if (overlap != nullptr) {
    GOODPUT_TRY(const bool is_on, flag_of(*overlap));
    GOODPUT_TRY_STATUS(draft.state("/parallel/overlap_grad_reduce", is_on ? "true" : "false", *overlap));
  } else {
    draft.assume("/parallel/overlap_grad_reduce", is_zero3 ? "true" : "false", "DeepSpeed's default");
  }
  // ZeRO-3 fetches parameters ahead of their use.
  draft.assume("/parallel/overlap_param_gather", is_zero3 ? "true" : "false", "DeepSpeed's default");
  if (const Setting* old = settings.find("zero_optimization.cpu_offload");
      old != nullptr && settings.is_on("zero_optimization.cpu_offload"))
    return draft.state("/parallel/offload_optimizer", "true", *old);
  const Setting* offload = settings.find("zero_optimization.offload_optimizer.device");
  if (offload == nullptr) return Ok{};
  GOODPUT_TRY(const std::string device, text_of(*offload));
  if (device == "nvme") draft.warn(*offload, "offloading to NVMe is not modeled: treated as host memory");
  const bool is_offloaded = device == "cpu" || device == "nvme";
  return draft.state("/parallel/offload_optimizer", is_offloaded ? "true" : "false", *offload);
}

Status read_precision(Settings& settings, LaunchDraft& draft) {
  std::string dtype = "fp32";
  const Setting* by = nullptr;
  for (const char* name : {"fp16", "bf16", "bfloat16"}) {
    const Setting* enabled = find_stated(settings, fmt::format("{}.enabled", name));
    if (enabled == nullptr) continue;
    GOODPUT_TRY(const bool is_on, flag_of(*enabled));
    if (!is_on) continue;
    dtype = name == std::string_view("bfloat16") ? "bf16" : name;
    by = enabled;
  }
  const auto is_auto = [&](const char* key) {
    const Setting* setting = settings.find(key);
    return setting != nullptr && setting->texts.size() == 1 && setting->texts[0] == "auto";
  };
  const bool asks = by == nullptr && (is_auto("bf16.enabled") || is_auto("fp16.enabled"));
  if (asks && !draft.has("/parallel/dtype")) return Ok{};  // it is asked for
  if (by != nullptr)
    GOODPUT_TRY_STATUS(draft.state("/parallel/dtype", json_text(dtype), *by));
  else
    draft.assume("/parallel/dtype", json_text(dtype), "DeepSpeed's default");
  const Setting* reduced = find_stated(settings, "communication_data_type");
  if (reduced != nullptr) {
    GOODPUT_TRY(const std::string type, text_of(*reduced));
    return draft.state("/parallel/gradient_bytes", type == "fp32" ? "4" : "2", *reduced);
  }
  const bool is_fp32 = draft.find("/parallel/dtype")->json == json_text("fp32");
  draft.assume("/parallel/gradient_bytes", is_fp32 ? "4" : "2",
               "DeepSpeed reduces gradients in the type of the model");
  return Ok{};
}

bool is_deepspeed(const LaunchText& launch) {
  return launch.is_json() &&
         std::ranges::any_of(
             std::array{"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"},
             [&](const char* key) { return launch.has_key(key); });
}

Status read_deepspeed(const LaunchText& launch, const LaunchOptions& /*options*/, LaunchDraft& draft) {
  GOODPUT_TRY(Settings settings, json_settings(launch.text, launch.file));
  GOODPUT_TRY_STATUS(read_zero(settings, draft));
  GOODPUT_TRY_STATUS(
      draft.state_integer("/parallel/tp", find_stated(settings, "tensor_parallel.autotp_size")));
  GOODPUT_TRY_STATUS(draft.state_integer("/parallel/cp", find_stated(settings, "sequence_parallel_size")));
  GOODPUT_TRY_STATUS(read_batch(settings, draft));
  GOODPUT_TRY_STATUS(read_precision(settings, draft));
  if (const Setting* type = find_stated(settings, "optimizer.type");
      type != nullptr && !type->texts.empty()) {
    std::string name = type->texts[0];
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name.find("adam") == std::string::npos)
      draft.warn(*type, "only Adam is modeled: its state of 12 bytes per parameter is assumed");
  }
  const Setting* batch = settings.find("train_batch_size");
  draft.has_default_batch |= batch == nullptr || batch->texts != std::vector<std::string>{"auto"};
  for (const char* section : {"bf16", "fp16", "zero_optimization"}) {
    if (const Setting* flat = settings.find(section); flat != nullptr)
      return flat->error("must be an object, such as {\"enabled\": true}");
  }
  for (const Setting* unused : settings.unused()) {
    const bool is_known =
        std::ranges::any_of(kNotModelled, [&](std::string_view key) { return unused->key.starts_with(key); });
    const bool is_off = unused->texts.size() == 1 && flag_of(*unused) && !*flag_of(*unused);
    is_known && !is_off && !is_null(*unused)
        ? draft.warn(*unused, "is not modeled: it changes memory or step time")
        : draft.ignore(*unused);
  }
  return Ok{};
}

}  // namespace

LaunchFormat launch_format_deepspeed() {
  return {.name = "deepspeed",
          .title = "a DeepSpeed config",
          .summary = "JSON config of DeepSpeed: batch, ZeRO, precision",
          .describes_model_only = false,
          .matches = is_deepspeed,
          .read = read_deepspeed};
}

}  // namespace goodput::launch
