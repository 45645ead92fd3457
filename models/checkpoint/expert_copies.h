// How many tokens' updates the copies of every expert lack, as training goes on, partial checkpoints save
// some of the experts, and faults bring older copies back.
//
// An expert has up to three states: the live one, its copy in CPU memory (of the last checkpoint that copied
// it there) and its copy in storage. A copy lacks the tokens that the expert has seen since.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/checkpoint/partial_checkpoint.h"
#include "models/shape/expert_tokens.h"

namespace goodput {

// Ranks that lost their CPU memory, ascending; none: all of them.
using FailedRanks = std::optional<std::vector<std::int32_t>>;

class ExpertCopies {
 public:
  // At first copies lack nothing: the state before the first step is known.
  ExpertCopies(std::size_t layers, std::int32_t experts);

  // What experts see in every step from now on; at first nothing. REQUIRES: as many layers and experts; no
  // copy ever lacks more than 2^62 tokens.
  void set_tokens(const ExpertTokens& tokens_a_step);
  // Takes the same time for any number of experts.
  void train(std::int64_t steps) { pending_ += steps; }

  // Copies k.snapshot experts of every layer to memory and k.persist of these to storage.
  void save(std::int64_t checkpoint, const PecLevels& k, ExpertSelection selection, std::int32_t ranks);
  // What load-aware selection would save now. REQUIRES: there are experts.
  [[nodiscard]] SavedLevels load_aware(const PecLevels& k, std::int32_t ranks) const;

  // Tokens that copies in storage lack, of all experts.
  [[nodiscard]] double storage_lag() const;

  // Failed ranks go back to their copies in storage, the others to those in memory. Returns the tokens lost
  // by that; the live experts are then what the copies were, and every rank has them in memory.
  double recover(const FailedRanks& failed, std::int32_t ranks);

 private:
  // Tokens that an expert has seen, or that a copy has, modulo 2^64: only differences count.
  using Seen = std::uint64_t;
  struct Expert {
    Seen tokens_a_step = 0;
    Seen before = 0;   // the steps that are pending
    Seen memory = 0;   // of the copy there
    Seen storage = 0;  // at most as many: it is filled from memory
  };

  [[nodiscard]] Seen seen(const Expert& expert) const {
    return expert.before + expert.tokens_a_step * static_cast<Seen>(pending_);
  }
  [[nodiscard]] std::int64_t lacks(const Expert& expert, Seen copy) const {
    return static_cast<std::int64_t>(seen(expert) - copy);
  }
  void copy(Expert& expert) const { expert.memory = seen(expert); }
  static void persist(Expert& expert) { expert.storage = expert.memory; }
  void save_sequential(std::int64_t checkpoint, const PecLevels& k);

  std::vector<std::vector<Expert>> experts_;  // by layer
  std::int64_t pending_ = 0;                  // steps with the same tokens_a_step
};

}  // namespace goodput
