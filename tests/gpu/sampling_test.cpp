#include "gpu/bench/sampling.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput::gpu::bench {
namespace {

// Samples from a list, over and over; the clock advances by a second a sample and by nothing else.
class ScriptedRun {
 public:
  explicit ScriptedRun(std::vector<double> samples) : samples_(std::move(samples)) {}

  Sampled take(const StoppingRule& rule, double deadline_s = 1e9) {
    const Deadline deadline{[this] { return static_cast<double>(runs_); }, deadline_s};
    return take_samples([this](int count) { return next(count); }, rule, deadline);
  }
  [[nodiscard]] int runs() const { return runs_; }

 private:
  std::vector<double> next(int count) {
    std::vector<double> us;
    for (int i = 0; i < count; ++i)
      us.push_back(samples_[static_cast<std::size_t>(runs_++) % samples_.size()]);
    return us;
  }

  std::vector<double> samples_;
  int runs_ = 0;
};

StoppingRule patient() {
  StoppingRule rule;
  rule.seconds = 1e9;
  return rule;
}

TEST_CASE("bench sampling: equal samples stop at the least number, after the warm-up") {
  ScriptedRun run({5});
  const Sampled sampled = run.take(patient());
  CHECK(sampled.stop == Stop::kSteady);
  CHECK(sampled.us == std::vector<double>(50, 5));
  CHECK(run.runs() == 20 + 50);
}

TEST_CASE("bench sampling: samples that never settle stop at the most") {
  ScriptedRun run({1, 100});
  const Sampled sampled = run.take(patient());
  CHECK(sampled.stop == Stop::kMostSamples);
  CHECK(sampled.us.size() == 1000);
}

TEST_CASE("bench sampling: used-up time stops, but not before the least number of samples") {
  ScriptedRun run({1, 100});
  StoppingRule rule;
  rule.seconds = 75;
  const Sampled sampled = run.take(rule);
  CHECK(sampled.stop == Stop::kTimeUsedUp);
  CHECK(sampled.us.size() == 80);  // ten at a time

  rule.seconds = 1;
  CHECK(ScriptedRun({1, 100}).take(rule).us.size() == 50);
}

TEST_CASE("bench sampling: the deadline stops whatever there is") {
  ScriptedRun warming({1});
  CHECK(warming.take(patient(), 15).us.empty());
  CHECK(warming.runs() == 20);

  const Sampled sampled = ScriptedRun({1}).take(patient(), 45);
  CHECK(sampled.stop == Stop::kDeadline);
  CHECK(sampled.us.size() == 30);  // 20 to warm up, then ten at a time until 50 >= 45

  ScriptedRun late({1});
  CHECK(late.take(patient(), 0).us.empty());
  CHECK(late.runs() == 0);
}

TEST_CASE("bench sampling: the rule can be read") {
  CHECK(describe({}) ==
        "warm-up 20, at least 50 samples, then until the CV of the median is <= 0.2 %, 0.5 s are used up or "
        "there are 1000 samples");
  CHECK(std::string(name_of(Stop::kSteady)) == "steady");
  CHECK(std::string(name_of(Stop::kMostSamples)) == "most samples");
  CHECK(std::string(name_of(Stop::kTimeUsedUp)) == "time used up");
  CHECK(std::string(name_of(Stop::kDeadline)) == "deadline");
}

}  // namespace
}  // namespace goodput::gpu::bench
