#include "gpu/calibrate/collective_nccl_timer.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "gpu/graph.h"
#include "gpu/nccl/nccl_call.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::size_t kMostFacts = 64;  // in one exchange, with the time

struct CollectiveSpan {
  Event begin{EventTiming::kOn};
  Event end{EventTiming::kOn};

  [[nodiscard]] double us() const {
    float milliseconds = 0;
    GOODPUT_CUDA(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    return double{milliseconds} * 1e3;
  }
};

}  // namespace

CollectiveTimer::CollectiveTimer(Communicator& communicator, const bench::StoppingRule& rule,
                                 const bench::Deadline& deadline, SharedTime& time)
    : communicator_(communicator),
      time_(time),
      measurer_(rule, deadline),
      exchange_(communicator, kMostFacts * sizeof(double)),
      nobody_(upload(std::vector<std::int32_t>{0})) {}

Visit CollectiveTimer::measure(const std::function<void(cudaStream_t)>& queue) {
  const auto run = [&] { queue(stream().get()); };
  static_cast<void>(time_all(1, run));  // NCCL connects ranks at the first use
  const double run_us = time_all(1, run) * 1e3;
  if (run_us >= bench::kReplayUs) return sample(run, 1);
  std::unique_ptr<Graph> graph;
  const auto capture = [&](int runs) {
    graph.reset();
    graph = std::make_unique<Graph>(stream().get(), [&] {
      for (int i = 0; i < runs; ++i) run();
    });
  };
  const auto replay = [&] { communicator_.or_abort([&] { graph->launch(stream().get()); }); };
  // Alone, a short one waits for its launch: how many are enough is known from a graph of too few.
  const int few = bench::runs_of_graph(run_us, 1);
  capture(few);
  const int enough = bench::runs_of_graph(time_all(1, replay) * 1e3 / few, 1);
  if (enough > few) capture(enough);
  return sample(replay, std::max(few, enough));
}

Visit CollectiveTimer::sample(const std::function<void()>& run, int runs_in_one) {
  return measurer_.measure_by({[&](int count) {
                                 std::vector<double> us = time_samples(count, run);
                                 for (double& one : us) one /= runs_in_one;
                                 return us;
                               },
                               [&](int count) { return time_all(count, run); },
                               [&] { return slowest_mhz(); }});
}

// All are queued at once, behind one that is not timed, so that devices do not wait for hosts.
std::vector<double> CollectiveTimer::time_samples(int count, const std::function<void()>& run) {
  std::vector<CollectiveSpan> spans(static_cast<std::size_t>(count));
  queue_barrier();
  run();
  for (CollectiveSpan& span : spans) {
    queue_barrier();
    communicator_.or_abort([&] { span.begin.record(stream().get()); });
    run();
    communicator_.or_abort([&] { span.end.record(stream().get()); });
  }
  communicator_.synchronize(stream().get());
  std::vector<double> us;
  for (const CollectiveSpan& span : spans) us.push_back(span.us());
  return most(us);
}

double CollectiveTimer::time_all(int count, const std::function<void()>& run) {
  CollectiveSpan span;
  queue_barrier();
  communicator_.or_abort([&] { span.begin.record(stream().get()); });
  for (int i = 0; i < count; ++i) run();
  communicator_.or_abort([&] { span.end.record(stream().get()); });
  communicator_.synchronize(stream().get());
  return most({span.us()}).front() / 1e3;
}

std::optional<double> CollectiveTimer::slowest_mhz() {
  // A rank whose probe knows none is slower than all.
  const double least = -most({-measurer_.sm_mhz().value_or(-1)}).front();
  return least < 0 ? std::nullopt : std::optional(least);
}

void CollectiveTimer::queue_barrier() {
  communicator_.group("a barrier", [&](ncclComm_t comm) {
    GOODPUT_NCCL_CALL(
        ncclAllReduce(nobody_.data(), nobody_.data(), 1, ncclInt32, ncclSum, comm, stream().get()));
  });
}

std::vector<double> CollectiveTimer::most(const std::vector<double>& own) {
  std::vector<double> all;
  for (std::size_t begin = 0; begin < own.size();) {
    const std::size_t end = std::min(own.size(), begin + kMostFacts - 1);
    std::vector<double> said(own.begin() + static_cast<std::ptrdiff_t>(begin),
                             own.begin() + static_cast<std::ptrdiff_t>(end));
    said.push_back(communicator_.rank() == 0 ? time_.of_rank_0() : 0);
    const std::size_t bytes = said.size() * sizeof(double);
    const std::vector<std::string> by_rank = exchange_.gather(said.data(), bytes);
    std::memcpy(&time_.now, by_rank.front().data() + bytes - sizeof(double), sizeof(double));
    for (std::size_t i = begin; i < end; ++i) {
      all.push_back(own[i]);
      for (const std::string& theirs : by_rank) {
        double value = 0;
        std::memcpy(&value, theirs.data() + (i - begin) * sizeof(double), sizeof value);
        all.back() = std::max(all.back(), value);
      }
    }
    begin = end;
  }
  return all;
}

}  // namespace goodput::gpu::calibrate
