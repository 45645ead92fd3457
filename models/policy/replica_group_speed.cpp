#include "models/policy/replica_group_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace goodput {
namespace {

std::int64_t gpus_of_replica(const ParallelPlan& plan) {
  return std::int64_t{plan.pp} * plan.tp * plan.cp;
}

// With whole expert-parallel groups in them.
std::int64_t replicas_together(const ParallelPlan& plan) {
  return std::lcm(std::int64_t{plan.cp}, std::int64_t{plan.ep}) / plan.cp;
}

// GPUs over which ZeRO shards what each of them would hold.
std::int64_t shards(const ParallelPlan& plan) {
  return std::int64_t{plan.dp} / plan.sharding_instances() * plan.cp;
}

constexpr const char* kSharded[] = {"nothing", "its optimizer", "its optimizer and gradients",
                                    "its optimizer, gradients and parameters"};

Bytes needed(const auto& memory) {
  return memory.stages[memory.fullest].total();
}

// "steps take 2.1 % more time"
std::string longer(SimDuration time, SimDuration than) {
  const double percent = 100 * (to_seconds(time) / to_seconds(than) - 1);
  return fmt::format("steps take {:.1f} % {} time", std::abs(percent), percent < 0 ? "less" : "more");
}

std::string confinement(const ParallelPlan& confined, std::int64_t shared_over) {
  const char* const sharded = kSharded[confined.zero];
  if (shards(confined) == 1)
    return fmt::format("holds {} whole on every GPU, not sharded over {}", sharded, shared_over);
  return fmt::format("shards {} over the {} GPUs of a replica group that hold the same, not over {}", sharded,
                     shards(confined), shared_over);
}

std::string memory_text(const auto& memory) {
  if (!memory.fits()) return memory.verdict();
  return fmt::format("{:.1f} of {:.1f} GiB", in_gib(needed(memory)), in_gib(memory.available));
}

}  // namespace

Result<ReplicaGroupSize> replica_group(const JobModel& job, std::int32_t nodes) {
  const ParallelPlan& plan = job.plan().parallel;
  const std::int64_t per_node = job.plan().cluster.gpus_per_node;
  const std::int64_t together = gpus_of_replica(plan) * replicas_together(plan);
  const std::int64_t least = std::lcm(together, per_node) / per_node;
  const std::int64_t asked = nodes > 0 ? nodes : least;
  if (asked % least != 0) {
    return Error{fmt::format("is {}, want a multiple of {}: the nodes that whole replicas of {} GPUs fill",
                             nodes, least, together),
                 {.pointer = "/nodes_per_replica"}};
  }
  if (nodes > job.most_nodes()) {
    return Error{fmt::format("is {}, want {} or less: the nodes of the job", nodes, job.most_nodes()),
                 {.pointer = "/nodes_per_replica"}};
  }
  if (asked > job.most_nodes()) {
    return job.error_of_nodes(fmt::format(
        "are too few: {} nodes cannot hold one replica group, which takes {}", job.most_nodes(), asked));
  }
  return ReplicaGroupSize{static_cast<std::int32_t>(asked),
                          static_cast<std::int32_t>(asked * per_node / gpus_of_replica(plan))};
}

std::int32_t ReplicaGroupSpeed::whole(std::int32_t nodes) const {
  return std::min(nodes, job_->most_nodes()) / group_.nodes * group_.nodes;
}

std::int32_t ReplicaGroupSpeed::usable(std::int32_t nodes) const {
  const std::int32_t filled = whole(nodes);
  if (filled == 0 || job_->steps().usable_nodes(filled) == 0) return 0;
  const std::int64_t fewest =
      job_->steps().batch().fewest_replicas(std::int64_t{filled} / group_.nodes * group_.replicas);
  const std::int64_t groups = (fewest + group_.replicas - 1) / group_.replicas;
  return static_cast<std::int32_t>(groups * group_.nodes);
}

ParallelPlan ReplicaGroupSpeed::plan_of(std::int32_t groups) const {
  const ParallelPlan& base = job_->plan().parallel;
  const std::int32_t together = base.dp / base.sharding_instances();  // replicas of an instance of the plan
  const std::int64_t replicas = std::int64_t{groups} * group_.replicas;
  ParallelPlan plan = base;
  plan.dp = static_cast<std::int32_t>(replicas);
  plan.zero_instances = group_.replicas % together == 0 ? plan.dp / together : groups;
  plan.global_batch = replicas * plan.micro_batch * job_->steps().batch().micro_batches(replicas);
  return plan;
}

Result<StepTime> ReplicaGroupSpeed::compute(std::int32_t nodes, std::int64_t /*step*/, double slowest) const {
  const std::int32_t used = usable(nodes);
  if (used == 0) return job_->steps().dense(nodes);  // says what of it is too few
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  const ParallelPlan plan = plan_of(used / group_.nodes);
  GOODPUT_TRY(StepTime step, job_->steps().planned(plan, settings));
  step.samples = job_->steps().batch().samples(plan.dp);
  return step;
}

ParallelPlan widest_plan(const JobModel& job, const ReplicaGroupSpeed& speed) {
  return speed.plan_of(std::max(1, speed.usable(job.most_nodes_ever()) / speed.group().nodes));
}

std::vector<std::string> sharding_warnings(const JobModel& job, const ReplicaGroupSpeed& speed) {
  const ParallelPlan& base = job.plan().parallel;
  const ParallelPlan confined = widest_plan(job, speed);
  ParallelPlan shared = confined;
  shared.zero_instances = instances_for(base, shared.dp, replicas_together(base));
  if (shards(confined) == shards(shared)) return {};
  const auto memory = job.steps().planned_memory(confined);
  const auto memory_shared = job.steps().planned_memory(shared);
  const auto step = job.steps().planned(confined);
  const auto step_shared = job.steps().planned(shared);
  if (!memory || !memory_shared || !step || !step_shared) return {};
  return {fmt::format("{}: {:.1f} GiB a GPU more, {}; {}", confinement(confined, shards(shared)),
                      in_gib(needed(*memory)) - in_gib(needed(*memory_shared)), memory_text(*memory),
                      longer(step->step, step_shared->step))};
}

}  // namespace goodput
