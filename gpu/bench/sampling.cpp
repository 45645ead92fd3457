#include "gpu/bench/sampling.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace goodput::gpu::bench {
namespace {

// Taken without looking at the clock.
constexpr int kBatch = 10;

std::string shortest(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

Clock steady_clock() {
  return [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  };
}

std::string describe(const StoppingRule& rule) {
  return "warm-up " + std::to_string(rule.warm_up) + ", at least " + std::to_string(rule.least) +
         " samples, then until the CV of the median is <= " + shortest(100 * rule.steady_cv) + " %, " +
         shortest(rule.seconds) + " s are used up or there are " + std::to_string(rule.most) + " samples";
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

Sampled take_samples(const SampleSource& source, const StoppingRule& rule, const Deadline& deadline) {
  Sampled sampled{{}, Stop::kDeadline};
  for (int done = 0; done < rule.warm_up; done += kBatch) {
    if (deadline.passed()) return sampled;
    static_cast<void>(source(std::min(kBatch, rule.warm_up - done)));
  }
  const double begin = deadline.now();
  while (!deadline.passed()) {
    const int have = static_cast<int>(sampled.us.size());
    const int missing = (have < rule.least ? rule.least : rule.most) - have;
    const std::vector<double> more = source(std::min(kBatch, missing));
    sampled.us.insert(sampled.us.end(), more.begin(), more.end());
    if (static_cast<int>(sampled.us.size()) < rule.least) continue;
    if (median_cv(sampled.us) <= rule.steady_cv) return {std::move(sampled.us), Stop::kSteady};
    if (static_cast<int>(sampled.us.size()) >= rule.most) return {std::move(sampled.us), Stop::kMostSamples};
    if (deadline.now() - begin >= rule.seconds) return {std::move(sampled.us), Stop::kTimeUsedUp};
  }
  return sampled;
}

}  // namespace goodput::gpu::bench
