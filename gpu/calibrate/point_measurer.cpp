#include "gpu/calibrate/point_measurer.h"

#include <utility>

#include "gpu/graph.h"

namespace goodput::gpu::calibrate {

Visit PointMeasurer::measure_by(bench::Sampler sampler) {
  if (!sampler.sm_mhz) sampler.sm_mhz = [this] { return sm_mhz(); };
  bench::Sampled sampled = bench::take_samples_warm(sampler, rule_, deadline_, warm_mhz_);
  if (sampled.us.empty() || sampled.stop == bench::Stop::kDeadline) throw bench::DeadlinePassed();
  Visit visit;
  visit.us = bench::summarize(std::move(sampled.us));
  visit.sm_mhz = sampled.sm_mhz.after;
  return visit;
}

Visit PointMeasurer::sample(const std::function<void()>& run, int runs_in_one) {
  return measure_by({[&](int count) {
                       std::vector<double> us = timer_.time_runs(count, run);
                       for (double& one : us) one /= runs_in_one;
                       return us;
                     },
                     [&](int count) { return timer_.time_batch(count, run); },
                     {}});
}

Visit PointMeasurer::measure_uncaptured(const std::function<void(cudaStream_t)>& run) {
  return sample([&] { run(stream().get()); }, 1);
}

Visit PointMeasurer::measure(const bench::Operation& operation) {
  int turn = 0;
  const auto run = [&] { operation.run(turn++ % operation.sets, stream().get()); };
  static_cast<void>(timer_.time_batch(1, run));  // whatever the first run alone does
  const double run_us = timer_.time_batch(operation.sets, run) * 1e3 / operation.sets;
  if (run_us >= bench::kReplayUs) return sample(run, 1);
  const int runs = bench::runs_of_graph(run_us, operation.sets);
  const Graph graph(stream().get(), [&] {
    for (int i = 0; i < runs; ++i) operation.run(i % operation.sets, stream().get());
  });
  return sample([&] { graph.launch(stream().get()); }, runs);
}

}  // namespace goodput::gpu::calibrate
