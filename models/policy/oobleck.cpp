// Pipeline-elastic training after Oobleck (SOSP 2023) and Bamboo (NSDI'23): nodes stand in pipelines of
// unequal length, every layer is in each of them. After a loss those that are left form new pipelines and
// fetch the layers they lack from each other; the batch stays the same. Only when all copies of a layer are
// lost the job restarts from a checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "models/migration/expert_migration.h"
#include "models/policy/pipeline_layouts.h"
#include "models/policy/policy.h"
#include "models/policy/restart_policy.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

struct OobleckOptions {
  RestartOptions restart{.absorb = Absorb::kGathered};
  std::int32_t nodes_per_pipeline = 0;
  MigrationTiming migration{};
};

config::Fields config_fields(OobleckOptions& options, const PolicyContext& context) {
  using config::Need;
  return joined(
      config_fields(options.restart, context,
                    {.saves_to_grow = false, .saves_to_swap = false, .dispatches = false}),
      {{"nodes_per_pipeline", Need::kOptional, config::integer(options.nodes_per_pipeline, 0),
        "number of nodes in the shortest pipeline; 0: as many as a replica of the plan has"},
       {"migration", Need::kOptional, config::object(options.migration), "time to form new pipelines"}});
}

// Step times of the pipelines that so many nodes form.
class PipelineSpeed final : public TrainingSpeed {
 public:
  // Keeps a reference to the job.
  PipelineSpeed(const JobModel& job, std::int32_t shortest, const StepSettings& settings)
      : layouts_(job, shortest, settings) {}

  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const override { return layouts_.usable(nodes); }
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const override { return layouts_.usable(nodes); }
  [[nodiscard]] Result<StepTime> compute(std::int32_t nodes, std::int64_t /*step*/,
                                         double slowest) const override {
    GOODPUT_TRY(const PipelineLayout layout, layouts_.lay_out(nodes, slowest));
    return layout.time;
  }
  [[nodiscard]] Stretch stretch(std::int64_t /*step*/) const override { return {0, kNoStep}; }
  [[nodiscard]] bool follows_routing() const override { return false; }
  [[nodiscard]] const PipelineLayouts& layouts() const { return layouts_; }
  [[nodiscard]] Status settle() { return layouts_.settle(); }

 private:
  PipelineLayouts layouts_;
};

// Which node holds which layers, and how they move when nodes are lost or join.
class Pipelines final : public Regrouping {
 public:
  // Keeps references; `speed` is the job's.
  Pipelines(const RestartJob& job, const PipelineSpeed& speed, const MigrationTiming& migration)
      : speed_(&speed),
        migration_(&migration),
        choice_(job.options.slow_nodes),
        layers_(job.job->plan().model.layers),
        layer_(checkpoint_bytes(*job.job, job.options.checkpoint).value / layers_) {}

  void place(std::span<const NodeId> used) override {
    used_.assign(used.begin(), used.end());
    held_ = speed_->layouts().at(static_cast<std::int32_t>(used.size())).layers_of_place;
  }

  [[nodiscard]] std::optional<Regrouped> go_on(const Remains& remains) override {
    forget_others(remains.left);
    if (!has_every_layer()) return std::nullopt;
    const std::int32_t nodes = speed_->usable(choice_.available(*remains.job.members));
    if (nodes == 0) return std::nullopt;
    Regrouped regrouped;
    regrouped.grows = !remains.has_lost && nodes > std::ssize(used_);
    choice_.choose(*remains.job.members, nodes, remains.left, regrouped.nodes);
    if (remains.has_lost) regrouped.phases.add(TimeBucket::kInfrastructureRecovery, migration_->detect);
    regrouped.phases.add(regrouped.grows ? TimeBucket::kElasticScaleUp : TimeBucket::kElasticSliceDown,
                         migration_->regroup + migration_->plan);
    regrouped.phases.add(TimeBucket::kElasticReinitialization, take_places(regrouped.nodes));
    return regrouped;
  }

 private:
  // Those that are not left hold nothing, even if they are back.
  void forget_others(std::span<const NodeId> left) {
    auto stays = left.begin();
    for (std::size_t i = 0; i < held_.size(); ++i) {
      while (stays != left.end() && *stays < used_[i]) ++stays;
      if (stays == left.end() || *stays != used_[i]) held_[i] = {};
    }
  }

  [[nodiscard]] bool has_every_layer() const {
    std::vector<bool> is_held(static_cast<std::size_t>(layers_));
    for (const LayerSpan span : held_)
      std::fill(is_held.begin() + span.first, is_held.begin() + span.end, true);
    return std::all_of(is_held.begin(), is_held.end(), [](bool held) { return held; });
  }

