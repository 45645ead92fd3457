#include "models/checkpoint/lost_tokens.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

// `total` in proportion to `weights`, in whole numbers: rounded down, the rest to the largest remainders.
std::vector<std::int64_t> apportion(std::int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> parts(weights.size());
  std::vector<double> remainders(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double exact = static_cast<double>(total) * weights[i] / sum;
    parts[i] = std::min(total, static_cast<std::int64_t>(exact));
    remainders[i] = exact - static_cast<double>(parts[i]);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  const std::int64_t left = total - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  GOODPUT_CHECK(left >= 0 && left <= static_cast<std::int64_t>(parts.size()), "remainders must be below 1");
  for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) ++parts[order[i]];
  return parts;
}

// Ranks of the experts of a layer by load, drawn: Fisher and Yates.
std::vector<std::size_t> draw_order(std::size_t experts, std::uint64_t seed, std::size_t layer) {
  std::vector<std::size_t> order(experts);
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream random(seed, "expert-load", layer);
  for (std::size_t i = experts; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

double tokens_of_run(const ExpertTokens& tokens, std::int64_t steps) {
  double total = 0;
  for (const auto& layer : tokens)
    total += static_cast<double>(std::accumulate(layer.begin(), layer.end(), std::int64_t{0}));
  return total * static_cast<double>(steps);
}

void check_schedule(const ExpertTokens& tokens, const PecSchedule& schedule,
                    const std::vector<CheckpointFault>& faults) {
  GOODPUT_CHECK(schedule.interval >= 1, "the checkpoint interval must be at least 1 step");
  if (!tokens.empty()) {
    GOODPUT_CHECK(1 <= schedule.k.persist && schedule.k.persist <= schedule.k.snapshot &&
                      schedule.k.snapshot <= std::ssize(tokens.front()),
                  "K must satisfy 1 <= K_persist <= K_snapshot <= experts");
  }
  for (std::size_t i = 0; i < faults.size(); ++i) {
    GOODPUT_CHECK(faults[i].step <= schedule.steps && (i == 0 || faults[i].step > faults[i - 1].step),
                  "faults must be within the run and in ascending order");
  }
}

PecLevels doubled(const PecLevels& k, std::int32_t experts) {
  return {std::min(experts, 2 * k.snapshot), std::min(experts, 2 * k.persist)};
}

}  // namespace

ExpertTokens expert_tokens(const CheckpointModel& model, std::int64_t tokens, double skew,
                           std::uint64_t seed) {
  const auto experts = static_cast<std::size_t>(model.experts);
  std::vector<double> by_rank(experts);
  for (std::size_t rank = 0; rank < experts; ++rank)
    by_rank[rank] = std::pow(static_cast<double>(rank + 1), -skew);
  const std::vector<std::int64_t> parts = apportion(tokens * model.top_k, by_rank);
  ExpertTokens result(model.expert_layers.size(), std::vector<std::int64_t>(experts));
  for (std::size_t layer = 0; layer < result.size(); ++layer) {
    const std::vector<std::size_t> order = draw_order(experts, seed, layer);
    for (std::size_t rank = 0; rank < experts; ++rank) result[layer][order[rank]] = parts[rank];
  }
  return result;
}

PecLoss replay_losses(const ExpertTokens& tokens, const PecSchedule& schedule,
                      const std::vector<CheckpointFault>& faults) {
  check_schedule(tokens, schedule, faults);
  const double all_tokens = tokens_of_run(tokens, schedule.steps);
  const auto experts = static_cast<std::int32_t>(tokens.empty() ? 0 : tokens.front().size());
  PecSchedule now = schedule;  // K grows
  ExpertCopies copies(tokens.size(), experts);
  copies.set_tokens(tokens);
  PecLoss loss;
  std::int64_t step = 0;
  double lost = 0;
  double lost_under_k = 0;
  for (const CheckpointFault& fault : faults) {
    const std::int64_t lag = now.persist_lag ? now.persist_lag(now.k) : 0;
    while (step + now.interval + lag <= fault.step) {
      step += now.interval;
      copies.train(now.interval);
      copies.save(step / now.interval, now.k, now.selection, now.ranks);
    }
    const double at_fault = copies.recover(fault.rank, now.ranks);
    lost += at_fault;
    lost_under_k += at_fault;
    if (now.dynamic_limit && lost_under_k > *now.dynamic_limit * all_tokens) {
      now.k = doubled(now.k, experts);
      lost_under_k = 0;
    }
    loss.faults.push_back({fault, step, at_fault, now.k});
  }
  if (all_tokens > 0) loss.plt = lost / all_tokens;
  return loss;
}

CheckpointSeries load_aware_series(ExpertTokens tokens, std::int32_t k, std::int32_t ranks) {
  ExpertTokens none = tokens;
  for (auto& layer : none) std::fill(layer.begin(), layer.end(), 0);
  return
      [tokens = std::move(tokens), unsaved = std::move(none), k, ranks](std::int64_t /*checkpoint*/) mutable {
        for (std::size_t layer = 0; layer < tokens.size(); ++layer) {
          for (std::size_t expert = 0; expert < tokens[layer].size(); ++expert)
            unsaved[layer][expert] += tokens[layer][expert];
        }
        SavedExperts saved = select_load_aware(unsaved, k, ranks);
        for (std::size_t layer = 0; layer < saved.size(); ++layer) {
          for (const std::int32_t expert : saved[layer]) unsaved[layer][static_cast<std::size_t>(expert)] = 0;
        }
        return saved;
      };
}

}  // namespace goodput
