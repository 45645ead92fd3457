#include "models/planner/pareto_front.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

using Rows = std::vector<std::size_t>;

std::vector<CostAndTime> random_points(std::uint64_t seed, std::size_t count) {
  RandomStream random(seed, "points", 0);
  std::vector<CostAndTime> points;
  for (std::size_t i = 0; i < count; ++i) {
    // Near a curve on which one buys time with money, and some far from it.
    const double time = 10 + 10 * random.uniform();
    const double off = random.uniform() < 0.5 ? 0.02 * random.uniform() : random.uniform();
    points.push_back({i, (1 + off) * 1000 / time, time});
  }
  return points;
}

// Whether `a` is better than `b` by more than a tie in cost or time, and not worse in the other.
bool dominates(const CostAndTime& a, const CostAndTime& b, double tie) {
  return (a.cost < b.cost * (1 - tie) && a.time <= b.time) ||
         (a.time < b.time * (1 - tie) && a.cost <= b.cost);
}

// Costs and times that scatter from trial to trial, mostly alike for all.
struct DrawnFront {
  std::vector<CostAndTime> means;
  std::uint64_t seed = 0;
  std::vector<std::int64_t> run = std::vector<std::int64_t>(means.size());

  [[nodiscard]] std::vector<double> values(std::size_t contender, double mean, const char* stream) const {
    std::vector<double> values;
    for (std::int64_t trial = 0; trial < run[contender]; ++trial) {
      RandomStream common(seed, "common", static_cast<std::uint64_t>(trial));
      RandomStream own(seed + contender, stream, static_cast<std::uint64_t>(trial));
      values.push_back(mean * (1 + 0.1 * (common.uniform() - 0.5) + 0.02 * (own.uniform() - 0.5)));
    }
    return values;
  }
  [[nodiscard]] FrontTrials trials() {
    return {[this](std::span<const std::size_t> contenders, std::int64_t wanted) -> Status {
              for (const std::size_t one : contenders) run[one] = std::max(run[one], wanted);
              return Ok{};
            },
            [this](std::size_t i) { return std::optional(values(i, means[i].cost, "cost")); },
            [this](std::size_t i) { return std::optional(values(i, means[i].time, "time")); }};
  }
};

}  // namespace

TEST_CASE("pareto front: rows ascend in cost and get faster, and nothing is better than a row") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed ", seed);
    const std::vector<CostAndTime> points = random_points(seed, 40);
    const Rows rows = front_of_means(points, 0.005);
    REQUIRE_FALSE(rows.empty());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const CostAndTime& point : points) CHECK_FALSE(dominates(point, points[rows[i]], 0.005));
      if (i == 0) continue;
      CHECK(points[rows[i]].cost > points[rows[i - 1]].cost);
      CHECK(points[rows[i]].time < points[rows[i - 1]].time * (1 - 0.005));
    }
  }
}

TEST_CASE("pareto front: every point has a row that is no worse than by a tie") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed ", seed);
    const std::vector<CostAndTime> points = random_points(seed, 40);
    const Rows rows = front_of_means(points, 0.005);
    for (const CostAndTime& point : points) {
      CHECK(std::any_of(rows.begin(), rows.end(), [&](std::size_t row) {
        return points[row].cost <= point.cost * 1.0075 && points[row].time <= point.time / (1 - 0.0101);
      }));
    }
  }
}

TEST_CASE("pareto front: of equal points the preferred one is the row") {
  const std::vector<CostAndTime> points = {{0, 100, 10}, {1, 100.2, 9.99}, {2, 110, 9}, {3, 120, 9.5}};
  CHECK(front_of_means(points, 0.005) == Rows{0, 2});
  CHECK(front_of_means(points, 0.005, 1) == Rows{1, 2});
  CHECK(front_of_means(points, 0.005, 3) == Rows{0, 2});  // 3 is worse than 2
}

TEST_CASE("pareto front: a row that costs the same as a faster one is nothing to choose") {
  // 1 costs 0.51 % more than 0, which is more than a tie, and 0.2 % more than 2; it is 5 % faster.
  const std::vector<CostAndTime> points = {{0, 100, 10.2}, {1, 100.51, 9.5}, {2, 100.3, 10}};
  CHECK(front_of_means(points, 0.005) == Rows{1});
}

TEST_CASE("pareto front: the race finds the front of all trials in a part of the runs") {
  std::int64_t runs = 0;
  constexpr std::int64_t kTrials = 512;
  constexpr std::size_t kContenders = 60;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed ", seed);
    DrawnFront drawn{random_points(seed, kContenders), seed};
    FrontRules rules;
    rules.trials = kTrials;
    const auto front = find_pareto_front(kContenders, rules, drawn.trials());
    REQUIRE(front);
    CHECK(front->trials == kTrials);
    runs += std::accumulate(drawn.run.begin(), drawn.run.end(), std::int64_t{0});
    for (const std::size_t row : front->rows) CHECK(drawn.run[row] == kTrials);
    // By the true means no contender is better than a row by more than a tie and what trials leave open.
    for (const std::size_t row : front->rows) {
      for (const CostAndTime& point : drawn.means) CHECK_FALSE(dominates(point, drawn.means[row], 0.01));
    }
  }
  CHECK(runs < 10 * kTrials * static_cast<std::int64_t>(kContenders) / 2);
}

TEST_CASE("pareto front: a contender without a cost, or whose job does not finish, is no row") {
  DrawnFront drawn{{{0, 100, 10}, {1, 90, 9}}, 3};
  FrontTrials trials = drawn.trials();
  trials.time = [&drawn](std::size_t i) -> std::optional<std::vector<double>> {
    if (i == 1) return std::nullopt;
    return drawn.values(i, drawn.means[i].time, "time");
  };
  const auto front = find_pareto_front(2, {}, trials);
  REQUIRE(front);
  CHECK(front->rows == Rows{0});
}

TEST_CASE("pareto front: few trials in which nothing failed send nobody off who may be a row") {
  // In the first 64 trials both cost the same but for 0.1 %; later ones show that 1 is much cheaper.
  DrawnFront drawn{{{0, 100, 10}, {1, 100.1, 10}}, 4};
  FrontRules rules;
  rules.trials = 256;
  FrontTrials trials = drawn.trials();
  trials.cost = [&drawn](std::size_t i) {
    std::vector<double> values;
    for (std::int64_t trial = 0; trial < drawn.run[i]; ++trial)
      values.push_back(trial < 64 ? drawn.means[i].cost : i == 1 ? 50 : 100);
    return std::optional(values);
  };
  trials.time = [&drawn](std::size_t i) {
    return std::optional(std::vector<double>(static_cast<std::size_t>(drawn.run[i]), 10));
  };
  const auto front = find_pareto_front(2, rules, trials);
  REQUIRE(front);
  CHECK(front->rows == Rows{1});
}

}  // namespace goodput
