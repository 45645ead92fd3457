#include "tests/support/random_plan.h"

#include <fmt/format.h>

#include <array>
#include <numeric>

#include "models/schedule/schedule.h"
#include "sim/base/random.h"

namespace goodput::testing {
namespace {

using namespace std::chrono_literals;

template <typename T, std::size_t kSize>
T one_of(RandomStream& random, const std::array<T, kSize>& choices) {
  return choices[random.below(kSize)];
}

bool coin(RandomStream& random) {
  return random.below(2) == 1;
}

ModelShape random_model(RandomStream& random, std::int32_t layers) {
  ModelShape model;
  model.name = "random";
  model.layers = layers;
  model.heads = 8;
  model.kv_heads = one_of(random, std::array{2, 8});
  model.head_dim = one_of(random, std::array{32, 64});
  model.hidden = model.heads * model.head_dim;
  model.ffn = 4 * model.hidden;
  model.gated_ffn = coin(random);
  model.biases = coin(random);
  model.vocab = one_of(random, std::array{1000, 50257});
  model.learned_positions = coin(random) ? 512 : 0;
  model.tied_head = coin(random);
  if (coin(random)) {
    model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = model.hidden};
    model.moe->shared_experts = coin(random) ? 1 : 0;
    model.moe->layer_step = one_of(random, std::array{1, 2});
    model.mtp_layers = coin(random) ? 1 : 0;
  }
  return model;
}

ParallelPlan random_parallelism(RandomStream& random) {
  ParallelPlan plan;
  plan.schedule = schedules()[random.below(schedules().size())].name;
  plan.pp = one_of(random, std::array{1, 2, 4});
  plan.vpp = plan.schedule == "interleaved" && plan.pp > 1 ? one_of(random, std::array{1, 2, 3}) : 1;
  plan.tp = one_of(random, std::array{1, 2, 4});
  plan.dp = one_of(random, std::array{1, 2, 4});
  plan.cp = one_of(random, std::array{1, 1, 2});
  plan.zero = static_cast<std::int32_t>(random.below(4));
  plan.sequence_parallel = coin(random);
  plan.micro_batch = one_of(random, std::array{1, 2});
  const std::int32_t micro_batches = plan.pp * one_of(random, std::array{2, 4});
  plan.global_batch = std::int64_t{plan.dp} * plan.micro_batch * micro_batches;
  plan.sequence_length = 512;
  plan.recompute = one_of(random, std::array{Recompute::kNone, Recompute::kSelective, Recompute::kFull});
  plan.fused_attention = coin(random);
  plan.fused_accumulation = coin(random);
  plan.overlap_tp_reduce = coin(random);
  plan.overlap_grad_reduce = coin(random);
  plan.overlap_param_gather = coin(random);
  plan.overlap_p2p = coin(random);
  return plan;
}

// Choices of software. REQUIRES: the sizes of the plan.
void choose_software(RandomStream& random, TrainingPlan& plan) {
  ParallelPlan& parallel = plan.parallel;
  parallel.tp_overlap = coin(random) ? TpOverlap::kSliced : TpOverlap::kBulk;
  parallel.overlap_cp = coin(random);
  parallel.compiled = coin(random);
  parallel.selective_recompute =
      coin(random) ? SelectiveRecompute::kEverySecondMatmul : SelectiveRecompute::kCheap;
  parallel.loss = one_of(random, std::array{LossKernels::kFused, LossKernels::kFp32, LossKernels::kChunked});
  parallel.reshard_after_forward =
      one_of(random, std::array{Reshard::kAlways, Reshard::kNever, Reshard::kUnlessPp});
  parallel.offload_optimizer = random.below(4) == 0;
  parallel.dtype = one_of(
      random, std::array{Dtype::kBf16, Dtype::kBf16, Dtype::kFp8, Dtype::kFp8, Dtype::kTf32, Dtype::kFp32});
  parallel.fp8_recipe = one_of(random, std::array{Fp8Recipe::kFree, Fp8Recipe::kDelayed, Fp8Recipe::kCurrent,
                                                  Fp8Recipe::kBlock, Fp8Recipe::kMx});
  plan.cluster.gpu.fp8 = {624e12};
  plan.cluster.gpu.tf32 = {156e12};
  plan.roofline.attention_fill = one_of(random, std::array{0, 100});
  plan.roofline.speed_spread = one_of(random, std::array{0.0, 0.03});
  plan.roofline.collective_sms = one_of(random, std::array{0, 20});
}

// How experts are laid over GPUs and how tokens reach them. REQUIRES: the sizes of the plan.
void choose_experts(RandomStream& random, TrainingPlan& plan) {
  ParallelPlan& parallel = plan.parallel;
  if (coin(random)) plan.model.moe->expert_groups = 4, plan.model.moe->top_groups = 2;
  parallel.dispatcher = coin(random) ? TokenDispatcher::kHierarchical : TokenDispatcher::kAllToAll;
  parallel.expert_matmuls = coin(random) ? ExpertMatmuls::kGrouped : ExpertMatmuls::kBatched;
  parallel.dispatch_bytes = one_of(random, std::array{0, 2});
  const std::int32_t etp = one_of(random, std::array{0, 1, 2});
  const std::int32_t ranks = parallel.dp * parallel.cp * parallel.tp;
  if (etp == 0 || ranks % etp != 0 || !parallel.sequence_parallel) return;
  parallel.etp = etp;
  parallel.ep = std::gcd(ranks / etp, one_of(random, std::array{1, 2, 8, 16}));
}

}  // namespace