  // Nodes take the places of the new pipelines in the order of the layers they have, newcomers last. How long
  // the one waits that lacks most.
  SimDuration take_places(const std::vector<NodeId>& chosen) {
    const std::vector<LayerSpan>& places =
        speed_->layouts().at(static_cast<std::int32_t>(chosen.size())).layers_of_place;
    const std::vector<LayerSpan> has = held_by(chosen);
    const std::vector<std::size_t> order = by_first_layer(places);
    const std::vector<std::size_t> by_layer = by_first_layer(has);
    std::vector<LayerSpan> taken(chosen.size());
    std::int32_t most_lacking = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const LayerSpan wanted = places[order[i]];
      const LayerSpan held = has[by_layer[i]];
      const std::int32_t both =
          std::max(0, std::min(wanted.end, held.end) - std::max(wanted.first, held.first));
      most_lacking = std::max(most_lacking, wanted.end - wanted.first - both);
      taken[by_layer[i]] = wanted;
    }
    held_ = std::move(taken);
    used_ = chosen;
    if (most_lacking == 0) return {};
    return migration_->transfer_setup + Bytes{layer_} * most_lacking / migration_->node;
  }

  // What each of these nodes, which ascend, holds.
  [[nodiscard]] std::vector<LayerSpan> held_by(const std::vector<NodeId>& nodes) const {
    std::vector<LayerSpan> spans;
    spans.reserve(nodes.size());
    std::size_t at = 0;
    for (const NodeId node : nodes) {
      while (at < used_.size() && used_[at] < node) ++at;
      spans.push_back(at < used_.size() && used_[at] == node ? held_[at] : LayerSpan{});
    }
    return spans;
  }

  // Positions by first layer, those without any last; else in their order. (Counting sort.)
  [[nodiscard]] std::vector<std::size_t> by_first_layer(const std::vector<LayerSpan>& spans) const {
    const auto key = [this](const LayerSpan& span) {
      return static_cast<std::size_t>(span.end == 0 ? layers_ : span.first);
    };
    std::vector<std::size_t> next(static_cast<std::size_t>(layers_) + 2);
    for (const LayerSpan& span : spans) ++next[key(span) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::size_t> order(spans.size());
    for (std::size_t i = 0; i < spans.size(); ++i) order[next[key(spans[i])]++] = i;
    return order;
  }

  const PipelineSpeed* speed_;
  const MigrationTiming* migration_;
  NodeChoice choice_;
  std::int32_t layers_;          // of the model
  std::int64_t layer_;           // bytes of one, embeddings spread over layers
  std::vector<NodeId> used_;     // ascending
  std::vector<LayerSpan> held_;  // by position in used_
};

// The nodes of the shortest pipeline, by the options or the plan.
Result<std::int32_t> shortest_pipeline(const OobleckOptions& options, const ParallelPlan& plan,
                                       const TrainingPlan& base) {
  const std::int64_t gpus = base.cluster.gpus_per_node;
  const std::int64_t of_stage = std::int64_t{plan.tp} * plan.cp;
  if (gpus % of_stage != 0) {
    return Error{fmt::format("a stage of the plan takes {} GPUs, which does not divide the {} GPUs of a node",
                             of_stage, gpus)};
  }
  const std::int64_t replica = plan.pp * of_stage;
  const std::int32_t shortest = options.nodes_per_pipeline > 0
                                    ? options.nodes_per_pipeline
                                    : static_cast<std::int32_t>((replica + gpus - 1) / gpus);
  if (shortest * gpus / of_stage > base.model.layers) {
    return Error{
        fmt::format("is {}, which makes more stages than the model's {} layers", shortest, base.model.layers),
        {.pointer = "/nodes_per_pipeline"}};
  }
  return shortest;
}

// What pipelines of any length do not take over from the plan.
std::vector<std::string> oobleck_warnings(const JobModel& job, const std::string& schedule) {
  const ParallelPlan& plan = job.plan().parallel;
  std::vector<std::string> warnings;
  if (plan.vpp > 1) {
    warnings.push_back(fmt::format(
        "the policy's pipelines run 1F1B, not the plan's interleaved schedule (vpp {})", plan.vpp));
  } else if (plan.schedule != schedule) {
    warnings.push_back(fmt::format("the policy's pipelines run {}, not the plan's schedule {}", schedule,
                                   in_quotes(plan.schedule)));
  }
  if (plan.ep > 1)
    warnings.push_back(
        fmt::format("each GPU holds all experts of its layers, so the plan's ep {} has no effect", plan.ep));
  if (splits_experts_over_replicas(plan))
    warnings.push_back(fmt::format(
        "pipelines share no experts, so the plan's etp {} (not a divisor of cp x tp) has no effect",
        plan.etp));
  if (!plan.layers_per_stage.empty())
    warnings.emplace_back("the policy's pipelines split layers evenly, not by the plan's layers_per_stage");
  return warnings;
}

Result<std::unique_ptr<PreparedPolicy>> prepare_oobleck(const OobleckOptions& options, const JobModel& job) {
  GOODPUT_TRY(const std::int32_t shortest, shortest_pipeline(options, job.plan().parallel, job.plan()));
  auto speed = std::make_unique<PipelineSpeed>(job, shortest, options.restart.step);
  const PipelineSpeed& pipelines = *speed;
  const PipelineLayouts& layouts = pipelines.layouts();
  GOODPUT_TRY_STATUS(speed->settle());
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options.restart, std::move(speed)));
  return restarting_policy(
      std::move(restarts), oobleck_warnings(job, layouts.schedule()),
      [&pipelines, migration = options.migration](const RestartJob& of) {
        return RestartParts{.regrouping = std::make_unique<Pipelines>(of, pipelines, migration)};
      });
}

Result<PlanLimits> oobleck_limits(const OobleckOptions& options, const TrainingPlan& base) {
  return PlanLimits{.check = [&options, &base](const ParallelPlan& plan) -> Status {
    GOODPUT_TRY(const std::int32_t shortest, shortest_pipeline(options, plan, base));
    const std::int64_t nodes = nodes_of(plan, base);
    if (shortest <= nodes) return Ok{};
    return no_pipeline(nodes, shortest);
  }};
}

}  // namespace

PolicyInfo policy_oobleck() {
  return {"oobleck", "forms new pipelines of unequal length from the surviving nodes",
          [] { return policy_setup(OobleckOptions{}, prepare_oobleck, oobleck_limits); }};
}

}  // namespace goodput
