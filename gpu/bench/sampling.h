// When a measurement has warmed up, and when it has seen enough. Host only: what is sampled, the device it
// runs on and the clocks are functions passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
  double warm_up_ms = 100;        // of device time, or more:
  double clock_agreement = 0.02;  // until the SM clock after two batches differs by no more than this
  double batch_ms = 10;  // of device time in such a batch, or more: shorter ones agree while it rises
  double most_warm_up_ms = 2000;  // of device time: then it ends whatever the clock does
  int least = 50;
  int few = 50;  // or fewer than that once `seconds` are used up: where single runs are long
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

enum class WarmUpEnd : std::uint8_t {
  kSteady,
  kNeverSteady,  // the most device time was used up, and the clock still changed
  kNoClock,      // the probe knows none
  kDeadline,
};
[[nodiscard]] const char* name_of(WarmUpEnd end);

struct WarmUp {
  double device_ms;
  WarmUpEnd end;
};

// The SM clock in MHz before the samples and after them. None: not known.
struct SmClock {
  std::optional<double> before;
  std::optional<double> after;
};

// What is measured. `count` > 0.
struct Sampler {
  std::function<std::vector<double>(int count)> samples;  // runs it so often; us of every run
  std::function<double(int count)> batch;                 // runs it so often at once; ms of all on the device
  std::function<std::optional<double>()> sm_mhz;          // of this moment
};

struct Sampled {
  std::vector<double> us;  // empty only where the deadline had passed
  Stop stop;
  WarmUp warm_up;
  SmClock sm_mhz;
  bool steady_clock;  // the warm-up ended steady, and the clocks before and after agree as in the rule
};

// Warms up, then takes the least number of samples, then more until the first reason to stop. Samples are
// taken a few at a time; the deadline is looked at between these, and between batches of the warm-up.
// REQUIRES: 0 < least <= most, 0 < few.
[[nodiscard]] Sampled take_samples(const Sampler& sampler, const StoppingRule& rule,
                                   const Deadline& deadline);

// One measurement of many: `warm_mhz` is the clock that the ones before it left. With none it warms up as
// above; where the clock still is that one, a run and a look at it are enough; else until two batches agree.
[[nodiscard]] Sampled take_samples_warm(const Sampler& sampler, const StoppingRule& rule,
                                        const Deadline& deadline, std::optional<double>& warm_mhz);

}  // namespace goodput::gpu::bench
