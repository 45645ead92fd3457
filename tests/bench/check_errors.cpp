// How often a check errs: docs/validation.md has the table.
//   check_errors [PAIRS [SEEDS [SUITES]]]   (default: 200 pairs a case, 15 seeds a change, 100 suites)
// Nothing changed, but the seeds: pairs of independent runs, in which every movement is a false alarm.
// Something changed, under the same seeds: parameters are set so that samples an hour fall by 0.5, 1, 2 and 5
// %, against a tolerance of 1 %.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/check/holm.h"
#include "models/check/sequential_test.h"
#include "models/scenario/scenario.h"
#include "models/scenario/trial_metrics.h"
#include "models/scenario/trial_runs.h"
#include "tools/simulate/scenario_inputs.h"
#include "tools/simulate/scenario_options.h"

namespace goodput {
namespace {

constexpr unsigned kThreads = 2;
constexpr std::int64_t kAlikeTrials = 256;  // of nothing changed
constexpr std::int64_t kMostTrials = 4096;  // of a change, as `check` has it
constexpr std::int64_t kTuningTrials = 1024;
constexpr std::uint64_t kTuningSeed = 1'000'000;
constexpr const char* kTolerance = "1 % at 95 %";

using Values = std::vector<double>;

double mean_of(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// One policy of a scenario of the shipped suite, with some values changed.
struct Case {
  std::string name{};
  std::string scenario{};
  std::string policy{};  // empty: all
  std::vector<config::Change> changes{};
};

// Read once, for all seeds.
class PreparedCase {
 public:
  explicit PreparedCase(const Case& one)
      : scenario_(read(one)), inputs_(read_scenario_inputs(scenario_, 0).value()) {}
  PreparedCase(const PreparedCase&) = delete;
  PreparedCase& operator=(const PreparedCase&) = delete;

  [[nodiscard]] TrialRuns runs(std::uint64_t seed, std::uint64_t first_trial = 0) const {
    return TrialRuns::prepare(scenario_, inputs_.view(), seed, first_trial).value();
  }

 private:
  static Scenario read(const Case& one) {
    const std::string file = fmt::format("{}/suites/smoke/{}.json", GOODPUT_CONFIGS, one.scenario);
    Result<Scenario> scenario = read_scenario(file, one.changes, {{GOODPUT_CONFIGS}});
    if (!scenario) fmt::print("{}: {}\n", one.name, scenario.error().message());
    const std::vector<std::string> chosen =
        one.policy.empty() ? std::vector<std::string>{} : std::vector{one.policy};
    GOODPUT_CHECK(select_policies(chosen, *scenario).has_value(), "no such policy");
    return *std::move(scenario);
  }

  Scenario scenario_;
  ScenarioInputs inputs_;
};

// Trials as they are asked for.
class Trials {
 public:
  Trials(const PreparedCase& one, std::uint64_t seed) : runs_(one.runs(seed)) {}

  Values first(std::int64_t count) {
    const Status done = runs_.extend(count, kThreads);
    GOODPUT_CHECK(done.has_value(), "trials that fail");
    Values values;
    for (const TrialSummary& trial : runs_.trials(0).first(static_cast<std::size_t>(count)))
      values.push_back(value_of(TrialMetric::kSamplesPerHour, trial).value());
    return values;
  }

 private:
  TrialRuns runs_;
};

SequentialTest checked(Trials& before, Trials& after, std::int64_t most) {
  SequentialTest test(Tolerance::parse(kTolerance).value(), most, 1);
  while (const auto pairs = test.next_look()) test.look(before.first(*pairs), after.first(*pairs));
  return test;
}

struct Tally {
  std::int64_t moved = 0, same = 0, undecided = 0;
  double trials = 0;

  void add(const SequentialTest& test) {
    (test.movement() == Movement::kMoved  ? moved
     : test.movement() == Movement::kSame ? same
                                          : undecided) += 1;
    trials += static_cast<double>(test.change().trials);
  }
  [[nodiscard]] std::int64_t count() const { return moved + same + undecided; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{:5} {:6} {:5} {:9} {:8.0f}", count(), moved, same, undecided,
                       trials / static_cast<double>(count()));
  }
};

// ---- Nothing changed.

std::vector<Case> all_cases() {
  const std::vector<config::Change> rare = {
      {.pointer = "/failures",
       .value = R"({"model": "bursts", "nodes": 10, "kind": "fleet", "per_hour": 0.05, "outage_s": 3600})"}};
  return {{"exponential ds", "exponential", "ds"},
          {"exponential checkpoint", "exponential", "checkpoint"},
          {"exponential gemini", "exponential", "gemini"},
          {"bursts oobleck", "bursts", "oobleck"},
          {"fail-slow hot_spare", "fail-slow", "hot_spare"},
          {"rare outages checkpoint", "bursts", "checkpoint", rare}};
}

void measure_false_alarms(std::uint64_t pairs) {
  fmt::print("{:<28} {:>5} {:>6} {:>5} {:>9} {:>8}\n", "nothing changed", "pairs", "moved", "same",
             "undecided", "trials");
  Tally all;
  for (const Case& one : all_cases()) {
    Tally tally;
    const PreparedCase prepared(one);
    for (std::uint64_t pair = 0; pair < pairs; ++pair) {
      Trials before(prepared, 2 * pair);
      Trials after(prepared, 2 * pair + 1);
      const SequentialTest test = checked(before, after, kAlikeTrials);
      tally.add(test);
      all.add(test);
    }
    fmt::print("{:<28} {}\n", one.name, tally.text());
  }
  fmt::print("{:<28} {}   false alarms {:.2f} %\n\n", "all", all.text(),
             100 * static_cast<double>(all.moved) / static_cast<double>(all.count()));
}

// Two metrics of every policy in three scenarios of the shipped suite, as `check` asks for all of them at
// once: how many such suites have a false alarm.
constexpr TrialMetric kSuiteMetrics[] = {TrialMetric::kSamplesPerHour, TrialMetric::kGoodput};
constexpr std::int64_t kSuiteTrials = 64;

Values metric_values(TrialMetric metric, std::span<const TrialSummary> trials) {
  Values values;
  for (const TrialSummary& trial : trials) values.push_back(value_of(metric, trial).value());
  return values;
}

SequentialTest checked(const Values& before, const Values& after, std::int64_t questions) {
  SequentialTest test(Tolerance::parse(kTolerance).value(), std::ssize(before), questions);
  while (const auto pairs = test.next_look())
    test.look(std::span(before).first(static_cast<std::size_t>(*pairs)),
              std::span(after).first(static_cast<std::size_t>(*pairs)));
  return test;
}

bool has_alarm(const std::vector<SequentialTest>& tests) {
  std::vector<double> p_values;
  for (const SequentialTest& test : tests) p_values.push_back(test.change().p_value);
  const std::vector<double> adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const MeanChange& change = tests[i].change();
    const bool by_holm = adjusted[i] <= 0.05 && change.excludes_none() && !change.is_tolerated;
    if (tests[i].movement() == Movement::kMoved || by_holm) return true;
  }
  return false;
}

void measure_suite_alarms(std::uint64_t suites) {
  std::vector<std::unique_ptr<PreparedCase>> cases;
  for (const char* scenario : {"exponential", "bursts", "fail-slow"})
    cases.push_back(std::make_unique<PreparedCase>(Case{scenario, scenario, ""}));
  std::uint64_t alarms = 0;
  std::size_t questions = 0;
  for (std::uint64_t suite = 0; suite < suites; ++suite) {
    std::vector<std::pair<Values, Values>> pairs;
    for (const auto& one : cases) {
      TrialRuns before = one->runs(0, 2 * suite * kSuiteTrials);
      TrialRuns after = one->runs(0, (2 * suite + 1) * kSuiteTrials);
      const bool ran = before.extend(kSuiteTrials, kThreads).has_value() &&
                       after.extend(kSuiteTrials, kThreads).has_value();
      GOODPUT_CHECK(ran, "trials that fail");
      for (std::size_t policy = 0; policy < before.policies(); ++policy) {
        for (const TrialMetric metric : kSuiteMetrics)
          pairs.emplace_back(metric_values(metric, before.trials(policy)),
                             metric_values(metric, after.trials(policy)));
      }
    }
    questions = pairs.size();
    std::vector<SequentialTest> tests;
    for (const auto& [before, after] : pairs) tests.push_back(checked(before, after, std::ssize(pairs)));
    alarms += has_alarm(tests) ? 1 : 0;
  }
  fmt::print("{} suites of {} figures, nothing changed: {} with a false alarm\n\n", suites, questions,
             alarms);
}

// ---- Something changed.

// A parameter of a case that makes it worse the more it is turned up.
struct Knob {
  Case base{};
  std::string pointer{};
  double from = 0, to = 0;
  bool is_whole = false;

