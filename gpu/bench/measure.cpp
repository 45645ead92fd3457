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

}  // namespace

std::vector<double> Measurer::time_runs(int count, const std::function<void()>& run) const {
  struct Span {
    Event begin{EventTiming::kOn};
    Event end{EventTiming::kOn};
  };
  std::vector<Span> spans(static_cast<std::size_t>(count));
  run();
  for (Span& span : spans) {
    span.begin.record(stream_.get());
    run();
    span.end.record(stream_.get());
  }
  stream_.synchronize();
  std::vector<double> us;
  for (const Span& span : spans) {
    float milliseconds = 0;
    GOODPUT_CUDA(cudaEventElapsedTime(&milliseconds, span.begin.get(), span.end.get()));
    us.push_back(double{milliseconds} * 1e3);
  }
  return us;
}

Measurement Measurer::measure(const Operation& operation) const {
  int turn = 0;
  const auto run = [&] { operation.run(turn++ % operation.sets, stream_.get()); };
  Sampled sampled = take_samples([&](int count) { return time_runs(count, run); }, rule_, deadline_);
  if (sampled.us.empty()) throw DeadlinePassed();

  Measurement measurement;
  measurement.events_us = summarize(std::move(sampled.us));
  measurement.stop = sampled.stop;
  measurement.sets = operation.sets;
  measurement.cache = cache_state(operation.bytes, operation.sets);
  if (operation.replay == Replay::kGraph) {
    measurement.graph = measure_graph(operation, measurement.events_us.median);
  }
  return measurement;
}

std::optional<GraphTimes> Measurer::measure_graph(const Operation& operation, double run_us) const {
  if (deadline_.passed()) return std::nullopt;
  const int runs = runs_of_graph(run_us, operation.sets);
  const Graph graph(stream_.get(), [&] {
    for (int i = 0; i < runs; ++i) operation.run(i % operation.sets, stream_.get());
  });
  Sampled sampled = take_samples(
      [&](int count) {
        std::vector<double> us = time_runs(count, [&] { graph.launch(stream_.get()); });
        for (double& time : us) time /= runs;
        return us;
      },
      rule_, deadline_);
  if (sampled.us.empty()) return std::nullopt;
  return GraphTimes{summarize(std::move(sampled.us)), sampled.stop, runs};
}

}  // namespace goodput::gpu::bench
