// Lazarus (arXiv 2407.04656): elastic training of mixtures of experts. Experts have as many replicas as their
// load asks for, placed so that all survive as many losses as possible. After a loss the nodes that are left
// plan anew, fetch from each other what they lack, and go on with the step that was cut short. Only when an
// expert is lost with all its replicas the job restarts from a checkpoint.
//
// The paper's section 5 leaves plans with pipeline stages to techniques like Oobleck's. Here the experts of a
// stage are placed on that stage's nodes. A loss is made up for by the other nodes of the stage or by one of
// a stage that has more (models/policy/lazarus_stages.h), so that no stage is more than a unit of nodes
// short.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/job/misfit_warnings.h"
#include "models/job/step_batch.h"
#include "models/migration/reconfiguration.h"
#include "models/policy/job_warnings.h"
#include "models/policy/lazarus_placements.h"
#include "models/policy/lazarus_stages.h"
#include "models/policy/node_choice.h"
#include "models/policy/policy.h"
#include "models/policy/policy_options.h"
#include "models/policy/restart_options.h"

namespace goodput {
namespace {

struct LazarusOptions {
  LazarusRules rules{};
  ReconfigurationTiming migration{};
  StepSettings step{};
  RestartTiming restart{};
  CheckpointSettings checkpoint{.interval_steps = 0};
  SlowNodeRule slow_nodes{};
  std::int64_t rebalance_steps = 200;
  SimDuration gather = from_seconds(120);
  Tier tier = Tier::kAssumed;
};

class LazarusPolicy final : public RecoveryPolicy {
 public:
  LazarusPolicy(const JobModel& job, const LazarusOptions& options, const LazarusPlacements& placements,
                const RunKey& run)
      : job_(&job),
        options_(&options),
        placements_(&placements),
        choice_(options.slow_nodes),
        draws_(run.seed, run.trial),
        bytes_(checkpoint_bytes(job, options.checkpoint)) {}

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override {
    const ChangeImpact impact = impact_of(change, used_);
    for (const NodeId node : change.lost) forget(node);
    if (is_waiting_) return usable(job) > 0 ? Response::kInterrupt : Response::kIgnore;
    if (impact.loses) {
      has_lost_ = true;
      lost_at_ = job.now;
      return Response::kInterrupt;
    }
    if (impact.offers && wake_at_ == kNoTime) wake_at_ = job.now + options_->gather;
    const bool may_swap =
        impact.offers && options_->slow_nodes.action == SlowNodeAction::kSwap && slowest_ < 1;
    return impact.slows || may_swap ? Response::kAtStepEnd : Response::kIgnore;
  }

  [[nodiscard]] Response on_wake(const JobView& job) override {
    wake_at_ = kNoTime;
    if (!could_grow(job)) return Response::kIgnore;
    is_growing_ = true;
    return Response::kAtStepEnd;
  }
  [[nodiscard]] SimTime wake_at() const override { return wake_at_; }

  [[nodiscard]] Course decide(const JobState& job) override {
    if (!job.was_interrupted && next_) held_ = std::move(*next_);
    if (!job.was_interrupted && !is_waiting_) must_restart_ = false;
    next_.reset();
    const std::int32_t nodes = usable(job);
    if (nodes == 0) return wait(job);
    if (!has_begun_) return start(job, nodes);
    if (must_restart_) return restart(job, nodes);
    is_growing_ = is_growing_ && could_grow(job);  // who joined may be gone again
    give_up_slow_nodes(job, nodes);
    if (held_.are_whole() && !is_growing_ && !has_lost_) return rebalance(job);
    return reconfigure(job, nodes);
  }

  [[nodiscard]] Pace pace(std::int64_t step) override {
    const auto [window, end] = job_->routing().stretch(step);
    return {placements_->step(placement_, window, slowest_).step, end};
  }

  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t /*steps*/) const override {
    return {{"experts_moved", static_cast<double>(experts_moved_)},
            {"most_experts_moved", static_cast<double>(most_experts_moved_)},
            {"longest_reconfiguration_s", to_seconds(longest_reconfiguration_)},
            {"longest_rebalancing_s", to_seconds(longest_rebalancing_)}};
  }

