#include "sim/whatif.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "sim/errors.h"
#include "sim/parallel.h"
#include "sim/replay_values.h"

namespace goodput {

// One replay of all steps.
struct WhatIfEngine::Task {
  enum class Kind : std::uint8_t {
    kMixed,         // inside `set` recorded, outside ideal
    kMixedOutside,  // outside `set` recorded, inside ideal
    kLaunch,        // all recorded, inside `set` with launch delays
    kLoneReplica,  // the ops of the set's only box recorded, one replica at a time: StepTimes by dp * steps +
                   // step
  };
  Kind kind = Kind::kMixed;
  InstanceSet set;
};

namespace {

struct Label {
  std::string name;
  InstanceBox box;
};

std::vector<std::string> names(const std::vector<Label>& labels) {
  std::vector<std::string> result;
  for (const Label& label : labels) result.push_back(label.name);
  return result;
}

// "0", "1", ...
std::vector<std::string> numbers(std::int32_t count) {
  std::vector<std::string> result;
  for (std::int32_t i = 0; i < count; ++i) result.push_back(std::to_string(i));
  return result;
}

std::vector<Label> dp_labels(const Recording& recording) {
  std::vector<Label> labels;
  for (std::int32_t dp = 0; dp < recording.dp_size; ++dp) {
    InstanceBox box = InstanceBox::all(recording);
    std::fill(box.dp_ranks.begin(), box.dp_ranks.end(), 0);
    box.dp_ranks[static_cast<std::size_t>(dp)] = 1;
    labels.push_back({std::to_string(dp), std::move(box)});
  }
  return labels;
}

// All instances of the ops that match.
template <typename Matches>
InstanceBox box_of_ops(const Recording& recording, Matches matches) {
  InstanceBox box = InstanceBox::all(recording);
  for (std::size_t op = 0; op < recording.ops.size(); ++op) box.ops[op] = matches(recording.ops[op]) ? 1 : 0;
  return box;
}

std::vector<Label> stage_labels(const Recording& recording) {
  std::vector<Label> labels;
  for (std::int32_t stage = 0; stage < recording.pp_size; ++stage) {
    labels.push_back(
        {std::to_string(stage), box_of_ops(recording, [&](const TraceOp& op) { return op.stage == stage; })});
  }
  return labels;
}

// For late launches the first op of a stage is a group of its own: its delay is that of the whole step (data
// loading).
bool is_first_op(const TraceOp& op) {
  return op.seq_id == 0 && op.type == (op.stage == 0 ? OpType::kForwardCompute : OpType::kForwardRecv);
}

constexpr std::string_view kFirstOp = "first-op";

enum class FirstOps : std::uint8_t { kAsTheirType, kApart };

std::vector<Label> optype_labels(const Recording& recording, FirstOps first_ops) {
  const auto label_of = [&](const TraceOp& op) {
    return first_ops == FirstOps::kApart && is_first_op(op) ? kFirstOp : info(op.type).label;
  };
  std::set<std::string_view> names;
  for (const TraceOp& op : recording.ops) names.insert(label_of(op));
  std::vector<Label> labels;
  for (const std::string_view name : names) {
    labels.push_back(
        {std::string(name), box_of_ops(recording, [&](const TraceOp& op) { return label_of(op) == name; })});
  }
  return labels;
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

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] / b[i]);
  return result;
}

std::vector<double> part(const std::vector<double>& values, std::size_t index, std::size_t size) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

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
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    if (recording.ops[op].type == OpType::kOptimizer) optimizers_.push_back(op);
  }
  GOODPUT_CHECK(!optimizers_.empty(), "a step ends with the optimizer");
}

// What a thread keeps between the pieces of work it does: engines, which are made for a shape, and launch
// delays, which belong to a block. Work goes block by block, so both serve many pieces in a row.
class WhatIfEngine::Worker {
 public:
  explicit Worker(const WhatIfEngine& owner) : owner_(owner) {}

  // Replays one block and stores its steps in the times of the task.
  void replay(const Task& task, const StepBlock& block, StepTimes& times) {
    if (task.kind == Task::Kind::kLoneReplica)
      replay_lone(task, block, times);
    else
      replay_all(task, block, times);
  }

 private:
  TimingEngine& engine(std::optional<TimingEngine>& kept, LaneShape shape) const {
    if (!kept || kept->shape() != shape) {
      kept.emplace(owner_.graph_, shape, owner_.optimizers_, TimingEngine::Keep::kStepTimes);
    }
    return *kept;
  }

