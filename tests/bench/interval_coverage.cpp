// interval_coverage [FIRST_SEED [SEEDS]]: how often the 95 % confidence intervals of `simulate` have the
// truth inside, on data whose truth is known. Prints the table of docs/validation.md; by default of seeds 1
// to 2000.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/estimate.h"
#include "models/scenario/paired_comparison.h"
#include "models/scenario/ratio_estimate.h"
#include "sim/base/random.h"

namespace goodput::testing {
namespace {

struct Case {
  std::string interval;
  std::string data;
  int trials = 0;
  double truth = 0;
  std::function<std::optional<Estimate>(RandomStream&, int trials)> estimate{};
};

struct Tally {
  int seeds = 0;
  int none = 0;
  int below = 0;  // the truth, of the interval
  int above = 0;
  int doubtful = 0;
  int trusted = 0;  // not doubtful, and there
  int trusted_covered = 0;

  void add(const std::optional<Estimate>& estimate, double truth) {
    ++seeds;
    const bool is_doubtful = estimate && estimate->is_doubtful;
    doubtful += is_doubtful ? 1 : 0;
    if (!estimate || !estimate->interval) {
      ++none;
      return;
    }
    const auto [low, high] = *estimate->interval;
    below += truth < low ? 1 : 0;
    above += truth > high ? 1 : 0;
    if (is_doubtful) return;
    ++trusted;
    trusted_covered += low <= truth && truth <= high ? 1 : 0;
  }
};

using Draw = std::function<double(RandomStream&)>;

std::vector<double> sample(const Draw& draw, RandomStream& random, int trials) {
  std::vector<double> values;
  for (int i = 0; i < trials; ++i) values.push_back(draw(random));
  return values;
}

double draw_normal(RandomStream& random) {
  return random.normal(10, 3);
}
double draw_exponential(RandomStream& random) {
  return random.exponential(1);
}
double draw_lognormal(RandomStream& random) {
  return std::exp(random.normal(0, 1));
}

// ---- Two policies that face the same failures.

struct PolicyTrial {
  double samples = 0;
  double hours = 0;
};
struct PairedTrials {
  std::vector<double> a, b;
  std::vector<double> hours_a, hours_b;
};

// Between two failures a policy trains a sample a second, but for what it loses to each failure; then it
// restarts.
struct Restarts {
  double lost = 0;          // seconds of training, or all there were
  double mean_restart = 0;  // seconds
};
constexpr Restarts kPolicyA = {100, 30};
constexpr Restarts kPolicyB = {345, 120};
constexpr double kMeanGap = 600;
constexpr int kFailures = 24;  // a trial

double true_samples(const Restarts& policy) {
  return kFailures * kMeanGap * std::exp(-policy.lost / kMeanGap);
}
double true_hours(const Restarts& policy) {
  return kFailures * (kMeanGap + policy.mean_restart) / 3600;
}
double true_rate(const Restarts& policy) {
  return true_samples(policy) / true_hours(policy);
}

PolicyTrial run(const Restarts& policy, const std::vector<double>& gaps, RandomStream& random) {
  PolicyTrial trial;
  for (const double gap : gaps) {
    trial.samples += std::max(0.0, gap - policy.lost);
    trial.hours += (gap + random.exponential(1 / policy.mean_restart)) / 3600;
  }
  return trial;
}

using DrawPairs = PairedTrials (*)(RandomStream&, int trials);

PairedTrials draw_shared_failures(RandomStream& random, int trials) {
  PairedTrials pairs;
  for (int i = 0; i < trials; ++i) {
    const auto gaps = sample([](RandomStream& r) { return r.exponential(1 / kMeanGap); }, random, kFailures);
    const PolicyTrial a = run(kPolicyA, gaps, random);
    const PolicyTrial b = run(kPolicyB, gaps, random);
    pairs.a.push_back(a.samples);
    pairs.b.push_back(b.samples);
    pairs.hours_a.push_back(a.hours);
    pairs.hours_b.push_back(b.hours);
  }
  return pairs;
}

constexpr double kMeanA = 13.97, kMeanB = 9.29;  // million samples

// Lognormal, of correlation 0.5 in the logarithm: the mean of the ratios is 13.97 / 9.29 * exp(0.6^2 - 0.5 *
// 0.3 * 0.6) = 1.97, the ratio of the means 1.50.
PairedTrials draw_scattered(RandomStream& random, int trials) {
  constexpr double kSpreadA = 0.3, kSpreadB = 0.6, kCorrelation = 0.5;
  PairedTrials pairs;
  for (int i = 0; i < trials; ++i) {
    const double shared = random.normal(0, 1);
    const double own = random.normal(0, std::sqrt(1 - kCorrelation * kCorrelation));
    pairs.a.push_back(kMeanA * std::exp(kSpreadA * shared - kSpreadA * kSpreadA / 2));
    pairs.b.push_back(kMeanB * std::exp(kSpreadB * (kCorrelation * shared + own) - kSpreadB * kSpreadB / 2));
  }
  return pairs;
}

// Normal, of correlation 0.7.
PairedTrials draw_normal_pairs(RandomStream& random, int trials) {
  PairedTrials pairs;
  for (int i = 0; i < trials; ++i) {
    const double shared = random.normal(0, 1);
    const double own = random.normal(0, std::sqrt(1 - 0.7 * 0.7));
    pairs.a.push_back(kMeanA + 3 * shared);
    pairs.b.push_back(kMeanB + 2 * (0.7 * shared + own));
  }
  return pairs;
}

// ---- What is estimated of them.

std::optional<Estimate> mean_of_ratios(const PairedTrials& pairs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < pairs.a.size(); ++i) ratios.push_back(pairs.a[i] / pairs.b[i]);
  return estimate_mean(ratios);
}
std::optional<Estimate> ratio_of_means(const PairedTrials& pairs) {
  return estimate_ratio(pairs.a, pairs.b);
}
std::optional<Estimate> ratio_of_rates(const PairedTrials& pairs) {
  return estimate_ratio(linearised_ratio(pairs.a, pairs.hours_a), linearised_ratio(pairs.b, pairs.hours_b));
}
std::optional<Estimate> difference(const PairedTrials& pairs) {
  return compare_paired(pairs.a, pairs.b).difference;
}
std::optional<Estimate> difference_of_rates(const PairedTrials& pairs) {
  return compare_paired(linearised_ratio(pairs.a, pairs.hours_a), linearised_ratio(pairs.b, pairs.hours_b))
      .difference;
}

class Study {
 public:
  void add_means(const std::string& data, double truth, const Draw& draw, const std::vector<int>& counts) {
    for (const int trials : counts) {
      cases_.push_back({"mean", data, trials, truth, [draw](RandomStream& random, int count) {
                          return std::optional(estimate_mean(sample(draw, random, count)));
                        }});
    }
  }

