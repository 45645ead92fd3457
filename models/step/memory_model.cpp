#include "models/step/memory_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/step/gpu_parameters.h"
#include "models/step/layer_work.h"

namespace goodput {
namespace {

constexpr Bytes kReserved{std::int64_t{3} << 29};  // 1.5 GiB, assumed: context and communication buffers

// More than any GPU will ever have stays that: sums of all parts fit 63 bits.
Bytes whole(double bytes) {
  constexpr double kMost = 1e18;
  return {static_cast<std::int64_t>(std::min(bytes, kMost))};
}

// What the backward pass of a layer needs of its forward, for one micro-batch on one GPU.
class LayerActivations {
 public:
  LayerActivations(const TrainingPlan& plan, ExpertSlots slots)
      : plan_(plan), scope_{plan.model, plan.parallel, slots} {}

  [[nodiscard]] double bytes(std::int32_t layer) const {
    if (plan_.parallel.recompute == Recompute::kFull) return input();
    if (plan_.parallel.recomputes(SelectiveRecompute::kEverySecondMatmul))
      return kept_with_every_second_matmul(layer);
    return all(layer);
  }

  // Everything, as if nothing were recomputed but scores under kSelective.
  [[nodiscard]] double all(std::int32_t layer) const {
    return attention() + feed_forward(layer) + eager(layer);
  }
  // Whether the backward pass of a layer recomputes its activations.
  [[nodiscard]] bool makes_layers_again() const {
    return plan_.parallel.recompute == Recompute::kFull ||
           plan_.parallel.recomputes(SelectiveRecompute::kEverySecondMatmul);
  }

 private:
  [[nodiscard]] double number_bytes() const { return plan_.parallel.number_bytes(); }
  [[nodiscard]] double input() const { return number_bytes() * scope_.norm_tokens() * plan_.model.hidden; }
  // Input and output of a norm, and the dropout mask of a residual.
  [[nodiscard]] double norm() const {
    return (2 * number_bytes() + (plan_.model.biases.residual() ? 1 : 0)) * scope_.norm_tokens() *
           plan_.model.hidden;
  }

  // The layer's input and the outputs that are not recomputed: queries, values, attention, half of the input
  // of the activation function, and the FFN's output.
  [[nodiscard]] double kept_with_every_second_matmul(std::int32_t layer) const {
    const ModelShape& model = plan_.model;
    const double heads = (2.0 * model.heads + std::max<double>(model.kv_heads, plan_.parallel.tp)) *
                         model.head_dim / plan_.parallel.tp;
    const double kept = model.latent ? attention() / 2 : number_bytes() * scope_.tokens() * heads + scores();
    return 2 * input() + kept + (feed_forward(layer) - norm()) / (model.gated_ffn ? 2 : 1);
  }

  // What eager operations keep in addition. In 32 bits: two tensors per norm, and queries and keys before and
  // after the rotary embedding. In the model's dtype: the output of the activation function.
  [[nodiscard]] double eager(std::int32_t layer) const {
    const ModelShape& model = plan_.model;
    if (plan_.parallel.compiled || model.biases.norm) return 0;
    const double tp = plan_.parallel.tp;
    const double rotary = (model.heads + std::max<double>(model.kv_heads, tp)) * model.head_dim / tp;
    const bool is_dense = !model.is_moe_layer(std::min(layer, model.layers - 1));
    const double activation = model.gated_ffn && is_dense ? number_bytes() * model.ffn / tp : 0;
    return 2 * 8 * scope_.norm_tokens() * model.hidden + scope_.tokens() * (8 * rotary + activation);
  }

  // Input and output of the norm, the projections' outputs, the scores, the residual's dropout mask.
  [[nodiscard]] double attention() const {
    const ModelShape& model = plan_.model;
    const double tp = plan_.parallel.tp;
    double width = 0;
    if (model.latent) {
      const LatentAttention& latent = *model.latent;
      // Queries, keys and values come from the latent vectors again where they are recomputed.
      const double head = plan_.parallel.recompute == Recompute::kSelective
                              ? latent.value_dim
                              : 2.0 * (latent.nope_dim + latent.rope_dim) + 2.0 * latent.value_dim;
      width = latent.q_rank + latent.kv_rank + latent.rope_dim + model.heads / tp * head;
    } else {
      const double kept = model.qk_norm ? 1 : 0;  // what the norms of queries and keys are given
      const double kv_heads = std::max<double>(model.kv_heads, tp);
      width = ((2 + kept) * model.heads + (2 + kept) * kv_heads) * model.head_dim / tp;
    }
    return norm() + number_bytes() * scope_.tokens() * width + scores();
  }