  [[nodiscard]] Case at(double value) const {
    Case changed = base;
    changed.changes.push_back(
        {.pointer = pointer, .value = is_whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value)});
    return changed;
  }
};

double mean_of(const Case& one, std::uint64_t seed, std::int64_t count) {
  const PreparedCase prepared(one);
  return mean_of(Trials(prepared, seed).first(count));
}

// The value at which the figure falls by so much.
double tuned(const Knob& knob, double fall) {
  const double before = mean_of(knob.base, kTuningSeed, kTuningTrials);
  double low = knob.from;
  double high = knob.to;
  for (int i = 0; i < 10; ++i) {
    const double middle = (low + high) / 2;
    (mean_of(knob.at(middle), kTuningSeed, kTuningTrials) > (1 - fall) * before ? low : high) = middle;
  }
  return (low + high) / 2;
}

void measure_change(const std::string& name, const Case& before, const Case& after, std::uint64_t seeds) {
  const double truth =
      mean_of(after, kTuningSeed + 1, kMostTrials) / mean_of(before, kTuningSeed + 1, kMostTrials) - 1;
  const PreparedCase prepared_before(before);
  const PreparedCase prepared_after(after);
  Tally tally;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Trials a(prepared_before, seed);
    Trials b(prepared_after, seed);
    tally.add(checked(a, b, kMostTrials));
  }
  fmt::print("{:<38} {:+7.2f} % {}\n", name, 100 * truth, tally.text());
}

