// A running job step by step, as its analysis tells of it, with faults on demand.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/analysis/verdict.h"
#include "sim/base/random.h"
#include "sim/live/step_result.h"

namespace goodput {

inline RootCause likely_cause(std::string name, double gain) {
  RootCause cause;
  cause.name = std::move(name);
  cause.likely = true;
  cause.gain = gain;
  cause.value = 1.5;
  cause.evidence = "the evidence";
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
    RootCause found = likely_cause(cause, 1);
    for (const auto& [worker, slowdown] : workers) {
      step.worker_slowdown[worker] = slowdown + noise_ * random_.uniform();
      found.workers.push_back({worker, slowdown, {}});
      found.fix.push_back(fmt::format("worker={}:{}", worker / 4, worker % 4));
      worst = std::max(worst, slowdown);
    }
    found.gain = worst;
    set_slowdown(step, worst + noise_ * random_.uniform());
    add_causes(step, {found});
    return step;
  }

  // A step whose analysis finds these causes.
  StepResult caused(double slowdown, const std::vector<RootCause>& causes) {
    StepResult step = slow(slowdown);
    add_causes(step, causes);
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

  void add_causes(StepResult& step, const std::vector<RootCause>& causes) const {
    WorkerGrid grid;
    grid.dp_size = layout_.dp_size;
    grid.pp_size = layout_.pp_size;
    grid.ranks = layout_.ranks;
    grid.places = {{"host", layout_.hosts}};
    WhatIf whatif;
    whatif.steps = {step.totals.id.step};
    whatif.base_s = whatif.nodelay.span_s = {step.totals.replayed_s};
    whatif.slowdown = step.totals.slowdown;
    for (const Fault& fault : find_faults(causes, grid)) {
      const auto cause = std::ranges::find(causes, fault.cause.name, &RootCause::name);
      step.faults.push_back({verdict_on(fault, whatif, grid), cause->gain.value_or(1)});
    }
    for (const RootCause& cause : causes) {
      StepCause found{cause.name, cause.likely, cause.gain, {}, cause.stage, cause.fix, cause.evidence, {}};
      for (const RootCause::SlowWorker& slow : cause.workers) found.workers.push_back(slow.worker);
      step.causes.push_back(std::move(found));
    }
    step.totals.cause = causes.front().name;
    step.totals.gain = causes.front().gain.value_or(1);
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
