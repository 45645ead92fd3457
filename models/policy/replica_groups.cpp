#include "models/policy/replica_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace goodput {
namespace {

std::int64_t gpus_of_replica(const ParallelPlan& plan) {
  return std::int64_t{plan.pp} * plan.tp * plan.cp;
}

// GPUs over which ZeRO shards what each of them would hold.
std::int64_t shards(const ParallelPlan& plan) {
  return std::int64_t{plan.dp} / plan.sharding_instances() * plan.cp;
}

constexpr const char* kSharded[] = {"nothing", "the optimizer state", "the optimizer state and gradients",
                                    "the optimizer state, gradients and parameters"};

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
    return fmt::format("holds {} unsharded on every GPU, not sharded over {} GPUs", sharded, shared_over);
  return fmt::format("shards {} over {} GPUs within a replica group, not over {} GPUs", sharded,
                     shards(confined), shared_over);
}

std::string memory_text(const auto& memory) {
  if (!memory.fits()) return memory.verdict();
  return fmt::format("{:.1f} of {:.1f} GiB", in_gib(needed(memory)), in_gib(memory.available));
}

Result<ReplicaGroupSize> replica_group(const ParallelPlan& plan, std::int32_t nodes, std::int64_t most_nodes,
                                       const TrainingPlan& base) {
  const std::int64_t per_node = base.cluster.gpus_per_node;
  const std::int64_t together = gpus_of_replica(plan) * replicas_together(plan);
  const std::int64_t least = nodes_filled_by(together, base);
  const std::int64_t asked = nodes > 0 ? nodes : least;
  if (asked % least != 0) {
    return Error{
        fmt::format("must be a multiple of {}, not {}, so that whole replicas of {} GPUs fill the nodes",
                    least, nodes, together),
        {.pointer = "/nodes_per_replica"}};
  }
  if (nodes > most_nodes) {
    return Error{fmt::format("is {}, but the job has only {} nodes", nodes, most_nodes),
                 {.pointer = "/nodes_per_replica"}};
  }
  if (asked > most_nodes) {
    return Error{fmt::format("are too few: {} nodes cannot hold one replica group, which takes {} nodes",
                             most_nodes, asked)};
  }
  return ReplicaGroupSize{static_cast<std::int32_t>(asked),
                          static_cast<std::int32_t>(asked * per_node / gpus_of_replica(plan))};
}

// The plan in so many groups: ZeRO shards within each, or within parts of it as the plan's own instances do.
ParallelPlan in_groups(const ParallelPlan& base, const ReplicaGroupSize& group, std::int64_t groups,
                       const StepBatch& batch) {
  const std::int32_t together = base.dp / base.sharding_instances();  // replicas of an instance of the plan
  const std::int64_t replicas = groups * group.replicas;
  ParallelPlan plan = base;
  plan.dp = static_cast<std::int32_t>(replicas);
  plan.zero_instances =
      group.replicas % together == 0 ? plan.dp / together : static_cast<std::int32_t>(groups);
  plan.global_batch = replicas * plan.micro_batch * batch.micro_batches(replicas);
  return plan;
}

// `nodes` ascend.
bool holds(const std::vector<NodeId>& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}
bool holds_any(const std::vector<NodeId>& nodes, const std::vector<NodeId>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](NodeId node) { return holds(nodes, node); });
}

}  // namespace

Result<ReplicaGroupSize> replica_group(const JobModel& job, std::int32_t nodes) {
  Result<ReplicaGroupSize> group = replica_group(job.plan().parallel, nodes, job.most_nodes(), job.plan());
  const bool is_of_nodes = !group && group.error().where.pointer.empty();
  return is_of_nodes ? job.error_of_nodes(group.error().what) : std::move(group);
}

PlanLimits limits_of_replica_groups(std::int32_t nodes, const TrainingPlan& base) {
  return {.check = [nodes, &base](const ParallelPlan& plan) -> Status {
            const auto group = replica_group(plan, nodes, nodes_of(plan, base), base);
            return group ? Status(Ok{}) : Status(group.error());
          },
          .placed =
              [nodes, &base](const ParallelPlan& plan) {
                const std::int64_t all = nodes_of(plan, base);
                const auto group = replica_group(plan, nodes, all, base);
                GOODPUT_CHECK(group.has_value(), "a plan that passed the check has replica groups");
                const StepBatch batch(plan, BatchRule::kFixed);
                return PlacedPlan{in_groups(plan, *group, all / group->nodes, batch)};
              }};
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
  return in_groups(job_->plan().parallel, group_, groups, job_->steps().batch());
}

