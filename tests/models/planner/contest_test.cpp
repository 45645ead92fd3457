#include "models/planner/contest.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

// Contenders whose trials are a common part, which differs from trial to trial, and one of their own.
struct DrawnContest {
  std::vector<double> means{};
  double common = 0;  // deviation
  double own = 0;
  std::uint64_t seed = 0;
  std::vector<std::int64_t> run{};  // trials, by contender
  std::vector<WithinLimits> limits{};
  std::vector<TieRank> ranks{};  // empty: all are equal

  explicit DrawnContest(std::vector<double> of, double common_deviation, double own_deviation,
                        std::uint64_t draws)
      : means(std::move(of)),
        common(common_deviation),
        own(own_deviation),
        seed(draws),
        run(means.size()),
        limits(means.size(), WithinLimits::kYes) {}

  // Deviates from 0 by a value of this deviation, uniformly.
  static double draw(std::uint64_t seed, const char* stream, std::uint64_t id, double deviation) {
    RandomStream random(seed, stream, id);
    return deviation * std::sqrt(12.0) * (random.uniform() - 0.5);
  }

  [[nodiscard]] double value(std::size_t contender, std::int64_t trial) const {
    const auto number = static_cast<std::uint64_t>(trial);
    return means[contender] + draw(seed, "common", number, common) +
           draw(seed, "own", number * 1000 + contender, own);
  }

  [[nodiscard]] ContestTrials trials() {
    return {[this](std::span<const std::size_t> contenders, std::int64_t wanted) -> Status {
              for (const std::size_t one : contenders) run[one] = std::max(run[one], wanted);
              return Ok{};
            },
            [this](std::size_t contender) {
              std::vector<double> values;
              for (std::int64_t i = 0; i < run[contender]; ++i) values.push_back(value(contender, i));
              return std::optional(std::move(values));
            },
            [this](std::size_t contender) { return limits[contender]; },
            [this](std::size_t contender) { return ranks.empty() ? TieRank{} : ranks[contender]; }};
  }
};

ContestResult contest_of(DrawnContest& drawn, const ContestRules& rules = {}) {
  auto result = run_contest(drawn.means.size(), rules, drawn.trials());
  REQUIRE(result);
  return *result;
}

}  // namespace

TEST_CASE("contest: what all trials share does not hide a difference of one percent") {
  // The common part scatters by 20 %: a mean of 128 trials is known to 20 / sqrt(128) = 1.8 %. The paired
  // difference does not have it.
  DrawnContest drawn({101, 100, 103}, 20, 0.5, 1);
  const ContestResult result = contest_of(drawn);
  CHECK(result.best == 1);
  CHECK(result.ties.empty());
  CHECK(result.left == std::vector<std::size_t>{1});
  // 1 % apart with 0.5 sqrt(2) = 0.7 of scatter: 16 trials leave a standard error of 0.18.
  CHECK(drawn.run[0] <= 64);
  CHECK(drawn.run[2] == 16);
}

TEST_CASE("contest: within half a percent is a tie, however many trials tell the two apart") {
  DrawnContest drawn({100.2, 100, 104}, 5, 0.01, 2);
  const ContestResult result = contest_of(drawn);
  CHECK(result.best == 1);
  CHECK(result.ties == std::vector<std::size_t>{0});
  CHECK(result.trials == 128);  // least_trials: the tie was sure after 16
}

TEST_CASE("contest: what cannot be told apart with all trials is a tie, by mean") {
  DrawnContest drawn({100, 100.9, 100.8}, 0, 60, 3);
  ContestRules rules;
  rules.max_trials = 256;
  const ContestResult result = contest_of(drawn, rules);
  REQUIRE(result.best);
  CHECK(result.trials == 256);
  CHECK(result.ties.size() == 2);
}

TEST_CASE("contest: who breaks a limit does not win, and who surely does runs no further") {
  DrawnContest drawn({90, 95, 100}, 1, 0.1, 4);
  drawn.limits = {WithinLimits::kNo, WithinLimits::kHardly, WithinLimits::kYes};
  const ContestResult result = contest_of(drawn);
  CHECK(result.best == 2);
  CHECK(result.ties.empty());
  CHECK(drawn.run[0] == 16);
  CHECK(drawn.run[1] == 1024);  // it may yet turn out to keep to it
}

TEST_CASE("contest: who was sent off comes back when the leader breaks a limit after all") {
  DrawnContest drawn({90, 100, 110}, 1, 0.1, 6);
  ContestTrials trials = drawn.trials();
  trials.limits = [&drawn](std::size_t contender) {
    if (contender > 0) return WithinLimits::kYes;
    return drawn.run[0] < 64 ? WithinLimits::kPerhaps : WithinLimits::kNo;
  };
  const auto result = run_contest(3, {}, trials);
  REQUIRE(result);
  CHECK(result->best == 1);
  CHECK(drawn.run[0] == 64);
  CHECK(drawn.run[1] == 128);
  CHECK(drawn.run[2] == 64);  // back for a round, and sent off by the new leader
}