  // Softmax and dropout outputs, and the mask, if they reach memory and do not run again.
  [[nodiscard]] double scores() const {
    const ParallelPlan& plan = plan_.parallel;
    const bool runs_again = plan.recompute == Recompute::kFull || plan.recomputes(SelectiveRecompute::kCheap);
    if (plan.fused_attention || runs_again) return 0;
    const auto length = static_cast<double>(plan.sequence_length);
    return 5 * plan_.model.heads / static_cast<double>(plan.tp) * scope_.tokens() * length;
  }

  [[nodiscard]] double feed_forward(std::int32_t layer) const {
    const ModelShape& model = plan_.model;
    if (!model.is_moe_layer(std::min(layer, model.layers - 1))) {
      return norm() + inner(scope_.tokens(), model.ffn, plan_.parallel.tp);
    }
    const MoeShape& moe = *model.moe;
    const double routed = scope_.routed_tokens();
    // Dispatched inputs; outputs are weighted and summed up as they come back.
    return norm() +
           inner(scope_.tokens(), static_cast<double>(moe.shared_experts) * moe.expert_ffn,
                 plan_.parallel.tp) +
           inner(routed, moe.expert_ffn, scope_.tp_of_expert()) +
           input_bytes() * routed * model.hidden /
               (scope_.share_rows_of_experts() ? scope_.tp_of_expert() : 1);
  }

  // Of an element that a matrix multiplication of the backward pass reads.
  [[nodiscard]] double input_bytes() const { return plan_.parallel.has_fp8() ? 1 : number_bytes(); }

  // Inputs of the activation function, and its output unless it is recomputed from them; `cuts` GPUs share
  // them. The function's derivative needs its inputs in 16 bits, unless they are kept in blocks of 8 bits
  // (DeepSeek-V3 report, section 3.3.3).
  [[nodiscard]] double inner(double tokens, double hidden_size, std::int32_t cuts) const {
    const double inputs = plan_.model.gated_ffn ? 2 : 1;
    const double outputs = recomputes_activation(scope_) ? 0 : 1;
    const Fp8Recipe recipe = plan_.parallel.fp8_recipe;
    const bool keeps_8_bits = recipe == Fp8Recipe::kFree || recipe == Fp8Recipe::kBlock;
    const double bytes_of_input = keeps_8_bits ? input_bytes() : number_bytes();
    return tokens * (bytes_of_input * inputs + input_bytes() * outputs) * hidden_size / cuts;
  }

  const TrainingPlan& plan_;
  BlockScope scope_;
};

// kFused: 16-bit logits, and 32 bits for the loss. kFp32, at the start of the backward pass: 16-bit logits,
// 32-bit logits, their log-softmax and its gradient. If tensor-parallel peers share the vocabulary,
// log-softmax consists of several operations (torch/distributed/tensor/parallel/loss.py), and the logits
// minus their maximum are kept as well. kChunked: the same for one of eight chunks (torchtune's default).
double bytes_of_logit(const ParallelPlan& plan) {
  constexpr double kChunks = 8;
  const double plain = plan.number_bytes() + (plan.tp > 1 ? 4 : 3) * 4;
  switch (plan.loss) {
    case LossKernels::kFused:
      return plan.number_bytes() + 4;
    case LossKernels::kFp32:
      return plain;
    case LossKernels::kChunked:
      return plain / kChunks;
  }
  GOODPUT_CHECK(false, "unknown loss kernels");
}

// What the chunk at one position takes.
struct ChunkMemory {
  GpuParameters held;
  double activations = 0;  // of a micro-batch
  double logits = 0;
  double recomputed = 0;
  double gathered = 0;  // ZeRO-3: the parameters of a layer, and of the next one where that is fetched ahead
};

class MemoryEstimator {
 public:
  MemoryEstimator(const TrainingPlan& plan, const PipelineSchedule& schedule, ExpertSlots slots)
      : plan_(plan),
        schedule_(schedule),
        slots_(slots),
        shape_(schedule_shape(plan.parallel)),
        layers_(layers_by_position(plan, schedule.positions(shape_))) {
    const LayerActivations activations(plan, slots);
    for (std::int32_t position = 0; std::cmp_less(position, layers_.size()); ++position)
      chunks_.push_back(chunk_at(position, activations));
  }

