// What there is to choose between cost and time, found in few trials.
//
// All contenders meet the same failures in their k-th trial. Contenders that are surely no better than some
// row of the front, by more than a tie in neither respect, drop out as trials double; the rows in the end
// have all trials and are compared with each other and with the others on the same trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

struct FrontRules {
  double tie = 0.005;  // relative: a smaller difference in cost or time does not count
  std::int64_t first_trials = 16;
  std::int64_t trials = 128;  // that each row has in the end
  // From so many trials on contenders drop out that are no better than a row; before, those that are worse.
  std::int64_t crowded_from = 128;
  std::size_t most_others = 24;            // that then remain beside the rows: those closest to the front
  std::function<bool()> is_out_of_time{};  // asked between rounds; empty: never
};

struct FrontTrials {
  // Afterwards each of these has so many.
  std::function<Status(std::span<const std::size_t> contenders, std::int64_t trials)> run;
  // By trial; none if some trial has none: such a contender is out.
  std::function<std::optional<std::vector<double>>(std::size_t contender)> cost;
  std::function<std::optional<std::vector<double>>(std::size_t contender)> time;
};

// A contender's means.
struct CostAndTime {
  std::size_t contender = 0;
  double cost = 0;
  double time = 0;
};

// The rows, cheapest first. For each row no other point is better by more than a tie in cost or time and not
// worse in the other. Of points that are within a tie of each other one is there: `preferred`, or the
// cheapest.
[[nodiscard]] std::vector<std::size_t> front_of_means(std::span<const CostAndTime> points, double tie,
                                                      std::optional<std::size_t> preferred = {});

struct ParetoFront {
  std::vector<std::size_t> rows{};
  std::int64_t trials = 0;  // that all rows have, and on which they were compared
};
Result<ParetoFront> find_pareto_front(std::size_t contenders, const FrontRules& rules,
                                      const FrontTrials& trials, std::optional<std::size_t> preferred = {});

}  // namespace goodput
