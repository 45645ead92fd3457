#include "models/policy/pipeline_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "sim/base/apportion.h"
#include "sim/base/errors.h"

namespace goodput {

namespace {

// All ops of a step, one after the other: far from the longest that there can be
// (models/step/planned_step.h), whatever more stages and more pipelines have to send each other.
constexpr double kSurelyShortS = 2e5;

// Of micro-batches, over stages with one chunk of the model each: pipelines share them out as they come.
bool runs_any_number(ParallelPlan plan) {
  plan.vpp = 1;
  const StepBatch batch(plan, BatchRule::kPerReplica);
  return batch.has_one_chunk() && batch.runs_any_number();
}

}  // namespace

PipelineLayouts::PipelineLayouts(const JobModel& job, std::int32_t shortest, const StepSettings& settings)
    : job_(&job), shortest_(shortest), settings_(settings) {
  const ParallelPlan& plan = job.plan().parallel;
  const std::int64_t of_replica = std::int64_t{plan.pp} * plan.tp * plan.cp;
  const std::int64_t fit = std::int64_t{job.most_nodes()} * job.plan().cluster.gpus_per_node / of_replica;
  samples_ = job.steps().batch().samples(std::clamp<std::int64_t>(fit, 1, plan.dp));
  micro_batches_ = (samples_ + plan.micro_batch - 1) / plan.micro_batch;
  schedule_ = plan.vpp == 1 && runs_any_number(plan) ? plan.schedule : "1f1b";
}

std::int32_t PipelineLayouts::pipelines_of(std::int32_t nodes) const {
  return static_cast<std::int32_t>(std::min<std::int64_t>(nodes / shortest_, micro_batches_));
}

std::int32_t PipelineLayouts::stages_of(std::int32_t nodes) const {
  const ParallelPlan& plan = job_->plan().parallel;
  return nodes * job_->plan().cluster.gpus_per_node / (plan.tp * plan.cp);
}

std::int32_t PipelineLayouts::usable(std::int32_t nodes) const {
  std::int32_t longest = shortest_;
  while (stages_of(longest + 1) <= job_->plan().model.layers) ++longest;
  const std::int32_t most = std::min(nodes, job_->most_nodes());
  const std::int32_t used = std::min(most, pipelines_of(most) * longest);
  return used < least_ ? 0 : used;
}

// Even, the later stages one fewer.
std::vector<std::int32_t> PipelineLayouts::layers_by_stage(std::int32_t stages) const {
  std::vector<std::int32_t> layers(static_cast<std::size_t>(stages), job_->plan().model.layers / stages);
  std::for_each_n(layers.begin(), job_->plan().model.layers % stages, [](std::int32_t& count) { ++count; });
  return layers;
}

// REQUIRES: one pipeline at least.
std::vector<std::int32_t> PipelineLayouts::lengths_of(std::int32_t nodes) const {
  const std::int32_t pipelines = pipelines_of(nodes);
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(pipelines), nodes / pipelines);
  std::for_each_n(lengths.begin(), nodes % pipelines, [](std::int32_t& length) { ++length; });
  return lengths;
}

// A pipeline is as fast as its largest stage. Neighbours that are alike count once.
std::vector<PipelineLayouts::Kind> PipelineLayouts::kinds_of(const std::vector<std::int32_t>& lengths) const {
  const auto pipelines = static_cast<std::int32_t>(lengths.size());
  const std::int32_t layers = job_->plan().model.layers;
  std::vector<std::int64_t> speeds;
  for (const std::int32_t length : lengths) {
    const std::int32_t stages = stages_of(length);
    speeds.push_back(1'000'000 / ((layers + stages - 1) / stages));
  }
  const std::vector<std::int64_t> shares = apportion(speeds, micro_batches_ - pipelines);
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i > 0 && shares[i] == shares[i - 1] && lengths[i] == lengths[i - 1]) continue;
    kinds.push_back({stages_of(lengths[i]), shares[i] + 1, pipelines});
  }
  return kinds;
}

Error no_pipeline(std::int64_t nodes, std::int32_t shortest) {
  return Error{fmt::format("{} nodes cannot hold one pipeline, which takes at least {}", nodes, shortest)};
}