std::vector<Knob> knobs() {
  const std::vector<Case> cases = all_cases();
  return {
      {{"step time", "exponential", "ds"}, "/policies/ds/step_overhead_s", 0.1328, 0.2},
      {{"restart time", "exponential", "hot_spare"}, "/policies/hot_spare/restart/startup_s", 153.4, 3000},
      {{"checkpoint interval", "exponential", "checkpoint"},
       "/policies/checkpoint/checkpoint/interval_steps",
       50,
       10,
       true},
      {cases.back(), "/policies/checkpoint/restart/startup_s", 153.4, 14000}};
}

void measure_power(std::uint64_t seeds) {
  fmt::print("{:<38} {:>9} {:>5} {:>6} {:>5} {:>9} {:>8}\n", "changed", "truth", "seeds", "moved", "same",
             "undecided", "trials");
  for (const Knob& knob : knobs()) {
    for (const double fall : {0.005, 0.01, 0.02, 0.05}) {
      const double value = tuned(knob, fall);
      const std::string name = fmt::format("{} {:.4g}", knob.base.name, value);
      measure_change(name, knob.base, knob.at(value), seeds);
    }
  }
  const Case lazarus{"placement", "bursts", "lazarus"};
  for (const char* plan : {"compact", "spread", "best"}) {
    Case other = lazarus;
    other.changes.push_back({.pointer = "/policies/lazarus/plan", .value = plan});
    measure_change(fmt::format("placement {}", plan), lazarus, other, seeds);
  }
}

}  // namespace
}  // namespace goodput

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a row as soon as it is known
  const auto began = std::chrono::steady_clock::now();
  goodput::measure_false_alarms(count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 200);
  goodput::measure_suite_alarms(count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 100);
  goodput::measure_power(count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 15);
  fmt::print("{:.0f} s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}
