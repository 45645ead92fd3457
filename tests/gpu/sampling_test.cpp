#include "gpu/bench/sampling.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace goodput::gpu::bench {
namespace {

// Samples from a list, over and over, on a device with one clock: a batch of the warm-up takes 10 ms a run.
// The host's clock advances by a second a sample and by nothing else.
class ScriptedRun {
 public:
  explicit ScriptedRun(std::vector<double> samples) : samples_(std::move(samples)) {}

  Sampled take(const StoppingRule& rule, double deadline_s = 1e9) {
    const Deadline deadline{[this] { return static_cast<double>(runs_); }, deadline_s};
    return take_samples({[this](int count) { return next(count); }, [](int count) { return 10.0 * count; },
                         [] { return std::optional<double>(1980); }},
                        rule, deadline);
  }

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
  const Sampled sampled = ScriptedRun({5}).take(patient());
  CHECK(sampled.stop == Stop::kSteady);
  CHECK(sampled.us == std::vector<double>(50, 5));
  CHECK(sampled.warm_up.end == WarmUpEnd::kSteady);
}

TEST_CASE("bench sampling: samples that never settle stop at the most") {
  const Sampled sampled = ScriptedRun({1, 100}).take(patient());
  CHECK(sampled.stop == Stop::kMostSamples);
  CHECK(sampled.us.size() == 1000);
}

TEST_CASE("bench sampling: used-up time stops, but not before the least number of samples") {
  StoppingRule rule;
  rule.seconds = 75;
  const Sampled sampled = ScriptedRun({1, 100}).take(rule);
  CHECK(sampled.stop == Stop::kTimeUsedUp);
  CHECK(sampled.us.size() == 80);  // ten at a time

  rule.seconds = 1;
  CHECK(ScriptedRun({1, 100}).take(rule).us.size() == 50);
}

TEST_CASE("bench sampling: the deadline stops whatever there is") {
  const Sampled sampled = ScriptedRun({1}).take(patient(), 25);
  CHECK(sampled.stop == Stop::kDeadline);
  CHECK(sampled.us.size() == 30);  // ten at a time until 30 >= 25
  CHECK(sampled.steady_clock);

  const Sampled late = ScriptedRun({1}).take(patient(), 0);
  CHECK(late.us.empty());
  CHECK(late.stop == Stop::kDeadline);
  CHECK(late.warm_up.device_ms == 0);
}

constexpr double kFullMhz = 1980;
constexpr double kProbeCycles = 2'000'000;

// A device whose clock rises linearly from a sixth to all of it in 200 ms of work, and falls as fast when
// idle. What is measured takes 15 us at the full clock. The host looks away for 30 us after every call.
class InventedDevice {
 public:
  explicit InventedDevice(double full_us = 15, double share = 1.0 / 6) : full_us_(full_us), share_(share) {}

  Sampled take(const StoppingRule& rule, double deadline_s = 1e9) {
    return take_samples(sampler(), rule, {[this] { return now_us_ / 1e6; }, deadline_s});
  }
  std::vector<double> samples(int count) {
    work(full_us_);
    std::vector<double> us;
    for (int i = 0; i < count; ++i) us.push_back(work(full_us_));
    idle();
    return us;
  }
  [[nodiscard]] double now_ms() const { return now_us_ / 1e3; }
  [[nodiscard]] int probes() const { return probes_; }

 private:
  static constexpr double kRiseAUs = 5.0 / 6 / 200e3;

  Sampler sampler() {
    return {[this](int count) { return samples(count); }, [this](int count) { return batch(count); },
            [this] { return probe(); }};
  }
  // So many us at the full clock; what it took.
  double work(double full_us) {
    const double us = full_us / share_;
    share_ = std::min(1.0, share_ + kRiseAUs * us);
    now_us_ += us;
    return us;
  }
  void idle() {
    share_ = std::max(1.0 / 6, share_ - kRiseAUs * 30);
    now_us_ += 30;
  }
  double batch(int count) {
    double us = 0;
    for (int i = 0; i < count; ++i) us += work(full_us_);
    idle();
    return us / 1e3;
  }
  std::optional<double> probe() {
    ++probes_;
    const double us = work(kProbeCycles / kFullMhz);
    idle();
    return kProbeCycles / us;
  }

