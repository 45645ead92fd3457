// When a measurement has seen enough. Host only: what is sampled, and the clock, are functions passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/bench/statistics.h"

namespace goodput::gpu::bench {

// Monotonic seconds from any origin.
using Clock = std::function<double()>;

Clock steady_clock();

// The end of the whole run, whatever is being measured then.
struct Deadline {
  Clock now;
  double at;  // seconds of that clock

  [[nodiscard]] bool passed() const { return now() >= at; }
};

struct StoppingRule {
  int warm_up = 20;
  int least = 50;
  int most = 1000;
  double steady_cv = 0.002;  // enough, when median_cv() is no larger
  double seconds = 0.5;      // of one measurement, warm-up left out
};

// One line for the output of a run.
[[nodiscard]] std::string describe(const StoppingRule& rule);

enum class Stop : std::uint8_t {
  kSteady,
  kMostSamples,
  kTimeUsedUp,
  kDeadline,  // maybe with fewer than the least number of samples
};
[[nodiscard]] const char* name_of(Stop stop);

// Runs what is measured so often, and says how long each took in us.
using SampleSource = std::function<std::vector<double>(int count)>;

struct Sampled {
  std::vector<double> us;  // empty only where the deadline had passed
  Stop stop;
};

// Warms up, then takes the least number of samples, then more until the first reason to stop. Samples are
// taken a few at a time; the deadline is looked at between these.
// REQUIRES: 0 < least <= most.
[[nodiscard]] Sampled take_samples(const SampleSource& source, const StoppingRule& rule,
                                   const Deadline& deadline);

}  // namespace goodput::gpu::bench
