#include "models/policy/pipeline_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/apportion.h"
#include "sim/base/errors.h"

namespace goodput {

namespace {

// Of micro-batches, over stages with one chunk of the model each: pipelines share them out as they come.
bool runs_any_number(ParallelPlan plan) {
  plan.vpp = 1;
  return StepBatch(plan, BatchRule::kPerReplica).runs_any_number();
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
  return std::min(most, pipelines_of(most) * longest);
}

// Even, the later stages one fewer.
std::vector<std::int32_t> PipelineLayouts::layers_by_stage(std::int32_t stages) const {
  std::vector<std::int32_t> layers(static_cast<std::size_t>(stages), job_->plan().model.layers / stages);
  std::for_each_n(layers.begin(), job_->plan().model.layers % stages, [](std::int32_t& count) { ++count; });
  return layers;
}

Result<PipelineLayout> PipelineLayouts::lay_out(std::int32_t nodes, double slowest) const {
  const std::int32_t pipelines = pipelines_of(nodes);
  if (pipelines == 0) {
    return Error{
        fmt::format("{} nodes cannot hold one pipeline, which takes {} at the least", nodes, shortest_)};
  }
  PipelineLayout layout;
  layout.lengths.assign(static_cast<std::size_t>(pipelines), nodes / pipelines);
  std::for_each_n(layout.lengths.begin(), nodes % pipelines, [](std::int32_t& length) { ++length; });

  // A pipeline is as fast as its largest stage.
  std::vector<std::int64_t> speeds;
  for (const std::int32_t length : layout.lengths) {
    const std::vector<std::int32_t> layers = layers_by_stage(stages_of(length));
    speeds.push_back(1'000'000 / layers.front());
    const std::int32_t per_node = static_cast<std::int32_t>(layers.size()) / length;
    std::int32_t first = 0;
    for (std::int32_t node = 0; node < length; ++node) {
      const auto begin = layers.begin() + std::ptrdiff_t{node} * per_node;
      const std::int32_t count = std::accumulate(begin, begin + per_node, 0);
      layout.layers_of_place.push_back({first, first + count});
      first += count;
    }
  }
  const ParallelPlan& base = job_->plan().parallel;
  std::vector<std::int64_t> shares = apportion(speeds, micro_batches_ - pipelines);
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i > 0 && shares[i] == shares[i - 1] && layout.lengths[i] == layout.lengths[i - 1]) continue;
    ParallelPlan plan = base;
    plan.pp = stages_of(layout.lengths[i]);
    plan.vpp = 1;
    plan.schedule = schedule_;
    plan.ep = 1;
    plan.dp = pipelines;
    plan.zero_instances = instances_for(base, pipelines, 1);
    plan.global_batch = (shares[i] + 1) * pipelines * plan.micro_batch;
    plan.layers_per_stage = layers_by_stage(plan.pp);
    GOODPUT_TRY(const StepTime time, job_->steps().planned(plan, settings));
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
