// Pipeline-elastic training after Oobleck (SOSP 2023) and Bamboo (NSDI'23): nodes stand in pipelines of
// unequal length, every layer is in each of them. After a loss those that are left form new pipelines and
// fetch the layers they lack from each other; the batch stays the same. Only when all copies of a layer are
// lost the job restarts from a checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/migration/expert_migration.h"
#include "models/policy/pipeline_layouts.h"
#include "models/policy/restart_setup.h"

namespace goodput {
namespace {

// Step times of the pipelines that so many nodes form.
class PipelineSpeed final : public TrainingSpeed {
 public:
  explicit PipelineSpeed(PipelineLayouts layouts) : layouts_(std::move(layouts)) {}

  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const override { return layouts_.usable(nodes); }
  [[nodiscard]] const StepTime& at(std::int32_t nodes, std::int64_t /*step*/, double slowest) override {
    return layouts_.at(nodes, slowest).time;
  }
  [[nodiscard]] Result<StepTime> compute(std::int32_t nodes, std::int64_t /*step*/,
                                         double slowest) const override {
    GOODPUT_TRY(const PipelineLayout layout, layouts_.lay_out(nodes, slowest));
    return layout.time;
  }
  [[nodiscard]] std::int64_t until(std::int64_t /*step*/) const override { return kNoStep; }
  [[nodiscard]] PipelineLayouts& layouts() { return layouts_; }

 private:
  PipelineLayouts layouts_;
};

class OobleckPolicy final : public RestartPolicy {
 public:
  OobleckPolicy(const JobModel& job, const RestartSettings& settings, PipelineSpeed& speed,
                const MigrationTiming& migration)
      : RestartPolicy(job, settings, speed),
        layouts_(&speed.layouts()),
        migration_(&migration),
        layer_(bytes().value / job.plan().model.layers) {}

 private:
  void note_nodes() override { held_ = layouts_->at(node_count(), 1).layers_of_place; }

  [[nodiscard]] Course go_on(const JobState& job, std::span<const NodeId> left) override {
    forget_others(left);
    if (!has_every_layer()) return {.kind = Course::Kind::kWait};
    const std::int32_t nodes = speed().usable(choice().available(*job.members));
    if (nodes == 0) return {.kind = Course::Kind::kWait};
    const bool grows = !has_lost() && nodes > node_count();
    Phases phases;
    if (has_lost()) phases.add(TimeBucket::kInfrastructureRecovery, from_seconds(migration_->detect_s));
    phases.add(grows ? TimeBucket::kElasticScaleUp : TimeBucket::kElasticSliceDown,
               from_seconds(migration_->regroup_s + migration_->plan_s));
    phases.add(TimeBucket::kElasticReinitialization, take_places(job, left, nodes));
    return train(job, grows ? Cause::kScaleUp : Cause::kReconfiguration, ResumeFrom::kHere, phases);
  }

  // Those that are not left hold nothing, even if they are back.
  void forget_others(std::span<const NodeId> left) {
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (!std::binary_search(left.begin(), left.end(), used()[i])) held_[i] = {};
    }
  }

  [[nodiscard]] LayerSpan held_by(NodeId node) const {
    const auto at = std::lower_bound(used().begin(), used().end(), node);
    if (at == used().end() || *at != node) return {};
    return held_[static_cast<std::size_t>(at - used().begin())];
  }

  [[nodiscard]] bool has_every_layer() const {
    std::vector<bool> is_held(static_cast<std::size_t>(job_model().plan().model.layers));
    for (const LayerSpan span : held_)
      std::fill(is_held.begin() + span.first, is_held.begin() + span.end, true);
    return std::all_of(is_held.begin(), is_held.end(), [](bool held) { return held; });
  }

