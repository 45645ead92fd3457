#include "gpu/calibrate/launch_sweep.h"

#include "gpu/calibrate/empty_kernel.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr double kUsualGapUs = 2;

// A sample is the period of so many: how long the first waits for the host does not count.
constexpr int kLaunchesOfSample = 500;

Visit visit_launch_gap(PointMeasurer& measurer, Checking) {
  bench::StreamTimer timer;
  const auto run = [&] { launch_empty(timer.stream().get()); };
  Visit visit = measurer.measure_by(
      {[&](int count) {
         std::vector<double> us;
         for (int i = 0; i < count; ++i) {
           us.push_back(timer.time_batch(kLaunchesOfSample, run) * 1e3 / kLaunchesOfSample);
         }
         return us;
       },
       [&](int count) { return timer.time_batch(count * kLaunchesOfSample, run); },
       {}});
  visit.source = "empty kernels, one launch after another";
  return visit;
}

Visit visit_empty_kernel(PointMeasurer& measurer, Checking) {
  Visit visit = measurer.measure({[](int, cudaStream_t stream) { launch_empty(stream); }, 1, 0});
  visit.source = "empty kernels in a graph";
  return visit;
}

}  // namespace

Sweep launch_sweep() {
  const double estimate_s = visit_estimate_s(kUsualGapUs, 0);
  return {"launch",
          {{{{"empty_kernel", {}}, "", 0}, estimate_s, visit_empty_kernel, {}},
           {{{"launch_gap", {}}, "", 0}, estimate_s, visit_launch_gap, {}}},
          {}};
}

}  // namespace goodput::gpu::calibrate