 private:
  [[nodiscard]] std::int32_t usable(const JobView& job) const {
    return placements_->usable(choice_.available(*job.members));
  }
  [[nodiscard]] bool could_grow(const JobView& job) const {
    const auto used = static_cast<std::int32_t>(used_.size());
    return !is_waiting_ && placements_->narrowest(usable(job)) > placements_->narrowest(used);
  }

  void forget(NodeId node) {
    held_.forget(node);
    if (next_) next_->forget(node);
  }

  // Evicted ones, and those that a healthy one takes the place of: as long as no expert is lost by that.
  void give_up_slow_nodes(const JobState& job, std::int32_t nodes) {
    std::vector<NodeId> chosen;
    if (options_->slow_nodes.action == SlowNodeAction::kSwap)
      choice_.choose(*job.members, nodes, held_.left(), chosen);
    for (const NodeId node : held_.left()) {
      if (!choice_.may_use(*job.members, node)) {
        held_.forget(node);
      } else if (!chosen.empty() && !std::binary_search(chosen.begin(), chosen.end(), node) &&
                 job.members->speed(node) < options_->slow_nodes.threshold) {
        ExpertHolders without = held_;
        without.forget(node);
        if (hold_every_expert(*placements_, without)) held_ = std::move(without);
      }
    }
  }

  Course wait(const JobState& job) {
    is_waiting_ = must_restart_ = true;  // fewer slots than experts: some are lost
    is_growing_ = false;
    wake_at_ = kNoTime;
    used_.clear();
    Course course;
    course.kind = Course::Kind::kWait;
    course.from = ResumeFrom::kStorage;
    course.reason =
        nodes_needed(placements_->least_usable(), choice_.available(*job.members) < job.members->count());
    return course;
  }

  Course start(const JobState& job, std::int32_t nodes) {
    take_any(job, nodes, ResumeFrom::kHere);
    has_begun_ = must_restart_ = true;  // until it is done nobody holds anything
    is_waiting_ = has_lost_ = false;
    Phases phases;
    if (job_->start() == JobStart::kCold) phases.add(TimeBucket::kProgramStartup, options_->restart.startup);
    return train(job, Cause::kStart, ResumeFrom::kHere, phases);
  }

  Course restart(const JobState& job, std::int32_t nodes) {
    Phases phases;
    // It was not noticed before, even if those that are needed are there again by now.
    if (has_lost_)
      phases.add(TimeBucket::kInfrastructureRecovery, lost_at_ + options_->restart.detect - job.now);
    phases.add(TimeBucket::kProgramStartup, options_->restart.startup);
    phases.add(TimeBucket::kCheckpointRestore, bytes_ / options_->checkpoint.read);
    take_any(job, nodes, ResumeFrom::kStorage);
    must_restart_ = true;  // until it is done
    is_waiting_ = is_growing_ = has_lost_ = false;
    return train(job, Cause::kRestart, ResumeFrom::kStorage, phases);
  }

  // Everybody loads what the placement gives to its place.
  void take_any(const JobState& job, std::int32_t nodes, ResumeFrom from) {
    std::vector<NodeId> chosen;
    choice_.choose(*job.members, nodes, {}, chosen);
    next_ = load_all(*placements_, chosen, job_->routing().window_at(job.step_from(from)));
  }

  // The nodes stay the same; experts move where loads have changed, at a step that is due for it.
  Course rebalance(const JobState& job) {
    const std::int64_t every = options_->rebalance_steps;
    const bool is_due = every > 0 && job.step % every == 0;
    const std::size_t window =
        is_due ? job_->routing().window_at(job.step) : placements_->window(held_.stages.front().placement);
    StageMoves moves =
        move_stages(*placements_, held_, {}, static_cast<std::int32_t>(held_.left().size()), window);
    GOODPUT_CHECK(moves.are_possible, "nodes that hold every expert can move them");
    Phases phases;
    const bool moves_any = moves.experts > 0;
    if (moves_any) {
      phases.add(TimeBucket::kExpertRebalancing, moves.plan + moves.transfer);
      longest_rebalancing_ = std::max(longest_rebalancing_, moves.plan + moves.transfer);
    }
    take_places(std::move(moves));
    return train(job, moves_any ? Cause::kRebalancing : Cause::kNone, ResumeFrom::kHere, phases);
  }