  double full_us_;
  double share_;  // of the full clock
  double now_us_ = 0;
  int probes_ = 0;
};

double median_of(const std::vector<double>& us) {
  return summarize(us).median;
}

TEST_CASE("bench warm-up: where the clock rises, the median is that of the full clock") {
  InventedDevice device;
  const Sampled sampled = device.take({});
  CHECK(median_of(sampled.us) == doctest::Approx(15).epsilon(0.01));
  CHECK(sampled.warm_up.end == WarmUpEnd::kSteady);
  CHECK(sampled.warm_up.device_ms > 200);
  CHECK(sampled.steady_clock);
  CHECK(*sampled.sm_mhz.before == doctest::Approx(kFullMhz).epsilon(0.01));
  CHECK(*sampled.sm_mhz.after == doctest::Approx(kFullMhz).epsilon(0.01));
}

TEST_CASE("bench warm-up: twenty runs before the samples would measure the clock of an idle device") {
  InventedDevice device;
  for (int i = 0; i < 2; ++i) static_cast<void>(device.samples(10));
  std::vector<double> us;
  for (int i = 0; i < 7; ++i) {
    for (const double sample : device.samples(10)) us.push_back(sample);
  }
  CHECK(median_of(us) > 4 * 15);
  CHECK(median_cv(us) < 0.05);  // and nothing in the samples would tell
}

TEST_CASE(
    "bench warm-up: probes that follow on each other agree while the clock rises, so batches are long") {
  // The rule with batches as short as ten runs: it stops after 100 ms of the 200 that the clock takes.
  StoppingRule rule;
  rule.batch_ms = 0.15;
  InventedDevice device;
  const Sampled sampled = device.take(rule);
  CHECK(sampled.warm_up.end == WarmUpEnd::kSteady);
  CHECK(median_of(sampled.us) > 1.1 * 15);
}

TEST_CASE("bench warm-up: a device that is steady at once takes 100 ms, a batch more and two probes") {
  InventedDevice device(15, 1);
  const Sampled sampled = device.take({});
  CHECK(sampled.warm_up.end == WarmUpEnd::kSteady);
  CHECK(sampled.warm_up.device_ms >= 110);
  CHECK(sampled.warm_up.device_ms < 130);
  CHECK(device.probes() == 3);  // the third after the samples
}

TEST_CASE("bench warm-up: runs longer than a batch are run one by one") {
  InventedDevice device(30e3, 1);
  const Sampled sampled = device.take({});
  CHECK(sampled.warm_up.device_ms == doctest::Approx(4 * 30 + 30).epsilon(0.01));
  CHECK(median_of(sampled.us) == doctest::Approx(30e3).epsilon(0.01));
}

TEST_CASE("bench warm-up: the deadline ends it") {
  InventedDevice device;
  const Sampled sampled = device.take({}, 0.05);
  CHECK(sampled.us.empty());
  CHECK(sampled.stop == Stop::kDeadline);
  CHECK(sampled.warm_up.end == WarmUpEnd::kDeadline);
  CHECK_FALSE(sampled.steady_clock);
  CHECK(device.now_ms() >= 50);
  CHECK(device.now_ms() < 70);  // it is looked at between batches
}

// Steady work, and a clock from a list.
Sampled take_with_clocks(std::vector<std::optional<double>> mhz, double run_ms = 1) {
  std::size_t probes = 0;
  return take_samples({[](int count) { return std::vector<double>(static_cast<std::size_t>(count), 7.0); },
                       [&](int count) { return run_ms * count; }, [&] { return mhz[probes++ % mhz.size()]; }},
                      {}, {[] { return 0.0; }, 1});
}

TEST_CASE("bench warm-up: a clock that never settles ends it at the most device time, and is told") {
  const Sampled sampled = take_with_clocks({1980, 1500});
  CHECK(sampled.warm_up.end == WarmUpEnd::kNeverSteady);
  CHECK(sampled.warm_up.device_ms >= 2000);
  CHECK(sampled.warm_up.device_ms < 2020);
  CHECK_FALSE(sampled.steady_clock);
  CHECK(sampled.us.size() == 50);
}

TEST_CASE("bench warm-up: without a clock it is the least device time") {
  const Sampled sampled = take_with_clocks({std::nullopt});
  CHECK(sampled.warm_up.end == WarmUpEnd::kNoClock);
  CHECK(sampled.warm_up.device_ms >= 100);
  CHECK(sampled.warm_up.device_ms < 120);
  CHECK_FALSE(sampled.sm_mhz.before);
  CHECK_FALSE(sampled.sm_mhz.after);
  CHECK_FALSE(sampled.steady_clock);
  CHECK(sampled.us.size() == 50);
}

TEST_CASE("bench warm-up: runs that take no time at all end it too") {
  const Sampled sampled = take_with_clocks({1980}, 0);
  CHECK(sampled.warm_up.end == WarmUpEnd::kSteady);
  CHECK(sampled.warm_up.device_ms == 0);  // what was measured, not what the rule takes it for
  CHECK(sampled.us.size() == 50);
}

TEST_CASE("bench sampling: a clock that changed by more than 2 % over the samples is not steady") {
  CHECK(take_with_clocks({1980, 1980, 1945}).steady_clock);  // 1.8 % lower
  const Sampled lower = take_with_clocks({1980, 1980, 1935});
  CHECK_FALSE(lower.steady_clock);
  CHECK(lower.warm_up.end == WarmUpEnd::kSteady);
  CHECK(lower.sm_mhz.before == 1980);
  CHECK(lower.sm_mhz.after == 1935);
  CHECK_FALSE(take_with_clocks({1980, 1980, std::nullopt}).steady_clock);
}

TEST_CASE("bench sampling: where single runs are long, few of them are enough once the time is used up") {
  StoppingRule rule;
  rule.few = 5;
  rule.seconds = 1;
  const Sampled sampled = ScriptedRun({1, 100}).take(rule);
  CHECK(sampled.stop == Stop::kTimeUsedUp);
  CHECK(sampled.us.size() == 5);  // no more are begun together
  rule.seconds = 12;
  CHECK(ScriptedRun({1, 100}).take(rule).us.size() == 15);
}

// Runs of 1 ms, and one measurement after another on a clock from a list.
TEST_CASE("bench sampling: the warm-up of another measurement holds while the clock is what that one left") {
  std::vector<double> mhz{1980, 1980, 1970};  // two batches agree; after the samples it is a bit lower
  std::size_t probes = 0;
  std::optional<double> warm_mhz;
  const auto take = [&] {
    return take_samples_warm(
        {[](int count) { return std::vector<double>(static_cast<std::size_t>(count), 7.0); },
         [](int count) { return 1.0 * count; },
         [&]() -> std::optional<double> { return mhz[std::min(probes++, mhz.size() - 1)]; }},
        {}, {[] { return 0.0; }, 1}, warm_mhz);
  };
  CHECK(take().warm_up.device_ms >= 100);
  CHECK(warm_mhz == 1970);

  const Sampled next = take();  // still 1970
  CHECK(next.warm_up.device_ms == 1);
  CHECK(next.warm_up.end == WarmUpEnd::kSteady);
  CHECK(probes == 3 + 2);

  mhz.back() = 1500;
  const Sampled changed =
      take();  // a run, then a batch of 10 ms whose clock agrees, after one that was too short
  CHECK(changed.warm_up.device_ms == 1 + 1 + 10);
  CHECK(changed.warm_up.end == WarmUpEnd::kSteady);
  CHECK(warm_mhz == 1500);
}

TEST_CASE("bench sampling: the rule can be read") {
  CHECK(describe({}) ==
        "warm-up 100 ms of device time or more, until the SM clocks after two batches of 10 ms differ by <= "
        "2 % or 2000 ms have passed; at least 50 samples, then until the CV of the median is <= 0.2 %, 0.5 s "
        "have passed or there are 1000 samples");
  StoppingRule few;
  few.few = 5;
  CHECK(describe(few).find("0.5 s have passed (then 5 samples are enough) or there are") !=
        std::string::npos);
  CHECK(std::string(name_of(Stop::kSteady)) == "steady");
  CHECK(std::string(name_of(Stop::kMostSamples)) == "most samples");
  CHECK(std::string(name_of(Stop::kTimeUsedUp)) == "time used up");
  CHECK(std::string(name_of(Stop::kDeadline)) == "deadline");
  CHECK(std::string(name_of(WarmUpEnd::kSteady)) == "steady");
  CHECK(std::string(name_of(WarmUpEnd::kNeverSteady)) == "never steady");
  CHECK(std::string(name_of(WarmUpEnd::kNoClock)) == "no clock");
  CHECK(std::string(name_of(WarmUpEnd::kDeadline)) == "deadline");
}

}  // namespace
}  // namespace goodput::gpu::bench
