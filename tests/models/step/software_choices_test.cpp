// Step time and memory for the choices that frameworks make.
#include "models/stack/software_choices.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "models/cost/roofline.h"
#include "models/step/memory_model.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using doctest::Approx;
using testing::small_plan;

constexpr double kTokens = 1024, kHidden = 512, kFfn = 2048, kLayers = 8;

// Rotary embeddings and gated FFNs. The vocabulary needs no padding.
TrainingPlan llama() {
  TrainingPlan plan = small_plan();
  plan.model.gated_ffn = true;
  plan.model.vocab = 128 * 400;
  return plan;
}

struct Work {
  double flops = 0;
  double bytes = 0;  // of memory-bound kernels
  std::vector<CollectiveCall> collectives;
};
Work work_of(const std::vector<PartWork>& parts) {
  Work work;
  for (const PartWork& part : parts) {
    for (const Kernel& kernel : part.kernels) {
      if (kernel.kind == Kernel::Kind::kMemory) work.bytes += kernel.bytes;
      if (kernel.kind == Kernel::Kind::kGemm)
        work.flops += 2.0 * static_cast<double>(kernel.batch) * static_cast<double>(kernel.m) *
                      static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
    }
    work.collectives.insert(work.collectives.end(), part.collectives.begin(), part.collectives.end());
  }
  return work;
}
Work forward(const TrainingPlan& plan) {
  return work_of(LayerWork(plan.model, plan.parallel, 8).forward(0, {}));
}
Work backward(const TrainingPlan& plan) {
  return work_of(LayerWork(plan.model, plan.parallel, 8).backward(0, {}, Gradients::kAll));
}

PlannedStep built_step(const TrainingPlan& plan) {
  REQUIRE(check_training_plan(plan));
  const RooflineCost cost(plan.cluster, plan.roofline);
  auto step = build_planned_step(plan, cost, Granularity::kLayers, 0);
  REQUIRE(step);
  return *std::move(step);
}
double step_seconds_of(const TrainingPlan& plan) {
  return to_seconds(step_time(built_step(plan)));
}
std::size_t parts_of(const PlannedStep& step, LayerPart part) {
  return static_cast<std::size_t>(
      std::count_if(step.ops.begin(), step.ops.end(), [part](const StepOp& op) { return op.part == part; }));
}

StageMemory needed_memory(const TrainingPlan& plan, std::size_t stage = 0) {
  REQUIRE(check_training_plan(plan));
  return planned_memory(plan).stages[stage];
}
double in_bytes(Bytes bytes) {
  return static_cast<double>(bytes.value);
}

}  // namespace

TEST_CASE("software: every_second_matmul recomputes the matmuls of keys, output and gate") {
  TrainingPlan plan = llama();
  const double usual = backward(plan).flops;
  plan.parallel.recompute = Recompute::kSelective;
  CHECK(backward(plan).flops == usual);  // kCheap recomputes no matmul
  plan.parallel.selective_recompute = SelectiveRecompute::kEverySecondMatmul;
  CHECK(backward(plan).flops - usual == 2 * kTokens * kHidden * (kHidden + kHidden + kFfn));
  // Kept per layer, in 16 bits: its input, the FFN's output, queries, values, heads, and half of the
  // activation function's input.
  CHECK(in_bytes(needed_memory(plan).activations) ==
        kLayers * 2 * kTokens * (2 * kHidden + 3 * kHidden + kFfn));
}

TEST_CASE("software: with sequence parallelism, recomputed matmuls gather their inputs again") {
  TrainingPlan plan = llama();
  plan.parallel.tp = 2;
  plan.parallel.sequence_parallel = true;
  plan.parallel.recompute = Recompute::kSelective;
  const std::size_t usual = backward(plan).collectives.size();
  plan.parallel.selective_recompute = SelectiveRecompute::kEverySecondMatmul;
  const std::vector<CollectiveCall> calls = backward(plan).collectives;
  REQUIRE(calls.size() == usual + 2);
  CHECK(calls.back().bytes == 2 * kTokens * kHidden);
  plan.cluster.gpu.fp8 = {624e12};
  plan.parallel.dtype = Dtype::kFp8;
  plan.parallel.fp8_recipe = Fp8Recipe::kDelayed;  // gathers 8 bits
  CHECK(backward(plan).collectives.back().bytes == kTokens * kHidden);
}

