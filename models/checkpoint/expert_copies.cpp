#include "models/checkpoint/expert_copies.h"

#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {

ExpertCopies::ExpertCopies(std::size_t layers, std::int32_t experts)
    : experts_(layers, std::vector<Expert>(index(experts))) {}

void ExpertCopies::set_tokens(const ExpertTokens& tokens_a_step) {
  GOODPUT_CHECK(tokens_a_step.size() == experts_.size(), "token counts must cover every MoE layer");
  for (std::size_t layer = 0; layer < experts_.size(); ++layer) {
    for (std::size_t i = 0; i < experts_[layer].size(); ++i) {
      Expert& expert = experts_[layer][i];
      expert.before = seen(expert);
      expert.tokens_a_step = static_cast<Seen>(tokens_a_step[layer][i]);
    }
  }
  pending_ = 0;
}

void ExpertCopies::save(std::int64_t checkpoint, const PecLevels& k, ExpertSelection selection,
                        std::int32_t ranks) {
  if (experts_.empty() || experts_.front().empty()) return;
  if (selection == ExpertSelection::kSequential) return save_sequential(checkpoint, k);
  const SavedExperts persisted = select_load_aware(&Expert::storage, k.persist, ranks);
  const SavedExperts copied = select_load_aware(&Expert::memory, k.snapshot, ranks);
  for (std::size_t layer = 0; layer < experts_.size(); ++layer) {
    for (const std::int32_t i : copied[layer]) copy(experts_[layer][index(i)]);
    for (const std::int32_t i : persisted[layer]) persist(experts_[layer][index(i)]);
  }
}

void ExpertCopies::save_sequential(std::int64_t checkpoint, const PecLevels& k) {
  for (std::size_t layer = 0; layer < experts_.size(); ++layer) {
    std::vector<Expert>& experts = experts_[layer];
    const auto count = static_cast<std::int32_t>(experts.size());
    const auto each = [&](std::int32_t of_layer, auto act) {
      const std::int32_t first = first_sequential(layer, count, of_layer, checkpoint);
      for (std::int32_t i = 0; i < of_layer; ++i) act(experts[index((first + i) % count)]);
    };
    each(k.snapshot, [this](Expert& expert) { copy(expert); });
    each(k.persist, [](Expert& expert) { persist(expert); });
  }
}

double ExpertCopies::recover(std::optional<std::int32_t> failed, std::int32_t ranks) {
  double lost = 0;
  for (std::vector<Expert>& layer : experts_) {
    const auto experts = static_cast<std::int32_t>(layer.size());
    for (std::int32_t i = 0; i < experts; ++i) {
      Expert& expert = layer[index(i)];
      const bool is_from_storage = !failed || expert_owner(i, experts, ranks) == *failed;
      const std::int64_t tokens = lacks(expert, is_from_storage ? expert.storage : expert.memory);
      lost += static_cast<double>(tokens);
      expert.storage += static_cast<Seen>(tokens);  // what the expert has lost, its copy no longer lacks
      expert.memory = seen(expert);
    }
  }
  return lost;
}

SavedExperts ExpertCopies::select_load_aware(Seen Expert::*held, std::int32_t k, std::int32_t ranks) const {
  ExpertTokens unsaved;
  for (const std::vector<Expert>& layer : experts_) {
    unsaved.emplace_back();
    for (const Expert& expert : layer) unsaved.back().push_back(lacks(expert, expert.*held));
  }
  return goodput::select_load_aware(unsaved, k, ranks);
}

}  // namespace goodput
