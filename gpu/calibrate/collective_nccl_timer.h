// Times collectives of one communicator. All its ranks call the same and get the same: a sample is the
// slowest rank's time, clocks are the slowest's, and what the time is says rank 0. So they warm up, go on and
// stop alike.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "gpu/calibrate/collective_nccl_exchange.h"
#include "gpu/calibrate/point_measurer.h"
#include "gpu/nccl/communicator.h"

namespace goodput::gpu::calibrate {

// Rank 0's clock, as it stood when ranks exchanged facts last.
struct SharedTime {
  bench::Clock of_rank_0;  // the other ranks' are not asked
  double now = 0;
};

class CollectiveTimer {
 public:
  // `deadline`: on the shared clock. Both must outlive it.
  CollectiveTimer(Communicator& communicator, const bench::StoppingRule& rule,
                  const bench::Deadline& deadline, SharedTime& time);

  // `queue`: one collective on the stream that it is given; can be captured. A sample is a replay of a graph
  // of as many as take a millisecond, over their number; what takes longer runs alone. Before each sample is
  // a barrier, on the device. Leaves nothing queued. Throws bench::DeadlinePassed, on all ranks or on none,
  // and as Communicator.
  [[nodiscard]] Visit measure(const std::function<void(cudaStream_t)>& queue);

  [[nodiscard]] const Stream& stream() const { return measurer_.stream(); }
  void begin_sweep() { measurer_.begin_sweep(); }

 private:
  [[nodiscard]] Visit sample(const std::function<void()>& run, int runs_in_one);
  [[nodiscard]] std::vector<double> time_samples(int count, const std::function<void()>& run);
  [[nodiscard]] double time_all(int count, const std::function<void()>& run);
  [[nodiscard]] std::optional<double> slowest_mhz();
  void queue_barrier();
  // By place, the most that a rank says.
  [[nodiscard]] std::vector<double> most(const std::vector<double>& own);

  Communicator& communicator_;
  SharedTime& time_;
  PointMeasurer measurer_;
  CollectiveExchange exchange_;
  DeviceBuffer<std::int32_t> nobody_;  // what a barrier adds up
};

}  // namespace goodput::gpu::calibrate
