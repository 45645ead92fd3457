#include "models/checkpoint/checkpoint_modules.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace goodput {
namespace {

constexpr std::int64_t kMostModules = 5'000'000;

// Adds the modules of a decoder to a table.
class DecoderModules {
 public:
  explicit DecoderModules(const ModelShape& model) : model_(model), parameters_(model_parameters(model)) {
    table_.name = model.name;
    if (!model.moe) return;
    table_.experts = model.moe->experts;
    table_.top_k = model.moe->top_k;
  }

  CheckpointModel take() && {
    const std::int64_t hidden = model_.hidden;
    add("wte", ModulePart::kEmbedding, hidden * model_.vocab);
    if (model_.learned_positions > 0) add("wpe", ModulePart::kEmbedding, hidden * model_.learned_positions);
    for (std::int32_t layer = 0; layer < model_.layers; ++layer)
      add_layer(fmt::format("layers.{}", layer), layer);
    add("final_norm", ModulePart::kNorm, norm());
    if (parameters_.head > 0) add("lm_head", ModulePart::kHead, parameters_.head);
    for (std::int32_t layer = 0; layer < model_.mtp_layers; ++layer) add_mtp(fmt::format("mtp.{}", layer));
    return std::move(table_);
  }

 private:
  [[nodiscard]] std::int64_t norm() const { return parameters_.final_norm; }

  void add(std::string name, ModulePart part, std::int64_t parameters, Bytes buffers = {}) {
    table_.dense.push_back({std::move(name), part, parameters, buffers});
  }

  void add_layer(const std::string& name, std::int32_t layer) {
    const LayerParameters of_layer = layer_parameters(model_, layer);
    add(name + ".attention_norm", ModulePart::kNorm, norm());
    add(name + ".attention", ModulePart::kAttention, of_layer.attention - norm(), model_.attention_buffers);
    add(name + ".ffn_norm", ModulePart::kNorm, norm());
    if (of_layer.routed_experts == 0) return add(name + ".ffn", ModulePart::kFfn, of_layer.ffn - norm());
    const MoeShape& moe = *model_.moe;
    add(name + ".gate", ModulePart::kGate, of_layer.router);
    for (std::int32_t shared = 0; shared < moe.shared_experts; ++shared) {
      add(fmt::format("{}.shared_experts.{}", name, shared), ModulePart::kSharedExpert,
          (of_layer.ffn - norm()) / moe.shared_experts);
    }
    table_.expert_layers.push_back({name, of_layer.routed_experts / moe.experts});
  }

  // A decoder layer of the last's kind behind a projection of [embedding, hidden state]; embedding and head
  // are the model's.
  void add_mtp(const std::string& name) {
    const std::int32_t last = model_.layers - 1;
    const std::int64_t around = parameters_.mtp / model_.mtp_layers - layer_parameters(model_, last).total();
    add(name + ".embedding_norm", ModulePart::kNorm, norm());
    add(name + ".hidden_norm", ModulePart::kNorm, norm());
    add(name + ".projection", ModulePart::kProjection, around - 3 * norm());
    add_layer(name, last);
    add(name + ".final_norm", ModulePart::kNorm, norm());
  }

  const ModelShape& model_;
  ModelParameters parameters_;
  CheckpointModel table_;
};

// As if every layer had experts, and no module beside.
std::int64_t modules_at_most(const ModelShape& model) {
  const std::int64_t experts = model.moe ? std::int64_t{model.moe->experts} + model.moe->shared_experts : 1;
  return (std::int64_t{model.layers} + model.mtp_layers) * experts;
}
std::int64_t modules_at_most(const SwinModel& model) {
  return std::int64_t{model.swin.blocks()} * (model.swin.moe ? model.swin.moe->experts : 1);
}

Bytes sum(const std::vector<Bytes>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Bytes{});
}

}  // namespace

std::string ExpertLayer::expert_name(std::int32_t expert) const {
  return fmt::format("{}.experts.{}", name, expert);
}

std::int64_t CheckpointModel::parameters() const {
  std::int64_t total = 0;
  for (const DenseModule& module : dense) total += module.parameters;
  for (const ExpertLayer& layer : expert_layers) total += experts * layer.parameters;
  return total;
}

CheckpointModel checkpoint_model(const ModelShape& model) {
  return DecoderModules(model).take();
}

Result<CheckpointModel> checkpoint_model(const AnyModel& model) {
  if (const std::int64_t modules =
          std::visit([](const auto& shape) { return modules_at_most(shape); }, model);
      modules > kMostModules)
    return Error{fmt::format("has about {} modules, but goodput supports at most {}", modules, kMostModules)};
  return std::visit([](const auto& shape) { return checkpoint_model(shape); }, model);
}

Bytes ModuleBytes::dense_total() const {
  return sum(dense);
}

Bytes ModuleBytes::one_expert() const {
  return sum(expert_each);
}

ModuleBytes module_bytes(const CheckpointModel& model, std::int32_t bytes_per_parameter) {
  ModuleBytes bytes;
  bytes.experts = model.experts;
  bytes.dense.reserve(model.dense.size());
  for (const DenseModule& module : model.dense)
    bytes.dense.push_back(Bytes{module.parameters * bytes_per_parameter} + module.buffers);
  for (const ExpertLayer& layer : model.expert_layers)
    bytes.expert_each.push_back(Bytes{layer.parameters * bytes_per_parameter});
  return bytes;
}

Bytes dense_counterpart(const CheckpointModel& model, const ModuleBytes& bytes) {
  Bytes total = bytes.one_expert();
  for (std::size_t i = 0; i < model.dense.size(); ++i) {
    if (model.dense[i].part != ModulePart::kGate) total = total + bytes.dense[i];
  }
  return total;
}

}  // namespace goodput
