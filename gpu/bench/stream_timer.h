// How long runs of something take on a stream, by events.
#pragma once

#include <functional>
#include <vector>

#include "gpu/device_memory.h"

namespace goodput::gpu::bench {

// Replays of a graph shall take so long that beginning one does not count.
inline constexpr double kReplayUs = 1000;
// For a graph: as many runs as take kReplayUs, at least 2 and about 100 at most, whole rounds over all sets
// of inputs.
[[nodiscard]] int runs_of_graph(double run_us, int sets);

class StreamTimer {
 public:
  // us of every run. All are queued at once, behind one that is not timed, so that the device does not wait
  // for the host.
  [[nodiscard]] std::vector<double> time_runs(int count, const std::function<void()>& run) const;
  // ms of the device, for all.
  [[nodiscard]] double time_batch(int count, const std::function<void()>& run) const;

  // What `run` has to queue on.
  [[nodiscard]] const Stream& stream() const { return stream_; }

 private:
  Stream stream_;
};

}  // namespace goodput::gpu::bench
