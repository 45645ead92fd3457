#include "models/policy/shard_policy.h"

#include <algorithm>

namespace goodput {
namespace {

// A group of `nodes_of_group` nodes has all experts; node number k of a group holds shard k.
class FaultTolerantPolicy final : public RestartPolicy {
 public:
  struct Shards {
    std::int32_t nodes_of_group = 1;
    Bytes bytes{};  // of one
  };

  FaultTolerantPolicy(const JobModel& job, const RestartSettings& settings, TrainingSpeed& speed,
                      const MigrationTiming& migration, const Shards& shards)
      : RestartPolicy(job, settings, speed), migration_(&migration), shards_(shards) {}

 private:
  // Every node knows its place: groups are consecutive nodes.
  void note_nodes() override {
    shard_of_.resize(used().size());
    for (std::size_t i = 0; i < shard_of_.size(); ++i)
      shard_of_[i] = static_cast<std::int32_t>(i) % shards_.nodes_of_group;
  }

  [[nodiscard]] Course go_on(const JobState& job, std::span<const NodeId> left) override {
    std::vector<std::vector<NodeId>> holders = holders_of_shards(left);
    const bool lost_shard =
        std::any_of(holders.begin(), holders.end(), [](const auto& nodes) { return nodes.empty(); });
    if (lost_shard) return {.kind = Course::Kind::kWait};
    const bool grows = left.size() == used().size();
    const std::vector<NodeId> idle = idle_nodes(job, left);
    const auto nodes = static_cast<std::int32_t>(left.size() + idle.size());
    const std::int32_t usable = speed().usable(nodes);
    // The same nodes again: to leave slow ones out takes a restart.
    if (usable == 0 || (grows && usable <= node_count())) return {.kind = Course::Kind::kWait};
    const auto groups = static_cast<std::size_t>(usable / shards_.nodes_of_group);
    Phases phases;
    if (has_lost()) phases.add(TimeBucket::kInfrastructureRecovery, from_seconds(migration_->detect_s));
    phases.add(grows ? TimeBucket::kElasticScaleUp : TimeBucket::kElasticSliceDown,
               from_seconds(migration_->regroup_s));
    phases.add(TimeBucket::kElasticReinitialization, fill_groups(holders, idle, groups));
    assign(holders);
    return train(job, grows ? Cause::kScaleUp : Cause::kReconfiguration, ResumeFrom::kHere, phases);
  }

  // That may take shards of others: none, unless nodes are gathered.
  [[nodiscard]] std::vector<NodeId> idle_nodes(const JobState& job, std::span<const NodeId> left) const {
    std::vector<NodeId> idle;
    if (settings().absorb != Absorb::kGathered) return idle;
    for (const NodeId node : job.members->nodes()) {
      if (choice().may_use(*job.members, node) && !std::binary_search(left.begin(), left.end(), node))
        idle.push_back(node);
    }
    return idle;
  }

  [[nodiscard]] std::vector<std::vector<NodeId>> holders_of_shards(std::span<const NodeId> left) const {
    std::vector<std::vector<NodeId>> holders(static_cast<std::size_t>(shards_.nodes_of_group));
    for (std::size_t i = 0; i < used().size(); ++i) {
      if (std::binary_search(left.begin(), left.end(), used()[i]))
        holders[static_cast<std::size_t>(shard_of_[i])].push_back(used()[i]);
    }
    return holders;
  }

  // Nodes beyond the number of groups, then `spare` ones, take shards that too few nodes hold. How long it
  // takes to send these: every holder of a shard sends to as many nodes as the others.
  [[nodiscard]] SimDuration fill_groups(std::vector<std::vector<NodeId>>& holders, std::vector<NodeId> spare,
                                        std::size_t groups) const {
    for (std::vector<NodeId>& nodes : holders) {
      for (; nodes.size() > groups; nodes.pop_back()) spare.push_back(nodes.back());
    }
    std::size_t most_sent = 0;
    for (std::vector<NodeId>& nodes : holders) {
      const std::size_t senders = nodes.size();
      most_sent = std::max(most_sent, (groups - senders + senders - 1) / senders);
      for (; nodes.size() < groups; spare.pop_back()) nodes.push_back(spare.back());
    }
    if (most_sent == 0) return {};
    return from_seconds(migration_->transfer_setup_s) + shards_.bytes * static_cast<std::int64_t>(most_sent) /
                                                            BytesPerSecond{migration_->node_gb_per_s * 1e9};
  }

  void assign(const std::vector<std::vector<NodeId>>& holders) {
    std::vector<std::pair<NodeId, std::int32_t>> places;
    for (std::size_t shard = 0; shard < holders.size(); ++shard) {
      for (const NodeId node : holders[shard]) places.emplace_back(node, static_cast<std::int32_t>(shard));
    }
    std::sort(places.begin(), places.end());
    std::vector<NodeId> nodes;
    shard_of_.clear();
    for (const auto& [node, shard] : places) {
      nodes.push_back(node);
      shard_of_.push_back(shard);
    }
    use(nodes);
  }

  const MigrationTiming* migration_;
  Shards shards_;
  std::vector<std::int32_t> shard_of_;  // by position in used()
};

}  // namespace

FaultTolerantSetup::FaultTolerantSetup() {
  settings().checkpoint.interval_steps = 250;
}

config::Fields FaultTolerantSetup::fields() {
  config::Fields fields = ExpertParallelSetup::fields();
  fields.push_back({"migration", config::Need::kOptional, config::object(migration_),
                    "how long it takes to go on without a restart; plan_s is not used"});
  return fields;
}

Status FaultTolerantSetup::prepare(const JobModel& job) {
  GOODPUT_TRY_STATUS(ExpertParallelSetup::prepare(job));
  const ModuleBytes bytes = module_bytes(job.modules(), settings().checkpoint.bytes_per_parameter);
  shard_ = Bytes{bytes.one_expert().value * bytes.experts / nodes_of_group()};
  return Ok{};
}

std::unique_ptr<RecoveryPolicy> FaultTolerantSetup::make() {
  return std::make_unique<FaultTolerantPolicy>(job(), settings(), speed(), migration_,
                                               FaultTolerantPolicy::Shards{nodes_of_group(), shard_});
}

}  // namespace goodput
