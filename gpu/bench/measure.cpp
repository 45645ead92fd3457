#include "gpu/bench/measure.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gpu/graph.h"

namespace goodput::gpu::bench {
namespace {

// Replays shall take so long that beginning one does not count.
constexpr double kReplayUs = 1000;
constexpr int kMostRuns = 100;

// As many rounds over all sets as take kReplayUs.
int runs_of_graph(double run_us, int sets) {
  const double wanted = std::min(std::ceil(kReplayUs / std::max(run_us, 1.0)), double{kMostRuns});
  const int rounds = (static_cast<int>(wanted) + sets - 1) / sets;
  return std::max(rounds * sets, 2);
}

struct Span {
  Event begin{EventTiming::kOn};
  Event end{EventTiming::kOn};

  [[nodiscard]] double ms() const {
    float milliseconds = 0;
    GOODPUT_CUDA(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    return double{milliseconds};
  }
};

}  // namespace

double Measurer::time_batch(int count, const std::function<void()>& run) const {
  Span span;
  span.begin.record(stream_.get());
  for (int i = 0; i < count; ++i) run();
  span.end.record(stream_.get());
  stream_.synchronize();
  return span.ms();
}

std::vector<double> Measurer::time_runs(int count, const std::function<void()>& run) const {
  std::vector<Span> spans(static_cast<std::size_t>(count));
  run();
  for (Span& span : spans) {
    span.begin.record(stream_.get());
    run();
    span.end.record(stream_.get());
  }
  stream_.synchronize();
  std::vector<double> us;
  for (const Span& span : spans) us.push_back(span.ms() * 1e3);
  return us;
}

std::optional<SampledTimes> Measurer::sample(const std::function<void()>& run, int runs_in_one) const {
  const Sampler sampler{[&](int count) { return time_runs(count, run); },
                        [&](int count) { return time_batch(count, run); },
                        [&] { return clock_.sm_mhz(stream_); }};
  Sampled sampled = take_samples(sampler, rule_, deadline_);
  if (sampled.us.empty()) return std::nullopt;
  for (double& us : sampled.us) us /= runs_in_one;
  return SampledTimes{summarize(std::move(sampled.us)), sampled.stop, sampled.warm_up, sampled.sm_mhz,
                      sampled.steady_clock};
}

Measurement Measurer::measure(const Operation& operation) const {
  int turn = 0;
  const std::optional<SampledTimes> events =
      sample([&] { operation.run(turn++ % operation.sets, stream_.get()); }, 1);
  if (!events) throw DeadlinePassed();
  return {*events, measure_graph(operation, events->us.median), operation.sets,
          cache_state(operation.bytes, operation.sets)};
}

std::optional<GraphTimes> Measurer::measure_graph(const Operation& operation, double run_us) const {
  if (deadline_.passed()) return std::nullopt;
  const int runs = runs_of_graph(run_us, operation.sets);
  const Graph graph(stream_.get(), [&] {
    for (int i = 0; i < runs; ++i) operation.run(i % operation.sets, stream_.get());
  });
  const std::optional<SampledTimes> times = sample([&] { graph.launch(stream_.get()); }, runs);
  if (!times) return std::nullopt;
  return GraphTimes{*times, runs};
}

}  // namespace goodput::gpu::bench
