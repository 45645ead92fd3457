#include "sim/whatif/whatif.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "sim/base/errors.h"
#include "sim/base/parallel.h"
#include "sim/base/statistics.h"
#include "sim/recording/op_labels.h"
#include "sim/whatif/late_replica.h"
#include "sim/whatif/replay_values.h"
#include "sim/whatif/replica_classes.h"

namespace goodput {

// One replay of all steps.
struct WhatIfEngine::Task {
  Replay replay = Replay::kMixed;
  InstanceSet set;
  const LoneReplicas* lone = nullptr;  // kLoneReplica only
};

namespace {

constexpr std::size_t kLoneLanesAtOnce = 4096;  // of replicas one by one: their live rows fit the cache

// "0", "1", ...
std::vector<std::string> numbers(std::int32_t count) {
  std::vector<std::string> result;
  for (std::int32_t i = 0; i < count; ++i) result.push_back(std::to_string(i));
  return result;
}

// Ratios of each label's finish times to a base: `times[label][step]`.
Attribution attribute(const std::vector<std::string>& labels, const std::vector<std::vector<double>>& times,
                      const std::vector<double>& base_s) {
  Attribution result;
  result.per_step.resize(base_s.size());
  for (std::size_t k = 0; k < labels.size(); ++k) {
    result.labels.push_back(labels[k]);
    result.slowdown.push_back(mean(times[k]) / mean(base_s));
    for (std::size_t step = 0; step < base_s.size(); ++step) {
      result.per_step[step].push_back(times[k][step] / base_s[step]);
    }
  }
  return result;
}

// In the order of the types.
std::vector<IdealOfType> ideal_by_type(const Recording& recording, const IdealValues& ideal) {
  std::map<OpType, std::set<double>> of_type;
  for (OpId op = 0; op < ideal.size(); ++op) of_type[recording.ops[op].type].insert(ideal[op]);
  std::vector<IdealOfType> result;
  for (const auto& [type, values] : of_type) {
    result.push_back({recording.types[type].name, std::nullopt});
    if (values.size() == 1) result.back().value_s = *values.begin();
  }
  return result;
}

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] / b[i]);
  return result;
}

std::vector<double> part(const std::vector<double>& values, std::size_t index, std::size_t size) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

std::vector<std::vector<double>> parts(const std::vector<double>& values, std::size_t count,
                                       std::size_t size) {
  std::vector<std::vector<double>> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(part(values, i, size));
  return result;
}

}  // namespace

std::optional<double> Share::of_loss(double part_s) const {
  constexpr double kRounding =
      1e-12;  // of float64 sums: a loss this small is none, and a share of it is noise
  const double loss_s = recorded_s - ideal_s;
  if (std::abs(loss_s) <= kRounding * ideal_s) return std::nullopt;
  return part_s / loss_s;
}

WhatIfEngine::WhatIfEngine(const OpGraph& graph, const Recording& recording, WhatIfOptions options)
    : graph_(graph),
      recording_(recording),
      options_(options),
      ideal_(compute_ideal_values(recording, graph)) {
  GOODPUT_CHECK(!recording.finish_ops.empty(), "a step must have a last op");
}

// What a thread keeps between the pieces of work it does: engines, which are made for a shape, and launch
// delays, which belong to a block. Work goes block by block, so both serve many pieces in a row.
class WhatIfEngine::Worker {
 public:
  Worker(const WhatIfEngine& owner, TimingEngine::Keep keep) : owner_(owner), keep_(keep) {}

  // Replays one block and stores its steps in the times of the task.
  void replay(const Task& task, const StepBlock& block, StepTimes& times) {
    if (task.replay == Replay::kLoneReplica)
      replay_lone(task, block, times);
    else if (task.replay == Replay::kLateReplica)
      store_by_replica(
          late_replica_finishes(owner_.graph_, block, launch_delays(block), owner_.recording_.finish_ops), 0,
          block, times);
    else
      replay_all(task, block, times);
  }

 private:
  TimingEngine& engine(std::optional<TimingEngine>& kept, const OpGraph& graph, LaneShape shape) const {
    if (!kept || kept->shape() != shape) {
      kept.emplace(graph, shape, owner_.recording_.finish_ops, keep_);
    }
    return *kept;
  }