  [[nodiscard]] StageMemory stage(std::int32_t stage, const AlivePeaks& peaks) const {
    const ParallelPlan& parallel = plan_.parallel;
    GpuParameters held;
    std::vector<double> chunk_bytes;
    double logits = 0;
    double recomputed = 0;
    double gathered = 0;
    for (std::int32_t i = 0; i < schedule_.chunks(shape_); ++i) {
      const auto position = static_cast<std::size_t>(schedule_.place(shape_, stage, i).position);
      const ChunkMemory& chunk = chunks_[position];
      held += chunk.held;
      chunk_bytes.push_back(chunk.activations);
      if (position + 1 == chunks_.size()) logits = chunk.logits;
      recomputed = std::max(recomputed, chunk.recomputed);
      gathered = std::max(gathered, chunk.gathered);
    }
    const double all = held.dense + held.experts;
    const double owned = owned_parameters(plan_, slots_, schedule_, held);
    StageMemory memory;
    const bool gathers_once = parallel.stays_gathered();
    memory.weights = whole(parallel.number_bytes() * (parallel.zero < 3 || owned == all ? all
                                                      : gathers_once                    ? owned + all
                                                                                        : owned));
    // ZeRO-2 reduces once a step: while micro-batches add up every GPU has all of its own. ZeRO-3 does in
    // every backward pass.
    const bool adds_up = (parallel.zero == 2 && parallel.micro_batches() > 1) || gathers_once;
    memory.gradients = whole(parallel.gradient_bytes * (parallel.zero >= 2 && !adds_up ? owned : all));
    if (!parallel.offload_optimizer)
      memory.optimizer = whole(parallel.state_bytes() * (parallel.zero >= 1 ? owned : all));
    memory.reserved = kReserved;
    memory.activations = whole(peaks.most_bytes(chunk_bytes));
    memory.working = whole(logits + recomputed + gathered);
    memory.micro_batches_alive = peaks.most();
    return memory;
  }

 private:
  [[nodiscard]] ChunkMemory chunk_at(std::int32_t position, const LayerActivations& activations) const {
    const ParallelPlan& parallel = plan_.parallel;
    ChunkMemory chunk;
    chunk.held = parameters_at(plan_, slots_, layers_, position, pipeline_ends(schedule_, shape_));
    const LayerRange range = layers_[static_cast<std::size_t>(position)];
    for (std::int32_t layer = range.first; layer < range.first + range.count; ++layer) {
      chunk.activations += activations.bytes(layer);
      if (activations.makes_layers_again())
        chunk.recomputed = std::max(chunk.recomputed, activations.all(layer));
      if (parallel.zero < 3 || parallel.stays_gathered()) continue;
      const GpuParameters own = parameters_of(plan_, slots_, {layer, 1});
      const double layers_at_once = parallel.overlap_param_gather ? 2 : 1;
      chunk.gathered =
          std::max(chunk.gathered, parallel.number_bytes() * (own.dense + own.experts) * layers_at_once);
    }
    const BlockScope scope{plan_.model, parallel, slots_};
    if (static_cast<std::size_t>(position) + 1 == layers_.size())
      chunk.logits = bytes_of_logit(parallel) * scope.tokens() * scope.vocab_rows();
    return chunk;
  }

  const TrainingPlan& plan_;
  const PipelineSchedule& schedule_;
  ExpertSlots slots_;
  ScheduleShape shape_;
  std::vector<LayerRange> layers_;   // by position
  std::vector<ChunkMemory> chunks_;  // the same
};

}  // namespace

Bytes available_memory(const TrainingPlan& plan) {
  const auto whole = static_cast<double>(plan.cluster.gpu.memory.value);
  return Bytes{static_cast<std::int64_t>((1 - plan.memory_margin) * whole)};
}

MemoryReport estimate_memory(const TrainingPlan& plan, const PipelineSchedule& schedule, ExpertSlots slots) {
  return estimate_memory(plan, schedule, slots, alive_peaks(schedule, schedule_shape(plan.parallel)));
}

MemoryReport estimate_memory(const TrainingPlan& plan, const PipelineSchedule& schedule, ExpertSlots slots,
                             const std::vector<AlivePeaks>& peaks) {
  const MemoryEstimator estimator(plan, schedule, slots);
  MemoryReport report;
  report.available = available_memory(plan);
  for (std::int32_t stage = 0; stage < plan.parallel.pp; ++stage) {
    report.stages.push_back(estimator.stage(stage, peaks[static_cast<std::size_t>(stage)]));
    if (report.stages.back().total() > report.stages[report.fullest].total()) {
      report.fullest = static_cast<std::size_t>(stage);
    }
  }
  return report;
}

std::string MemoryReport::verdict() const {
  const StageMemory& memory = stages[fullest];
  std::vector<std::pair<double, const char*>> shares = {
      {in_gib(memory.weights), "weights"},         {in_gib(memory.gradients), "gradients"},
      {in_gib(memory.optimizer), "optimizer"},     {in_gib(memory.activations), "activations"},
      {in_gib(memory.working), "working buffers"}, {in_gib(memory.reserved), "reserved"}};
  std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("{} {:.1f} of {:.1f} GiB on stage {}: ", fits() ? "fits," : "does not fit,",
                                 in_gib(memory.total()), in_gib(available), fullest);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    text += fmt::format("{}{} {:.1f}", i > 0 ? ", " : "", shares[i].second, shares[i].first);
  }
  return text;
}

}  // namespace goodput