TEST_CASE("software: eager element-wise operations move more bytes, except layer norms") {
  TrainingPlan plan = llama();
  const double fused = forward(plan).bytes;
  const double fused_backward = backward(plan).bytes;
  plan.parallel.compiled = false;
  // Bytes per element: norms 36 instead of 4, queries and keys 20 each instead of 4 per head output, gate 4
  // more.
  const double norms = 2 * kHidden * (36 - 4);
  const double rotary = 2 * kHidden * 20 - kHidden * 4;
  CHECK(forward(plan).bytes - fused == kTokens * (norms + rotary + kFfn * 4));
  // Gradients: norms 76 instead of 10, gate and activation function 18 instead of 10.
  CHECK(backward(plan).bytes - fused_backward ==
        kTokens * (2 * kHidden * (76 - 10) + rotary + kFfn * (18 - 10)));
  // Kept: two 32-bit tensors per norm, queries and keys in 32 bits before and after, the activation
  // function's output.
  const double kept = 2 * 8 * kHidden + 8 * 2 * kHidden + 2 * kFfn;
  const double eager = in_bytes(needed_memory(plan).activations);
  plan.parallel.compiled = true;
  CHECK(eager - in_bytes(needed_memory(plan).activations) == kLayers * kTokens * kept);
  TrainingPlan gpt = small_plan();
  gpt.model.biases = true;
  const double before = forward(gpt).bytes;
  gpt.parallel.compiled = false;
  CHECK(forward(gpt).bytes == before);
}

TEST_CASE("software: the fp32 loss moves 36 bytes per logit instead of 14, and holds 14 instead of 6") {
  TrainingPlan plan = llama();
  const auto head_bytes = [&plan] {
    const LayerWork work(plan.model, plan.parallel, 8);
    return work_of(work.head_forward()).bytes + work_of(work.head_backward(Gradients::kAll)).bytes;
  };
  const double logits = kTokens * 128 * 400;
  const double fused = head_bytes();
  CHECK(in_bytes(needed_memory(plan).working) == 6 * logits);
  plan.parallel.loss = LossKernels::kFp32;
  CHECK(head_bytes() - fused == (36 - 14) * logits);
  CHECK(in_bytes(needed_memory(plan).working) == 14 * logits);
  plan.parallel.loss = LossKernels::kChunked;  // an eighth at a time
  CHECK(head_bytes() - fused == (36 - 14) * logits);
  CHECK(in_bytes(needed_memory(plan).working) == 14 * logits / 8);
  plan.parallel.loss = LossKernels::kFp32;
  plan.parallel.tp = 2;  // log-softmax is composed of several operations
  CHECK(in_bytes(needed_memory(plan).working) == 18 * logits / 2);
}

TEST_CASE(
    "software: sliced tensor-parallel collectives overlap except for one slice if matmuls take long enough") {
  TrainingPlan plan = llama();
  plan.parallel.tp = 4;
  plan.parallel.sequence_parallel = true;
  plan.cluster.gpu.bf16 = {1e12};  // matmuls take far longer than the collectives
  plan.cluster.intra_node.latency = plan.cluster.intra_node.hop_latency = {};
  const auto reduction = [&plan](bool is_forward) {
    const RooflineCost cost(plan.cluster, plan.roofline);
    OpPricer pricer(cost);
    const LayerWork work(plan.model, plan.parallel, 8);
    const auto parts = is_forward ? work.forward(0, {}) : work.backward(0, {}, Gradients::kAll);
    SimDuration total{};
    for (const PartWork& part : parts) {
      if (part.part == LayerPart::kAttentionTp || part.part == LayerPart::kFfnTp)
        total += pricer.part(part).time;
    }
    return to_seconds(total);
  };
  const double exposed_forward = reduction(true);
  const double exposed_backward = reduction(false);
  plan.parallel.overlap_tp_reduce = true;
  CHECK(reduction(true) == exposed_forward);  // in bulk: backward only
  CHECK(reduction(false) == 0);
  plan.parallel.tp_overlap = TpOverlap::kSliced;
  CHECK(reduction(true) == Approx(exposed_forward / 4).epsilon(1e-4));
  CHECK(reduction(false) == Approx(exposed_backward / 4).epsilon(1e-4));
}

