#include "gpu/calibrate/beside.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "gpu/bench/run_report.h"
#include "gpu/graph.h"

namespace goodput::gpu::calibrate {
namespace {

// Launches that a stream takes without making the host wait are about a thousand: the background is launched
// in graphs of so many runs, and so often at most.
constexpr int kRunsOfLaunch = 16;
constexpr int kMostLaunches = 500;
constexpr double kLeastRunUs = 1;  // whatever the clock of events makes of it

// In the emulator streams do not run at the same time.
constexpr bool kOverlaps = bench::kTierOfBuild == bench::Tier::kMeasured;

class BesideTimer {
 public:
  BesideTimer(const std::function<void(cudaStream_t)>& run, double run_us, const Background& background,
              const bench::Deadline& deadline)
      : run_(run),
        run_us_(run_us),
        launch_us_(kRunsOfLaunch * std::max(background.run_us, kLeastRunUs)),
        deadline_(deadline),
        background_(behind_.get(), [&] {
          for (int i = 0; i < kRunsOfLaunch; ++i) background.run(behind_.get());
        }) {}
  BesideTimer(BesideTimer&&) = delete;
  BesideTimer& operator=(BesideTimer&&) = delete;
  // What is still queued reads memory of whoever called.
  ~BesideTimer() { static_cast<void>(cudaStreamSynchronize(behind_.get())); }

  std::vector<double> time_runs(int count) {
    for (double slower = slower_;; slower *= 2) {
      if (deadline_.passed()) throw bench::DeadlinePassed();
      // One more than is timed goes before.
      const double wanted = std::ceil(slower * (count + 1) * run_us_ / launch_us_) + 1;
      if (wanted > kMostLaunches)
        throw std::runtime_error("the background work always ended before the timed work");
      begin_background(static_cast<int>(wanted));
      std::vector<double> us = timer_.time_runs(count, [&] { run_(timer_.stream().get()); });
      const bool lasted = !has_ended();
      behind_.synchronize();
      if (lasted || !kOverlaps) {
        slower_ = slower;
        return us;
      }
    }
  }

 private:
  // Returns when it has begun: what is timed shall not begin before it.
  void begin_background(int launches) {
    background_.launch(behind_.get());
    begun_.record(behind_.get());
    for (int i = 0; i < launches; ++i) background_.launch(behind_.get());
    end_.record(behind_.get());
    begun_.synchronize();
  }
  [[nodiscard]] bool has_ended() const {
    const cudaError_t status = cudaEventQuery(end_.get());
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    GOODPUT_CUDA(status);
    return true;
  }

  const std::function<void(cudaStream_t)>& run_;
  double run_us_;
  double launch_us_;
  const bench::Deadline& deadline_;
  bench::StreamTimer timer_;
  Stream behind_;
  Graph background_;
  Event begun_;
  Event end_;
  double slower_ = 1.5;  // than alone, at first
};

}  // namespace

Visit measure_beside(const std::function<void(cudaStream_t)>& run, double run_us,
                     const Background& background, PointMeasurer& measurer) {
  BesideTimer timer(run, run_us, background, measurer.deadline());
  return measurer.measure_by({[&](int count) { return timer.time_runs(count); },
                              [&](int count) {
                                double ms = 0;
                                for (const double us : timer.time_runs(count)) ms += us / 1e3;
                                return ms;
                              },
                              {}});
}

}  // namespace goodput::gpu::calibrate