Result<StepTime> ReplicaGroupSpeed::compute(std::int32_t nodes, std::int64_t /*step*/, double slowest) const {
  const std::int32_t used = usable(nodes);
  if (used == 0) return job_->steps().dense(nodes);  // says what of it is too few
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  const ParallelPlan plan = plan_of(used / group_.nodes);
  GOODPUT_TRY(StepTime step, job_->timed().planned(plan, settings));
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
  const auto step = job.timed().planned(confined, {});
  const auto step_shared = job.timed().planned(shared, {});
  if (!memory || !memory_shared || !step || !step_shared) return {};
  return {fmt::format("{}; this takes {:.1f} GiB more per GPU ({}), and {}",
                      confinement(confined, shards(shared)),
                      in_gib(needed(*memory)) - in_gib(needed(*memory_shared)), memory_text(*memory),
                      longer(step->step, step_shared->step))};
}

ReplicaGroups::ReplicaGroups(const RestartJob& job, const ReplicaGroupSpeed& speed,
                             const RejoinSettings& settings)
    : job_(&job),
      speed_(&speed),
      settings_(&settings),
      choice_(job.options.slow_nodes),
      share_of_node_{checkpoint_bytes(*job.job, job.options.checkpoint).value / speed.group().nodes} {}

void ReplicaGroups::place(std::span<const NodeId> used) {
  const auto nodes = static_cast<std::size_t>(speed_->group().nodes);
  groups_.clear();
  starting_.clear();
  for (; used.size() >= nodes; used = used.subspan(nodes))
    groups_.push_back({{used.begin(), used.begin() + static_cast<std::ptrdiff_t>(nodes)}});
}

std::optional<Regrouped> ReplicaGroups::go_on(const Remains& remains) {
  if (!remains.job.was_interrupted) {
    for (Group& group : groups_) group.has_state = true;
  }
  const std::size_t before = groups_.size();
  stop_broken(remains);
  const std::size_t stopped = before - groups_.size();
  if (std::none_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.has_state; }))
    return std::nullopt;
  const std::size_t left = groups_.size();
  join_ready(remains.job);
  const std::size_t usable = usable_groups(groups_.size());
  if (usable == 0) return std::nullopt;
  groups_.resize(usable);  // the rest idles: those who joined last
  Regrouped result = regrouped(remains, stopped, usable - std::min(usable, left));
  start_groups(remains.job,
               remains.job.now + (remains.has_lost ? settings_->migration.detect : SimDuration{}));
  return result;
}

Regrouped ReplicaGroups::regrouped(const Remains& remains, std::size_t stopped, std::size_t joined) const {
  const MigrationTiming& migration = settings_->migration;
  Regrouped result;
  result.grows = joined > 0 && stopped == 0 && !remains.has_lost;
  NodeSet used;
  for (const Group& group : groups_) {
    for (const NodeId node : group.nodes) used.insert(node);
  }
  result.nodes.assign(used.begin(), used.end());
  if (remains.has_lost) result.phases.add(TimeBucket::kInfrastructureRecovery, migration.detect);
  result.phases.add(result.grows ? TimeBucket::kElasticScaleUp : TimeBucket::kElasticSliceDown,
                    migration.regroup);
  const auto senders = static_cast<std::size_t>(
      std::count_if(groups_.begin(), groups_.end(), [](const Group& group) { return group.has_state; }));
  result.phases.add(TimeBucket::kElasticReinitialization, transfer(groups_.size() - senders, senders));
  return result;
}

// Those with a node that is gone, or that makes room for a healthy one.
void ReplicaGroups::stop_broken(const Remains& remains) {
  std::vector<NodeId> stays(remains.left.begin(), remains.left.end());
  if (job_->options.slow_nodes.action == SlowNodeAction::kSwap) {
    std::vector<NodeId> chosen;
    choice_.choose(*remains.job.members, static_cast<std::int32_t>(stays.size()), remains.left, chosen);
    std::erase_if(stays, [&](NodeId node) { return !holds(chosen, node); });
  }
  std::vector<NodeId> goes;
  std::set_difference(remains.used.begin(), remains.used.end(), stays.begin(), stays.end(),
                      std::back_inserter(goes));
  std::erase_if(groups_, [&](const Group& group) { return holds_any(group.nodes, goes); });
}

