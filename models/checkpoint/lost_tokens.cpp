#include "models/checkpoint/lost_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/checkpoint/buffered_saves.h"
#include "models/checkpoint/dynamic_k.h"
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

// A run from fault to fault: when checkpoints begin and reach storage, and what they hold.
class Replay {
 public:
  Replay(const ExpertTokens& tokens, const PecSchedule& schedule)
      : schedule_(schedule),
        experts_(static_cast<std::int32_t>(tokens.empty() ? 0 : tokens.front().size())),
        copies_(tokens.size(), experts_) {
    copies_.set_tokens(tokens);
    set_levels(schedule.k);
  }

  // From the last recovery, or the beginning, on.
  void train_to(std::int64_t step) {
    SimDuration now{};
    std::int64_t at = recovered_.step;
    std::int64_t number = recovered_.number;
    for (std::int64_t due = at + schedule_.interval; due <= step; due += schedule_.interval) {
      now += (due - at) * schedule_.step;
      at = due;
      if (buffers_.begin(number + 1, now)) {
        begun_.push_back({++number, due});
        now += timing_.stall;
      }
      keep(buffers_.stored(now));
    }
    keep(buffers_.stored(now + (step - at) * schedule_.step));
  }
  // Returns the tokens that are lost.
  double recover(const FailedRanks& failed) {
    buffers_.lose_unfinished();
    begun_.clear();
    return copies_.recover(failed, schedule_.ranks);
  }
  void set_levels(const PecLevels& k) {
    k_ = k;
    if (schedule_.timing) timing_ = schedule_.timing(k);
    buffers_.set_times(timing_.times);
  }
  // Of the run's steps.
  [[nodiscard]] double interval_share(const PecLevels& k) const {
    const SaveTiming timing = schedule_.timing ? schedule_.timing(k) : SaveTiming{};
    return mean_interval(timing, schedule_.step, schedule_.interval) / static_cast<double>(schedule_.steps);
  }

  [[nodiscard]] double storage_lag() const { return copies_.storage_lag(); }
  [[nodiscard]] const PecLevels& levels() const { return k_; }
  [[nodiscard]] std::int32_t experts() const { return experts_; }
  [[nodiscard]] std::int64_t recovered_step() const { return recovered_.step; }

 private:
  struct Save {
    std::int64_t number = 0;  // of those that began, from 1 on; 0: the state before the first step
    std::int64_t step = 0;
  };

  // Checkpoints up to this one are in storage: what they saved is kept.
  void keep(const std::optional<std::int64_t>& stored) {
    auto first = begun_.begin();
    for (; first != begun_.end() && first->number <= stored.value_or(0); ++first) {
      copies_.train(first->step - recovered_.step);
      copies_.save(first->number, k_, schedule_.selection, schedule_.ranks);
      recovered_ = *first;
    }
    begun_.erase(begun_.begin(), first);
  }

  const PecSchedule& schedule_;
  std::int32_t experts_;
  ExpertCopies copies_;  // as of `recovered_`
  BufferedSaves buffers_;
  PecLevels k_{};
  SaveTiming timing_{};
  std::vector<Save> begun_;  // that are not in storage yet
  Save recovered_{};         // the last one that is
};

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

std::string plt_warning(double plt) {
  if (plt <= kDynamicKLimit * (1 + 1e-9)) return "";
  const std::string share = fmt::format("{:.2f} % of tokens are lost (PLT), more than the", 100 * plt);
  if (plt < kHarmlessPlt)
    return fmt::format("{} {:g} % that PEC's paper allows with Dynamic-K", share, 100 * kDynamicKLimit);
  return fmt::format("{} {:g} % below which PEC's paper finds models as good as without faults", share,
                     100 * kHarmlessPlt);
}

PecLoss replay_losses(const ExpertTokens& tokens, const PecSchedule& schedule,
                      const std::vector<CheckpointFault>& faults) {
  check_schedule(tokens, schedule, faults);
  const double all_tokens = tokens_of_run(tokens, schedule.steps);
  const auto share_of_run = [&](double lost) { return all_tokens > 0 ? lost / all_tokens : 0; };
  Replay replay(tokens, schedule);
  const auto interval_share = [&](const PecLevels& k) { return replay.interval_share(k); };
  PecLoss loss;
  double lost = 0;
  for (const CheckpointFault& fault : faults) {
    replay.train_to(fault.step);
    const double at_fault = replay.recover(fault.ranks);
    lost += at_fault;
    if (schedule.dynamic_limit)
      replay.set_levels(raised_levels(schedule.k, replay.experts(), *schedule.dynamic_limit,
                                      {share_of_run(lost), share_of_run(replay.storage_lag())},
                                      interval_share));
    loss.faults.push_back({fault, replay.recovered_step(), at_fault, replay.levels()});
  }
  loss.plt = share_of_run(lost);
  return loss;
}

CheckpointSeries load_aware_series(const ExpertTokens& tokens, const PecLevels& k, PecLevel level,
                                   std::int32_t ranks) {
  const std::size_t experts = tokens.empty() ? 0 : tokens.front().size();
  ExpertCopies copies(tokens.size(), static_cast<std::int32_t>(experts));
  copies.set_tokens(tokens);
  return [copies = std::move(copies), k, level, ranks](std::int64_t checkpoint) mutable {
    copies.train(1);
    SavedLevels saved = copies.load_aware(k, ranks);
    copies.save(checkpoint, k, ExpertSelection::kLoadAware, ranks);
    return std::move(saved.at(level));
  };
}

}  // namespace goodput
