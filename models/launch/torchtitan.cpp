// TorchTitan's TOML, of all versions: keys moved between sections over time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "models/launch/launch_format.h"
#include "models/launch/named_model.h"
#include "models/launch/software_keys.h"
#include "models/launch/structured_text.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

constexpr std::string_view kDefault = "TorchTitan's default";

struct ScheduleName {
  std::string_view theirs;
  std::string_view ours;
  std::int64_t chunks;  // per stage, unless the file says otherwise
};
constexpr ScheduleName kSchedules[] = {
    {"1f1b", "1f1b", 1},
    {"gpipe", "gpipe", 1},
    {"interleaved1f1b", "interleaved", 2},
    {"interleavedzerobubble", "interleaved", 2},
    {"loopedbfs", "interleaved", 2},
    {"zbvzerobubble", "zb-v", 2},
    {"dualpipev", "dualpipev", 2},
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

class TitanReader {
 public:
  TitanReader(Settings& settings, LaunchDraft& draft) : settings_(settings), draft_(draft) {}

  Status read() {
    GOODPUT_TRY_STATUS(degrees());
    GOODPUT_TRY_STATUS(sharding());
    GOODPUT_TRY_STATUS(batch());
    GOODPUT_TRY_STATUS(pipeline());
    GOODPUT_TRY_STATUS(precision());
    return memory_and_overlap();
  }

 private:
  void assume(std::string_view pointer, std::string json) {
    draft_.assume(pointer, std::move(json), std::string(kDefault));
  }

  Status degrees() {
    GOODPUT_TRY_STATUS(draft_.state_integer(
        "/parallel/tp",
        settings_.find({"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"})));
    GOODPUT_TRY_STATUS(draft_.state_integer(
        "/parallel/pp",
        settings_.find({"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree",
                        "training.pipeline_parallel_degree"})));
    GOODPUT_TRY_STATUS(draft_.state_integer(
        "/parallel/cp",
        settings_.find({"parallelism.context_parallel_degree", "experimental.context_parallel_degree"})));
    GOODPUT_TRY_STATUS(
        draft_.state_integer("/parallel/ep", settings_.find("parallelism.expert_parallel_degree")));
    GOODPUT_TRY_STATUS(
        draft_.state_integer("/parallel/etp", settings_.find("parallelism.expert_tensor_parallel_degree")));
    for (const char* pointer : {"/parallel/tp", "/parallel/pp", "/parallel/cp"}) assume(pointer, "1");
    const bool shares = draft_.integer_or("/parallel/tp", 1) > 1;
    draft_.derive("/parallel/sequence_parallel", shares ? "true" : "false",
                  "TorchTitan shards norms over the tensor-parallel GPUs");
    return Ok{};
  }

  // Replicas of the sharded model, and the GPUs that a copy is sharded over; -1: the rest of the GPUs.
  Status sharding() {
    const Setting* shard =
        settings_.find({"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                        "training.data_parallel_degree"});
    const Setting* replicate = settings_.find(
        {"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"});
    GOODPUT_TRY(const std::int64_t copies,
                replicate != nullptr ? integer_of(*replicate) : Result<std::int64_t>(1));
    GOODPUT_TRY(std::int64_t shards, shard != nullptr ? integer_of(*shard) : Result<std::int64_t>(-1));
    if (copies < 1) return replicate->error("must be at least 1");
    if (shards == 0 || shards < -1) return shard->error("must be -1 or at least 1");
    if (shards == -1) {
      GOODPUT_TRY(const auto replicas, draft_.replicas());
      if (!replicas) return Ok{};  // asks for the number of GPUs
      if (*replicas % copies != 0)
        return replicate->error(
            fmt::format("must divide the {} replicas that the GPUs have room for", *replicas));
      shards = *replicas / copies;
      draft_.derive("/parallel/dp", std::to_string(*replicas), "GPUs / (tp x pp x cp)");
    } else {
      std::int64_t replicas = 0;
      if (__builtin_mul_overflow(shards, copies, &replicas)) return shard->error("is too large");
      GOODPUT_TRY_STATUS(draft_.state("/parallel/dp", std::to_string(replicas), *shard));
    }
    const bool is_sharded = shards > 1 || draft_.integer_or("/parallel/cp", 1) > 1;
    draft_.derive("/parallel/zero", is_sharded ? "3" : "0",
                  is_sharded ? "fully sharded (FSDP2)" : "not sharded");
    if (is_sharded && copies > 1)
      return draft_.state("/parallel/zero_instances", std::to_string(copies), *replicate);
    return Ok{};
  }

  Status batch() {
    const Setting* local = settings_.find({"training.local_batch_size", "training.batch_size"});
    const Setting* global = settings_.find("training.global_batch_size");
    const Setting* micro = settings_.find(
        {"parallelism.pipeline_parallel_microbatch_size", "experimental.pipeline_parallel_microbatch_size"});
    const Setting* count = settings_.find(
        {"parallelism.pipeline_parallel_microbatches", "experimental.pipeline_parallel_microbatches"});
    GOODPUT_TRY_STATUS(draft_.state_integer("/parallel/sequence_length", settings_.find("training.seq_len")));
    assume("/parallel/sequence_length", "2048");
    GOODPUT_TRY(const std::int64_t sequences,
                local != nullptr ? integer_of(*local) : Result<std::int64_t>(8));
    if (sequences < 1) return local->error("must be at least 1");
    const std::int64_t pp = draft_.integer_or("/parallel/pp", 1);
    std::int64_t each = sequences;
    if (pp > 1) {
      GOODPUT_TRY(each, micro != nullptr ? integer_of(*micro) : Result<std::int64_t>(1));
      if (count != nullptr && micro == nullptr) {
        GOODPUT_TRY(const std::int64_t parts, integer_of(*count));
        if (parts < 1 || sequences % parts != 0)
          return count->error(fmt::format("must divide the local batch of {}", sequences));
        each = sequences / parts;
      }
      if (each < 1 || sequences % each != 0)
        return micro->error(fmt::format("must divide the local batch of {}", sequences));
    }
    const Setting* by = pp > 1 ? (micro != nullptr ? micro : count) : local;
    if (by != nullptr)
      GOODPUT_TRY_STATUS(draft_.state("/parallel/micro_batch", std::to_string(each), *by));
    else
      assume("/parallel/micro_batch", std::to_string(each));
    return batch_of_step(sequences, each, local, global);
  }

  Status batch_of_step(std::int64_t sequences, std::int64_t each, const Setting* local,
                       const Setting* global) {
    const std::int64_t pp = draft_.integer_or("/parallel/pp", 1);
    const std::int64_t in_flight = sequences / each;
    if (pp > 1 && in_flight < pp) {
      const std::string what = fmt::format(
          "only {} of {} stages work at a time, since a replica has only {} micro-batch{}; "
          "raise the local batch size",
          in_flight, pp, in_flight, in_flight == 1 ? "" : "es");
      local != nullptr ? draft_.warn(*local, what) : draft_.warn(what);
    }
    const auto dp = draft_.integer("/parallel/dp");
    GOODPUT_TRY(const std::int64_t stated,
                global != nullptr ? integer_of(*global) : Result<std::int64_t>(-1));
    if (stated > 0) {
      if (dp && pp > 1 && sequences <= 1'000'000'000 && *dp <= 1'000'000'000 && stated > sequences * *dp)
        draft_.warn(*global,
                    "TorchTitan empties the pipeline after each local batch, which is not modeled: steps "
                    "take longer");
      return draft_.state("/parallel/global_batch", std::to_string(stated), *global);
    }
    std::int64_t all = 0;
    if (!dp || __builtin_mul_overflow(*dp, sequences, &all)) return Ok{};
    draft_.derive("/parallel/global_batch", std::to_string(all), "local batch x dp");
    return Ok{};
  }

  Status pipeline() {
    const Setting* schedule =
        settings_.find({"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"});
    const Setting* per_stage = settings_.find({"parallelism.pipeline_parallel_layers_per_stage",
                                               "experimental.pipeline_parallel_layers_per_stage"});
    const Setting* less_first = settings_.find("parallelism.pipeline_parallel_first_stage_less_layers");
    const Setting* less_last = settings_.find("parallelism.pipeline_parallel_last_stage_less_layers");
    const std::int64_t pp = draft_.integer_or("/parallel/pp", 1);
    if (pp <= 1) return Ok{};
    GOODPUT_TRY(const std::string name,
                schedule != nullptr ? text_of(*schedule) : Result<std::string>("1F1B"));
    const auto* const known = std::ranges::find(kSchedules, lower(name), &ScheduleName::theirs);
    if (known == std::end(kSchedules)) {
      std::vector<std::string_view> names;
      for (const ScheduleName& one : kSchedules) names.push_back(one.theirs);
      return schedule->error(fmt::format("is not a schedule that goodput has{}; known: {}",
                                         did_you_mean(lower(name), names), fmt::join(names, ", ")));
    }
    if (known->theirs == "interleavedzerobubble" || known->theirs == "loopedbfs")
      draft_.warn(*schedule, "is not modeled: treated as Interleaved1F1B");
    draft_.derive("/parallel/schedule", json_text(known->ours),
                  schedule != nullptr ? origin_of(*schedule) : std::string(kDefault));
    return stages(pp, *known, per_stage, less_first, less_last);
  }

  // The embedding and the output head count as so many layers when layers are dealt out.
  Status stages(std::int64_t pp, const ScheduleName& schedule, const Setting* per_stage,
                const Setting* less_first, const Setting* less_last) {
    const auto layers = draft_.integer("/model/layers");
    GOODPUT_TRY(const std::int64_t first,
                less_first != nullptr ? integer_of(*less_first) : Result<std::int64_t>(1));
    GOODPUT_TRY(const std::int64_t last,
                less_last != nullptr ? integer_of(*less_last) : Result<std::int64_t>(1));
    if (!layers || pp > 10'000) return Ok{};
    std::int64_t parts = pp * schedule.chunks;
    if (per_stage != nullptr) {
      GOODPUT_TRY(const std::int64_t each, integer_of(*per_stage));
      if (each < 1) return per_stage->error("must be at least 1");
      const std::int64_t counted =
          *layers + std::clamp<std::int64_t>(first, 0, 100) + std::clamp<std::int64_t>(last, 0, 100);
      parts = (counted + each - 1) / each;
      if (parts % pp != 0)
        return per_stage->error(
            fmt::format("makes {} parts of {} layers, which pp {} must divide", parts, counted, pp));
    }
    const bool is_v_shaped = schedule.ours == "zb-v" || schedule.ours == "dualpipev";
    if (!is_v_shaped && parts > pp)
      draft_.derive("/parallel/vpp", std::to_string(parts / pp), "stages per GPU");
    if (parts > 10'000 || parts < 1) return Ok{};
    const std::int64_t counted = *layers + first + last;
    std::vector<std::int64_t> split;
    for (std::int64_t part = 0; part < parts; ++part)
      split.push_back(counted / parts + (part < counted % parts ? 1 : 0) - (part == 0 ? first : 0) -
                      (part == parts - 1 ? last : 0));
    if (std::ranges::any_of(split, [](std::int64_t in_part) { return in_part < 0; }))
      return Error{fmt::format("{} layers cannot be dealt out to {} pipeline stages", *layers, parts),
                   {.file = settings_.file()}};
    draft_.derive("/parallel/layers_per_stage", fmt::format("[{}]", fmt::join(split, ",")),
                  "TorchTitan's split: the embedding and the output head count as layers");
    return Ok{};
  }

  Status precision() {
    const Setting* type = settings_.find("training.mixed_precision_param");
    const Setting* reduced = settings_.find("training.mixed_precision_reduce");
    const Setting* converters = settings_.find({"model.converters"});
    const Setting* old = settings_.find({"float8.enable_float8_linear", "training.fp8_linear"});
    settings_.skip("training.dtype");
    std::string dtype = "bf16";
    if (type != nullptr) {
      GOODPUT_TRY(const std::string name, text_of(*type));
      dtype = name == "float32" ? "fp32" : name == "float16" ? "fp16" : "bf16";
    }
    GOODPUT_TRY(const std::string reduce,
                reduced != nullptr ? text_of(*reduced) : Result<std::string>("float32"));
    if (reduced != nullptr)
      GOODPUT_TRY_STATUS(draft_.state("/parallel/gradient_bytes", reduce == "float32" ? "4" : "2", *reduced));
    else
      assume("/parallel/gradient_bytes", "4");
    bool is_fp8 = old != nullptr && flag_of(*old) && *flag_of(*old);
    bool is_mx = false;
    for (std::size_t i = 0; converters != nullptr && i < converters->texts.size(); ++i) {
      is_mx |= converters->texts[i].find("mx") != std::string::npos;
      is_fp8 |= converters->texts[i].find("float8") != std::string::npos || is_mx;
    }
    if (is_fp8) {
      const Setting& by = converters != nullptr ? *converters : *old;
      GOODPUT_TRY_STATUS(draft_.state("/parallel/dtype", json_text("fp8"), by));
      const std::string recipe =
          settings_.text("quantize.linear.float8.recipe_name", settings_.text("float8.recipe_name"));
      const std::string_view ours = is_mx ? "mx" : fp8_recipe_named(recipe);
      return draft_.state("/parallel/fp8_recipe", json_text(ours.empty() ? "current" : ours), by);
    }
    if (type != nullptr) return draft_.state("/parallel/dtype", json_text(dtype), *type);
    assume("/parallel/dtype", json_text(dtype));
    return Ok{};
  }

  Status memory_and_overlap() {
    const Setting* mode = settings_.find("activation_checkpoint.mode");
    // Here "none" is a value.
    const auto given = std::ranges::find(settings_.all(), "activation_checkpoint.mode", &Setting::key);
    if (given != settings_.all().end()) mode = &*given;
    const Setting* option = settings_.find("activation_checkpoint.selective_ac_option");
    GOODPUT_TRY(const std::string name, mode != nullptr ? text_of(*mode) : Result<std::string>("selective"));
    if (name != "none" && name != "selective" && name != "full")
      return mode->error("must be none, selective or full; other kinds are not modeled");
    if (mode != nullptr)
      GOODPUT_TRY_STATUS(draft_.state("/parallel/recompute", json_text(name), *mode));
    else
      assume("/parallel/recompute", json_text(name));
    if (name == "selective" && option != nullptr && option->texts.size() == 1 && option->texts[0] != "op")
      draft_.warn(*option, "recomputing whole layers is not modeled: treated as \"op\"");
    const Setting* compile = settings_.find({"compile.enable", "training.compile"});
    if (compile != nullptr) {
      GOODPUT_TRY(const bool is_on, flag_of(*compile));
      GOODPUT_TRY_STATUS(draft_.state("/parallel/compiled", is_on ? "true" : "false", *compile));
    } else {
      assume("/parallel/compiled", "false");
    }
    const Setting* async = settings_.find(
        {"parallelism.enable_async_tensor_parallel", "experimental.enable_async_tensor_parallel"});
    if (draft_.integer_or("/parallel/tp", 1) > 1) {
      if (async != nullptr) {
        GOODPUT_TRY(const bool is_on, flag_of(*async));
        GOODPUT_TRY_STATUS(draft_.state("/parallel/overlap_tp_reduce", is_on ? "true" : "false", *async));
      } else {
        assume("/parallel/overlap_tp_reduce", "false");
      }
    }
    return resharding();
  }

  Status resharding() {
    const Setting* reshard =
        settings_.find({"parallelism.fsdp_reshard_after_forward", "training.reshard_after_forward"});
    const Setting* offload = settings_.find("training.enable_cpu_offload");
    if (offload != nullptr && settings_.is_on("training.enable_cpu_offload")) {
      draft_.warn(*offload,
                  "offloading parameters is not modeled: only the optimizer's state is in host memory");
      GOODPUT_TRY_STATUS(draft_.state("/parallel/offload_optimizer", "true", *offload));
    }
    if (draft_.integer_or("/parallel/zero", 0) != 3) return Ok{};
    if (reshard == nullptr) {
      assume("/parallel/reshard_after_forward", json_text("unless_pp"));
      return Ok{};
    }
    GOODPUT_TRY(const std::string name, text_of(*reshard));
    if (name != "default" && name != "always" && name != "never")
      return reshard->error("must be default, always or never");
    return draft_.state("/parallel/reshard_after_forward", json_text(name == "default" ? "unless_pp" : name),
                        *reshard);
  }

  Settings& settings_;
  LaunchDraft& draft_;
};

// Sections that do not change a plan. What is left in the others does.
constexpr std::array<std::string_view, 20> kIgnoredSections = {"job",
                                                               "profiling",
                                                               "metrics",
                                                               "optimizer",
                                                               "lr_scheduler",
                                                               "checkpoint",
                                                               "comm",
                                                               "memory_estimation",
                                                               "fault_tolerance",
                                                               "experimental",
                                                               "validation",
                                                               "debug",
                                                               "quantize",
                                                               "float8",
                                                               "mx",
                                                               "model",
                                                               "training",
                                                               "compile",
                                                               "activation_checkpoint",
                                                               "parallelism"};
constexpr std::array<std::string_view, 3> kPlanSections = {"parallelism", "activation_checkpoint",
                                                           "experimental"};
constexpr std::array<std::string_view, 12> kHarmless = {
    "parallelism.disable_loss_parallel",
    "experimental.custom_import",
    "experimental.custom_args_module",
    "parallelism.context_parallel_rotate_method",
    "experimental.context_parallel_rotate_method",
    "activation_checkpoint.early_stop",
    "activation_checkpoint.preserve_rng_state",
    "activation_checkpoint.determinism_check",
    "activation_checkpoint.debug",
    "parallelism.enable_compiled_autograd",
    "experimental.enable_compiled_autograd",
    "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns"};

bool is_torchtitan(const LaunchText& launch) {
  return !launch.is_json() && (launch.has_section("training") || launch.has_section("parallelism")) &&
         (launch.has_section("model") || launch.has_section("parallelism"));
}

Status read_torchtitan(const LaunchText& launch, const LaunchOptions& options, LaunchDraft& draft) {
  GOODPUT_TRY(Settings settings, toml_settings(launch.text, launch.file));
  const Setting* name = settings.find("model.name");
  const Setting* flavor = settings.find("model.flavor");
  if (name != nullptr) {
    GOODPUT_TRY(const std::string family, text_of(*name));
    GOODPUT_TRY(const std::string size,
                flavor != nullptr ? text_of(*flavor) : Result<std::string>("debugmodel"));
    GOODPUT_TRY_STATUS(state_named_model(fmt::format("torchtitan:{}:{}", family, size),
                                         flavor != nullptr ? *flavor : *name, *options.library, draft));
  }
  // TorchTitan trains no further layers for multi-token prediction.
  if (!draft.fixed_model.empty() && draft.integer_or("/model/mtp_layers", 0) > 0) {
    draft.set("/model/mtp_layers", "0", "TorchTitan has no multi-token prediction", Basis::kOption);
  }
  GOODPUT_TRY_STATUS(TitanReader(settings, draft).read());
  for (const Setting* unused : settings.unused()) {
    const std::string section = unused->key.substr(0, unused->key.find('.'));
    const bool is_known = std::ranges::find(kIgnoredSections, section) != kIgnoredSections.end();
    const bool changes_plan = std::ranges::find(kPlanSections, section) != kPlanSections.end() &&
                              std::ranges::find(kHarmless, unused->key) == kHarmless.end();
    if (!is_known || changes_plan)
      draft.warn(
          *unused,
          "is not a key that goodput knows; check that it does not change the model, the layout or memory");
    else
      draft.ignore(*unused);
  }
  draft.assume("/stack", json_text("torchtitan"), "the software that the file is for");
  return Ok{};
}

}  // namespace

LaunchFormat launch_format_torchtitan() {
  return {.name = "torchtitan",
          .title = "a TorchTitan config",
          .summary = "TOML of TorchTitan: model, layout, batch",
          .describes_model_only = false,
          .matches = is_torchtitan,
          .read = read_torchtitan};
}

}  // namespace goodput::launch
