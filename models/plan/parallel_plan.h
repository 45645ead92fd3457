// How a training step is cut up over GPUs, in Megatron's terms.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/stack/software_choices.h"
#include "sim/config/config.h"

namespace goodput {

enum class Recompute : std::uint8_t {
  kNone,
  kSelective,  // frees most of the memory for little extra time; see SelectiveRecompute
  kFull,       // every layer's forward runs again in the backward pass
};

inline constexpr std::array<std::string_view, 3> kRecomputeNames = {"none", "selective", "full"};

// Data type of the matrix multiplications. kTf32: numbers have 32 bits, and tensor cores round their inputs.
enum class Dtype : std::uint8_t { kFp16, kBf16, kFp8, kTf32, kFp32 };
inline constexpr std::array<std::string_view, 5> kDtypeNames = {"fp16", "bf16", "fp8", "tf32", "fp32"};

// What a plan does otherwise while all its GPUs fit one node: two measurement campaigns under one base plan.
struct WithinNode {
  Recompute recompute = Recompute::kNone;
  std::int32_t pad_vocab_to = 128;
  bool overlap_tp_reduce = false;
};

struct ParallelPlan {
  std::int32_t dp = 1;  // data-parallel replicas, expert parallelism included
  std::int32_t zero =
      0;  // sharded over dp: 0 nothing, 1 optimizer, 2 + gradients once reduced, 3 + parameters
  // ZeRO shards within each of so many instances of consecutive replicas; gradients are then summed up
  // between them (FSDP's hybrid sharding, num_distributed_optimizer_instances of Megatron-Core).
  std::int32_t zero_instances = 1;
  std::int32_t pp = 1;                  // pipeline stages
  std::int32_t vpp = 1;                 // model chunks a stage
  std::int32_t tp = 1;                  // tensor parallelism
  bool sequence_parallel = false;       // norms and dropouts sharded over tp
  std::int32_t cp = 1;                  // context parallelism: a sequence is split over cp GPUs
  std::int32_t ep = 1;                  // expert parallelism, inside dp * cp * tp / expert_tp()
  std::int32_t etp = 0;                 // tensor parallelism inside an expert; 0: tp
  std::int32_t micro_batch = 1;         // sequences
  std::int64_t global_batch = 1;        // sequences a step
  std::int64_t sequence_length = 1024;  // tokens
  Recompute recompute = Recompute::kNone;
  Dtype dtype = Dtype::kBf16;
  std::int32_t gradient_bytes = 4;    // of a gradient when it is reduced
  bool fused_attention = true;        // scores never reach memory (FlashAttention)
  bool fused_accumulation = true;     // weight gradients are added up inside the matrix multiplication
  std::int32_t pad_vocab_to = 128;    // a GPU's rows of the vocabulary are a multiple of this; 0: not padded
  bool overlap_tp_reduce = false;     // tensor-parallel collectives run during matmuls; see tp_overlap
  bool overlap_cp = false;            // ring attention: keys and values are exchanged during attention
  bool overlap_grad_reduce = false;   // gradients are reduced while the backward passes run
  bool overlap_param_gather = false;  // ZeRO: parameters are gathered while the forward passes run
  bool overlap_p2p = false;           // receives are posted before the pass in front of theirs is done
  TpOverlap tp_overlap = TpOverlap::kBulk;  // if overlap_tp_reduce is set
  bool compiled = true;  // element-wise operations are fused; false: each is a kernel (eager PyTorch)
  SelectiveRecompute selective_recompute = SelectiveRecompute::kCheap;
  Fp8Recipe fp8_recipe = Fp8Recipe::kFree;
  LossKernels loss = LossKernels::kFused;
  Reshard reshard_after_forward = Reshard::kAlways;
  TokenDispatcher dispatcher = TokenDispatcher::kUnstated;
  std::int32_t dispatch_bytes = 0;  // per value sent to an expert; 0: 1 with fp8, else number_bytes()
  ExpertMatmuls expert_matmuls = ExpertMatmuls::kUnstated;
  std::int32_t optimizer_bytes =
      0;  // per parameter, for the master weight and moments; 0: Adam's (state_bytes())
  bool offload_optimizer = false;  // the optimizer's state is in host memory, and the CPU updates it
  std::string schedule = "1f1b";   // a name of models/schedule/schedules.def
  std::vector<std::int32_t> layers_per_stage;  // explicit split, by pipeline position; empty: even
  std::optional<WithinNode> within_node;

