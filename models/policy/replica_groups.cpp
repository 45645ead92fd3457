#include "models/policy/replica_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace goodput {
namespace {

// `nodes` ascend.
bool holds(const std::vector<NodeId>& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}
bool holds_any(const std::vector<NodeId>& nodes, const std::vector<NodeId>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](NodeId node) { return holds(nodes, node); });
}

}  // namespace

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
  for (const Group& group : groups_)
    result.nodes.insert(result.nodes.end(), group.nodes.begin(), group.nodes.end());
  std::sort(result.nodes.begin(), result.nodes.end());
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
  std::vector<NodeId> placed;
  for (const Group& group : groups_) placed.insert(placed.end(), group.nodes.begin(), group.nodes.end());
  for (const Starting& group : starting_) placed.insert(placed.end(), group.nodes.begin(), group.nodes.end());
  std::sort(placed.begin(), placed.end());
  std::vector<NodeId> idle;
  std::copy_if(members.nodes().begin(), members.nodes().end(), std::back_inserter(idle),
               [&](NodeId node) { return !holds(placed, node) && choice_.may_use(members, node); });
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
