#include "gpu/bench/sampling.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

namespace goodput::gpu::bench {
namespace {

// Samples that are taken without a look at the deadline.
constexpr int kTogether = 10;

// A batch of so many runs is long enough whatever it took: nothing is run that takes no time.
constexpr int kMostRuns = 100'000;

std::string shortest(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

bool agree(std::optional<double> a, std::optional<double> b, double within) {
  return a && b && std::abs(*a - *b) <= within * std::max(*a, *b);
}

std::string few_text(const StoppingRule& rule) {
  if (rule.few >= rule.least) return "";
  return " (then " + std::to_string(rule.few) + " samples are enough)";
}

// Runs of the next batch, after one that was too short: more than would have done, since a clock that rises
// makes them shorter still.
int more_runs(int runs, double took_ms, double wanted_ms) {
  const double factor = took_ms > 0 ? 1.2 * wanted_ms / took_ms : 10;
  return std::min(kMostRuns, static_cast<int>(std::ceil(runs * std::clamp(factor, 1.2, 10.0))));
}

// `sm_mhz`: the clock it ended with.
WarmUp warm_up(const Sampler& sampler, const StoppingRule& rule, const Deadline& deadline,
               std::optional<double>& sm_mhz) {
  double device_ms = 0;
  double counted_ms = 0;  // against the rule
  int runs = 1;
  while (!deadline.passed()) {
    const double took_ms = sampler.batch(runs);
    const bool whole = took_ms >= rule.batch_ms || runs == kMostRuns;
    device_ms += took_ms;
    counted_ms += whole ? std::max(took_ms, rule.batch_ms) : took_ms;
    if (!whole) runs = more_runs(runs, took_ms, rule.batch_ms);
    if (!whole || counted_ms < rule.warm_up_ms) continue;
    const std::optional<double> last = std::exchange(sm_mhz, sampler.sm_mhz());
    if (!sm_mhz) return {device_ms, WarmUpEnd::kNoClock};
    if (agree(last, sm_mhz, rule.clock_agreement)) return {device_ms, WarmUpEnd::kSteady};
    if (counted_ms >= rule.most_warm_up_ms) return {device_ms, WarmUpEnd::kNeverSteady};
  }
  return {device_ms, WarmUpEnd::kDeadline};
}

// A run and a look at the clock; all of it only where that has changed.
WarmUp warm_up_again(const Sampler& sampler, const StoppingRule& rule, const Deadline& deadline,
                     std::optional<double> warm_mhz, std::optional<double>& sm_mhz) {
  if (!warm_mhz) return warm_up(sampler, rule, deadline, sm_mhz);
  if (deadline.passed()) return {0, WarmUpEnd::kDeadline};
  const double device_ms = sampler.batch(1);
  sm_mhz = sampler.sm_mhz();
  if (!sm_mhz) return {device_ms, WarmUpEnd::kNoClock};
  if (agree(warm_mhz, sm_mhz, rule.clock_agreement)) return {device_ms, WarmUpEnd::kSteady};
  StoppingRule until_agreed = rule;
  until_agreed.warm_up_ms = 0;
  WarmUp more = warm_up(sampler, until_agreed, deadline, sm_mhz);
  more.device_ms += device_ms;
  return more;
}

// Until the first reason to stop, which it returns.
Stop fill(const Sampler& sampler, const StoppingRule& rule, const Deadline& deadline,
          std::vector<double>& us) {
  const double begin = deadline.now();
  while (!deadline.passed()) {
    const int have = static_cast<int>(us.size());
    const int missing = (have < rule.least ? rule.least : rule.most) - have;
    const std::vector<double> more = sampler.samples(std::min({kTogether, rule.few, missing}));
    us.insert(us.end(), more.begin(), more.end());
    const int taken = static_cast<int>(us.size());
    if (taken >= rule.least && median_cv(us) <= rule.steady_cv) return Stop::kSteady;
    if (taken >= rule.most) return Stop::kMostSamples;
    if (taken >= std::min(rule.few, rule.least) && deadline.now() - begin >= rule.seconds)
      return Stop::kTimeUsedUp;
  }
  return Stop::kDeadline;
}

Sampled sample_after(const WarmUp& warm_up, std::optional<double> sm_mhz, const Sampler& sampler,
                     const StoppingRule& rule, const Deadline& deadline) {
  Sampled sampled{{}, Stop::kDeadline, warm_up, {sm_mhz, {}}, false};
  if (warm_up.end == WarmUpEnd::kDeadline) return sampled;
  sampled.stop = fill(sampler, rule, deadline, sampled.us);
  sampled.sm_mhz.after = sampler.sm_mhz();
  sampled.steady_clock = warm_up.end == WarmUpEnd::kSteady &&
                         agree(sampled.sm_mhz.before, sampled.sm_mhz.after, rule.clock_agreement);
  return sampled;
}

}  // namespace

Clock steady_clock() {
  return [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  };
}

std::string describe(const StoppingRule& rule) {
  return "warm-up " + shortest(rule.warm_up_ms) +
         " ms of device time or more, until the SM clocks after two batches of " + shortest(rule.batch_ms) +
         " ms differ by <= " + shortest(100 * rule.clock_agreement) + " % or " +
         shortest(rule.most_warm_up_ms) + " ms have passed; at least " + std::to_string(rule.least) +
         " samples, then until the CV of the median is <= " + shortest(100 * rule.steady_cv) + " %, " +
         shortest(rule.seconds) + " s have passed" + few_text(rule) + " or there are " +
         std::to_string(rule.most) + " samples";
}

const char* name_of(Stop stop) {
  switch (stop) {
    case Stop::kSteady:
      return "steady";
    case Stop::kMostSamples:
      return "most samples";
    case Stop::kTimeUsedUp:
      return "time used up";
    case Stop::kDeadline:
      return "deadline";
  }
  return "";
}

const char* name_of(WarmUpEnd end) {
  switch (end) {
    case WarmUpEnd::kSteady:
      return "steady";
    case WarmUpEnd::kNeverSteady:
      return "never steady";
    case WarmUpEnd::kNoClock:
      return "no clock";
    case WarmUpEnd::kDeadline:
      return "deadline";
  }
  return "";
}

Sampled take_samples(const Sampler& sampler, const StoppingRule& rule, const Deadline& deadline) {
  std::optional<double> none;
  return take_samples_warm(sampler, rule, deadline, none);
}

Sampled take_samples_warm(const Sampler& sampler, const StoppingRule& rule, const Deadline& deadline,
                          std::optional<double>& warm_mhz) {
  std::optional<double> sm_mhz;
  const WarmUp warmed = warm_up_again(sampler, rule, deadline, warm_mhz, sm_mhz);
  Sampled sampled = sample_after(warmed, sm_mhz, sampler, rule, deadline);
  warm_mhz = sampled.sm_mhz.after ? sampled.sm_mhz.after : sm_mhz;
  return sampled;
}

}  // namespace goodput::gpu::bench
