// Times an operation of a stream two ways. *Events*: every run between two events; a few runs are queued at
// once, behind one that is not timed, so that the device does not wait for the host, but short kernels may
// still show the gaps between launches. *Graph*: replays of a captured graph of many runs, over their number:
// what the operation costs where it follows others; the spread of single runs is averaged out. Runs rotate
// over the sets of inputs and outputs of the operation.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>

#include "gpu/bench/clock_probe.h"
#include "gpu/bench/sampling.h"
#include "gpu/bench/stream_timer.h"
#include "gpu/bench/traffic.h"

namespace goodput::gpu::bench {

struct Operation {
  // Queues one run. It must be possible to capture it.
  std::function<void(int set, cudaStream_t stream)> run;
  int sets = 1;
  std::int64_t bytes = 0;  // moved by one run
};

// What a number of samples came to, and how they were taken.
struct SampledTimes {
  Statistics us;  // of one run
  Stop stop;
  WarmUp warm_up;
  SmClock sm_mhz;
  bool steady_clock;  // see Sampled
};

struct GraphTimes {
  SampledTimes times;
  int runs;  // in the graph
};

struct Measurement {
  SampledTimes events;
  std::optional<GraphTimes> graph;  // none: the deadline had passed
  int sets;
  CacheState cache;
};

// No sample at all could be taken in time.
class DeadlinePassed : public std::runtime_error {
 public:
  DeadlinePassed() : std::runtime_error("deadline") {}
};

class Measurer {
 public:
  Measurer(const StoppingRule& rule, Deadline deadline) : rule_(rule), deadline_(std::move(deadline)) {}

  // Throws DeadlinePassed, CudaError and what the operation throws. Leaves nothing queued.
  [[nodiscard]] Measurement measure(const Operation& operation) const;

  [[nodiscard]] const Deadline& deadline() const { return deadline_; }
  // For whatever else has to be done, in order with what is measured.
  [[nodiscard]] const Stream& stream() const { return timer_.stream(); }

 private:
  // None: the deadline had passed.
  [[nodiscard]] std::optional<SampledTimes> sample(const std::function<void()>& run, int runs_in_one) const;
  [[nodiscard]] std::optional<GraphTimes> measure_graph(const Operation& operation, double run_us) const;

  StoppingRule rule_;
  Deadline deadline_;
  StreamTimer timer_;
  ClockProbe clock_;
};

}  // namespace goodput::gpu::bench
