#include "models/planner/layer_split.h"

#include <algorithm>
#include <tuple>

namespace goodput {
namespace {

// Multiply-adds of a token in the forward pass over a layer.
double work_of_layer(const ModelShape& model, std::int64_t sequence_length, std::int32_t layer) {
  const LayerParameters parameters = layer_parameters(model, layer);
  auto work = static_cast<double>(parameters.total() - parameters.routed_experts);
  if (parameters.routed_experts > 0)
    work += static_cast<double>(parameters.routed_experts) * model.moe->top_k / model.moe->experts;
  // Scores and their product with the values, of half the sequence each.
  const double width = model.latent ? 0.5 * (model.latent->nope_dim + model.latent->rope_dim +
                                             static_cast<double>(model.latent->value_dim))
                                    : model.head_dim;
  return work + width * model.heads * static_cast<double>(sequence_length);
}

double work_at_the_end(const ModelShape& model, double of_layer) {
  const double hidden = model.hidden;
  const double head = hidden * model.vocab;
  return head + model.mtp_layers * (of_layer + 2 * hidden * hidden + head);
}

}  // namespace

std::vector<std::int32_t> spread_layers(const ModelShape& model, std::int64_t sequence_length,
                                        std::span<const std::int32_t> stages) {
  const auto positions = static_cast<std::int32_t>(stages.size());
  const auto stage_of = [&](std::int32_t position) {
    return static_cast<std::size_t>(stages[static_cast<std::size_t>(position)]);
  };
  if (positions > model.layers + 2) return {};
  double work = 0;
  for (std::int32_t layer = 0; layer < model.layers; ++layer)
    work += work_of_layer(model, sequence_length, layer);
  const double mean = work / model.layers;
  const double at_the_end = work_at_the_end(model, mean) / mean;
  std::vector<std::int32_t> split(static_cast<std::size_t>(positions));
  std::vector<std::int32_t> of_stage(stages.size());
  for (std::int32_t given = 0; given < model.layers; ++given) {
    std::int32_t best = 0;
    std::tuple<double, std::int32_t> least{};
    for (std::int32_t position = positions - 1; position >= 0; --position) {
      const double extra = position == positions - 1 ? at_the_end : 0;
      const std::tuple cost{split[static_cast<std::size_t>(position)] + extra, of_stage[stage_of(position)]};
      if (position < positions - 1 && !(cost < least)) continue;
      best = position;
      least = cost;
    }
    ++split[static_cast<std::size_t>(best)];
    ++of_stage[stage_of(best)];
  }
  const bool has_holes = positions > 2 && std::find(split.begin() + 1, split.end() - 1, 0) != split.end() - 1;
  return has_holes ? std::vector<std::int32_t>{} : split;
}

}  // namespace goodput
