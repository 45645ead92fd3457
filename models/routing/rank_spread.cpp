#include "models/routing/rank_spread.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/routing/job_routing.h"
#include "sim/base/apportion.h"
#include "sim/base/errors.h"
#include "sim/base/index.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

// ranks x experts, by rank.
std::vector<double> factors_of(const RankSpread& spread, std::size_t layer, std::size_t ranks,
                               std::size_t experts) {
  std::vector<double> factors;
  factors.reserve(ranks * experts);
  if (!spread.recorded.empty()) {
    GOODPUT_CHECK(layer < spread.recorded.size(), "the recorded layers must be the model's");
    const std::vector<double>& recorded = spread.recorded[layer];
    GOODPUT_CHECK(recorded.size() == spread.rows * experts,
                  "the recorded rows must be of the model's experts");
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto row = recorded.begin() + static_cast<std::ptrdiff_t>(rank % spread.rows * experts);
      factors.insert(factors.end(), row, row + static_cast<std::ptrdiff_t>(experts));
    }
    return factors;
  }
  // exp(deviation * z - deviation^2 / 2) has the mean 1 and the standard deviation `spread`.
  const double deviation = std::sqrt(std::log1p(spread.spread * spread.spread));
  RandomStream random(spread.seed, "routing of ranks", layer);
  for (std::size_t i = 0; i < ranks * experts; ++i)
    factors.push_back(std::exp(random.normal(-deviation * deviation / 2, deviation)));
  return factors;
}

// Iterative proportional fitting: rows to the same sum, columns to `tokens`, again and again; rows come last.
// Where zeros stand in the way of both, columns stay wrong.
void fit(std::vector<double>& shares, std::size_t ranks, std::span<const std::int64_t> tokens) {
  constexpr int kMostRounds = 50;
  constexpr double kCloseEnough = 1e-3;  // whole tokens are exact in any case
  const std::size_t experts = tokens.size();
  const auto all = static_cast<double>(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}));
  double worst = 1;
  std::vector<double> scale(experts);
  for (int round = 0; round < kMostRounds && worst > kCloseEnough; ++round) {
    worst = 0;
    std::fill(scale.begin(), scale.end(), 0.0);
    for (std::size_t at = 0; at < shares.size(); at += experts) {
      for (std::size_t e = 0; e < experts; ++e) scale[e] += shares[at + e];
    }
    for (std::size_t e = 0; e < experts; ++e) {
      const double sum = scale[e];
      const auto want = static_cast<double>(tokens[e]);
      if (sum > 0 && want > 0) worst = std::max(worst, std::abs(sum / want - 1));
      scale[e] = sum > 0 ? want / sum : 0;
      if (sum > 0) continue;  // an even column instead of an empty one
      for (std::size_t at = e; at < shares.size(); at += experts) shares[at] = 1;
      scale[e] = want / static_cast<double>(ranks);
    }
    for (std::size_t at = 0; at < shares.size(); at += experts) {
      double sum = 0;
      for (std::size_t e = 0; e < experts; ++e) sum += shares[at + e] *= scale[e];
      const double to_row = sum > 0 ? all / static_cast<double>(ranks) / sum : 0;
      for (std::size_t e = 0; e < experts; ++e) shares[at + e] *= to_row;
    }
  }
}

// Whole tokens: rows by largest remainder. What an expert then has too many moves, one token after the other
// and rank after rank, to experts that have too few.
class WholeTokens {
 public:
  WholeTokens(std::span<const double> shares, std::int32_t ranks, std::span<const std::int64_t> tokens)
      : ranks_(index(ranks)), experts_(tokens.size()), missing_(tokens.begin(), tokens.end()) {
    const std::int64_t all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
    for (std::int32_t rank = 0; rank < ranks; ++rank)
      add_row(shares.subspan(index(rank) * experts_, experts_), tokens_of_rank(all, ranks, rank));
  }

  std::vector<std::int32_t> take() && {
    std::size_t to = 0;
    for (std::size_t from = 0; from < experts_; ++from) {
      while (missing_[from] < 0) {
        while (missing_[to] <= 0) ++to;
        move(from, to);
      }
    }
    return std::move(counts_);
  }

 private:
  void add_row(std::span<const double> shares, std::int64_t all) {
    constexpr double kSteps = 1099511627776;  // 2^40: finer than any count of tokens
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<std::int64_t> weights;
    for (const double share : shares)
      weights.push_back(sum > 0 ? static_cast<std::int64_t>(share / sum * kSteps) : 1);
    const std::vector<std::int64_t> row = apportion(weights, all);
    for (std::size_t e = 0; e < experts_; ++e) {
      counts_.push_back(static_cast<std::int32_t>(row[e]));
      missing_[e] -= row[e];
    }
  }

  void move(std::size_t from, std::size_t to) {
    while (counts_[rank_ * experts_ + from] == 0) rank_ = (rank_ + 1) % ranks_;
    --counts_[rank_ * experts_ + from];
    ++counts_[rank_ * experts_ + to];
    ++missing_[from];
    --missing_[to];
    rank_ = (rank_ + 1) % ranks_;
  }

  std::size_t ranks_;
  std::size_t experts_;
  std::vector<std::int64_t> missing_;  // by expert
  std::vector<std::int32_t> counts_;
  std::size_t rank_ = 0;  // that gives a token away next
};

}  // namespace

RankSpread recorded_spread(const RankRows& rows, std::span<const std::size_t> layers,
                           std::span<const std::vector<std::int32_t>> experts) {
  RankSpread spread;
  spread.rows = rows.rows;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    std::vector<double>& factors = spread.recorded.emplace_back();
    std::vector<double> sums(experts[l].size());
    for (std::size_t row = 0; row < rows.rows; ++row) {
      for (std::size_t e = 0; e < sums.size(); ++e) {
        factors.push_back(static_cast<double>(rows.row(layers[l], row)[index(experts[l][e])]));
        sums[e] += factors.back();
      }
    }
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const double sum = sums[i % sums.size()];
      factors[i] = sum > 0 ? factors[i] * static_cast<double>(rows.rows) / sum : 1;
    }
  }
  return spread;
}

std::vector<std::int32_t> rank_tokens(const RankSpread& spread, std::size_t layer, std::int32_t ranks,
                                      std::span<const std::int64_t> tokens) {
  GOODPUT_CHECK(!spread.is_even() && ranks > 0 && !tokens.empty(), "ranks and experts must be there");
  std::vector<double> shares = factors_of(spread, layer, index(ranks), tokens.size());
  fit(shares, index(ranks), tokens);
  return WholeTokens(shares, ranks, tokens).take();
}

}  // namespace goodput
