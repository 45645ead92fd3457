#include "gpu/calibrate/block_timer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gpu/calibrate/grouped_gemm_sweep.h"

namespace goodput::gpu::calibrate {
namespace {

// Queuing all parts with their events takes the host less than this.
constexpr double kHostUs = 2000;
constexpr double kMostUntimed = 16;

double us_of(const Event& begin, const Event& end) {
  float ms = 0;
  GOODPUT_CUDA(cudaEventElapsedTime(&ms, begin.get(), end.get()));
  return double{ms} * 1e3;
}

// Parts are timed at least `few` times, and for `seconds`.
std::vector<PartTime> time_parts(PartTimer& timer, double seconds, const PointMeasurer& measurer) {
  const double begin = measurer.deadline().now();
  for (int done = 0; done < measurer.rule().few || measurer.deadline().now() - begin < seconds; ++done) {
    if (measurer.deadline().passed()) throw bench::DeadlinePassed();
    timer.time_once();
    if (done + 1 >= measurer.rule().most) break;
  }
  return timer.times();
}

std::optional<std::uint64_t> checked(const Block& block, Checking checking, const Stream& stream) {
  std::optional<std::uint64_t> nwrong;
  if (checking == Checking::kYes) nwrong = block.count_wrong(stream);
  block.fill(stream.get());
  stream.synchronize();
  return nwrong;
}

void describe_block(const Block& block, const PartTimer& timer, std::optional<std::uint64_t> nwrong,
                    Visit& visit) {
  visit.nwrong = nwrong;
  visit.expert_rows = block.expert_rows;
  visit.source = block.source + (timer.is_captured() ? "" : ", launched one by one");
}

}  // namespace

PartTimer::PartTimer(const Block& block, const Stream& stream)
    : block_(block), stream_(stream), us_(block.parts.size()) {
  block.run(stream.get());  // what only first calls do must not be captured
  stream.synchronize();
  const auto run = [&](cudaStream_t queue) { block.run(queue); };
  if (run_as_graph(run, stream)) graph_ = std::make_unique<Graph>(stream.get(), [&] { run(stream.get()); });
  ends_.reserve(block.parts.size() + 1);
  for (std::size_t i = 0; i <= block.parts.size(); ++i) ends_.emplace_back(EventTiming::kOn);
  untimed_ = 1;
  ends_.front().record(stream.get());
  run_untimed();
  ends_.back().record(stream.get());
  stream.synchronize();
  const double us = std::max(us_of(ends_.front(), ends_.back()), 1.0);
  untimed_ = static_cast<int>(std::min(std::ceil(kHostUs / us), kMostUntimed));
}

void PartTimer::run_untimed() {
  for (int i = 0; i < untimed_; ++i) graph_ ? graph_->launch(stream_.get()) : block_.run(stream_.get());
}

void PartTimer::time_once() {
  run_untimed();
  ends_.front().record(stream_.get());
  for (std::size_t i = 0; i < block_.parts.size(); ++i) {
    block_.parts[i].run(stream_.get());
    ends_[i + 1].record(stream_.get());
  }
  stream_.synchronize();
  for (std::size_t i = 0; i < block_.parts.size(); ++i) us_[i].push_back(us_of(ends_[i], ends_[i + 1]));
}

std::vector<PartTime> PartTimer::times() const {
  std::vector<PartTime> times;
  for (std::size_t i = 0; i < us_.size(); ++i) {
    times.push_back({block_.parts[i].name, block_.parts[i].is_backward, bench::summarize(us_[i]).median});
  }
  return times;
}

Visit visit_block(const Block& block, PointMeasurer& measurer, Checking checking) {
  const std::optional<std::uint64_t> nwrong = checked(block, checking, measurer.stream());
  PartTimer timer(block, measurer.stream());
  Visit visit = timer.is_captured()
                    ? measurer.measure({[&](int, cudaStream_t stream) { block.run(stream); }, 1, 0})
                    : measurer.measure_uncaptured([&](cudaStream_t stream) { block.run(stream); });
  visit.parts = time_parts(timer, measurer.rule().seconds / 2, measurer);
  describe_block(block, timer, nwrong, visit);
  return visit;
}

Visit visit_block_sustained(const Block& block, const SustainedRule& rule, const PowerReader& power_w,
                            PointMeasurer& measurer, Checking checking) {
  const std::optional<std::uint64_t> nwrong = checked(block, checking, measurer.stream());
  PartTimer timer(block, measurer.stream());
  SustainedTimes times = run_sustained([&] { block.run(measurer.stream().get()); }, rule, power_w, measurer);
  Visit visit;
  visit.parts = time_parts(timer, rule.counted_seconds, measurer);
  visit.sm_mhz = measurer.sm_mhz();
  visit.us = bench::summarize(std::move(times.us));
  visit.power_w = times.power_w;
  describe_block(block, timer, nwrong, visit);
  visit.source += ", back to back";
  return visit;
}

}  // namespace goodput::gpu::calibrate