  // On other nodes, because some were lost or because some joined.
  Course reconfigure(const JobState& job, std::int32_t nodes) {
    const std::vector<NodeId> left = held_.left();
    choice_.choose(*job.members, nodes, left, used_);
    std::vector<NodeId> joined;
    std::ranges::set_difference(used_, left, std::back_inserter(joined));
    StageMoves moves = move_stages(*placements_, held_, joined, nodes, job_->routing().window_at(job.step));
    if (!moves.are_possible) return restart(job, nodes);
    const bool grows = held_.are_whole() && !has_lost_;
    const auto [detect, regroup] = draws_.next(options_->migration, has_lost_);
    const MigrationTime time{detect, regroup, moves.plan, moves.transfer};
    Phases phases;
    if (has_lost_) phases.add(TimeBucket::kInfrastructureRecovery, time.detect);
    phases.add(grows ? TimeBucket::kElasticScaleUp : TimeBucket::kElasticSliceDown, time.regroup + time.plan);
    phases.add(TimeBucket::kElasticReinitialization, time.transfer);
    if (!grows) longest_reconfiguration_ = std::max(longest_reconfiguration_, time.total());
    take_places(std::move(moves));
    is_growing_ = has_lost_ = false;
    return train(job, grows ? Cause::kScaleUp : Cause::kReconfiguration, ResumeFrom::kHere, phases);
  }

  void take_places(StageMoves&& moves) {
    next_ = std::move(moves.next);
    experts_moved_ += moves.experts;
    most_experts_moved_ = std::max(most_experts_moved_, moves.experts);
  }

  // With next_, as soon as the phases are over.
  Course train(const JobState& job, Cause cause, ResumeFrom from, const Phases& phases) {
    used_ = next_->left();
    placement_ = placements_->placement(placements_->narrowest(static_cast<std::int32_t>(used_.size())),
                                        placements_->window(next_->stages.front().placement));
    slowest_ = job.members->slowest(used_);
    if (cause != Cause::kNone && cause != Cause::kRebalancing) wake_at_ = kNoTime;
    const std::int64_t step = job.step_from(from);
    const StepTime time = placements_->step(placement_, job_->routing().window_at(step), slowest_);
    Course course;
    course.cause = cause;
    course.from = from;
    course.phases = phases;
    course.nodes = used_;
    course.samples_per_step = time.samples;
    const auto nodes = static_cast<std::int32_t>(used_.size());
    course.checkpoints[1] = checkpoint_rule(options_->checkpoint, {save_times(), bytes_}, time,
                                            restart_time(), mtbf_s(options_->checkpoint, *job_, nodes));
    course.decide_at_step = next_rebalancing(step);
    return course;
  }

  [[nodiscard]] SaveTimes save_times() const {
    return whole_save_times(options_->checkpoint, bytes_, static_cast<std::int32_t>(used_.size()));
  }
  [[nodiscard]] SimDuration restart_time() const {
    return options_->restart.detect + options_->restart.startup + bytes_ / options_->checkpoint.read;
  }

  // The first one behind `step` by which loads are others than those of the placement.
  [[nodiscard]] std::int64_t next_rebalancing(std::int64_t step) const {
    const std::int64_t every = options_->rebalance_steps;
    const bool have_changed = job_->routing().window_at(step) != placements_->window(placement_);
    const std::int64_t change = have_changed ? step : job_->routing().window_end(step);
    if (every == 0 || change > kNoStep - every) return kNoStep;
    return (std::max(step, change - 1) / every + 1) * every;
  }

  const JobModel* job_;
  const LazarusOptions* options_;
  const LazarusPlacements* placements_;
  NodeChoice choice_;
  ReconfigurationDraws draws_;
  Bytes bytes_;  // of a whole checkpoint

  ExpertHolders held_;                            // who holds the state
  std::optional<ExpertHolders> next_;             // who will, once the phases are over
  LazarusPlacements::PlacementId placement_ = 0;  // of the stages with fewest nodes
  std::vector<NodeId> used_;                      // ascending
  double slowest_ = 1;
  bool has_begun_ = false;
  bool has_lost_ = false;      // a node in use, and nothing has been done about it
  SimTime lost_at_{};          // the last of them
  bool must_restart_ = false;  // no node holds anything that is worth going on with
  bool is_waiting_ = false;
  bool is_growing_ = false;  // those that joined have been gathered
  SimTime wake_at_ = kNoTime;