  void add_pairs(const std::string& interval, const std::string& data, double truth, DrawPairs draw,
                 std::optional<Estimate> (*estimate)(const PairedTrials&), const std::vector<int>& counts) {
    for (const int trials : counts) {
      cases_.push_back({interval, data, trials, truth, [draw, estimate](RandomStream& random, int count) {
                          return estimate(draw(random, count));
                        }});
    }
  }

  void add_shares() {
    for (const int trials : {10, 20, 200}) {
      for (const double share : {0.05, 0.3, 0.5, 0.95}) {
        cases_.push_back({"probability", fmt::format("of {}", share), trials, share,
                          [share](RandomStream& random, int count) {
                            std::int64_t hits = 0;
                            for (int i = 0; i < count; ++i) hits += random.uniform() < share ? 1 : 0;
                            return std::optional(estimate_share(hits, count));
                          }});
      }
    }
  }

  void add_quantiles() {
    constexpr double kNormalP90 = 1.2815515655446004;
    for (const int trials : {20, 100, 200}) {
      for (const int percent : {10, 50, 90}) {
        const double truth = std::exp(kNormalP90 * (percent - 50) / 40);
        cases_.push_back({fmt::format("p{}", percent), "lognormal", trials, truth,
                          [percent](RandomStream& random, int count) {
                            return std::optional(
                                estimate_quantile(sample(draw_lognormal, random, count), percent / 100.0));
                          }});
      }
    }
  }