  // GPUs that the matrices of an expert are split over.
  [[nodiscard]] std::int32_t expert_tp() const { return etp > 0 ? etp : tp; }
  // Of one data-parallel replica. REQUIRES: divisible, which read_training_plan() checks.
  [[nodiscard]] std::int64_t micro_batches() const { return global_batch / (std::int64_t{dp} * micro_batch); }
  [[nodiscard]] std::int64_t gpus() const { return std::int64_t{dp} * pp * tp * cp; }
  // zero_instances, where they mean something.
  [[nodiscard]] std::int32_t sharding_instances() const { return zero == 0 ? 1 : zero_instances; }
  [[nodiscard]] bool recomputes(SelectiveRecompute what) const {
    return recompute == Recompute::kSelective && selective_recompute == what;
  }
  [[nodiscard]] bool slices_tp() const { return overlap_tp_reduce && tp_overlap == TpOverlap::kSliced; }
  [[nodiscard]] bool has_fp8() const { return dtype == Dtype::kFp8; }
  [[nodiscard]] bool has_32_bits() const { return dtype == Dtype::kTf32 || dtype == Dtype::kFp32; }
  // Bytes per parameter or activation.
  [[nodiscard]] double number_bytes() const { return has_32_bits() ? 4 : 2; }
  // Bytes per value that dispatch sends in the forward pass.
  [[nodiscard]] double dispatched_bytes() const {
    return dispatch_bytes > 0 ? dispatch_bytes : has_fp8() ? 1 : number_bytes();
  }
  // Bytes per parameter of optimizer state. Adam: two 32-bit moments, plus a 32-bit copy of a 16-bit
  // parameter.
  [[nodiscard]] double state_bytes() const {
    return optimizer_bytes > 0 ? optimizer_bytes : has_32_bits() ? 8 : 12;
  }
  // Bytes per parameter in a checkpoint: the weight and its optimizer state.
  [[nodiscard]] std::int32_t saved_bytes() const {
    return static_cast<std::int32_t>(number_bytes() + state_bytes());
  }
  // ZeRO-3 that gathers parameters and reduces gradients once per step instead of in each pass.
  [[nodiscard]] bool stays_gathered() const {
    return zero == 3 && (reshard_after_forward == Reshard::kNever ||
                         (reshard_after_forward == Reshard::kUnlessPp && pp > 1));
  }
};

// All of its fields in one line: equal plans have equal texts.
[[nodiscard]] std::string text_key(ParallelPlan plan);

// The fewest replicas whose GPUs form whole expert-parallel groups.
[[nodiscard]] std::int64_t replicas_together(const ParallelPlan& plan);

// With within_node applied where the plan's GPUs fit one node.
[[nodiscard]] ParallelPlan settled(ParallelPlan plan, std::int32_t gpus_per_node);

// The plan's zero_instances with so many replicas, of which an instance holds a multiple of `together`:
// instances of as many replicas as the plan's where these divide them, else the most of no fewer that do.
[[nodiscard]] std::int32_t instances_for(const ParallelPlan& plan, std::int64_t replicas,
                                         std::int64_t together);

// The "parallel" object of configs/plans/*.json (docs/formats/plans.md).
[[nodiscard]] config::Fields config_fields(ParallelPlan& plan);
[[nodiscard]] config::Fields config_fields(WithinNode& settings);

}  // namespace goodput