  // Nodes take the places of the new pipelines in the order of the layers they have, newcomers last. How long
  // the one waits that lacks most.
  SimDuration take_places(const JobState& job, std::span<const NodeId> left, std::int32_t nodes) {
    std::vector<NodeId> chosen;
    choice().choose(*job.members, nodes, left, chosen);
    const std::vector<LayerSpan>& places = layouts_->at(nodes, 1).layers_of_place;
    std::vector<std::size_t> order(places.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return places[a].first < places[b].first; });
    std::vector<NodeId> by_layer = chosen;
    std::stable_sort(by_layer.begin(), by_layer.end(),
                     [this](NodeId a, NodeId b) { return sort_key(a) < sort_key(b); });
    std::vector<LayerSpan> taken(chosen.size());
    std::int32_t most_lacking = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const LayerSpan wanted = places[order[i]];
      const LayerSpan has = held_by(by_layer[i]);
      const std::int32_t both =
          std::max(0, std::min(wanted.end, has.end) - std::max(wanted.first, has.first));
      most_lacking = std::max(most_lacking, wanted.end - wanted.first - both);
      const auto at = std::lower_bound(chosen.begin(), chosen.end(), by_layer[i]) - chosen.begin();
      taken[static_cast<std::size_t>(at)] = wanted;
    }
    held_ = std::move(taken);
    use(chosen);
    if (most_lacking == 0) return {};
    return from_seconds(migration_->transfer_setup_s) +
           Bytes{layer_} * most_lacking / BytesPerSecond{migration_->node_gb_per_s * 1e9};
  }
  [[nodiscard]] std::int32_t sort_key(NodeId node) const {
    const LayerSpan span = held_by(node);
    return span.end == 0 ? job_model().plan().model.layers : span.first;
  }

  PipelineLayouts* layouts_;
  const MigrationTiming* migration_;
  std::int64_t layer_;           // bytes, embeddings spread over layers
  std::vector<LayerSpan> held_;  // by position in used()
};

class OobleckSetup final : public RestartSetup {
 public:
  OobleckSetup() { settings().absorb = Absorb::kGathered; }

  [[nodiscard]] config::Fields fields() override {
    using config::Need;
    config::Fields fields = RestartSetup::fields();
    const config::Fields own = {
        {"nodes_per_pipeline", Need::kOptional, config::integer(nodes_per_pipeline_, 0),
         "of the shortest pipeline; 0: those of a replica of the plan"},
        {"migration", Need::kOptional, config::object(migration_), "how long new pipelines take"}};
    fields.insert(fields.end(), own.begin(), own.end());
    return fields;
  }

  [[nodiscard]] Status prepare(const JobModel& job) override {
    const TrainingPlan& plan = job.plan();
    const std::int64_t gpus = plan.cluster.gpus_per_node;
    const std::int64_t of_stage = std::int64_t{plan.parallel.tp} * plan.parallel.cp;
    if (gpus % of_stage != 0) {
      return Error{fmt::format("a stage of the plan takes {} GPUs, which do not divide the {} of a node",
                               of_stage, gpus)};
    }
    const std::int64_t replica = plan.parallel.pp * of_stage;
    shortest_ = nodes_per_pipeline_ > 0 ? nodes_per_pipeline_
                                        : static_cast<std::int32_t>((replica + gpus - 1) / gpus);
    if (shortest_ * gpus / of_stage > plan.model.layers) {
      return Error{fmt::format("is {}: more stages than the {} layers", shortest_, plan.model.layers),
                   {.pointer = "/nodes_per_pipeline"}};
    }
    const PipelineLayouts layouts(job, shortest_, step_settings());
    for (std::int32_t nodes = layouts.usable(job.most_nodes()); nodes > 0;
         nodes = layouts.usable(nodes - 1)) {
      GOODPUT_TRY(const PipelineLayout unused, layouts.lay_out(nodes, 1));
      static_cast<void>(unused);
    }
    return RestartSetup::prepare(job);
  }

  [[nodiscard]] std::unique_ptr<RecoveryPolicy> make() override {
    return std::make_unique<OobleckPolicy>(job(), settings(), static_cast<PipelineSpeed&>(speed()),
                                           migration_);
  }

 protected:
  [[nodiscard]] std::unique_ptr<TrainingSpeed> make_speed(const JobModel& job) const override {
    return std::make_unique<PipelineSpeed>(PipelineLayouts(job, shortest_, step_settings()));
  }

 private:
  std::int32_t nodes_per_pipeline_ = 0;  // 0: as the plan says
  std::int32_t shortest_ = 1;            // pipeline, in nodes
  MigrationTiming migration_;
};

}  // namespace

PolicyInfo oobleck_policy() {
  return {"oobleck", "pipelines of unequal length that form anew around what is left",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<OobleckSetup>()); }};
}

}  // namespace goodput
