// Whether trials show that a limit is kept, and how many it takes.
#include "tools/plan/plan_values.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/tools/plan/small_question.h"

namespace goodput {
namespace {

// `late` of them after the deadline.
std::vector<TrialSummary> trials_of(int count, int late, double usd = 0) {
  std::vector<TrialSummary> trials(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    TrialSummary& trial = trials[static_cast<std::size_t>(i)];
    trial.finished = true;
    trial.deadline = i < late ? DeadlineOutcome::kMissed : DeadlineOutcome::kMet;
    trial.wall_s = i < late ? 2 * 86400 : 80'000 - i;
    trial.cost_usd = usd + i;
  }
  return trials;
}

WithinLimits in_time(const char* deadline, int count, int late) {
  const PlanQuestion question = small_question({{"/deadline", deadline}});
  return within_deadline(question, trials_of(count, late));
}

}  // namespace

TEST_CASE("plan: a probability is shown by as many trials as its interval takes") {
  // 0.025^(1/n) >= p: n = ln 0.025 / ln p. 71.9 of 95 %, 367.03 of 99 %, 3687.04 of 99.9 %.
  CHECK(trials_to_show(0.95) == 72);
  CHECK(trials_to_show(0.99) == 368);
  CHECK(trials_to_show(0.999) == 3688);
  // If one in a hundred misses it takes more, and no number of trials shows more than there is.
  REQUIRE(trials_to_show(0.95, 0.99));
  CHECK(*trials_to_show(0.95, 0.99) > 72);
  CHECK_FALSE(trials_to_show(0.95, 0.95));
  CHECK_FALSE(trials_to_show(0.95, 0.9));
  for (const double share : {0.96, 0.97, 0.99, 1.0}) {
    const std::int64_t trials = trials_to_show(0.95, share).value();
    const auto hits = static_cast<std::int64_t>(share * static_cast<double>(trials));
    CHECK((*estimate_share(hits, trials).interval)[0] >= 0.95);
  }
}

TEST_CASE("plan: a deadline counts as met only if the interval of the share supports it") {
  CHECK(in_time("1d@95%", 72, 0) == WithinLimits::kYes);
  // All in time and far from the deadline, but 71 trials support 94.9 % only.
  CHECK(in_time("1d@95%", 71, 0) == WithinLimits::kLikely);
  CHECK(in_time("1d@99.9%", 1024, 0) == WithinLimits::kLikely);
  CHECK(in_time("1d@99.9%", 4096, 0) == WithinLimits::kYes);
  // All in time, but close to the deadline: the next trial may be late.
  CHECK(in_time("80001s@95%", 16, 0) == WithinLimits::kPerhaps);
  CHECK(in_time("1d@95%", 100, 3) == WithinLimits::kPerhaps);  // 97 %, at least 91.5 %
  CHECK(in_time("1d@95%", 100, 7) == WithinLimits::kHardly);
  CHECK(in_time("1d@95%", 100, 40) == WithinLimits::kNo);
}

TEST_CASE("plan: a budget with a probability is kept by the share of trials, one without by the mean") {
  const auto kept = [](const char* budget, double usd) {
    return within_budget(small_question({{"/budget", budget}}), trials_of(200, 0, usd));
  };
  // Costs are usd to usd + 199, 99.5 more on average.
  CHECK(kept("1000@90%", 500) == WithinLimits::kYes);
  CHECK(kept("1000@90%", 815) == WithinLimits::kPerhaps);  // 93 %, at least 88.5 %
  CHECK(kept("1000@90%", 825) == WithinLimits::kHardly);   // 88 %
  CHECK(kept("1000", 825) == WithinLimits::kYes);
  CHECK(kept("1000", 950) == WithinLimits::kNo);
}

}  // namespace goodput
