// A running job step by step, as its analysis tells of it, with faults on demand.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.h"
#include "sim/live/step_result.h"

namespace goodput {

inline StepCause likely_cause(std::string name, double gain) {
  StepCause cause;
  cause.name = std::move(name);
  cause.is_likely = true;
  cause.gain = gain;
  return cause;
}

// 4 x 4 workers of 8 GPUs, rank 8 * worker, two workers a host; a step of 10 s each 20 s.
class SteppedJob {
 public:
  explicit SteppedJob(double noise = 0, std::uint64_t seed = 1)
      : noise_(noise), random_(seed, "stepped job") {
    layout_.dp_size = layout_.pp_size = 4;
    layout_.gpus_per_worker = 8;
    for (int worker = 0; worker < 16; ++worker) {
      layout_.ranks.push_back(8 * worker);
      layout_.hosts.push_back(fmt::format("n{}", worker / 2));
    }
  }

  JobLayout& layout() { return layout_; }
  std::int64_t next_step() const { return next_; }
  void begin_run(std::int64_t step) {
    ++run_;
    next_ = step;
  }

  // Nothing is wrong but noise.
  StepResult healthy() {
    StepResult step = begin_step();
    for (std::size_t worker = 0; worker < layout_.workers(); ++worker)
      step.worker_slowdown.push_back(1 + noise_ * random_.uniform());
    set_slowdown(step, 1 + 2 * noise_ * random_.uniform());
    return step;
  }

  // These workers cost so much each, and the analysis says so.
  StepResult faulty(const std::vector<std::pair<std::size_t, double>>& workers,
                    const std::string& cause = "worker-fault") {
    StepResult step = healthy();
    double worst = 1;
    StepCause found = likely_cause(cause, 1);
    for (const auto& [worker, slowdown] : workers) {
      step.worker_slowdown[worker] = slowdown + noise_ * random_.uniform();
      found.workers.push_back(worker);
      found.fix.push_back(fmt::format("worker={}:{}", worker / 4, worker % 4));
      worst = std::max(worst, slowdown);
    }
    found.gain = worst;
    found.next_check = "the clocks of these GPUs";
    set_slowdown(step, worst + noise_ * random_.uniform());
    step.causes = {found};
    step.totals.cause = cause;
    step.totals.gain = worst;
    return step;
  }

  // S alone.
  StepResult slow(double slowdown) {
    StepResult step = healthy();
    set_slowdown(step, slowdown);
    return step;
  }

  StepResult other(StepStatus status, std::vector<WorkerPlace> missing = {}) {
    StepResult step = begin_step();
    step.totals.status = status;
    step.totals.slowdown = 1;
    step.missing = std::move(missing);
    return step;
  }

  [[nodiscard]] double normal(double deviation) { return random_.normal(0, deviation); }

 private:
  StepResult begin_step() {
    StepResult step;
    step.layout = layout_;
    step.totals.id = {run_, next_};
    step.totals.began_s = 1e9 + 20 * static_cast<double>(next_);
    step.totals.received_s = step.totals.began_s + 12;
    step.totals.finished_s = step.totals.began_s + 13;
    ++next_;
    return step;
  }

  static void set_slowdown(StepResult& step, double slowdown) {
    step.totals.slowdown = slowdown;
    step.totals.ideal_s = 10;
    step.totals.replayed_s = 10 * slowdown;
    step.totals.recorded_s = step.totals.replayed_s;
    const auto worst = std::ranges::max_element(step.worker_slowdown);
    step.totals.worst_worker = static_cast<std::size_t>(worst - step.worker_slowdown.begin());
    step.totals.worst_slowdown = *worst;
  }

  JobLayout layout_;
  double noise_;
  RandomStream random_;
  std::int32_t run_ = 0;
  std::int64_t next_ = 0;
};

}  // namespace goodput