  std::int64_t experts_moved_ = 0;
  std::int64_t most_experts_moved_ = 0;
  SimDuration longest_reconfiguration_{};
  SimDuration longest_rebalancing_{};
};

config::Fields config_fields(LazarusOptions& options, const PolicyContext& context) {
  using config::Need;
  const auto same_loads = [changes = context.changes_loads] {
    return changes ? "" : "expert loads never change";
  };
  LazarusRules& rules = options.rules;
  return {
      {"slots_per_gpu", Need::kOptional, config::integer(rules.slots_per_gpu, 1, 1024),
       "number of experts per layer that a GPU holds"},
      {"allocation", Need::kOptional, config::choice(rules.allocation, kAllocationNames),
       "how the number of replicas per expert is chosen: Lazarus' Eq. 1, DeepSeek's EPLB, or balanced (see "
       "`goodput placement`)"},
      {"plan", Need::kOptional, config::choice(rules.rule, kPlacementRuleNames),
       "how expert replicas are placed (see `goodput placement`)"},
      {"min_replicas", Need::kOptional, config::integer(rules.min_replicas, 1, 1024),
       "minimum number of replicas per expert, if there are enough slots"},
      {"mapping", Need::kOptional, config::choice(rules.mapping, kMappingRuleNames),
       "how nodes are assigned to the node positions of a new placement"},
      {"rebalance_steps", Need::kOptional, config::integer(options.rebalance_steps, 0, 1'000'000),
       "number of steps after which experts are placed again to follow their loads; 0: never", same_loads},
      {"gather_s", Need::kOptional, config::number(options.gather, kPolicySeconds, from_seconds(1)),
       "time from when the first node joins until the job uses the joined nodes"},
      {"migration", Need::kOptional, config::object(options.migration), "how long a reconfiguration takes"},
      {"restart", Need::kOptional, config::object(options.restart),
       "how long a restart from a checkpoint takes"},
      {"checkpoint", Need::kOptional, checkpoint_value(options.checkpoint, {}),
       "how checkpoints are written and read; none are written unless interval_steps is given"},
      slow_nodes_field(options.slow_nodes, context),
      {"step_overhead_s", Need::kOptional,
       config::number(options.step.step_overhead, kPolicySeconds, from_seconds(1)),
       "extra time per step, added to the computed step time"},
      config::tier(options.tier)};
}

std::vector<std::string> saving_warnings(const CheckpointSettings& checkpoint) {
  if (checkpoint.rule != IntervalRule::kFixed || checkpoint.interval_steps > 0) return {};
  return {"writes no checkpoints: if all replicas of an expert are lost, training starts over"};
}

std::vector<std::string> idle_warnings(const JobModel& job, const LazarusPlacements& placements) {
  return idle_node_warnings(
      job, [&placements](std::int32_t nodes) { return placements.whole(nodes); },
      [&placements](std::int32_t nodes) { return placements.usable(nodes); });
}

Result<std::unique_ptr<PreparedPolicy>> prepare_lazarus(const LazarusOptions& options, const JobModel& job) {
  if (!job.has_experts()) return Error{"the model has no experts; choose another policy"};
  GOODPUT_TRY_STATUS(in_file_of(job.plan(), check_unsharded(job.plan().parallel)));
  GOODPUT_TRY_STATUS(job.steps().check_flexible());
  if (const Status known = check_interval(options.checkpoint, job); !known)
    return known.error().inside("/checkpoint");
  const ModuleBytes bytes = checkpoint_modules(job, options.checkpoint);
  const Bytes dense = options.migration.dense_state ? bytes.dense_total() : Bytes{};
  auto placements = std::make_unique<LazarusPlacements>(
      job, options.rules, options.step, options.migration.moves, bytes.expert_each.front(), dense);
  if (placements->least_nodes() > job.most_nodes()) {
    const std::string stages =
        placements->stages() == 1 ? "" : fmt::format(" of {} pipeline stages", placements->stages());
    return job.error_of_nodes(
        fmt::format("{} nodes cannot hold all experts{}, which need {} nodes with slots_per_gpu {}",
                    job.most_nodes(), stages, placements->least_nodes(), options.rules.slots_per_gpu));
  }
  const std::int32_t most = placements->usable(job.most_nodes());
  if (most == 0) {
    return job.error_of_nodes(fmt::format(
        "{} nodes cannot hold a whole replica of the plan with all experts and its batch", job.most_nodes()));
  }
  // One step on all nodes, so that what cannot be timed is known before any run.
  GOODPUT_TRY(const StepTime step, placements->check(most));
  const std::int32_t slots = options.rules.slots_per_gpu * job.plan().cluster.gpus_per_node;
  std::vector<std::string> warnings =
      misfit_warnings(job.steps().flexible_memory(placements->narrowest(most), slots));
  const bool fits = warnings.empty();
  append(saving_warnings(options.checkpoint), warnings);
  append(routing_warnings(job, true), warnings);
  append(too_few_nodes_warnings(job, placements->least_usable()), warnings);
  append(idle_warnings(job, *placements), warnings);
  return prepared_policy(
      lowest(options.tier, step.tier), std::move(warnings),
      [&job, options,
       placements = std::move(placements)](const RunKey& run) -> std::unique_ptr<RecoveryPolicy> {
        return std::make_unique<LazarusPolicy>(job, options, *placements, run);
      },
      fits, step.step);
}

// Nodes of a stage, on the plan's own nodes: as LazarusPlacements counts them. 0: they do not hold all
// experts.
std::int64_t stage_nodes(const LazarusOptions& options, const ParallelPlan& plan, const TrainingPlan& base) {
  const std::int64_t gpus = base.cluster.gpus_per_node;
  const std::int64_t of_stage = std::int64_t{plan.tp} * plan.cp;
  const std::int64_t unit = nodes_filled_by(of_stage, base);
  const auto in_units = [unit](std::int64_t nodes) { return (nodes + unit - 1) / unit * unit; };
  const std::int64_t narrow = nodes_of(plan, base) / unit / plan.pp * unit;
  const std::int64_t slots = gpus * options.rules.slots_per_gpu;
  const std::int64_t holding = in_units((base.model.moe->experts + slots - 1) / slots);
  if (narrow < holding) return 0;
  const StepBatch batch(plan, BatchRule::kFixed);
  const std::int64_t training = batch.fewest_replicas(narrow * gpus / of_stage) * of_stage;
  return std::max(holding, std::min(narrow, in_units((training + gpus - 1) / gpus)));
}

// Any expert may be on any GPU of its stage.
PlacedPlan placed_anywhere(const LazarusOptions& options, const ParallelPlan& plan,
                           const TrainingPlan& base) {
  const std::int64_t gpus = stage_nodes(options, plan, base) * base.cluster.gpus_per_node;
  PlacedPlan placed{plan, {options.rules.slots_per_gpu, true}};
  const std::int64_t replicas = gpus / (std::int64_t{plan.tp} * plan.cp);
  placed.parallel.dp = static_cast<std::int32_t>(replicas);
  placed.parallel.ep = static_cast<std::int32_t>(gpus);
  placed.parallel.global_batch =
      replicas * plan.micro_batch * StepBatch(plan, BatchRule::kFixed).micro_batches(replicas);
  return placed;
}

Status check_lazarus_plan(const LazarusOptions& options, const ParallelPlan& plan, const TrainingPlan& base) {
  GOODPUT_TRY_STATUS(check_unsharded(plan));
  GOODPUT_TRY_STATUS(check_flexible(plan));
  if (stage_nodes(options, plan, base) == 0) {
    return Error{
        fmt::format("the nodes of each of the {} pipeline stages cannot hold all {} experts with "
                    "slots_per_gpu {}",
                    plan.pp, base.model.moe->experts, options.rules.slots_per_gpu)};
  }
  return check_whole_experts(placed_anywhere(options, plan, base).parallel);
}

Result<PlanLimits> lazarus_limits(const LazarusOptions& options, const TrainingPlan& base) {
  if (!base.model.moe) return Error{"the model has no experts; choose another policy"};
  return PlanLimits{
      .etp = 1,
      .check = [&](const ParallelPlan& plan) { return check_lazarus_plan(options, plan, base); },
      .placed = [&](const ParallelPlan& plan) { return placed_anywhere(options, plan, base); }};
}

}  // namespace

PolicyInfo policy_lazarus() {
  return {
      "lazarus",
      "replicates experts by load, places the replicas to survive losses, and continues without a restart",
      [] { return policy_setup(LazarusOptions{}, prepare_lazarus, lazarus_limits); }};
}

}  // namespace goodput