TrainingPlan small_plan() {
  TrainingPlan plan;
  plan.model.name = "small";
  plan.model.layers = 8;
  plan.model.heads = plan.model.kv_heads = 8;
  plan.model.head_dim = 64;
  plan.model.hidden = 512;
  plan.model.ffn = 2048;
  plan.model.vocab = 50257;
  plan.parallel.global_batch = 8;
  plan.parallel.sequence_length = 1024;
  plan.cluster.name = "test";
  plan.cluster.nodes = 64;
  plan.cluster.gpus_per_node = 8;
  plan.cluster.nics_per_node = 8;
  plan.cluster.gpu.name = "A100-like";
  plan.cluster.gpu.bf16 = {312e12};
  plan.cluster.gpu.fp32 = {19.5e12};
  plan.cluster.gpu.memory = {std::int64_t{80} << 30};
  plan.cluster.gpu.memory_bandwidth = {2e12};
  plan.cluster.gpu.multiprocessors = 108;
  plan.cluster.intra_node = {
      .bandwidth = {300e9}, .efficiency = 0.75, .latency = 7us, .hop_latency = 1us, .send = {}};
  plan.cluster.inter_node = {
      .bandwidth = {12.5e9}, .efficiency = 0.8, .latency = 10us, .hop_latency = 3us, .send = {}};
  return plan;
}

TrainingPlan random_plan(std::uint64_t seed) {
  RandomStream random(seed, "plans");
  // Separate streams, so that the other draws do not change.
  RandomStream instances(seed, "instances");
  RandomStream software(seed, "software");
  RandomStream experts(seed, "experts");
  while (true) {
    TrainingPlan plan = small_plan();
    plan.parallel = random_parallelism(random);
    plan.parallel.zero_instances = one_of(instances, std::array{1, 1, 2, 4});
    const std::int32_t per_position = one_of(random, std::array{1, 2});
    const PipelineSchedule& schedule = **find_schedule(plan.parallel.schedule);
    const std::int32_t positions = schedule.positions({plan.parallel.pp, plan.parallel.vpp});
    plan.model = random_model(random, positions * per_position);
    plan.cluster.gpus_per_node = one_of(random, std::array{2, 8});
    if (plan.model.moe) {
      const std::int32_t replicas = plan.parallel.dp * plan.parallel.cp;
      plan.parallel.ep = std::gcd(replicas, one_of(random, std::array{1, 2, 8}));
      plan.expert_load.skew = coin(random) ? random.uniform(0, 1) : 0;
      choose_experts(experts, plan);
    }
    choose_software(software, plan);
    if (check_training_plan(plan)) return plan;
  }
}

std::string to_string(const TrainingPlan& plan) {
  const ParallelPlan& p = plan.parallel;
  return fmt::format(
      "{} layers {} moe {} mtp {} dp {} pp {} vpp {} tp {} cp {} ep {} etp {} zero {} m {} recompute {} skew "
      "{:.2f}{}{}{} dtype {} reshard {} sms {} spread {}",
      p.schedule, plan.model.layers, plan.model.moe.has_value(), plan.model.mtp_layers, p.dp, p.pp, p.vpp,
      p.tp, p.cp, p.ep, p.etp, p.zero, p.micro_batches(), static_cast<int>(p.recompute),
      plan.expert_load.skew, p.overlap_grad_reduce ? " overlap-reduce" : "",
      p.overlap_param_gather ? " overlap-gather" : "", p.overlap_p2p ? " overlap-p2p" : "",
      kDtypeNames[static_cast<std::size_t>(p.dtype)],
      kReshardNames[static_cast<std::size_t>(p.reshard_after_forward)], plan.roofline.collective_sms,
      plan.roofline.speed_spread);
}

}  // namespace goodput::testing