  void replay_lone(const Task& task, const StepBlock& block, StepTimes& times) {
    TimingEngine& timing = engine(lone_engine_, LoneReplicaReplay::shape(block));
    timing.propagate(LoneReplicaReplay(owner_.recording_, block, owner_.ideal_, task.set.boxes.front().ops));
    const std::vector<double> finish = timing.finish_times();
    for (std::size_t lane = 0; lane < finish.size(); ++lane) {
      const std::size_t dp = lane / block.shape.steps;
      const std::size_t step = block.first_step + lane % block.shape.steps;
      times.finish_s[dp * owner_.recording_.steps.size() + step] = finish[lane];
    }
  }

  void replay_all(const Task& task, const StepBlock& block, StepTimes& times) {
    TimingEngine& timing = engine(step_engine_, block.shape);
    if (task.kind == Task::Kind::kLaunch) {
      timing.propagate(DelayedReplay(block, launch_delays(block), task.set, owner_.graph_.size()));
    } else {
      const Side recorded = task.kind == Task::Kind::kMixed ? Side::kInside : Side::kOutside;
      timing.propagate(MixedReplay(owner_.recording_, block, owner_.ideal_, task.set, recorded));
    }
    std::ranges::copy(timing.finish_times(),
                      times.finish_s.begin() + static_cast<std::ptrdiff_t>(block.first_step));
    std::ranges::copy(timing.spans(), times.span_s.begin() + static_cast<std::ptrdiff_t>(block.first_step));
  }

  const std::vector<double>& launch_delays(const StepBlock& block) {
    if (delays_of_ != &block) delays_s_ = compute_launch_delays(owner_.recording_, block, owner_.graph_);
    delays_of_ = &block;
    return delays_s_;
  }

  const WhatIfEngine& owner_;
  std::optional<TimingEngine> step_engine_;
  std::optional<TimingEngine> lone_engine_;
  std::vector<double> delays_s_;
  const StepBlock* delays_of_ = nullptr;
};

std::vector<StepTimes> WhatIfEngine::run(const std::vector<Task>& tasks) const {
  const std::size_t steps = recording_.steps.size();
  std::vector<StepTimes> results;
  for (const Task& task : tasks) {
    const bool is_lone = task.kind == Task::Kind::kLoneReplica;
    const std::size_t finishes = is_lone ? steps * static_cast<std::size_t>(recording_.dp_size) : steps;
    results.push_back({std::vector<double>(finishes), std::vector<double>(is_lone ? 0 : steps)});
  }
  parallel_chunks(options_.jobs, recording_.blocks.size() * tasks.size(),
                  [&](std::size_t begin, std::size_t end) {
                    Worker worker(*this);
                    for (std::size_t piece = begin; piece < end; ++piece) {
                      const std::size_t task = piece % tasks.size();
                      worker.replay(tasks[task], recording_.blocks[piece / tasks.size()], results[task]);
                    }
                  });
  return results;
}

StepTimes WhatIfEngine::ideal_step() const {
  TimingEngine engine(graph_, {1, 1}, optimizers_, TimingEngine::Keep::kStepTimes);
  engine.propagate(IdealReplay(recording_, ideal_));
  return {engine.finish_times(), engine.spans()};
}

WhatIfEngine::OpTimes WhatIfEngine::ideal_times() const {
  TimingEngine engine(graph_, {1, 1}, optimizers_, TimingEngine::Keep::kAllTimes);
  engine.propagate(IdealReplay(recording_, ideal_));
  OpTimes times;
  for (OpId op = 0; op < graph_.size(); ++op) {
    times.start_s.push_back(engine.starts(op).front());
    times.end_s.push_back(engine.ends(op).front());
  }
  return times;
}

StepTimes WhatIfEngine::simulate(const InstanceSet& recorded) const {
  return run({{Task::Kind::kMixed, recorded}}).front();
}

StepTimes WhatIfEngine::simulate_without(const InstanceSet& ideal) const {
  return run({{Task::Kind::kMixedOutside, ideal}}).front();
}