TEST_CASE("software: ring attention hides the exchange of keys and values") {
  TrainingPlan plan = llama();
  plan.parallel.cp = 4;
  const auto exchange = [&plan] {
    const RooflineCost cost(plan.cluster, plan.roofline);
    OpPricer pricer(cost);
    for (const PartWork& part : LayerWork(plan.model, plan.parallel, 8).forward(0, {})) {
      if (part.part == LayerPart::kAttentionCp) return pricer.part(part).time;
    }
    return SimDuration{};
  };
  const SimDuration exposed = exchange();
  CHECK(exposed > SimDuration{});
  plan.parallel.overlap_cp = true;
  const SimDuration partly = exchange();
  CHECK(partly < exposed);
  plan.cluster.gpu.bf16 = {1e12};
  CHECK(exchange() == SimDuration{});
}

TEST_CASE(
    "software: FSDP without resharding gathers once per step instead of twice per layer and micro-batch") {
  TrainingPlan plan = llama();
  plan.parallel.zero = 3;
  plan.parallel.dp = 4;
  plan.parallel.pp = 2;
  plan.parallel.global_batch = 16;
  const PlannedStep anew = built_step(plan);
  CHECK(parts_of(anew, LayerPart::kParamsGather) == 4 * 2 * 8);  // micro-batches, passes, layers
  CHECK(parts_of(anew, LayerPart::kGradientsScatter) == 4 * 8);
  const StageMemory resharded = needed_memory(plan);
  plan.parallel.reshard_after_forward = Reshard::kUnlessPp;
  const PlannedStep kept = built_step(plan);
  CHECK(parts_of(kept, LayerPart::kParamsGather) == 0);
  CHECK(step_time(kept) < step_time(anew));
  // In addition to its shard, a GPU holds all parameters of the stage in 16 bits, and all gradients.
  const StageMemory all = needed_memory(plan);
  CHECK(in_bytes(all.weights) == Approx(in_bytes(resharded.weights) * (1 + 4)));
  CHECK(in_bytes(all.gradients) == Approx(in_bytes(resharded.gradients) * 4));
  CHECK(all.optimizer == resharded.optimizer);
  plan.parallel.pp = 1;  // without stages it shards again
  CHECK(parts_of(built_step(plan), LayerPart::kParamsGather) > 0);
  plan.parallel.reshard_after_forward = Reshard::kNever;
  CHECK(parts_of(built_step(plan), LayerPart::kParamsGather) == 0);
}

TEST_CASE(
    "software: optimizer_bytes sets the size of the optimizer state, which is not in GPU memory if "
    "offloaded") {
  TrainingPlan plan = llama();
  const double parameters = in_bytes(needed_memory(plan).optimizer) / 12;
  const double adam = step_seconds_of(plan);
  plan.parallel.optimizer_bytes = 6;  // 8-bit moments
  CHECK(in_bytes(needed_memory(plan).optimizer) == 6 * parameters);
  // It reads and writes 6 bytes per parameter less, at 0.8 of 2 TB/s.
  CHECK(adam - step_seconds_of(plan) == Approx(2 * 6 * parameters / 1.6e12).epsilon(1e-3));
  plan.parallel.optimizer_bytes = 0;
  plan.parallel.offload_optimizer = true;
  CHECK(needed_memory(plan).optimizer.value == 0);
  // Over a link of 25 GB/s: a 4-byte gradient out and 2 bytes back, then state, weight and gradient on the
  // host.
  const double on_host = (4 + 2 + 2 * 12 + 2 + 4) * parameters / 25e9;
  const double on_gpu = (4 + 26) * parameters / 1.6e12;  // without one read of the gradient
  CHECK(step_seconds_of(plan) - adam == Approx(on_host - on_gpu).epsilon(1e-3));
}

TEST_CASE("software: 32-bit training moves twice the bytes, and Adam keeps 8 bytes per parameter") {
  TrainingPlan plan = llama();
  plan.cluster.gpu.tf32 = {156e12};
  const Work half = forward(plan);
  const StageMemory of_half = needed_memory(plan);
  const double bf16 = step_seconds_of(plan);
  plan.parallel.dtype = Dtype::kTf32;
  CHECK(forward(plan).bytes == 2 * half.bytes);
  CHECK(forward(plan).flops == half.flops);
  CHECK(needed_memory(plan).weights.value == 2 * of_half.weights.value);
  CHECK(in_bytes(needed_memory(plan).optimizer) == Approx(in_bytes(of_half.optimizer) * 8 / 12));
  CHECK(needed_memory(plan).activations.value == 2 * of_half.activations.value);
  const double tf32 = step_seconds_of(plan);
  plan.parallel.dtype = Dtype::kFp32;
  CHECK(bf16 < tf32);
  CHECK(tf32 < step_seconds_of(plan));
}