TEST_CASE("contest: where nobody keeps to the limits there is no best") {
  DrawnContest drawn({90, 95}, 1, 0.1, 5);
  drawn.limits = {WithinLimits::kNo, WithinLimits::kNo};
  const ContestResult result = contest_of(drawn);
  CHECK_FALSE(result.best);
  CHECK(result.left.empty());
}

TEST_CASE(
    "contest: of equally good contenders the one that finishes first wins, then the one with fewest nodes") {
  // All are within 0.5 % of each other but the last, which is 2 % worse and would finish first.
  DrawnContest drawn({100, 100.1, 100.2, 100.3, 102}, 5, 0.01, 7);
  drawn.ranks = {{11, 1, 1}, {10, 9, 1}, {10.01, 8, 5}, {10.02, 8, 4}, {1, 1, 1}};
  // 10 to 10.02 are the same date; of these two hold 8 nodes, and one of them writes less to storage.
  const ContestResult result = contest_of(drawn);
  CHECK(result.best == 3);
  CHECK(result.ties == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("contest: a limit that the trials do not show gets more of them, for the winner alone") {
  DrawnContest drawn({100, 110}, 1, 0.1, 8);
  ContestTrials trials = drawn.trials();
  trials.limits = [&drawn](std::size_t contender) {
    return drawn.run[contender] < 4000 ? WithinLimits::kLikely : WithinLimits::kYes;
  };
  ContestRules rules;
  rules.proof_trials = 7376;  // what a probability of 99.9 % takes, twice
  const auto result = run_contest(2, rules, trials);
  REQUIRE(result);
  CHECK(result->best == 0);
  CHECK(result->is_shown);
  CHECK(drawn.run[0] == 4096);  // 128, and doubled until it is shown
  CHECK(drawn.run[1] < 128);
}

TEST_CASE("contest: a winner that cannot show its limits makes room for one that can") {
  DrawnContest drawn({100, 102, 110}, 1, 0.1, 9);
  drawn.limits = {WithinLimits::kPerhaps, WithinLimits::kYes, WithinLimits::kYes};
  ContestRules rules;
  rules.proof_trials = 2048;
  const ContestResult result = contest_of(drawn, rules);
  CHECK(result.best == 1);
  CHECK(result.is_shown);
  CHECK(drawn.run[0] == 2048);
  drawn.limits = {WithinLimits::kPerhaps, WithinLimits::kHardly, WithinLimits::kNo};
  const ContestResult unshown = contest_of(drawn, rules);
  CHECK(unshown.best == 0);
  CHECK_FALSE(unshown.is_shown);
}

TEST_CASE("contest: when the time is up the trials there are decide") {
  DrawnContest drawn({100, 100.9, 101}, 0, 60, 10);
  ContestRules rules;
  int asked = 0;
  rules.is_out_of_time = [&asked] { return ++asked == 2; };
  const ContestResult result = contest_of(drawn, rules);
  REQUIRE(result.best);
  CHECK(result.trials == 32);  // after the second round
}

TEST_CASE("contest: the winner of random contests is within a tie of the truth, in few runs" *
          doctest::test_suite("slow")) {
  std::int64_t runs = 0;
  int missed = 0;
  constexpr int kContests = 40;
  constexpr std::size_t kContenders = 100;
  for (std::uint64_t seed = 100; seed < 100 + kContests; ++seed) {
    RandomStream random(seed, "means", 0);
    std::vector<double> means;
    for (std::size_t i = 0; i < kContenders; ++i) means.push_back(100 + 30 * random.uniform());
    DrawnContest drawn(means, 10, 3, seed);
    const ContestResult result = contest_of(drawn);
    REQUIRE(result.best);
    const double truth = *std::min_element(means.begin(), means.end());
    if (means[*result.best] > truth * 1.005) ++missed;
    for (const std::int64_t of_one : drawn.run) runs += of_one;
  }
  INFO("runs a contest: ", runs / kContests);
  CHECK(missed == 0);
  CHECK(runs < kContests * 15'000);  // all contenders with all trials: 102,400
}

TEST_CASE("contest: a tie is a paired interval that holds 0, or half a percent") {
  CHECK(is_tie(std::vector<double>{100, 100}, std::vector<double>{100.4, 100.4}, 0.005));
  CHECK_FALSE(is_tie(std::vector<double>{100, 100}, std::vector<double>{100.6, 100.6}, 0.005));
  CHECK(is_tie(std::vector<double>{100, 110}, std::vector<double>{103, 108}, 0.005));  // +3, -2
}

}  // namespace goodput