bool ReplicaGroups::is_whole(const std::vector<NodeId>& nodes, const Membership& members) const {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return choice_.may_use(members, node); });
}

void ReplicaGroups::join_ready(const JobState& job) {
  for (Starting& group : starting_) {
    if (group.ready > job.now) continue;
    groups_.push_back({std::exchange(group.nodes, {}), settings_->catch_up == CatchUp::kBeside});
  }
  std::erase_if(starting_, [](const Starting& group) { return group.nodes.empty(); });
}

void ReplicaGroups::note_change(const JobView& job, const NodeChange& change) {
  std::erase_if(starting_, [&](const Starting& group) {
    return holds_any(group.nodes, change.lost) || !is_whole(group.nodes, *job.members);
  });
  const bool breaks = std::any_of(groups_.begin(), groups_.end(),
                                  [&](const Group& group) { return holds_any(group.nodes, change.lost); });
  if (breaks) return;  // go_on() is next
  start_groups(job, job.now + (change.lost.empty() ? SimDuration{} : settings_->migration.detect));
}

// As many as the job can use, each a whole one.
void ReplicaGroups::start_groups(const JobView& job, SimTime from) {
  const auto nodes = static_cast<std::size_t>(speed_->group().nodes);
  const std::size_t placed = groups_.size() + starting_.size();
  if (static_cast<std::size_t>(job.members->count()) < (placed + 1) * nodes) return;
  const std::vector<NodeId> idle = without_place(*job.members);
  const std::size_t usable = usable_groups(placed + idle.size() / nodes);
  if (usable <= placed) return;
  const SimTime ready =
      from + settings_->rejoin +
      (settings_->catch_up == CatchUp::kBeside ? transfer(usable - placed, groups_.size()) : SimDuration{});
  for (std::size_t i = 0; i < usable - placed; ++i) {
    const auto first = idle.begin() + static_cast<std::ptrdiff_t>(i * nodes);
    Starting group{{first, first + static_cast<std::ptrdiff_t>(nodes)}, ready};
    std::sort(group.nodes.begin(), group.nodes.end());
    starting_.push_back(std::move(group));
  }
}

// Healthy ones first, where slow ones are not kept.
std::vector<NodeId> ReplicaGroups::without_place(const Membership& members) const {
  NodeSet others = members.nodes();
  std::vector<NodeId> placed;
  for (const Group& group : groups_) placed.insert(placed.end(), group.nodes.begin(), group.nodes.end());
  for (const Starting& group : starting_) placed.insert(placed.end(), group.nodes.begin(), group.nodes.end());
  others.erase(placed);
  std::vector<NodeId> idle;
  std::copy_if(others.begin(), others.end(), std::back_inserter(idle),
               [&](NodeId node) { return choice_.may_use(members, node); });
  const SlowNodeRule& rule = job_->options.slow_nodes;
  if (rule.action != SlowNodeAction::kKeep) {
    std::stable_partition(idle.begin(), idle.end(),
                          [&](NodeId node) { return members.speed(node) >= rule.threshold; });
  }
  return idle;
}

// Every node of a group sends its share to its like of another; groups take turns where more want it.
SimDuration ReplicaGroups::transfer(std::size_t receivers, std::size_t senders) const {
  if (receivers == 0 || senders == 0) return {};
  const auto turns = static_cast<std::int64_t>((receivers + senders - 1) / senders);
  return settings_->migration.transfer_setup + share_of_node_ * turns / settings_->migration.node;
}

std::size_t ReplicaGroups::usable_groups(std::size_t groups) const {
  const std::int32_t nodes = speed_->group().nodes;
  return static_cast<std::size_t>(speed_->usable(static_cast<std::int32_t>(groups) * nodes) / nodes);
}

SimTime ReplicaGroups::ready_after(SimTime time) const {
  SimTime next = kNoTime;
  for (const Starting& group : starting_) {
    if (group.ready > time) next = std::min(next, group.ready);
  }
  return next;
}

bool ReplicaGroups::is_ready(SimTime now) const {
  const auto ready = static_cast<std::size_t>(std::count_if(
      starting_.begin(), starting_.end(), [now](const Starting& group) { return group.ready <= now; }));
  return ready > 0 && usable_groups(groups_.size() + ready) > groups_.size();
}

}  // namespace goodput
