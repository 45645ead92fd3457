// How many tokens' updates the copies of every expert lack, as training goes on, partial checkpoints save
// some of the experts, and faults bring older copies back.
//
// An expert has up to three states: the live one, its copy in CPU memory (of the last checkpoint that copied
// it there) and its copy in storage. A copy lacks the tokens that the expert has seen since.
#pragma once

#include <cstdint>
#include <optional>

#include "models/checkpoint/partial_checkpoint.h"
#include "models/shape/expert_tokens.h"

namespace goodput {

// Experts of every MoE layer; 0 of a model that has none.
struct PecLevels {
  std::int32_t snapshot = 1;  // to CPU memory
  std::int32_t persist = 1;   // to storage; at most `snapshot`

  friend bool operator==(const PecLevels&, const PecLevels&) = default;
};

class ExpertCopies {
 public:
  // At first copies lack nothing: the state before the first step is known.
  ExpertCopies(std::size_t layers, std::int32_t experts);

  // REQUIRES: as many layers and experts; no copy ever lacks more than 2^62 tokens.
  void train(const ExpertTokens& tokens_a_step, std::int64_t steps);

  // Copies k.snapshot experts of every layer to memory and k.persist from memory, which may be older than
  // this checkpoint, to storage.
  void save(std::int64_t checkpoint, const PecLevels& k, ExpertSelection selection, std::int32_t ranks);

  // Every rank goes back to its copies in memory, `failed` to those in storage; without it all ranks do.
  // Returns the tokens lost by that; the live experts are then what the copies were.
  double recover(std::optional<std::int32_t> failed, std::int32_t ranks);

 private:
  [[nodiscard]] static SavedExperts select(const ExpertTokens& unsaved, std::int32_t k,
                                           std::int64_t checkpoint, ExpertSelection selection,
                                           std::int32_t ranks);

  ExpertTokens memory_;   // that the copies there lack
  ExpertTokens storage_;  // at least as many: it is filled from memory
};

}  // namespace goodput
