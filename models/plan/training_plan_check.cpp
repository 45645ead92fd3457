// The rules between the fields of a plan. Errors have a pointer from the plan, until check_training_plan()
// gives them the file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

Status must_divide(std::string_view key, std::int64_t divisor, std::string_view whole, std::int64_t value) {
  if (value % divisor == 0) return Ok{};
  return Error{fmt::format("is {}, which does not divide {} ({})", divisor, whole, value),
               {.pointer = fmt::format("/parallel/{}", key)}};
}

Status check_gpus(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  const double gpus = static_cast<double>(parallel.dp) * parallel.pp * parallel.tp * parallel.cp;
  if (gpus <= static_cast<double>(plan.cluster.gpus())) return Ok{};
  return Error{fmt::format("dp {} x pp {} x tp {} x cp {} needs {:.0f} GPUs, but the cluster has {}",
                           parallel.dp, parallel.pp, parallel.tp, parallel.cp, gpus, plan.cluster.gpus()),
               {.pointer = "/parallel"}};
}

// A rank has whole heads and whole columns of the FFN; key/value heads are copied where there are fewer.
Status check_tensor_parallelism(const TrainingPlan& plan) {
  const ModelShape& model = plan.model;
  const std::int32_t tp = plan.parallel.tp;
  GOODPUT_TRY_STATUS(must_divide("tp", tp, "the model's heads", model.heads));
  GOODPUT_TRY_STATUS(must_divide("tp", tp, "the model's hidden", model.hidden));
  GOODPUT_TRY_STATUS(must_divide("tp", tp, "the model's ffn", model.ffn));
  if (model.moe) {
    GOODPUT_TRY_STATUS(must_divide(plan.parallel.etp > 0 ? "etp" : "tp", plan.parallel.expert_tp(),
                                   "the model's expert_ffn", model.moe->expert_ffn));
  }
  if (model.latent || model.kv_heads % tp == 0 || tp % model.kv_heads == 0) return Ok{};
  return Error{fmt::format("must be a divisor or a multiple of the model's kv_heads ({1}), not {0}", tp,
                           model.kv_heads),
               {.pointer = "/parallel/tp"}};
}

// Tensor-parallel peers that hold parts of different experts have to hold different tokens.
Status check_expert_tensor_parallelism(const ParallelPlan& parallel) {
  const std::int32_t etp = parallel.expert_tp();
  if (etp != parallel.tp && parallel.tp > 1 && !parallel.sequence_parallel) {
    return Error{fmt::format("is {}, not tp ({}); this needs sequence_parallel to be true", etp, parallel.tp),
                 {.pointer = "/parallel/etp"}};
  }
  const std::int64_t ranks = std::int64_t{parallel.dp} * parallel.cp * parallel.tp;
  return must_divide("etp", etp, "dp x cp x tp", ranks);
}

Status check_expert_parallelism(const TrainingPlan& plan, ExpertSlots slots) {
  const ParallelPlan& parallel = plan.parallel;
  if (slots.are_used()) return check_whole_experts(parallel);
  if (!plan.model.moe) {
    for (const auto& [key, value] : {std::pair{"ep", parallel.ep}, std::pair{"etp", parallel.etp}}) {
      if (value <= 1) continue;
      return Error{fmt::format("is {}, but the model has no experts", value),
                   {.pointer = fmt::format("/parallel/{}", key)}};
    }
    return Ok{};
  }
  GOODPUT_TRY_STATUS(check_expert_tensor_parallelism(parallel));
  GOODPUT_TRY_STATUS(must_divide("ep", parallel.ep, "the model's experts", plan.model.moe->experts));
  const std::int64_t ranks = std::int64_t{parallel.dp} * parallel.cp * parallel.tp;
  const std::int64_t holders = ranks / parallel.expert_tp();
  if (holders % parallel.ep == 0) return Ok{};
  const bool is_default = parallel.expert_tp() == parallel.tp;
  std::string remedy;
  if (parallel.tp > 1 && ranks % parallel.ep == 0) {
    remedy = fmt::format("; to spread the experts over the tp GPUs too, set {}etp to 1",
                         parallel.sequence_parallel ? "" : "sequence_parallel to true and ");
  }
  return Error{fmt::format("is {}, which does not divide {} ({}){}", parallel.ep,
                           is_default ? "dp x cp" : "dp x cp x tp / etp", holders, remedy),
               {.pointer = "/parallel/ep"}};
}

