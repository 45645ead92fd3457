// How the tokens of a job spread over the experts of its MoE layers, from its first step to its last.
//
// A recording has a row every so many iterations. The latest row at or before a step holds for it; before the
// first row the first holds, after the last what AfterEnd says. Steps with the same loads are a *window*,
// which may come back. The recording ends one spacing of its last two rows after the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "models/routing/rank_spread.h"
#include "models/shape/expert_tokens.h"
#include "sim/base/errors.h"
#include "sim/routing/routing_trace.h"

namespace goodput {

// What the loads are once the recording has ended. Neither of the last two has more windows than the
// recording.
enum class AfterEnd : std::uint8_t {
  kHold,  // those of the last row
  // Those from the first row on, again and again: with a jump from the last row to the first.
  kLoop,
  // The later half of the rows, backward, forward, and so on: without a jump. Over time every row holds as
  // often as it does in that half, and loads change from row to row as much as they do there.
  kContinue,
};
inline constexpr std::string_view kAfterEndNames[] = {"hold", "loop", "continue"};

// What of a recording stands for a model with perhaps fewer layers and experts.
struct RoutingSelection {
  std::vector<std::size_t> layers{};  // positions in the trace, one a MoE layer of the model
  std::int32_t experts = 0;           // of a layer of the model: its most loaded ones in the trace
  // Whose loads say which those are, once for the whole job: an expert keeps its number. The nearest recorded
  // iteration, of two the earlier.
  std::int64_t top_at_iteration = 201;
  AfterEnd after_end = AfterEnd::kHold;
  const RankRows* rank_rows = nullptr;  // of one iteration of the same job; null: ranks are even
};

class JobRouting {
 public:
  // Fails where the trace has not that many experts or layers, and where rank_rows have others.
  static Result<JobRouting> from_trace(const RoutingTrace& trace, const RoutingSelection& selection);

  // Every expert gets as many, for ever.
  static JobRouting balanced(std::int32_t layers, std::int32_t experts);

  [[nodiscard]] std::size_t windows() const { return first_step_.size(); }
  [[nodiscard]] std::size_t window_at(std::int64_t step) const;
  // First step after `step` that is in another window; the largest number if there is none.
  [[nodiscard]] std::int64_t window_end(std::int64_t step) const { return stretch(step).end; }
  // Both.
  struct Stretch {
    std::size_t window;
    std::int64_t end;
  };
  [[nodiscard]] Stretch stretch(std::int64_t step) const;

  // All experts of a layer get as many, for ever.
  [[nodiscard]] bool is_balanced() const;

  // By MoE layer and expert, in the units of the recording: only their proportions mean anything.
  [[nodiscard]] std::span<const std::vector<std::int64_t>> loads(std::size_t window) const;

  // How each of these loads spreads over the ranks.
  [[nodiscard]] const RankSpread& ranks() const { return ranks_; }
  void set_ranks(RankSpread ranks) { ranks_ = std::move(ranks); }

 private:
  JobRouting() = default;

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // The step of the recording that holds for a step, and whether the one before it comes next.
  struct Recorded {
    std::int64_t step;
    bool is_backward;
  };
  void repeat_after(const std::vector<std::int64_t>& iterations, AfterEnd after_end);
  [[nodiscard]] Recorded recorded(std::int64_t step) const;
  [[nodiscard]] std::size_t recorded_window(std::int64_t step) const;
  [[nodiscard]] std::int64_t run_end(std::int64_t step) const;

  // What is repeated: steps [repeat_from_, repeat_at_), from repeat_at_ on. Backward first if it turns
  // around.
  std::int64_t repeat_from_ = 0;
  std::int64_t repeat_at_ = kNever;
  bool turns_around_ = false;
  std::vector<std::int64_t> first_step_;  // by window; that of the first is not looked at
  std::vector<ExpertTokens> loads_;       // by window
  RankSpread ranks_;
};

// Every layer scaled to `tokens` by largest remainder (sim/base/apportion.h).
[[nodiscard]] ExpertTokens scaled_loads(std::span<const std::vector<std::int64_t>> loads,
                                        std::int64_t tokens);

// What one of `ranks` gets where tokens are split evenly: those left over go to the lowest ranks.
[[nodiscard]] constexpr std::int64_t tokens_of_rank(std::int64_t tokens, std::int32_t ranks,
                                                    std::int32_t rank) {
  return tokens / ranks + (rank < tokens % ranks ? 1 : 0);
}

}  // namespace goodput
