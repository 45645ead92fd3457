#include "models/checkpoint/expert_copies.h"

#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {

ExpertCopies::ExpertCopies(std::size_t layers, std::int32_t experts)
    : memory_(layers, std::vector<std::int64_t>(index(experts), 0)), storage_(memory_) {}

void ExpertCopies::train(const ExpertTokens& tokens_a_step, std::int64_t steps) {
  GOODPUT_CHECK(tokens_a_step.size() == memory_.size(), "token counts must cover every MoE layer");
  for (std::size_t layer = 0; layer < memory_.size(); ++layer) {
    for (std::size_t expert = 0; expert < memory_[layer].size(); ++expert) {
      const std::int64_t tokens = tokens_a_step[layer][expert] * steps;
      memory_[layer][expert] += tokens;
      storage_[layer][expert] += tokens;
    }
  }
}

void ExpertCopies::save(std::int64_t checkpoint, const PecLevels& k, ExpertSelection selection,
                        std::int32_t ranks) {
  if (memory_.empty()) return;
  const SavedExperts persisted = select(storage_, k.persist, checkpoint, selection, ranks);
  const SavedExperts copied = select(memory_, k.snapshot, checkpoint, selection, ranks);
  for (std::size_t layer = 0; layer < memory_.size(); ++layer) {
    for (const std::int32_t expert : copied[layer]) memory_[layer][index(expert)] = 0;
    for (const std::int32_t expert : persisted[layer])
      storage_[layer][index(expert)] = memory_[layer][index(expert)];
  }
}

double ExpertCopies::recover(std::optional<std::int32_t> failed, std::int32_t ranks) {
  double lost = 0;
  for (std::size_t layer = 0; layer < memory_.size(); ++layer) {
    const auto experts = static_cast<std::int32_t>(memory_[layer].size());
    for (std::int32_t expert = 0; expert < experts; ++expert) {
      std::int64_t& in_memory = memory_[layer][index(expert)];
      std::int64_t& in_storage = storage_[layer][index(expert)];
      const bool is_from_storage = !failed || expert_owner(expert, experts, ranks) == *failed;
      const std::int64_t tokens = is_from_storage ? in_storage : in_memory;
      lost += static_cast<double>(tokens);
      in_storage -= tokens;
      in_memory = 0;
    }
  }
  return lost;
}

SavedExperts ExpertCopies::select(const ExpertTokens& unsaved, std::int32_t k, std::int64_t checkpoint,
                                  ExpertSelection selection, std::int32_t ranks) {
  if (selection == ExpertSelection::kLoadAware) return select_load_aware(unsaved, k, ranks);
  return select_sequential(unsaved.size(), static_cast<std::int32_t>(unsaved.front().size()), k, checkpoint);
}

}  // namespace goodput
