#include "models/planner/plan_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "models/planner/layer_split.h"
#include "models/step/gpu_parameters.h"

namespace goodput {
namespace {

using Sizes = std::vector<std::int32_t>;

// Schedules that a search tries only if it is asked to: 1f1b does as well as gpipe in less memory, and those
// in a V would add half as many candidates again for software that few jobs run.
constexpr std::array<std::string_view, 4> kOnlyIfNamed = {"gpipe", "zb-v", "v-half", "dualpipev"};

Sizes ascending(Sizes values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

template <typename Keep>
Sizes divisors(std::int64_t of, Keep keep) {
  constexpr std::int64_t kMost = 10'000'000;  // of any size in a plan
  Sizes small;
  Sizes large;
  for (std::int64_t divisor = 1; divisor * divisor <= of; ++divisor) {
    if (of % divisor != 0) continue;
    if (divisor <= kMost && keep(divisor)) small.push_back(static_cast<std::int32_t>(divisor));
    const std::int64_t other = of / divisor;
    if (other != divisor && other <= kMost && keep(other)) large.push_back(static_cast<std::int32_t>(other));
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

class ChoiceLister {
 public:
  ChoiceLister(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space)
      : base_(base), gpus_(gpus), space_(space) {
    for (const ScheduleInfo& info : schedules()) {
      const ScheduleShape shape{.stages = 2, .chunks = 2, .micro_batches = 2};
      takes_chunks_.push_back(info.schedule.check(shape).has_value());
    }
  }

  Result<PlanChoices> list() && {
    list_all();
    if (is_full_) {
      return Error{fmt::format("there are more than {} plans to examine; shorten the lists in \"search\"",
                               kMostChoices)};
    }
    return std::move(result_);
  }

 private:
  void list_all() {
    for (const std::int32_t tp : tensor_sizes()) {
      choice_.tp = tp;
      for (const std::int32_t cp : context_sizes()) {
        choice_.cp = cp;
        const std::int64_t of_replica = std::int64_t{tp} * cp;
        if (gpus_ % of_replica == 0)
          add_pipelines(gpus_ / of_replica);
        else if (!space_.tp.empty() || !space_.cp.empty())
          ++result_.of_other_sizes;
      }
    }
  }

  [[nodiscard]] Sizes tensor_sizes() const {
    if (!space_.tp.empty()) return ascending(space_.tp);
    const ModelShape& model = base_.model;
    return divisors(base_.cluster.gpus_per_node, [&](std::int64_t tp) {
      const bool has_heads = model.latent || model.kv_heads % tp == 0 || tp % model.kv_heads == 0;
      const bool has_experts =
          cuts_experts_apart() || can_cut_experts(tp) || base_.parallel.sequence_parallel;
      return has_heads && has_experts && model.heads % tp == 0 && model.hidden % tp == 0 &&
             model.ffn % tp == 0;
    });
  }
  [[nodiscard]] Sizes context_sizes() const {
    if (!space_.cp.empty()) return ascending(space_.cp);
    Sizes sizes;
    const std::int64_t length = base_.parallel.sequence_length;
    const std::int64_t shards = base_.parallel.sequence_parallel ? choice_.tp : 1;  // of norms
    for (std::int32_t cp = 1; cp == 1 || length / cp >= kShortestPart; cp *= 2) {
      if (gpus_ % cp == 0 && length % (cp * shards) == 0) sizes.push_back(cp);
    }
    return sizes;
  }

  // `rest`: what pp and dp multiply to.
  void add_pipelines(std::int64_t rest) {
    const Sizes stages = space_.pp.empty() ? stages_within(rest) : ascending(space_.pp);
    for (const std::int32_t pp : stages) {
      choice_.pp = pp;
      if (rest % pp != 0) {
        ++result_.of_other_sizes;
        continue;
      }
      if (space_.dp.empty()) {
        add_replicas(rest / pp);
        continue;
      }
      for (const std::int32_t dp : ascending(space_.dp)) {
        if (dp == rest / pp)
          add_replicas(dp);
        else if (!space_.pp.empty())
          ++result_.of_other_sizes;
      }
    }
    if (!space_.pp.empty()) return;
    for (const std::int32_t dp : ascending(space_.dp)) {
      if (rest % dp != 0) ++result_.of_other_sizes;
    }
  }
  [[nodiscard]] Sizes stages_within(std::int64_t rest) const {
    return divisors(rest, [&](std::int64_t pp) { return pp <= base_.model.layers; });
  }

  void add_replicas(std::int64_t dp) {
    if (is_full_ || !std::in_range<std::int32_t>(dp)) return;
    choice_.dp = static_cast<std::int32_t>(dp);
    const Sizes micro_batches = micro_batch_sizes();
    if (micro_batches.empty()) result_.odd_dp.insert(choice_.dp);
    if (micro_batches.empty() && !(space_.pp.empty() && space_.dp.empty())) ++result_.of_other_batches;
    for (const std::int32_t etp : expert_tensor_sizes()) {
      choice_.etp = etp;
      for (const std::int32_t ep : expert_sizes()) {
        choice_.ep = ep;
        for (const std::int32_t micro_batch : micro_batches) {
          choice_.micro_batch = micro_batch;
          add_schedules();
        }
      }
    }
  }
  [[nodiscard]] Sizes micro_batch_sizes() const {
    if (!space_.micro_batch.empty()) return ascending(space_.micro_batch);
    if (base_.parallel.global_batch % choice_.dp != 0) return {};
    const std::int64_t most = kLongestMicroBatch * choice_.cp / base_.parallel.sequence_length;
    return divisors(base_.parallel.global_batch / choice_.dp,
                    [&](std::int64_t size) { return size == 1 || size <= most; });
  }
  [[nodiscard]] bool cuts_experts_apart() const { return base_.parallel.etp > 0 || !space_.etp.empty(); }
  [[nodiscard]] Sizes expert_tensor_sizes() const {
    if (!space_.etp.empty()) return ascending(space_.etp);
    const std::int32_t etp = base_.parallel.etp;
    if (etp == 0) return cut_or_whole();
    const std::int64_t ranks = std::int64_t{choice_.dp} * choice_.cp * choice_.tp;
    const bool have_own_tokens = choice_.tp == 1 || base_.parallel.sequence_parallel;
    const bool suits = etp == choice_.tp || (ranks % etp == 0 && have_own_tokens);
    return suits ? Sizes{etp} : Sizes{};
  }
  // Experts over the tp GPUs, or whole ones on each.
  [[nodiscard]] Sizes cut_or_whole() const {
    Sizes sizes;
    if (can_cut_experts(choice_.tp)) sizes.push_back(0);
    if (base_.model.moe && choice_.tp > 1 && base_.parallel.sequence_parallel) sizes.push_back(1);
    return sizes;
  }
  [[nodiscard]] bool can_cut_experts(std::int64_t tp) const {
    return !base_.model.moe || base_.model.moe->expert_ffn % tp == 0;
  }
  [[nodiscard]] Sizes expert_sizes() const {
    if (!space_.ep.empty()) return ascending(space_.ep);
    if (!base_.model.moe) return {1};
    const std::int32_t etp = choice_.etp > 0 ? choice_.etp : choice_.tp;
    const std::int64_t holders = std::int64_t{choice_.dp} * choice_.cp * choice_.tp / etp;
    return divisors(base_.model.moe->experts, [&](std::int64_t ep) { return holders % ep == 0; });
  }

  void add_schedules() {
    if (is_full_) return;
    for (std::size_t i = 0; i < schedules().size(); ++i) {
      const ScheduleInfo& info = schedules()[i];
      if (!is_wanted(info)) continue;
      choice_.schedule = static_cast<std::int16_t>(i);
      for (const std::int32_t vpp : chunk_counts(takes_chunks_[i])) {
        choice_.vpp = vpp;
        if (!space_.schedules.empty() || can_run(info)) add_recomputation();
      }
    }
  }
  [[nodiscard]] bool is_named(std::string_view schedule) const {
    return std::find(space_.schedules.begin(), space_.schedules.end(), schedule) != space_.schedules.end();
  }
  [[nodiscard]] bool is_wanted(const ScheduleInfo& info) const {
    if (space_.schedules.empty() ? choice_.pp == 1 : choice_.pp == 1 && is_named("1f1b"))
      return info.name == "1f1b";  // all schedules run the same passes
    if (!space_.schedules.empty()) return is_named(info.name);
    const bool only_if_named =
        std::find(kOnlyIfNamed.begin(), kOnlyIfNamed.end(), info.name) != kOnlyIfNamed.end();
    return !only_if_named && (info.name != "dualpipe" || choice_.ep > 1);
  }
  // Of a schedule that nobody named, only what it runs.
  [[nodiscard]] bool can_run(const ScheduleInfo& info) const {
    const std::int64_t at_once = std::int64_t{choice_.dp} * choice_.micro_batch;
    if (base_.parallel.global_batch % at_once != 0) return true;  // no matter of schedules
    const auto micro_batches = static_cast<std::int32_t>(base_.parallel.global_batch / at_once);
    return info.schedule.check({choice_.pp, choice_.vpp, micro_batches}).has_value();
  }
  // Where they are named: one chunk for schedules that take no more, and for others only if that is not 1f1b,
  // which is there already.
  [[nodiscard]] Sizes chunk_counts(bool takes_several) const {
    if (!space_.vpp.empty()) {
      Sizes counts = ascending(space_.vpp);
      const bool has_one = counts.front() == 1;
      if (has_one && !takes_several) return {1};
      if (has_one && (space_.schedules.empty() || is_named("1f1b"))) counts.erase(counts.begin());
      if (!takes_several && space_.schedules.empty()) return {};
      return counts;
    }
    if (!takes_several) return {1};
    Sizes counts;
    const std::int32_t layers = base_.model.layers;
    for (std::int32_t vpp = 2; choice_.pp > 1 && std::int64_t{choice_.pp} * vpp <= layers + 2; ++vpp) {
      const std::int32_t positions = choice_.pp * vpp;
      const std::int32_t deepest = (layers + positions - 1) / positions;
      const std::int32_t places = deepest * positions;
      if (layers % choice_.pp == 0 ? places == layers : 20 * (places - layers) <= places)
        counts.push_back(vpp);
    }
    return counts;
  }

  void add_recomputation() {
    const std::vector<Recompute> kinds = recomputations();
    const Sizes zeros = zero_stages();
    for (const Recompute recompute : kinds) {
      for (const std::int32_t zero : zeros) {
        choice_.recompute = recompute;
        choice_.zero = static_cast<std::uint8_t>(zero);
        is_full_ = result_.choices.size() == kMostChoices;
        if (is_full_) return;
        result_.choices.push_back(choice_);
      }
    }
  }
  [[nodiscard]] std::vector<Recompute> recomputations() const {
    if (!space_.recompute.empty()) {
      std::vector<Recompute> kinds = space_.recompute;
      std::sort(kinds.begin(), kinds.end());
      kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
      return kinds;
    }
    const ModelShape& model = base_.model;
    if (base_.parallel.fused_attention && !model.gated_ffn && !model.latent)
      return {Recompute::kNone, Recompute::kFull};
    return {Recompute::kNone, Recompute::kSelective, Recompute::kFull};
  }
  [[nodiscard]] Sizes zero_stages() const {
    if (!space_.zero.empty()) return ascending(space_.zero);
    const bool is_bidirectional = schedules()[static_cast<std::size_t>(choice_.schedule)].name == "dualpipe";
    if (std::int64_t{choice_.dp} * choice_.cp == 1 && !is_bidirectional) return {0};
    // Gradients of several micro-batches add up before they are shared out: 2 is 1.
    const bool adds_up = base_.parallel.global_batch > std::int64_t{choice_.dp} * choice_.micro_batch;
    Sizes zeros = adds_up ? Sizes{0, 1} : Sizes{0, 1, 2};
    if (choice_.pp == 1) zeros.push_back(3);
    return zeros;
  }

  const TrainingPlan& base_;
  std::int64_t gpus_;
  const PlanSpace& space_;
  std::vector<bool> takes_chunks_;  // by schedule
  PlanChoice choice_;
  bool is_full_ = false;
  PlanChoices result_;
};

}  // namespace

Result<PlanChoices> list_choices(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space) {
  return ChoiceLister(base, gpus, space).list();
}

PlanMaker::PlanMaker(const TrainingPlan& base, const std::vector<PlanChoice>& choices) : base_(base) {
  for (const PlanChoice& choice : choices) {
    const std::int32_t count = positions(choice);
    if (count == 0 || base.model.layers % count == 0) continue;
    auto& split = splits_[pipeline_of(choice)];
    if (!split.empty()) continue;
    const PipelineSchedule& schedule = schedules()[static_cast<std::size_t>(choice.schedule)].schedule;
    const ScheduleShape shape{.stages = choice.pp, .chunks = choice.vpp};
    split = spread_layers(base.model, base.parallel.sequence_length, stages_by_position(schedule, shape));
  }
}

// 0: more than there are layers for.
std::int32_t PlanMaker::positions(const PlanChoice& choice) const {
  if (std::int64_t{choice.pp} * choice.vpp > base_.model.layers + 2) return 0;
  const ScheduleInfo& info = schedules()[static_cast<std::size_t>(choice.schedule)];
  const std::int32_t count = info.schedule.positions({.stages = choice.pp, .chunks = choice.vpp});
  return count > base_.model.layers + 2 ? 0 : count;
}

ParallelPlan PlanMaker::plan(const PlanChoice& choice) const {
  ParallelPlan plan = base_.parallel;
  plan.dp = choice.dp;
  plan.pp = choice.pp;
  plan.tp = choice.tp;
  plan.cp = choice.cp;
  plan.ep = choice.ep;
  plan.etp = choice.etp;
  plan.vpp = choice.vpp;
  plan.micro_batch = choice.micro_batch;
  plan.zero = choice.zero;
  plan.recompute = choice.recompute;
  plan.schedule = schedules()[static_cast<std::size_t>(choice.schedule)].name;
  plan.sequence_parallel = plan.sequence_parallel && plan.tp > 1;
  const auto split = splits_.find(pipeline_of(choice));
  plan.layers_per_stage = split == splits_.end() ? std::vector<std::int32_t>{} : split->second;
  return plan;
}

}  // namespace goodput
