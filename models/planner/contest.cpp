#include "models/planner/contest.h"

#include <algorithm>
#include <array>
#include <cmath>
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

enum class Standing : std::uint8_t { kOpen, kWorse, kTied };

// `racer` against the leader, by more than a tie or by less, if that is sure. In the trials that both have.
Standing standing(const Racer& leader, const Racer& racer, double tie) {
  if (leader.contender == racer.contender) return Standing::kTied;
  const std::size_t common = std::min(leader.values.size(), racer.values.size());
  const auto of_leader = std::span(leader.values).first(common);
  const Estimate difference = compare_paired(std::span(racer.values).first(common), of_leader).difference;
  const auto [low, high] = sure_interval(difference);
  const double band = tie * std::abs(mean_of(of_leader));
  if (low > band) return Standing::kWorse;
  return low > -band && high < band ? Standing::kTied : Standing::kOpen;
}

bool is_decided(const Racer* leader, const std::vector<Racer>& racers, double tie) {
  return leader != nullptr && std::all_of(racers.begin(), racers.end(), [&](const Racer& racer) {
           return racer.limits == WithinLimits::kYes && standing(*leader, racer, tie) == Standing::kTied;
         });
}

ContestResult result_of(const std::vector<Racer>& racers, double tie, std::int64_t trials) {
  ContestResult result;
  result.trials = trials;
  for (const Racer& racer : racers) result.left.push_back(racer.contender);
  const Racer* best = leader_of(racers);
  if (best == nullptr) return result;
  result.best = best->contender;
  std::vector<const Racer*> ties;
  for (const Racer& racer : racers) {
    if (&racer != best && racer.limits >= WithinLimits::kPerhaps && is_tie(best->values, racer.values, tie))
      ties.push_back(&racer);
  }
  std::stable_sort(ties.begin(), ties.end(),
                   [](const Racer* a, const Racer* b) { return a->mean < b->mean; });
  for (const Racer* racer : ties) result.ties.push_back(racer->contender);
  return result;
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
      racers_.clear();
      for (const std::size_t contender : left_) {
        if (auto racer = racer_of(contender, trials_)) racers_.push_back(*std::move(racer));
      }
    } while (call_back());
    send_off();
    return Ok{};
  }
  [[nodiscard]] const std::vector<Racer>& racers() const { return racers_; }

 private:
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
};

}  // namespace

bool is_tie(std::span<const double> best, std::span<const double> other, double tie) {
  const Estimate difference = compare_paired(other, best).difference;
  if (std::abs(difference.mean) <= tie * std::abs(mean_of(best))) return true;
  return difference.interval && (*difference.interval)[0] <= 0 && (*difference.interval)[1] >= 0;
}

Result<ContestResult> run_contest(std::size_t contenders, const ContestRules& rules,
                                  const ContestTrials& trials) {
  Field field(contenders, rules, trials);
  std::int64_t round = std::min(rules.first_trials, rules.most_trials);
  while (true) {
    GOODPUT_TRY_STATUS(field.run_round(round));
    const std::vector<Racer>& racers = field.racers();
    const bool is_done = round >= rules.least_trials && is_decided(leader_of(racers), racers, rules.tie);
    if (racers.empty() || round >= rules.most_trials || is_done) break;
    round = std::min(2 * round, rules.most_trials);
  }
  return result_of(field.racers(), rules.tie, round);
}

}  // namespace goodput