// An instance that ZeRO shards within has whole replicas and whole expert-parallel groups.
Status check_instances(const ParallelPlan& parallel, ExpertSlots slots) {
  const std::int32_t instances = parallel.sharding_instances();
  GOODPUT_TRY_STATUS(must_divide("zero_instances", instances, "dp", parallel.dp));
  const std::int64_t replicas = parallel.dp / instances;
  const std::int64_t gpus = replicas * parallel.cp * parallel.tp;
  if (instances == 1 || gpus % slots.gpus_of_group(parallel) == 0) return Ok{};
  return Error{fmt::format("is {}, so each instance has {} of the dp {} replicas, but their number of GPUs "
                           "per stage ({}) is not a multiple of ep {} x etp {}; use fewer instances or a "
                           "smaller ep",
                           instances, replicas, parallel.dp, gpus, parallel.ep, slots.tp_of_expert(parallel)),
               {.pointer = "/parallel/zero_instances"}};
}

Status check_batch(const ParallelPlan& parallel) {
  const std::int64_t at_once = std::int64_t{parallel.dp} * parallel.micro_batch;
  if (parallel.global_batch % at_once != 0) {
    return Error{fmt::format("must be a multiple of dp {1} x micro_batch {2} = {3}, not {0}",
                             parallel.global_batch, parallel.dp, parallel.micro_batch, at_once),
                 {.pointer = "/parallel/global_batch"}};
  }
  GOODPUT_TRY_STATUS(must_divide("cp", parallel.cp, "sequence_length", parallel.sequence_length));
  const std::int64_t shards = std::int64_t{parallel.cp} * parallel.tp;
  if (!parallel.sequence_parallel || parallel.sequence_length % shards == 0) return Ok{};
  return Error{
      fmt::format("must be a multiple of cp {1} x tp {2} = {3}, not {0}, because sequence_parallel is true",
                  parallel.sequence_length, parallel.cp, parallel.tp, shards),
      {.pointer = "/parallel/sequence_length"}};
}

// The most that 64 bits count: tokens of a step, each once an expert it goes to.
Status check_tokens(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  const std::int64_t copies = parallel.global_batch * (plan.model.moe ? plan.model.moe->top_k : 1);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / copies;
  if (parallel.sequence_length <= most) return Ok{};
  return Error{fmt::format("is {}, but sequence_length x global_batch ({}) x the model's top_k must be below "
                           "2^63; use at most {}",
                           parallel.sequence_length, parallel.global_batch, most),
               {.pointer = "/parallel/sequence_length"}};
}

ScheduleShape pipeline_shape(const ParallelPlan& plan) {
  return {.stages = plan.pp,
          .chunks = plan.vpp,
          .micro_batches = static_cast<std::int32_t>(plan.micro_batches())};
}

// `pp 4 x vpp 2`, or `pp 4 x 2 of schedule "zb-v"`, which sets the chunks itself.
std::string positions_text(const ParallelPlan& plan, std::int64_t positions) {
  if (positions == std::int64_t{plan.pp} * plan.vpp) return fmt::format("pp {} x vpp {}", plan.pp, plan.vpp);
  return fmt::format("pp {} x {} of schedule {}", plan.pp, positions / plan.pp, in_quotes(plan.schedule));
}

Status check_split(const TrainingPlan& plan, std::int64_t positions) {
  const std::vector<std::int32_t>& split = plan.parallel.layers_per_stage;
  const std::int32_t layers = plan.model.layers;
  if (split.empty()) {
    if (layers % positions == 0) return Ok{};
    return Error{fmt::format("{} layers do not divide evenly over {} pipeline positions ({}); "
                             "set layers_per_stage",
                             layers, positions, positions_text(plan.parallel, positions)),
                 {.pointer = "/parallel/pp"}};
  }
  if (std::cmp_not_equal(split.size(), positions)) {
    return Error{fmt::format("must have one entry for each of the {1} pipeline positions ({2}), not {0}",
                             split.size(), positions, positions_text(plan.parallel, positions)),
                 {.pointer = "/parallel/layers_per_stage"}};
  }
  const std::int64_t sum = std::accumulate(split.begin(), split.end(), std::int64_t{0});
  if (sum == layers) return Ok{};
  return Error{fmt::format("must add up to the model's {1} layers, not {0}", sum, layers),
               {.pointer = "/parallel/layers_per_stage"}};
}

// Layers are counted in thousands at most; more positions than that are empty, and cost quadratic time.
constexpr std::int64_t kMostPositions = 10'000;
// Some 4 GB each, and half a minute.
constexpr double kMostOps = 20e6;
constexpr double kMostTimes = 200e6;  // of ops on all ranks

// At most that many parts does a pass over a layer come in, forwards (models/step/layer_work.h).
double parts_of_layer(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  double parts = 2 + (parallel.zero == 3 ? 1 : 0) + (parallel.cp > 1 ? 1 : 0) + (parallel.tp > 1 ? 2 : 0);
  if (plan.model.moe) parts += 2 + (parallel.ep > 1 ? 3 : 0) + (parallel.expert_tp() > 1 ? 2 : 0);
  return parts;
}

