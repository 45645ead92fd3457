#include "gpu/calibrate/sustained_sweep.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gpu/calibrate/gemm_case.h"
#include "gpu/calibrate/gemm_families.h"

namespace goodput::gpu::calibrate {
namespace {

double ms_between(const Event& begin, const Event& end) {
  float ms = 0;
  GOODPUT_CUDA(cudaEventElapsedTime(&ms, begin.get(), end.get()));
  return double{ms};
}

// Runs in batches, of which two are queued at any time: the device never waits for the host. Time is the
// device's, between events behind the batches.
class BatchQueue {
 public:
  BatchQueue(const std::function<void()>& queue, const Stream& stream, double batch_ms)
      : queue_(queue), stream_(stream) {
    run(1);  // whatever the first alone does
    begin_.record(stream_.get());
    run(1);
    ends_[0].record(stream_.get());
    ends_[0].synchronize();
    runs_ = static_cast<int>(
        std::clamp(std::ceil(batch_ms / std::max(ms_between(begin_, ends_[0]), 1e-3)), 1.0, 1e4));
    begin_.record(stream_.get());
    start();
  }

  void start() {
    run(runs_);
    ends_[started_ % ends_.size()].record(stream_.get());
    ++started_;
  }

  struct Batch {
    double begin_ms;  // after the first began
    double end_ms;
    double us;  // of a run
  };
  // Of the next batch in order, once it has ended. REQUIRES: it and one more were started.
  Batch finish() {
    const Event& before = finished_ == 0 ? begin_ : ends_[(finished_ - 1) % ends_.size()];
    const Event& end = ends_[finished_ % ends_.size()];
    end.synchronize();
    ++finished_;
    return {ms_between(begin_, before), ms_between(begin_, end), ms_between(before, end) * 1e3 / runs_};
  }

 private:
  void run(int runs) {
    for (int i = 0; i < runs; ++i) queue_();
  }

  const std::function<void()>& queue_;
  const Stream& stream_;
  int runs_ = 1;
  std::size_t started_ = 0;
  std::size_t finished_ = 0;
  Event begin_{EventTiming::kOn};
  std::array<Event, 3> ends_{Event{EventTiming::kOn}, Event{EventTiming::kOn}, Event{EventTiming::kOn}};
};

Visit visit_sustained(const GemmShape& shape, const SustainedRule& rule, const PowerReader& power_w,
                      PointMeasurer& measurer, Checking checking) {
  const Gemm gemm(shape);
  const int sets = gemm_sets(shape);
  GemmData data(shape, sets);
  Visit visit;
  if (checking == Checking::kYes) visit.nwrong = count_wrong(gemm, 0, data.operands(0), measurer.stream());
  const cudaStream_t stream = measurer.stream().get();
  data.fill(MatrixFill::kDense, stream);
  int turn = 0;
  SustainedTimes times =
      run_sustained([&] { gemm.run(data.operands(turn++ % sets), 0, stream); }, rule, power_w, measurer);
  visit.sm_mhz = measurer.sm_mhz();
  visit.us = bench::summarize(std::move(times.us));
  visit.power_w = times.power_w;
  visit.source = gemm.source(0) + ", back to back";
  return visit;
}

std::vector<GemmShape> sustained_shapes(Sizes sizes) {
  if (sizes == Sizes::kQuick) return {{16, 32, 48}};
  constexpr std::size_t kShapes = 6;
  std::vector<GemmShape> shapes;
  for (const GemmFamily& family : kGemmFamilies) shapes.push_back({16'384, family.n, family.k});
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const GemmShape& a, const GemmShape& b) { return a.flops() > b.flops(); });
  shapes.resize(kShapes);
  return shapes;
}

}  // namespace

SustainedTimes run_sustained(const std::function<void()>& queue, const SustainedRule& rule,
                             const PowerReader& power_w, const PointMeasurer& measurer) {
  const double counted_from_ms = (rule.seconds - rule.counted_seconds) * 1e3;
  SustainedTimes times;
  double watts = 0;
  int readings = 0;
  BatchQueue batches(queue, measurer.stream(), rule.batch_ms);
  for (double ended_ms = 0; ended_ms < rule.seconds * 1e3 || times.us.empty();) {
    if (measurer.deadline().passed()) {
      measurer.stream().synchronize();
      throw bench::DeadlinePassed();
    }
    batches.start();
    const BatchQueue::Batch batch = batches.finish();
    ended_ms = batch.end_ms;
    if (batch.begin_ms < counted_from_ms) continue;
    times.us.push_back(batch.us);
    const std::optional<double> reading = power_w ? power_w() : std::nullopt;
    if (!reading) continue;
    watts += *reading;
    ++readings;
  }
  measurer.stream().synchronize();
  if (readings > 0) times.power_w = watts / readings;
  return times;
}

Sweep sustained_sweep(Sizes sizes, const PowerReader& power_w) {
  SustainedRule rule;
  if (sizes == Sizes::kQuick) rule = {0.03, 0.01, 2};
  Sweep sweep{"sustained", {}, {}};
  for (const GemmShape& shape : sustained_shapes(sizes)) {
    PointKey key{
        {"gemm",
         {{"n", shape.n}, {"k", shape.k}, {"dtype", std::string(name_of(shape.type))}, {"sustained", true}}},
        "m",
        shape.m};
    const double setup_s = product_visit_estimate_s(0, shape.bytes(), shape.type) - visit_estimate_s(0, 0);
    sweep.points.push_back({std::move(key),
                            rule.seconds + setup_s,
                            [shape, rule, power_w](PointMeasurer& measurer, Checking checking) {
                              return visit_sustained(shape, rule, power_w, measurer, checking);
                            },
                            {}});
  }
  return sweep;
}

}  // namespace goodput::gpu::calibrate