WhatIf WhatIfEngine::analyse() const {
  WhatIf result;
  result.steps = recording_.steps;
  result.base_s = recording_.step_base_s;
  result.ideal_values = ideal_;
  const StepTimes ideal = ideal_step();
  result.ideal_finish_s = ideal.finish_s.front();
  result.ideal_span_s = ideal.span_s.front();
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

// Per label: recorded alone, everything else ideal. dp ranks and workers need two lanes each instead of all.
void WhatIfEngine::attribute_blocking(WhatIf& result) const {
  const std::size_t steps = recording_.steps.size();
  const auto stages = stage_labels(recording_);
  const auto optypes = optype_labels(recording_, FirstOps::kAsTheirType);
  const std::vector<std::string> dp_ranks = numbers(recording_.dp_size);
  const InstanceBox all = InstanceBox::all(recording_);
  std::vector<Task> tasks = {{Task::Kind::kMixed, {{all}}}, {Task::Kind::kLoneReplica, {{all}}}};
  for (const auto& label : stages) tasks.push_back({Task::Kind::kMixed, {{label.box}}});
  for (const auto& label : stages) tasks.push_back({Task::Kind::kLoneReplica, {{label.box}}});
  for (const auto& label : optypes) tasks.push_back({Task::Kind::kMixed, {{label.box}}});
  std::vector<StepTimes> times = run(tasks);

  result.nodelay = std::move(times[0]);
  const std::vector<double> ideal_finish(steps, result.ideal_finish_s);
  std::vector<std::vector<double>> finish;
  for (std::size_t dp = 0; dp < dp_ranks.size(); ++dp) finish.push_back(part(times[1].finish_s, dp, steps));
  result.blocking.by_dp_rank = attribute(dp_ranks, finish, ideal_finish);
  finish.clear();
  for (std::size_t s = 0; s < stages.size(); ++s) finish.push_back(std::move(times[2 + s].finish_s));
  result.blocking.by_stage = attribute(names(stages), finish, ideal_finish);
  finish.clear();
  for (std::size_t k = 0; k < optypes.size(); ++k) {
    finish.push_back(std::move(times[2 + 2 * stages.size() + k].finish_s));
  }
  result.blocking.by_optype = attribute(names(optypes), finish, ideal_finish);

  for (std::size_t dp = 0; dp < dp_ranks.size(); ++dp) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const std::vector<double> alone = part(times[2 + stages.size() + s].finish_s, dp, steps);
      result.worker_slowdown.push_back(mean(alone) / result.ideal_finish_s);
      result.worker_slowdown_bound.push_back(
          std::min(result.blocking.by_dp_rank.slowdown[dp], result.blocking.by_stage.slowdown[s]));
    }
  }
}

Family WhatIfEngine::attribute_launch(const WhatIf& result) const {
  const auto family = [&](const std::vector<Label>& labels) {
    std::vector<Task> tasks;
    for (const auto& label : labels) tasks.push_back({Task::Kind::kLaunch, {{label.box}}});
    std::vector<std::vector<double>> finish;
    for (StepTimes& times : run(tasks)) finish.push_back(std::move(times.finish_s));
    return attribute(names(labels), finish, result.nodelay.finish_s);
  };
  return {family(dp_labels(recording_)), family(stage_labels(recording_)),
          family(optype_labels(recording_, FirstOps::kApart))};
}

// The slowest 3 % of the workers, by the reference's score, and the last stage: how much of the loss they
// explain.
void WhatIfEngine::explain_by_workers(WhatIf& result) const {
  const auto stages = static_cast<std::size_t>(recording_.pp_size);
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
  for (const std::size_t worker : workers) {
    InstanceBox box = box_of_ops(
        recording_, [&](const TraceOp& op) { return static_cast<std::size_t>(op.stage) == worker % stages; });
    std::fill(box.dp_ranks.begin(), box.dp_ranks.end(), 0);
    box.dp_ranks[worker / stages] = 1;
    sets[0].boxes.push_back(std::move(box));
  }
  const auto& by_stage = result.blocking.by_stage.slowdown;
  result.slowest_stage =
      static_cast<std::size_t>(std::max_element(by_stage.begin(), by_stage.end()) - by_stage.begin());
  std::vector<Label> labels = stage_labels(recording_);
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
    tasks.push_back({Task::Kind::kMixedOutside, set});
    tasks.push_back({Task::Kind::kMixed, set});
  }
  const std::vector<StepTimes> times = run(tasks);
  std::vector<Share> shares;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    shares.push_back({mean(times[2 * i].span_s), mean(times[2 * i + 1].span_s), mean(result.nodelay.span_s),
                      result.ideal_span_s});
  }
  return shares;
}

}  // namespace goodput
