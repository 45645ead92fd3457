#include "models/planner/contest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "models/scenario/paired_comparison.h"

namespace goodput {
namespace {

// Half widths of 95 % intervals that a difference must be beyond: about four standard errors, for there are
// many contenders, and early trials are few.
constexpr double kSureness = 2;

// An interval that is wide enough to be sure of: from the mean by so many half widths.
std::array<double, 2> sure_interval(const Estimate& estimate) {
  if (!estimate.interval) return {-HUGE_VAL, HUGE_VAL};
  return {estimate.mean - kSureness * (estimate.mean - (*estimate.interval)[0]),
          estimate.mean + kSureness * ((*estimate.interval)[1] - estimate.mean)};
}

double mean_of(std::span<const double> values) {
  return estimate_mean(values).mean;
}

// A contender that has not fallen out.
struct Racer {
  std::size_t contender = 0;
  std::vector<double> values{};
  double mean = 0;
  WithinLimits limits = WithinLimits::kYes;
};

// None that breaks a limit for sure, or has no number in some trial.
std::optional<Racer> racer_of(std::size_t contender, const ContestTrials& trials) {
  auto values = trials.values(contender);
  const WithinLimits limits = trials.limits(contender);
  if (!values || limits == WithinLimits::kNo) return std::nullopt;
  const double mean = mean_of(*values);
  return Racer{contender, *std::move(values), mean, limits};
}

// The least mean of those within the limits; none: there are none.
const Racer* leader_of(const std::vector<Racer>& racers) {
  const Racer* leader = nullptr;
  for (const Racer& racer : racers) {
    if (racer.limits >= WithinLimits::kPerhaps && (leader == nullptr || racer.mean < leader->mean))
      leader = &racer;
  }
  return leader;
}

struct CommonTrials {
  std::span<const double> best{};
  std::span<const double> other{};
};
CommonTrials common_trials(std::span<const double> best, std::span<const double> other) {
  const std::size_t common = std::min(best.size(), other.size());
  return {best.first(common), other.first(common)};
}

enum class Standing : std::uint8_t { kOpen, kWorse, kTied };

// `racer` against the leader, by more than a tie or by less, if that is sure. In the trials that both have.
Standing standing(const Racer& leader, const Racer& racer, double tie) {
  if (leader.contender == racer.contender) return Standing::kTied;
  const CommonTrials common = common_trials(leader.values, racer.values);
  const auto [low, high] = sure_interval(compare_paired(common.other, common.best).difference);
  const double band = tie * std::abs(mean_of(common.best));
  if (low > band) return Standing::kWorse;
  return low > -band && high < band ? Standing::kTied : Standing::kOpen;
}

bool is_decided(const Racer* leader, const std::vector<Racer>& racers, double tie) {
  return leader != nullptr && std::all_of(racers.begin(), racers.end(), [&](const Racer& racer) {
           return racer.limits >= WithinLimits::kLikely && standing(*leader, racer, tie) == Standing::kTied;
         });
}

// Whether the 95 % interval of the difference is within a tie.
bool is_surely_as_good(const Racer& leader, const Racer& racer, double tie) {
  if (leader.contender == racer.contender) return true;
  const CommonTrials common = common_trials(leader.values, racer.values);
  const Estimate difference = compare_paired(common.other, common.best).difference;
  return difference.interval && (*difference.interval)[1] <= tie * std::abs(mean_of(common.best));
}

// Of those that are as good as the leader, and keep to the limits as surely: who finishes first, then who
// holds the fewest nodes, then who has the least mean. Dates that differ by less than a tie are equal.
const Racer* preferred(const Racer& leader, const std::vector<Racer>& racers, double tie,
                       const ContestTrials& trials) {
  struct Ranked {
    const Racer* racer = nullptr;
    TieRank rank{};
  };
  std::vector<Ranked> equals;
  for (const Racer& racer : racers) {
    const bool is_within = racer.limits >= leader.limits;
    if (is_within && is_surely_as_good(leader, racer, tie))
      equals.push_back({&racer, trials.tie_rank(racer.contender)});
  }
  double earliest = HUGE_VAL;
  for (const Ranked& one : equals) earliest = std::min(earliest, one.rank.done_by);
  const auto is_late = [&](const Ranked& one) {
    return one.rank.done_by > earliest + tie * std::abs(earliest);
  };
  std::erase_if(equals, is_late);
  const auto comes_first = [](const Ranked& a, const Ranked& b) {
    return std::tuple(a.rank.nodes_held, a.rank.stored_bytes, a.racer->mean) <
           std::tuple(b.rank.nodes_held, b.rank.stored_bytes, b.racer->mean);
  };
  return std::min_element(equals.begin(), equals.end(), comes_first)->racer;
}

// Who still races, and who waits on the bench: worse than the leader for sure, but back if that one falls
// out.
class Field {
 public:
  Field(std::size_t contenders, const ContestRules& rules, const ContestTrials& trials)
      : rules_(rules), trials_(trials) {
    for (std::size_t i = 0; i < contenders; ++i) left_.push_back(i);
  }

  // Until nobody comes back from the bench.
  Status run_round(std::int64_t trials) {
    do {
      GOODPUT_TRY_STATUS(trials_.run(left_, trials));
      gather();
    } while (call_back());
    send_off();
    return Ok{};
  }