  void replay_lone(const Task& task, const StepBlock& block, StepTimes& times) {
    const LoneReplicas& lone = *task.lone;
    if (lone_ != &lone) {
      lone_engine_.reset();
      lone_graph_.emplace(owner_.graph_.with_partitions(lone.partitions));
      lone_ = &lone;
    }
    const std::size_t at_once =
        std::max<std::size_t>(1, kLoneLanesAtOnce / (block.shape.steps * lone.classes));
    for (std::size_t first = 0; first < lone.replicas.size(); first += at_once) {
      const auto some =
          std::span(lone.replicas).subspan(first).first(std::min(at_once, lone.replicas.size() - first));
      const LaneShape shape{block.shape.steps * some.size(), lone.classes};
      TimingEngine& timing = engine(lone_engine_, *lone_graph_, shape);
      timing.propagate(LoneReplicaReplay(block, owner_.ideal_, task.set.boxes.front().ops, some));
      store_by_replica(timing.finish_times(), first, block, times);
    }
  }

  // `finish`: by replica * steps + step of the block, from replica `first` of the task's on.
  void store_by_replica(const std::vector<double>& finish, std::size_t first, const StepBlock& block,
                        StepTimes& times) const {
    for (std::size_t i = 0; i < finish.size(); ++i) {
      const std::size_t replica = first + i / block.shape.steps;
      const std::size_t step = block.first_step + i % block.shape.steps;
      times.finish_s[replica * owner_.recording_.steps.size() + step] = finish[i];
    }
  }

  void replay_all(const Task& task, const StepBlock& block, StepTimes& times) {
    TimingEngine& timing = engine(step_engine_, owner_.graph_, block.shape);
    if (task.replay == Replay::kLaunch) {
      timing.propagate(DelayedReplay(block, launch_delays(block), task.set, owner_.graph_.size()));
    } else {
      const Side recorded = task.replay == Replay::kMixed ? Side::kInside : Side::kOutside;
      timing.propagate(MixedReplay(block, owner_.ideal_, task.set, recorded));
    }
    const auto first_step = static_cast<std::ptrdiff_t>(block.first_step);
    std::ranges::copy(timing.finish_times(), times.finish_s.begin() + first_step);
    if (keep_ == TimingEngine::Keep::kFinishTimes) return;
    std::ranges::copy(timing.spans(), times.span_s.begin() + first_step);
  }

  const std::vector<double>& launch_delays(const StepBlock& block) {
    if (delays_of_ != &block) delays_s_ = compute_launch_delays(owner_.recording_, block, owner_.graph_);
    delays_of_ = &block;
    return delays_s_;
  }

  const WhatIfEngine& owner_;
  TimingEngine::Keep keep_;
  std::optional<TimingEngine> step_engine_;
  const LoneReplicas* lone_ = nullptr;  // whose classes lone_graph_ is for
  std::optional<OpGraph> lone_graph_;
  std::optional<TimingEngine> lone_engine_;
  std::vector<double> delays_s_;
  const StepBlock* delays_of_ = nullptr;
};

std::vector<StepTimes> WhatIfEngine::run(const std::vector<Task>& tasks, TimingEngine::Keep keep) const {
  const std::size_t steps = recording_.steps.size();
  const std::size_t spans = keep == TimingEngine::Keep::kFinishTimes ? 0 : steps;
  std::vector<StepTimes> results;
  for (const Task& task : tasks) {
    std::size_t rows = 1;
    if (task.replay == Replay::kLoneReplica) rows = task.lone->replicas.size();
    if (task.replay == Replay::kLateReplica) rows = static_cast<std::size_t>(recording_.dp_size);
    results.push_back({std::vector<double>(rows * steps), std::vector<double>(spans)});
  }
  parallel_chunks(options_.jobs, recording_.blocks.size() * tasks.size(),
                  [&](std::size_t begin, std::size_t end) {
                    Worker worker(*this, keep);
                    for (std::size_t piece = begin; piece < end; ++piece) {
                      const std::size_t task = piece % tasks.size();
                      worker.replay(tasks[task], recording_.blocks[piece / tasks.size()], results[task]);
                    }
                  });
  return results;
}

StepTimes WhatIfEngine::ideal_step() const {
  TimingEngine engine(graph_, {1, 1}, recording_.finish_ops, TimingEngine::Keep::kStepTimes);
  engine.propagate(IdealReplay(ideal_));
  return {engine.finish_times(), engine.spans()};
}

WhatIfEngine::OpTimes WhatIfEngine::ideal_times() const {
  TimingEngine engine(graph_, {1, 1}, recording_.finish_ops, TimingEngine::Keep::kAllTimes);
  engine.propagate(IdealReplay(ideal_));
  OpTimes times;
  for (OpId op = 0; op < graph_.size(); ++op) {
    times.start_s.push_back(engine.starts(op).front());
    times.end_s.push_back(engine.ends(op).front());
  }
  return times;
}

StepTimes WhatIfEngine::simulate(const InstanceSet& recorded) const {
  return run({{Replay::kMixed, recorded}}, TimingEngine::Keep::kStepTimes).front();
}