TEST_CASE("software: MFU is relative to the rated FLOP/s in the plan's precision") {
  TrainingPlan plan = llama();
  plan.cluster.gpu.fp8 = {624e12};
  plan.cluster.gpu.tf32 = {156e12};
  const auto mfu = [&plan](Dtype dtype) {
    plan.parallel.dtype = dtype;
    return model_flops_utilization(plan, plan.parallel, from_seconds(1));
  };
  const double half = mfu(Dtype::kBf16);
  CHECK(mfu(Dtype::kFp16) == half);
  CHECK(mfu(Dtype::kFp8) == Approx(half / 2));
  CHECK(mfu(Dtype::kTf32) == Approx(half * 2));
  CHECK(mfu(Dtype::kFp32) == Approx(half * 312 / 19.5));
}

TEST_CASE("software: fp8 with a recipe keeps the inputs of activation functions in 16 bits") {
  TrainingPlan plan = llama();
  plan.cluster.gpu.fp8 = {624e12};
  plan.parallel.dtype = Dtype::kFp8;
  const double free = in_bytes(needed_memory(plan).activations);
  plan.parallel.fp8_recipe = Fp8Recipe::kDelayed;
  CHECK(in_bytes(needed_memory(plan).activations) - free == kLayers * kTokens * 2 * kFfn);
}

TEST_CASE(
    "software: every_second_matmul keeps score matrices, and recomputes every second projection of latents") {
  TrainingPlan plan = llama();
  plan.parallel.fused_attention = false;
  plan.parallel.recompute = Recompute::kSelective;
  plan.parallel.selective_recompute = SelectiveRecompute::kEverySecondMatmul;
  const double unfused = in_bytes(needed_memory(plan).activations);
  plan.parallel.fused_attention = true;
  CHECK(unfused - in_bytes(needed_memory(plan).activations) == kLayers * 5 * 8 * kTokens * kTokens);
  plan.model.latent =
      LatentAttention{.q_rank = 96, .kv_rank = 64, .nope_dim = 32, .rope_dim = 16, .value_dim = 32};
  plan.parallel.recompute = Recompute::kNone;
  const double usual = backward(plan).flops;
  plan.parallel.recompute = Recompute::kSelective;
  // Queries: the second of their two projections. Keys and values: the second of theirs. Then output and
  // gate.
  const double queries = 96 * 8 * (32 + 16), keys = 64 * 8 * (32 + 32);
  CHECK(backward(plan).flops - usual == 2 * kTokens * (queries + keys + 8 * 32 * kHidden + kHidden * kFfn));
}

TEST_CASE("software: an update on the host that would take 104 days is refused") {
  TrainingPlan plan = llama();
  plan.parallel.offload_optimizer = true;
  plan.cluster.gpu.host_link = {1};
  const RooflineCost cost(plan.cluster, plan.roofline);
  CHECK_FALSE(build_planned_step(plan, cost, Granularity::kLayers, 0));
}

TEST_CASE("software: reductions that do not overlap do not slow passes down") {
  TrainingPlan plan = llama();
  plan.parallel.dp = 16;
  plan.parallel.zero = 1;
  plan.parallel.pp = 8;  // one layer per stage, whose reduction comes after its last pass
  plan.parallel.global_batch = 16 * 8;
  plan.parallel.overlap_grad_reduce = true;
  const double free = step_seconds_of(plan);
  plan.roofline.collective_sms = 108;
  CHECK(step_seconds_of(plan) == free);
}

TEST_CASE("software: a plan that is written states choices that differ from its stack's defaults") {
  ParallelPlan plan;
  plan.zero = 3;
  const OrderedJson written = config::write(config_fields(plan));
  CHECK(written.at("loss") == "fused");
  CHECK(written.at("compiled") == true);
  CHECK(written.at("reshard_after_forward") == "always");
}

}  // namespace goodput
