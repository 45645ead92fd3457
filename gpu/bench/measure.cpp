#include "gpu/bench/measure.h"

#include <utility>

#include "gpu/graph.h"

namespace goodput::gpu::bench {

std::optional<SampledTimes> Measurer::sample(const std::function<void()>& run, int runs_in_one) const {
  const Sampler sampler{[&](int count) { return timer_.time_runs(count, run); },
                        [&](int count) { return timer_.time_batch(count, run); },
                        [&] { return clock_.sm_mhz(stream()); }};
  Sampled sampled = take_samples(sampler, rule_, deadline_);
  if (sampled.us.empty()) return std::nullopt;
  for (double& us : sampled.us) us /= runs_in_one;
  return SampledTimes{summarize(std::move(sampled.us)), sampled.stop, sampled.warm_up, sampled.sm_mhz,
                      sampled.steady_clock};
}

Measurement Measurer::measure(const Operation& operation) const {
  int turn = 0;
  const std::optional<SampledTimes> events =
      sample([&] { operation.run(turn++ % operation.sets, stream().get()); }, 1);
  if (!events) throw DeadlinePassed();
  return {*events, measure_graph(operation, events->us.median), operation.sets,
          cache_state(operation.bytes, operation.sets)};
}

std::optional<GraphTimes> Measurer::measure_graph(const Operation& operation, double run_us) const {
  if (deadline_.passed()) return std::nullopt;
  const int runs = runs_of_graph(run_us, operation.sets);
  const Graph graph(stream().get(), [&] {
    for (int i = 0; i < runs; ++i) operation.run(i % operation.sets, stream().get());
  });
  const std::optional<SampledTimes> times = sample([&] { graph.launch(stream().get()); }, runs);
  if (!times) return std::nullopt;
  return GraphTimes{*times, runs};
}

}  // namespace goodput::gpu::bench
