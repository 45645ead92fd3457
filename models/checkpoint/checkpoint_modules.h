// What a checkpoint consists of: the modules of a model, whole, with their sizes.
//
// Experts and all other modules are kept apart, because partial checkpoints
// (models/checkpoint/partial_checkpoint.h) choose among the former. Experts of a layer are alike, so a layer
// of them is one entry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/shape/model_file.h"
#include "sim/base/units.h"

namespace goodput {

// What a module that is no expert does, in the order of kModulePartNames.
enum class ModulePart : std::uint8_t {
  kEmbedding,     // of tokens, positions or patches
  kAttention,     // with its buffers
  kFfn,           // of a layer without experts
  kSharedExpert,  // sees every token: never left out
  kNorm,
  kGate,
  kProjection,  // between widths
  kHead,
};
inline constexpr std::string_view kModulePartNames[] = {
    "embedding", "attention", "FFN", "shared experts", "norm", "gate", "projection", "head"};

struct DenseModule {
  std::string name;  // "layers.0.attention"
  ModulePart part = ModulePart::kFfn;
  std::int64_t parameters = 0;
  Bytes buffers{};  // saved, but not trained: as they are
};

// The experts of one MoE layer; expert 3 is "layers.1.experts.3".
struct ExpertLayer {
  std::string name;             // "layers.1"
  std::int64_t parameters = 0;  // of one expert

  [[nodiscard]] std::string expert_name(std::int32_t expert) const;
};

struct CheckpointModel {
  std::string name;
  std::vector<DenseModule> dense;          // in the order of the model
  std::vector<ExpertLayer> expert_layers;  // likewise
  std::int32_t experts = 0;                // of every such layer; 0: none
  std::int32_t top_k = 0;

  [[nodiscard]] std::int64_t parameters() const;  // of all modules
};

// Modules of multi-token prediction are among them: a training job saves what it trains.
[[nodiscard]] CheckpointModel checkpoint_model(const ModelShape& model);
[[nodiscard]] CheckpointModel checkpoint_model(const SwinModel& model);
// Fails on more modules than anybody can list.
[[nodiscard]] Result<CheckpointModel> checkpoint_model(const AnyModel& model);

// Bytes in a checkpoint. `bytes_per_parameter`: of the weight and its optimizer state, which a plan knows
// (ParallelPlan::saved_bytes()): 14 for 16-bit weights, their 32-bit master copy and both moments of Adam; 12
// for 32-bit weights and the moments.
struct ModuleBytes {
  std::vector<Bytes> dense;        // by module
  std::vector<Bytes> expert_each;  // one expert, by MoE layer
  std::int32_t experts = 0;

  [[nodiscard]] Bytes dense_total() const;
  [[nodiscard]] Bytes one_expert() const;  // of every MoE layer
  [[nodiscard]] Bytes total() const { return dense_total() + experts * one_expert(); }
  // A checkpoint with k experts of every MoE layer. REQUIRES: 0 <= k <= experts.
  [[nodiscard]] Bytes partial(std::int32_t k) const { return dense_total() + k * one_expert(); }
};
[[nodiscard]] ModuleBytes module_bytes(const CheckpointModel& model, std::int32_t bytes_per_parameter);

// The checkpoint of the dense counterpart: one expert as the FFN of every MoE layer, and no gate.
[[nodiscard]] Bytes dense_counterpart(const CheckpointModel& model, const ModuleBytes& bytes);

}  // namespace goodput