  // More trials for the leader alone, until they show that it keeps to the limits. If they do not, it leads
  // no longer; if that is true of everybody, nothing is shown.
  Status prove(std::int64_t trials) {
    for (int proofs = 0; proofs < kMostProofs; ++proofs) {
      const Racer* leader = leader_of(racers_);
      if (leader == nullptr || leader->limits == WithinLimits::kYes) break;
      const std::size_t contender = leader->contender;
      GOODPUT_TRY(const WithinLimits limits, limits_of_more(contender, trials));
      if (limits != WithinLimits::kYes) unproven_.push_back(contender);
      GOODPUT_TRY_STATUS(run_round(trials));
    }
    if (leader_of(racers_) != nullptr) return Ok{};
    unproven_.clear();
    return run_round(trials);
  }

  [[nodiscard]] ContestResult result(std::int64_t trials) const {
    ContestResult result;
    result.trials = trials;
    result.left = left_;
    const Racer* leader = leader_of(racers_);
    if (leader == nullptr) return result;
    const Racer* best = preferred(*leader, racers_, rules_.tie, trials_);
    result.best = best->contender;
    result.is_shown = best->limits == WithinLimits::kYes;
    std::vector<const Racer*> ties;
    for (const Racer& racer : racers_) {
      if (&racer != best && racer.limits >= WithinLimits::kPerhaps &&
          is_tie(best->values, racer.values, rules_.tie))
        ties.push_back(&racer);
    }
    std::stable_sort(ties.begin(), ties.end(),
                     [](const Racer* a, const Racer* b) { return a->mean < b->mean; });
    for (const Racer* racer : ties) result.ties.push_back(racer->contender);
    return result;
  }

  [[nodiscard]] bool is_empty() const { return racers_.empty(); }
  [[nodiscard]] bool is_decided() const {
    return goodput::is_decided(leader_of(racers_), racers_, rules_.tie);
  }

 private:
  static constexpr int kMostProofs = 16;

  void gather() {
    racers_.clear();
    for (const std::size_t contender : left_) {
      auto racer = racer_of(contender, trials_);
      if (!racer) continue;
      if (std::ranges::find(unproven_, contender) != unproven_.end())
        racer->limits = std::min(racer->limits, WithinLimits::kHardly);
      racers_.push_back(*std::move(racer));
    }
  }

  Result<WithinLimits> limits_of_more(std::size_t contender, std::int64_t trials) {
    WithinLimits limits = trials_.limits(contender);
    while (trials < rules_.proof_trials && limits >= WithinLimits::kPerhaps && limits < WithinLimits::kYes) {
      if (rules_.is_out_of_time && rules_.is_out_of_time()) break;
      trials = std::min(2 * trials, rules_.proof_trials);
      GOODPUT_TRY_STATUS(trials_.run(std::array{contender}, trials));
      limits = trials_.limits(contender);
    }
    return limits;
  }

  // Whether somebody is.
  bool call_back() {
    const Racer* leader = leader_of(racers_);
    const auto is_worse = [&](const Racer& racer) {
      return leader != nullptr && standing(*leader, racer, rules_.tie) == Standing::kWorse;
    };
    const auto back = std::stable_partition(bench_.begin(), bench_.end(), is_worse);
    const bool is_any = back != bench_.end();
    left_.clear();
    for (const Racer& racer : racers_) left_.push_back(racer.contender);
    for (auto racer = back; racer != bench_.end(); ++racer) left_.push_back(racer->contender);
    std::sort(left_.begin(), left_.end());
    bench_.erase(back, bench_.end());
    return is_any;
  }

  void send_off() {
    const Racer* found = leader_of(racers_);
    if (found == nullptr) return;
    const Racer leader = *found;
    const auto off = std::stable_partition(racers_.begin(), racers_.end(), [&](const Racer& racer) {
      return standing(leader, racer, rules_.tie) != Standing::kWorse;
    });
    bench_.insert(bench_.end(), off, racers_.end());
    racers_.erase(off, racers_.end());
    left_.clear();
    for (const Racer& racer : racers_) left_.push_back(racer.contender);
  }

  const ContestRules& rules_;
  const ContestTrials& trials_;
  std::vector<std::size_t> left_{};
  std::vector<Racer> racers_{};
  std::vector<Racer> bench_{};
  std::vector<std::size_t> unproven_{};  // within the limits in their trials, which do not show it
};

}  // namespace

bool is_tie(std::span<const double> best, std::span<const double> other, double tie) {
  const CommonTrials common = common_trials(best, other);
  const Estimate difference = compare_paired(common.other, common.best).difference;
  if (std::abs(difference.mean) <= tie * std::abs(mean_of(common.best))) return true;
  return difference.interval && (*difference.interval)[0] <= 0 && (*difference.interval)[1] >= 0;
}

Result<ContestResult> run_contest(std::size_t contenders, const ContestRules& rules,
                                  const ContestTrials& trials) {
  Field field(contenders, rules, trials);
  std::int64_t round = std::min(rules.first_trials, rules.max_trials);
  while (true) {
    GOODPUT_TRY_STATUS(field.run_round(round));
    const bool is_done = round >= rules.least_trials && field.is_decided();
    const bool is_late = rules.is_out_of_time && rules.is_out_of_time();
    if (field.is_empty() || round >= rules.max_trials || is_done || is_late) break;
    round = std::min(2 * round, rules.max_trials);
  }
  GOODPUT_TRY_STATUS(field.prove(round));
  return field.result(round);
}

}  // namespace goodput
