// Measures one point of a sweep after another on the current device. The device is warmed up once a sweep; at
// every point the clock is looked at again, and only where it has changed more is run first.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/bench/clock_probe.h"
#include "gpu/bench/measure.h"
#include "gpu/bench/sampling.h"
#include "gpu/bench/stream_timer.h"
#include "gpu/calibrate/part_times.h"

namespace goodput::gpu::calibrate {

// What one visit to a point came to.
struct Visit {
  bench::Statistics us;                     // of one run; `count` samples
  std::optional<double> sm_mhz;             // behind the samples
  std::optional<std::uint64_t> nwrong;      // none: not looked at on this visit
  std::optional<double> power_w;            // of the device, where that was asked for
  std::string source;                       // what ran, for people: "cublasLtMatmul, first answer"
  std::vector<PartTime> parts{};            // of a block, in order: such a point is a check, and no table's
  std::vector<std::int64_t> expert_rows{};  // of a block with experts: what each of the rank's gets
};

class PointMeasurer {
 public:
  PointMeasurer(const bench::StoppingRule& rule, bench::Deadline deadline)
      : rule_(rule), deadline_(std::move(deadline)) {}

  // All throw bench::DeadlinePassed where the deadline ended it: a visit is whole or was none. They throw
  // CudaError and what is run throws, and leave nothing queued.

  // A sample is a replay of a graph of as many runs as take a millisecond, over their number; what takes
  // longer than that runs alone between two events.
  [[nodiscard]] Visit measure(const bench::Operation& operation);
  // The same for what cannot be captured: a sample is one run.
  [[nodiscard]] Visit measure_uncaptured(const std::function<void(cudaStream_t)>& run);
  // Samples of another kind. `sampler.sm_mhz` may be empty: the probe on this stream.
  [[nodiscard]] Visit measure_by(bench::Sampler sampler);

  // The next point warms up from the beginning.
  void begin_sweep() { warm_mhz_.reset(); }

  [[nodiscard]] const bench::Deadline& deadline() const { return deadline_; }
  [[nodiscard]] const bench::StoppingRule& rule() const { return rule_; }
  [[nodiscard]] const Stream& stream() const { return timer_.stream(); }
  // In MHz, of this moment.
  [[nodiscard]] std::optional<double> sm_mhz() const { return clock_.sm_mhz(stream()); }

 private:
  [[nodiscard]] Visit sample(const std::function<void()>& run, int runs_in_one);

  bench::StoppingRule rule_;
  bench::Deadline deadline_;
  bench::StreamTimer timer_;
  bench::ClockProbe clock_;
  std::optional<double> warm_mhz_;
};

}  // namespace goodput::gpu::calibrate
