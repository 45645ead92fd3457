#include "gpu/calibrate/beside.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "gpu/bench/run_report.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr int kMostBackgroundRuns = 100'000;
constexpr double kLeastRunUs = 1;  // whatever the clock of events makes of it

// In the emulator streams do not run at the same time.
constexpr bool kOverlaps = bench::kTierOfBuild == bench::Tier::kMeasured;

class BesideTimer {
 public:
  BesideTimer(const std::function<void(cudaStream_t)>& run, double run_us, const Background& background)
      : run_(run), run_us_(run_us), background_(background) {}
  BesideTimer(BesideTimer&&) = delete;
  BesideTimer& operator=(BesideTimer&&) = delete;
  // What is still queued reads memory of whoever called.
  ~BesideTimer() { static_cast<void>(cudaStreamSynchronize(behind_.get())); }

  std::vector<double> time_runs(int count) {
    for (double slower = slower_;; slower *= 2) {
      const double wanted =
          std::ceil(slower * (count + 1) * run_us_ / std::max(background_.run_us, kLeastRunUs)) + 2;
      if (wanted > kMostBackgroundRuns)
        throw std::runtime_error("what was to run beside it always ended first");
      begin_background(static_cast<int>(wanted));
      std::vector<double> us = timer_.time_runs(count, [&] { run_(timer_.stream().get()); });
      const cudaError_t still = cudaEventQuery(end_.get());
      behind_.synchronize();
      if (still != cudaErrorNotReady) GOODPUT_CUDA(still);
      if (still == cudaErrorNotReady || !kOverlaps) {
        slower_ = slower;
        return us;
      }
    }
  }

 private:
  // Returns when it has begun: what is timed shall not begin before it.
  void begin_background(int runs) {
    background_.run(behind_.get());
    begun_.record(behind_.get());
    for (int i = 0; i < runs; ++i) background_.run(behind_.get());
    end_.record(behind_.get());
    begun_.synchronize();
  }

  const std::function<void(cudaStream_t)>& run_;
  double run_us_;
  const Background& background_;
  bench::StreamTimer timer_;
  Stream behind_;
  Event begun_;
  Event end_;
  double slower_ = 3;  // than alone, at first
};

}  // namespace

Visit measure_beside(const std::function<void(cudaStream_t)>& run, double run_us,
                     const Background& background, PointMeasurer& measurer) {
  BesideTimer timer(run, run_us, background);
  return measurer.measure_by({[&](int count) { return timer.time_runs(count); },
                              [&](int count) {
                                double ms = 0;
                                for (const double us : timer.time_runs(count)) ms += us / 1e3;
                                return ms;
                              },
                              {}});
}

}  // namespace goodput::gpu::calibrate