// What this counts is no less than what
// models/step/planned_step.h makes, layer by layer.
Status check_size(const TrainingPlan& plan, const PipelineSchedule& schedule) {
  const ParallelPlan& parallel = plan.parallel;
  const double positions = schedule.positions(pipeline_shape(parallel));
  const double layers = static_cast<double>(plan.model.layers) + plan.model.mtp_layers;
  double passes = 2;
  if (!schedule.is_recordable()) ++passes;               // backwards in two halves
  if (parallel.recompute == Recompute::kFull) ++passes;  // forwards again
  const double heads = 2.0 + plan.model.mtp_layers;      // and the embedding
  const double sends = 4;
  const double each = passes * (layers * parts_of_layer(plan) + heads + positions) + sends * positions;
  const double ranks = plan.model.moe && plan.expert_load.skew > 0 ? parallel.ep : 1;
  const double ops = static_cast<double>(parallel.micro_batches()) * each + 8 * positions;
  const double most = std::min(kMostOps, kMostTimes / ranks);
  if (ops <= most) return Ok{};
  return Error{
      fmt::format("is {} ({} micro-batches per replica), so a step has about {:.3g} million ops{}, but "
                  "goodput supports at most {:.3g} million; lower global_batch, or raise dp or micro_batch",
                  parallel.global_batch, parallel.micro_batches(), 1e-6 * ops,
                  ranks > 1 ? fmt::format(" on each of {} expert ranks", ranks) : "", 1e-6 * most),
      {.pointer = "/parallel/global_batch"}};
}

Status check_pipeline(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  if (std::int64_t{parallel.pp} * parallel.vpp > kMostPositions) {
    return Error{fmt::format("is {}, which with vpp {} exceeds the limit of {} pipeline positions (pp x vpp)",
                             parallel.pp, parallel.vpp, kMostPositions),
                 {.pointer = "/parallel/pp"}};
  }
  GOODPUT_TRY(const PipelineSchedule* const schedule, find_schedule(parallel.schedule));
  const ScheduleShape shape = pipeline_shape(parallel);
  GOODPUT_TRY_STATUS(schedule->check(shape));
  GOODPUT_TRY_STATUS(check_split(plan, schedule->positions(shape)));
  return check_size(plan, *schedule);
}

Status check_precision(const TrainingPlan& plan) {
  if (plan.parallel.dtype == Dtype::kTf32 && !plan.cluster.gpu.tf32) {
    return Error{fmt::format("is \"tf32\", but GPU {} does not support it (no tf32_tflops)",
                             in_quotes(plan.cluster.gpu.name)),
                 {.pointer = "/parallel/dtype"}};
  }
  if (!plan.parallel.has_fp8() || plan.cluster.gpu.fp8) return Ok{};
  return Error{fmt::format("is \"fp8\", but GPU {} does not support it (no fp8_tflops)",
                           in_quotes(plan.cluster.gpu.name)),
               {.pointer = "/parallel/dtype"}};
}

Status check_rules(const TrainingPlan& plan, ExpertSlots slots) {
  GOODPUT_TRY_STATUS(check_gpus(plan));
  GOODPUT_TRY_STATUS(check_tensor_parallelism(plan));
  GOODPUT_TRY_STATUS(check_expert_parallelism(plan, slots));
  GOODPUT_TRY_STATUS(check_instances(plan.parallel, slots));
  GOODPUT_TRY_STATUS(check_batch(plan.parallel));
  GOODPUT_TRY_STATUS(check_tokens(plan));
  GOODPUT_TRY_STATUS(check_pipeline(plan));
  return check_precision(plan);
}

}  // namespace

Status check_whole_experts(const ParallelPlan& parallel) {
  if (parallel.tp > 1 && !parallel.sequence_parallel) {
    return Error{fmt::format("must be true because tp is {} and does not split the experts", parallel.tp),
                 {.pointer = "/parallel/sequence_parallel"}};
  }
  if (parallel.etp > 1) {
    return Error{fmt::format("must be 1, not {}, because experts in slots are whole", parallel.etp),
                 {.pointer = "/parallel/etp"}};
  }
  return must_divide("ep", parallel.ep, "dp x cp x tp",
                     std::int64_t{parallel.dp} * parallel.cp * parallel.tp);
}

Status check_step_size(const TrainingPlan& plan) {
  GOODPUT_TRY(const PipelineSchedule* const schedule, find_schedule(plan.parallel.schedule));
  return check_size(plan, *schedule);
}

Status config_finish(TrainingPlan& plan) {
  settle_efficiency(plan);
  settle_experts(plan);
  return check_rules(plan, {});
}

Status check_training_plan(const TrainingPlan& plan, ExpertSlots slots) {
  Status status = check_rules(plan, slots);
  if (status) return status;
  return status.error().inside(plan.pointer).in_file(plan.file);
}

}  // namespace goodput