  void print(std::uint64_t first_seed, int seeds) const {
    fmt::print(
        "Seeds {} to {}\n\n"
        "| interval | data | trials | covers | truth below | above | none | doubtful | others cover |\n"
        "|---|---|---|---|---|---|---|---|---|\n",
        first_seed, first_seed + static_cast<std::uint64_t>(seeds) - 1);
    for (const Case& one : cases_) print(one, tally(one, first_seed, seeds));
  }

 private:
  static Tally tally(const Case& one, std::uint64_t first_seed, int seeds) {
    Tally tally;
    for (std::uint64_t seed = first_seed; tally.seeds < seeds; ++seed) {
      RandomStream random(seed, fmt::format("{}, {}, {}", one.interval, one.data, one.trials));
      tally.add(one.estimate(random, one.trials), one.truth);
    }
    return tally;
  }

  static void print(const Case& one, const Tally& tally) {
    const auto percent = [](int part, int all) {
      return all == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * part / all);
    };
    const int intervals = tally.seeds - tally.none;
    fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", one.interval, one.data, one.trials,
               percent(intervals - tally.below - tally.above, intervals), percent(tally.below, intervals),
               percent(tally.above, intervals), percent(tally.none, tally.seeds),
               percent(tally.doubtful, tally.seeds), percent(tally.trusted_covered, tally.trusted));
  }

  std::vector<Case> cases_{};
};

Study all_cases() {
  Study study;
  study.add_means("normal", 10, draw_normal, {3, 20});
  study.add_means("exponential", 1, draw_exponential, {3, 20, 200});
  study.add_means("lognormal", std::exp(0.5), draw_lognormal, {3, 20, 200});
  const std::vector<int> counts = {3, 20, 200};
  const double ratio = kMeanA / kMeanB;
  const double shared_ratio = true_samples(kPolicyA) / true_samples(kPolicyB);
  const double rate_ratio = true_rate(kPolicyA) / true_rate(kPolicyB);
  const double rate_difference = true_rate(kPolicyA) - true_rate(kPolicyB);
  const std::string shared = "shared failures";
  study.add_pairs("ratio", "normal", ratio, draw_normal_pairs, ratio_of_means, counts);
  study.add_pairs("ratio", shared, shared_ratio, draw_shared_failures, ratio_of_means, counts);
  study.add_pairs("ratio", "scattered", ratio, draw_scattered, ratio_of_means, counts);
  study.add_pairs("mean of ratios", "normal", ratio, draw_normal_pairs, mean_of_ratios, counts);
  study.add_pairs("mean of ratios", shared, shared_ratio, draw_shared_failures, mean_of_ratios, counts);
  study.add_pairs("mean of ratios", "scattered", ratio, draw_scattered, mean_of_ratios, counts);
  study.add_pairs("ratio of rates", shared, rate_ratio, draw_shared_failures, ratio_of_rates, counts);
  study.add_pairs("difference", "normal", kMeanA - kMeanB, draw_normal_pairs, difference, counts);
  study.add_pairs("difference of rates", shared, rate_difference, draw_shared_failures, difference_of_rates,
                  counts);
  study.add_shares();
  study.add_quantiles();
  return study;
}

}  // namespace
}  // namespace goodput::testing

int main(int argc, char** argv) {
  const std::uint64_t first_seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 2000;
  goodput::testing::all_cases().print(first_seed, seeds);
  return EXIT_SUCCESS;
}
