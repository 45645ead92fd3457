#include "models/checkpoint/expert_copies.h"

#include <algorithm>
#include <utility>

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
  const SavedLevels saved = load_aware(k, ranks);
  for (std::size_t layer = 0; layer < experts_.size(); ++layer) {
    for (const std::int32_t i : saved.snapshot[layer]) copy(experts_[layer][index(i)]);
    for (const std::int32_t i : saved.persist[layer]) persist(experts_[layer][index(i)]);
  }
}

void ExpertCopies::save_sequential(std::int64_t checkpoint, const PecLevels& k) {
  const auto count = static_cast<std::int32_t>(experts_.front().size());
  const std::vector<std::int32_t> offsets = snapshot_offsets(count, k);
  for (std::size_t layer = 0; layer < experts_.size(); ++layer) {
    std::vector<Expert>& experts = experts_[layer];
    const std::int32_t first = first_sequential(layer, count, k.persist, checkpoint);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      Expert& expert = experts[index((first + offsets[i]) % count)];
      copy(expert);
      if (std::cmp_less(i, k.persist)) persist(expert);
    }
  }
}

double ExpertCopies::recover(const FailedRanks& failed, std::int32_t ranks) {
  const auto has_failed = [&](std::int32_t rank) {
    return !failed || std::binary_search(failed->begin(), failed->end(), rank);
  };
  double lost = 0;
  for (std::vector<Expert>& layer : experts_) {
    const auto experts = static_cast<std::int32_t>(layer.size());
    for (std::int32_t i = 0; i < experts; ++i) {
      Expert& expert = layer[index(i)];
      const bool is_from_storage = has_failed(expert_owner(i, experts, ranks));
      const std::int64_t tokens = lacks(expert, is_from_storage ? expert.storage : expert.memory);
      lost += static_cast<double>(tokens);
      expert.storage += static_cast<Seen>(tokens);  // what the expert has lost, its copy no longer lacks
      expert.memory = seen(expert);
    }
  }
  return lost;
}

double ExpertCopies::storage_lag() const {
  double lag = 0;
  for (const std::vector<Expert>& layer : experts_) {
    for (const Expert& expert : layer) lag += static_cast<double>(lacks(expert, expert.storage));
  }
  return lag;
}

SavedLevels ExpertCopies::load_aware(const PecLevels& k, std::int32_t ranks) const {
  SavedLevels saved;
  ExpertTokens unsaved;
  for (const std::vector<Expert>& layer : experts_) {
    unsaved.emplace_back();
    for (const Expert& expert : layer) unsaved.back().push_back(lacks(expert, expert.memory));
  }
  saved.snapshot = select_load_aware(unsaved, k.snapshot, ranks);
  constexpr std::int64_t kNotCopied = -1;
  for (std::size_t layer = 0; layer < experts_.size(); ++layer) {
    std::fill(unsaved[layer].begin(), unsaved[layer].end(), kNotCopied);
    for (const std::int32_t i : saved.snapshot[layer]) {
      const Expert& expert = experts_[layer][index(i)];
      unsaved[layer][index(i)] = lacks(expert, expert.storage);
    }
  }
  saved.persist = select_load_aware(unsaved, k.persist, ranks);
  return saved;
}

}  // namespace goodput