bool splits_experts_over_replicas(const ParallelPlan& plan) {
  return std::int64_t{plan.cp} * plan.tp % plan.expert_tp() != 0;
}

ParallelPlan PipelineLayouts::plan_of(const Kind& kind) const {
  ParallelPlan plan = job_->plan().parallel;
  plan.pp = kind.stages;
  plan.vpp = 1;
  plan.schedule = schedule_;
  plan.ep = 1;
  if (splits_experts_over_replicas(plan)) plan.etp = 0;
  plan.dp = kind.pipelines;
  plan.zero_instances = instances_for(job_->plan().parallel, kind.pipelines, 1);
  plan.global_batch = kind.micro_batches * kind.pipelines * plan.micro_batch;
  plan.layers_per_stage = layers_by_stage(plan.pp);
  return plan;
}

Result<StepTime> PipelineLayouts::time(const Kind& kind, double slowest) const {
  const auto compute = [&] {
    StepSettings settings = settings_;
    settings.slowest_speed = slowest;
    return job_->timed().planned(plan_of(kind), settings);
  };
  if (slowest != 1) return compute();
  return of_kinds_.at({kind.stages, kind.micro_batches, kind.pipelines}, compute);
}

Status PipelineLayouts::check_size(const Kind& kind) const {
  TrainingPlan plan = job_->plan();
  plan.parallel = plan_of(kind);
  return check_step_size(plan);
}

// One pipeline runs most micro-batches of all. The step of a single one is its ops in turn.
bool PipelineLayouts::surely_short() const {
  const Result<StepTime> one = time({stages_of(shortest_), 1, 1}, 1);
  return one && to_seconds(one->step) * static_cast<double>(micro_batches_) < kSurelyShortS;
}

// Timing a step of every number of nodes takes minutes where there are thousands: that the plans are sound is
// enough, unless a cluster may be so slow that some step is too long to count.
Status PipelineLayouts::settle() {
  const bool times = !surely_short();
  std::set<std::pair<std::int32_t, std::int64_t>> sound;
  const std::int32_t most = usable(job_->most_nodes());
  for (std::int32_t nodes = most; nodes > 0; nodes = usable(nodes - 1)) {
    for (const Kind& kind : kinds_of(lengths_of(nodes))) {
      if (!times && !sound.insert({kind.stages, kind.micro_batches}).second) continue;
      if (nodes < most && !check_size(kind)) {
        least_ = nodes + 1;
        return Ok{};
      }
      GOODPUT_TRY_STATUS(job_->steps().check_planned(plan_of(kind)));
      if (!times) continue;
      GOODPUT_TRY(const StepTime unused, time(kind, 1));
      static_cast<void>(unused);
    }
  }
  return Ok{};
}

Result<PipelineLayout> PipelineLayouts::lay_out(std::int32_t nodes, double slowest) const {
  if (pipelines_of(nodes) == 0) {
    return no_pipeline(nodes, shortest_);
  }
  PipelineLayout layout;
  layout.lengths = lengths_of(nodes);
  for (const std::int32_t length : layout.lengths) {
    const std::vector<std::int32_t> layers = layers_by_stage(stages_of(length));
    const std::int32_t per_node = static_cast<std::int32_t>(layers.size()) / length;
    std::int32_t first = 0;
    for (std::int32_t node = 0; node < length; ++node) {
      const auto begin = layers.begin() + std::ptrdiff_t{node} * per_node;
      const std::int32_t count = std::accumulate(begin, begin + per_node, 0);
      layout.layers_of_place.push_back({first, first + count});
      first += count;
    }
  }
  for (const Kind& kind : kinds_of(layout.lengths)) {
    GOODPUT_TRY(const StepTime time, this->time(kind, slowest));
    if (time.step > layout.time.step) layout.time = time;
  }
  layout.time.samples = samples_;
  return layout;
}

const PipelineLayout& PipelineLayouts::at(std::int32_t nodes) const {
  return healthy_.at({nodes}, [&] {
    Result<PipelineLayout> layout = lay_out(nodes, 1);
    GOODPUT_CHECK(layout.has_value(), layout.error().message());
    return *std::move(layout);
  });
}

}  // namespace goodput
