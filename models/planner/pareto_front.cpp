#include "models/planner/pareto_front.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/scenario/estimate.h"
#include "models/scenario/paired_comparison.h"

namespace goodput {
namespace {

// Half widths of a 95 % interval below the mean difference that are sure enough: there are many contenders.
constexpr double kSureHalves = 2;

struct Runner {
  std::size_t contender = 0;
  std::vector<double> cost{};
  std::vector<double> time{};
  CostAndTime means{};
};

double mean_value(std::span<const double> values) {
  return estimate_mean(values).mean;
}

// By its first `trials` trials. None if some of them has no cost or time.
std::optional<Runner> runner_of(std::size_t contender, std::int64_t trials, const FrontTrials& of) {
  auto cost = of.cost(contender);
  auto time = of.time(contender);
  if (!cost || !time) return std::nullopt;
  cost->resize(static_cast<std::size_t>(trials));
  time->resize(static_cast<std::size_t>(trials));
  const CostAndTime means{contender, mean_value(*cost), mean_value(*time)};
  return Runner{contender, *std::move(cost), *std::move(time), means};
}

// Whether `values` are surely not below those of `row` by more than a tie; a negative tie: surely above them
// by more than that.
bool is_surely_no_less(std::span<const double> values, std::span<const double> row, double tie) {
  const Estimate difference = compare_paired(values, row).difference;
  const double half = difference.interval ? difference.mean - (*difference.interval)[0] : HUGE_VAL;
  return difference.mean - kSureHalves * half >= -tie * std::abs(mean_value(row));
}

// By how much the runner is dearer or slower than the row that it comes closest to, relatively.
double distance(const Runner& runner, const std::vector<const Runner*>& rows) {
  double least = HUGE_VAL;
  for (const Runner* row : rows) {
    const double dearer = runner.means.cost / row->means.cost - 1;
    const double slower = runner.means.time / row->means.time - 1;
    least = std::min(least, std::max(dearer, slower));
  }
  return least;
}

class FrontRace {
 public:
  FrontRace(const FrontRules& rules, const FrontTrials& trials, std::optional<std::size_t> preferred)
      : rules_(rules), trials_(trials), preferred_(preferred) {}

  Result<ParetoFront> run(std::size_t contenders) && {
    for (std::size_t i = 0; i < contenders; ++i) left_.push_back(i);
    std::int64_t round = std::min(rules_.first_trials, rules_.trials);
    while (true) {
      GOODPUT_TRY_STATUS(run_round(round));
      const bool is_late = rules_.is_out_of_time && rules_.is_out_of_time();
      if (round >= rules_.trials || is_late) break;
      drop_dominated(round);
      round = std::min(2 * round, rules_.trials);
    }
    return ParetoFront{rows_, round};
  }

 private:
  Status run_round(std::int64_t round) {
    GOODPUT_TRY_STATUS(trials_.run(left_, round));
    runners_.clear();
    std::vector<CostAndTime> means;
    for (const std::size_t contender : left_) {
      auto runner = runner_of(contender, round, trials_);
      if (!runner) continue;
      means.push_back(runner->means);
      runners_.push_back(*std::move(runner));
    }
    rows_ = front_of_means(means, rules_.tie, preferred_);
    return Ok{};
  }

  [[nodiscard]] bool is_row(const Runner& runner) const {
    return std::find(rows_.begin(), rows_.end(), runner.contender) != rows_.end();
  }

  void drop_dominated(std::int64_t round) {
    std::vector<const Runner*> rows;
    std::vector<const Runner*> others;
    for (const Runner& runner : runners_) (is_row(runner) ? rows : others).push_back(&runner);
    // Few trials may not have seen what tells two contenders apart: then one has to be worse to drop out.
    const bool is_early = round < rules_.crowded_from;
    const auto is_dominated = [&](const Runner* runner, const Runner* row) {
      return is_surely_no_less(runner->cost, row->cost, rules_.tie) &&
             is_surely_no_less(runner->time, row->time, rules_.tie) &&
             (!is_early || is_surely_no_less(runner->cost, row->cost, -rules_.tie) ||
              is_surely_no_less(runner->time, row->time, -rules_.tie));
    };
    std::erase_if(others, [&](const Runner* runner) {
      return runner->contender != preferred_ && std::any_of(rows.begin(), rows.end(), [&](const Runner* row) {
               return is_dominated(runner, row);
             });
    });
    if (round >= rules_.crowded_from && others.size() > rules_.most_others) {
      std::stable_sort(others.begin(), others.end(), [&rows](const Runner* a, const Runner* b) {
        return distance(*a, rows) < distance(*b, rows);
      });
      others.resize(rules_.most_others);
    }
    left_.clear();
    for (const Runner* runner : rows) left_.push_back(runner->contender);
    for (const Runner* runner : others) left_.push_back(runner->contender);
    std::sort(left_.begin(), left_.end());
  }

  const FrontRules& rules_;
  const FrontTrials& trials_;
  std::optional<std::size_t> preferred_;
  std::vector<std::size_t> left_{};
  std::vector<Runner> runners_{};  // of left_, by the trials of the round
  std::vector<std::size_t> rows_{};
};

}  // namespace

std::vector<std::size_t> front_of_means(std::span<const CostAndTime> points, double tie,
                                        std::optional<std::size_t> preferred) {
  std::vector<CostAndTime> sorted(points.begin(), points.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const CostAndTime& a, const CostAndTime& b) {
    return std::pair(a.cost, a.time) < std::pair(b.cost, b.time);
  });
  std::vector<CostAndTime> rows;
  double slower_than = HUGE_VAL;  // a row is to be faster than this
  while (true) {
    std::erase_if(sorted, [slower_than](const CostAndTime& point) { return point.time >= slower_than; });
    if (sorted.empty()) break;
    const double dearest = sorted.front().cost * (1 + tie);
    double fastest = HUGE_VAL;
    for (const CostAndTime& point : sorted) {
      if (point.cost <= dearest) fastest = std::min(fastest, point.time);
    }
    const auto is_equal = [&](const CostAndTime& point) {
      return point.cost <= dearest && point.time <= fastest * (1 + tie);
    };
    const auto is_preferred = [&](const CostAndTime& point) {
      return preferred == point.contender && is_equal(point);
    };
    auto row = std::find_if(sorted.begin(), sorted.end(), is_preferred);
    if (row == sorted.end()) row = std::find_if(sorted.begin(), sorted.end(), is_equal);
    // A row that the next one matches in cost, and beats in time, is nothing to choose.
    if (!rows.empty() && row->cost <= rows.back().cost * (1 + tie / 2) && preferred != rows.back().contender)
      rows.pop_back();
    rows.push_back(*row);
    slower_than = row->time * (1 - tie);
  }
  std::vector<std::size_t> front;
  for (const CostAndTime& row : rows) front.push_back(row.contender);
  return front;
}

Result<ParetoFront> find_pareto_front(std::size_t contenders, const FrontRules& rules,
                                      const FrontTrials& trials, std::optional<std::size_t> preferred) {
  return FrontRace(rules, trials, preferred).run(contenders);
}

}  // namespace goodput