Result<WhatIf> WhatIfEngine::analyse() const {
  WhatIf result;
  result.steps = recording_.steps;
  result.base_s = recording_.step_base_s;
  result.ideal_values = ideal_;
  result.ideal_by_type = ideal_by_type(recording_, ideal_);
  const StepTimes ideal = ideal_step();
  result.ideal_finish_s = ideal.finish_s.front();
  result.ideal_span_s = ideal.span_s.front();
  if (!(result.ideal_finish_s > 0)) {
    return Error{"the ideal step takes no time; check that durations are in seconds and not all zero"};
  }
  attribute_blocking(result);
  const std::vector<double> ideal_finish(result.steps.size(), result.ideal_finish_s);
  result.slowdown = mean(result.nodelay.span_s) / result.ideal_finish_s;
  result.step_slowdown = ratios(result.nodelay.span_s, ideal_finish);
  result.launch_slowdown = mean(result.base_s) / mean(result.nodelay.finish_s);
  result.launch_step_slowdown = ratios(result.base_s, result.nodelay.finish_s);
  result.discrepancy = std::abs(mean(result.nodelay.span_s) / mean(result.base_s) - 1);
  if (result.launch_slowdown >= options_.decompose_threshold) result.launch = attribute_launch(result);
  explain_by_workers(result);
  return result;
}

std::vector<std::vector<double>> WhatIfEngine::finish_times(Replay replay,
                                                            const std::vector<OpLabel>& labels) const {
  std::vector<Task> tasks;
  for (const OpLabel& label : labels) tasks.push_back({replay, {{label.box}}});
  std::vector<std::vector<double>> times;
  for (StepTimes& task_times : run(tasks, TimingEngine::Keep::kFinishTimes))
    times.push_back(std::move(task_times.finish_s));
  return times;
}

std::vector<std::vector<double>> WhatIfEngine::lone_finish_times(const std::vector<OpLabel>& labels) const {
  const std::size_t steps = recording_.steps.size();
  const auto replicas = static_cast<std::size_t>(recording_.dp_size);
  const std::vector<LoneReplicas> alike = lone_replicas(graph_.partitions(), replicas);
  std::vector<Task> tasks;
  for (const LoneReplicas& lone : alike) {
    for (const OpLabel& label : labels) tasks.push_back({Replay::kLoneReplica, {{label.box}}, &lone});
  }
  const std::vector<StepTimes> times = run(tasks, TimingEngine::Keep::kFinishTimes);
  std::vector<std::vector<double>> result(labels.size(), std::vector<double>(replicas * steps));
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    for (std::size_t i = 0; i < tasks[task].lone->replicas.size(); ++i) {
      std::copy_n(times[task].finish_s.data() + i * steps, steps,
                  result[task % labels.size()].data() + tasks[task].lone->replicas[i] * steps);
    }
  }
  return result;
}

// Per label: recorded alone, everything else ideal. A dp rank or worker needs one lane for each class of
// replicas, not one for each replica (sim/whatif/replica_classes.h).
void WhatIfEngine::attribute_blocking(WhatIf& result) const {
  const std::size_t steps = recording_.steps.size();
  const auto replicas = static_cast<std::size_t>(recording_.dp_size);
  const std::vector<double> ideal_finish(steps, result.ideal_finish_s);
  const std::vector<OpLabel> stages = stage_labels(recording_);
  const std::vector<OpLabel> optypes = optype_labels(recording_, FirstOps::kAsTheirType);
  result.nodelay = simulate({{InstanceBox::all(recording_)}});
  result.blocking.by_stage = attribute(names(stages), finish_times(Replay::kMixed, stages), ideal_finish);
  result.blocking.by_optype = attribute(names(optypes), finish_times(Replay::kMixed, optypes), ideal_finish);

  // The stages, and everything.
  std::vector<OpLabel> parts_of_replica = stages;
  if (stages.size() > 1) parts_of_replica.push_back({"", InstanceBox::all(recording_)});
  std::vector<std::vector<double>> stage_alone = lone_finish_times(parts_of_replica);
  result.blocking.by_dp_rank =
      attribute(numbers(recording_.dp_size), parts(stage_alone.back(), replicas, steps), ideal_finish);
  stage_alone.resize(stages.size());
  for (std::size_t dp = 0; dp < replicas; ++dp) {
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      result.worker_slowdown.push_back(mean(part(stage_alone[stage], dp, steps)) / result.ideal_finish_s);
      result.worker_slowdown_bound.push_back(
          std::min(result.blocking.by_dp_rank.slowdown[dp], result.blocking.by_stage.slowdown[stage]));
    }
  }
  if (options_.by_step) result.worker_step_slowdown = by_step_and_worker(stage_alone, result);
}

