#include "gpu/bench/stream_timer.h"

#include <algorithm>
#include <cmath>

namespace goodput::gpu::bench {
namespace {

constexpr int kMostRunsOfGraph = 100;

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

int runs_of_graph(double run_us, int sets) {
  const double wanted = std::min(std::ceil(kReplayUs / std::max(run_us, 1.0)), double{kMostRunsOfGraph});
  const int rounds = (static_cast<int>(wanted) + sets - 1) / sets;
  return std::max(rounds * sets, 2);
}

double StreamTimer::time_batch(int count, const std::function<void()>& run) const {
  Span span;
  span.begin.record(stream_.get());
  for (int i = 0; i < count; ++i) run();
  span.end.record(stream_.get());
  stream_.synchronize();
  return span.ms();
}

std::vector<double> StreamTimer::time_runs(int count, const std::function<void()>& run) const {
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

}  // namespace goodput::gpu::bench
