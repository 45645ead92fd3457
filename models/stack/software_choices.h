// Choices that differ between training frameworks. Plans and stacks state them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace goodput {

// How tensors are cast to 8 bits before fp8 matrix multiplications (models/step/fp8_casts.h).
enum class Fp8Recipe : std::uint8_t {
  kFree,     // casts are not counted
  kDelayed,  // a scale per tensor, from the largest values of earlier steps
  kCurrent,  // a scale per tensor, from its own largest value, which takes another read
  kBlock,    // a scale per 128 values (DeepSeek-V3)
  kMx,       // a scale per 32 values (MXFP8)
};
inline constexpr std::array<std::string_view, 5> kFp8RecipeNames = {"free", "delayed", "current", "block",
                                                                    "mx"};

// The cross-entropy over the logits.
enum class LossKernels : std::uint8_t {
  kFused,    // Megatron's fused kernels over 16-bit logits
  kFp32,     // PyTorch's: logits are converted to 32 bits, and each operation is a kernel
  kChunked,  // the same for a chunk of the tokens at a time, including the output projection
};
inline constexpr std::array<std::string_view, 3> kLossKernelNames = {"fused", "fp32", "chunked"};

// How tensor-parallel collectives overlap, if they do.
enum class TpOverlap : std::uint8_t {
  kBulk,    // backward only: each runs during the weight-gradient matmul of the same linear layer
  kSliced,  // forward and backward: split into slices that run during the adjacent matmuls (Megatron's //
            // tp_comm_overlap, PyTorch's async TP)
};
inline constexpr std::array<std::string_view, 2> kTpOverlapNames = {"bulk", "sliced"};

// What `recompute: selective` runs again in the backward pass.
enum class SelectiveRecompute : std::uint8_t {
  kCheap,              // Megatron-LM: scores that reach memory, gated activations, up-projections of latents
  kEverySecondMatmul,  // TorchTitan: every second matmul, and all element-wise operations
};
inline constexpr std::array<std::string_view, 2> kSelectiveRecomputeNames = {"cheap", "every_second_matmul"};

// How tokens reach their experts on other GPUs.
enum class TokenDispatcher : std::uint8_t {
  kUnstated,      // as kAllToAll
  kAllToAll,      // a copy per token and expert, sorted by expert before it is sent (NCCL)
  kHierarchical,  // a copy per token and node, which the receiver forwards over NVLink to each GPU with
                  // experts of the token (DeepEP, HybridEP)
};
// Of the enumerators behind the first one.
inline constexpr std::array<std::string_view, 2> kTokenDispatcherNames = {"all_to_all", "hierarchical"};

// The matmuls of the experts of one GPU.
enum class ExpertMatmuls : std::uint8_t {
  kUnstated,  // as kBatched
  kBatched,   // as if all experts had equally many tokens
  kGrouped,   // each expert has its own number of tokens, so the last tile of each is partly empty
};
// Of the enumerators behind the first one.
inline constexpr std::array<std::string_view, 2> kExpertMatmulNames = {"batched", "grouped"};

// ZeRO-3: whether a layer's gathered parameters are freed after its forward pass.
enum class Reshard : std::uint8_t {
  kAlways,    // freed, and gathered again for the backward pass
  kNever,     // kept until the step ends
  kUnlessPp,  // freed unless the model is split into pipeline stages (TorchTitan's default)
};
inline constexpr std::array<std::string_view, 3> kReshardNames = {"always", "never", "unless_pp"};

}  // namespace goodput