// `stage_alone`: by stage, finish times by dp * steps + step.
std::vector<std::vector<double>> WhatIfEngine::by_step_and_worker(
    const std::vector<std::vector<double>>& stage_alone, const WhatIf& result) const {
  const std::size_t steps = recording_.steps.size();
  std::vector<std::vector<double>> slowdown(steps);
  for (std::size_t step = 0; step < steps; ++step) {
    slowdown[step].reserve(recording_.ranks.size());
    for (std::size_t dp = 0; dp < static_cast<std::size_t>(recording_.dp_size); ++dp) {
      for (const auto& finish_s : stage_alone)
        slowdown[step].push_back(finish_s[dp * steps + step] / result.ideal_finish_s);
    }
  }
  return slowdown;
}

// All families in one go: the launch delays of a block are computed once for it. Few replicas are replayed
// one by one, of many only those that can matter (sim/whatif/late_replica.h).
Family WhatIfEngine::attribute_launch(const WhatIf& result) const {
  const auto replicas = static_cast<std::size_t>(recording_.dp_size);
  const bool by_rivals = has_rivals_worth_finding(graph_, replicas);
  const std::vector<OpLabel> families[] = {by_rivals ? std::vector<OpLabel>{} : dp_labels(recording_),
                                           stage_labels(recording_),
                                           optype_labels(recording_, FirstOps::kApart)};
  std::vector<OpLabel> all;
  for (const auto& family : families) all.insert(all.end(), family.begin(), family.end());
  const std::vector<std::vector<double>> times = finish_times(Replay::kLaunch, all);
  auto next = times.begin();
  const auto attribution = [&](const std::vector<OpLabel>& labels) {
    const auto first = next;
    next += static_cast<std::ptrdiff_t>(labels.size());
    return attribute(names(labels), {first, next}, result.nodelay.finish_s);
  };
  Family family;
  family.by_dp_rank = attribution(families[0]);
  family.by_stage = attribution(families[1]);
  family.by_optype = attribution(families[2]);
  if (by_rivals) {
    const std::vector<double> late =
        run({{Replay::kLateReplica, {}}}, TimingEngine::Keep::kFinishTimes).front().finish_s;
    family.by_dp_rank = attribute(numbers(recording_.dp_size), parts(late, replicas, recording_.steps.size()),
                                  result.nodelay.finish_s);
  }
  return family;
}

// The slowest 3 % of the workers, by the reference's score, and the last stage: how much of the loss they
// explain.
void WhatIfEngine::explain_by_workers(WhatIf& result) const {
  std::vector<std::size_t> workers(recording_.ranks.size());
  std::iota(workers.begin(), workers.end(), std::size_t{0});
  std::sort(workers.begin(), workers.end(), [&](std::size_t a, std::size_t b) {
    const auto& bound = result.worker_slowdown_bound;
    if (bound[a] != bound[b]) return bound[a] > bound[b];
    return std::pair(recording_.ranks[a], a) < std::pair(recording_.ranks[b], b);
  });
  const std::size_t distinct = std::set(recording_.ranks.begin(), recording_.ranks.end()).size();
  workers.resize(std::min(workers.size(), (3 * distinct + 99) / 100));
  result.slowest_workers = workers;

  std::vector<InstanceSet> sets(3);
  sets[0] = set_of_workers(recording_, workers);
  const auto& by_stage = result.blocking.by_stage.slowdown;
  result.slowest_stage =
      static_cast<std::size_t>(std::max_element(by_stage.begin(), by_stage.end()) - by_stage.begin());
  std::vector<OpLabel> labels = stage_labels(recording_);
  sets[1].boxes.push_back(labels.back().box);
  sets[2].boxes.push_back(labels[result.slowest_stage].box);
  const std::vector<Share> shares = shares_of(sets, result);
  result.slowest_workers_share = shares[0];
  result.last_stage_share = shares[1];
  result.slowest_stage_share = shares[2];
}

std::vector<Share> WhatIfEngine::shares_of(const std::vector<InstanceSet>& sets, const WhatIf& result) const {
  std::vector<Task> tasks;
  for (const InstanceSet& set : sets) {
    tasks.push_back({Replay::kMixedOutside, set});
    tasks.push_back({Replay::kMixed, set});
  }
  const std::vector<StepTimes> times = run(tasks, TimingEngine::Keep::kStepTimes);
  std::vector<Share> shares;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    shares.push_back({mean(times[2 * i].span_s), mean(times[2 * i + 1].span_s), mean(result.nodelay.span_s),
                      result.ideal_span_s});
  }
  return shares;
}

}  // namespace goodput
