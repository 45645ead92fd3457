#include "sim/whatif/root_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/base/statistics.h"
#include "sim/whatif/root_cause_passes.h"
#include "sim/whatif/root_cause_replay.h"
#include "sim/whatif/root_cause_transfers.h"

namespace goodput {
namespace {

constexpr double kLikelyShare = 0.5;  // M_W and M_S of the paper
constexpr double kLikelyCorrelation = 0.9;
constexpr double kVariationWorthNaming = 0.025;  // passes that differ by less cannot cost much
constexpr double kCostWorthNaming = 0.01;        // of a step
constexpr double kOwnCost = 0.02;   // of a step: a pattern that costs this is a cause whatever else there is
constexpr double kSlowPace = 1.04;  // of a worker or stage, against its peers
constexpr double kNoiseDeviations = 5;
constexpr double kIsolated = 0.3;  // of a worker's passes or transfers: more than a few are no exceptions
constexpr double kConcentrated = 0.6;

struct Slowest {
  std::size_t index = 0;
  double pace = 1;
};

Slowest slowest_of(const std::vector<double>& pace) {
  const auto most = std::max_element(pace.begin(), pace.end());
  return {static_cast<std::size_t>(most - pace.begin()), *most};
}

// Finds the causes of one recording; what several criteria need is worked out once.
class CauseFinder {
 public:
  CauseFinder(const OpGraph& graph, const Recording& recording, const WhatIf& result,
              const RootCauseOptions& options)
      : graph_(graph),
        recording_(recording),
        result_(result),
        options_(options),
        pairs_(pair_passes(recording)),
        pauses_(find_pauses(recording, pairs_)),
        pace_(measure_pace(recording)) {}

  [[nodiscard]] std::vector<RootCause> find() const {
    return {worker_fault(), stage_partition(), sequence_length(),
            gc_pauses(),    launch_delay(),    communication_flap()};
  }

 private:
  [[nodiscard]] bool is_worth_explaining() const { return result_.slowdown >= kSlowdownWorthExplaining; }
  [[nodiscard]] double saved(Repair repair) const {
    return saved_share(graph_, recording_, result_, std::move(repair), options_.jobs);
  }
  [[nodiscard]] std::size_t stages() const { return static_cast<std::size_t>(recording_.pp_size); }

  // Of one replica nothing says whether a stage is slow because of its machine or because of its layers.
  [[nodiscard]] bool is_one_replica() const { return recording_.dp_size == 1; }

  // The paper's M_W, when a worker is steadily slower than its replica, its stage and noise explain.
  [[nodiscard]] RootCause worker_fault() const {
    const auto share = result_.slowest_workers_share.recovered();
    const bool explains = share && *share >= kLikelyShare;
    RootCause cause{"worker-fault", "M_W: share of the loss that the slowest 3 % of the workers explain",
                    share,          kLikelyShare,
                    false,          ""};
    const auto [worker, pace] = slowest_of(pace_.worker);
    cause.evidence = fmt::format("the backward passes of {} take {:.2f}x as long as its peers'",
                                 worker_name(recording_, worker), pace);
    cause.worker = worker;
    const bool stands_out =
        pace >= kSlowPace && (stages() > 1 || pace - 1 >= kNoiseDeviations * pace_.worker_noise[worker]);
    if (!is_worth_explaining()) return cause;
    if (is_one_replica() && stages() > 1 && !stands_out) {
      cause.likely = explains && is_stage_slow();
      cause.worker = slowest_of(pace_.stage).index;
      cause.evidence += "; with one replica a slow worker looks like a large stage";
      return cause;
    }
    if (stands_out) cause.likely = explains || own_cost_of_workers(cause) >= kOwnCost;
    return cause;
  }

  // What a step would save if no worker were slower than its peers.
  double own_cost_of_workers(RootCause& cause) const {
    const double cost = saved({{}, steady_workers()});
    cause.evidence += fmt::format(", which costs {:.1f} % of a step", 100 * cost);
    return cost;
  }

  // By worker: the factor on its passes that brings it to the pace of its peers.
  [[nodiscard]] std::vector<double> steady_workers() const {
    std::vector<double> factors;
    for (const double pace : pace_.worker) factors.push_back(pace >= kSlowPace ? 1 / pace : 1);
    return factors;
  }

  [[nodiscard]] bool is_stage_slow() const { return slowest_of(pace_.stage).pace >= kSlowPace; }

  // The paper's M_S of the stage that costs most, when it is slow in all replicas.
  [[nodiscard]] RootCause stage_partition() const {
    const auto share = result_.slowest_stage_share.recovered();
    const auto last = result_.last_stage_share.recovered();
    const auto [stage, pace] = slowest_of(pace_.stage);
    RootCause cause{"stage-partition",
                    "share of the loss that the slowest stage explains (M_S when it is the last)",
                    share,
                    kLikelyShare,
                    false,
                    ""};
    cause.evidence = fmt::format(
        "the backward passes of stage {} take {:.2f}x those of the typical stage; stage {} alone slows the "
        "job {:.3f}x{}",
        stage, pace, result_.slowest_stage, result_.blocking.by_stage.slowdown[result_.slowest_stage],
        last ? fmt::format("; the last stage explains {:.3f}", *last) : "");
    cause.stage = stage;
    if (stages() == 1 || !is_stage_slow() || !is_worth_explaining()) return cause;
    const bool explains = share && *share >= kLikelyShare && result_.slowest_stage == stage;
    cause.likely = explains || cost_of_partition(cause) >= kOwnCost;
    return cause;
  }

  // What a step would save with the same work spread evenly over the stages, once no worker is slow: work
  // moved to the stage of a slow worker would hide it.
  double cost_of_partition(RootCause& cause) const {
    Repair workers{{}, steady_workers()};
    Repair both = workers;
    const double even = mean(pace_.stage);
    for (std::size_t worker = 0; worker < both.pass_factor.size(); ++worker) {
      both.pass_factor[worker] *= even / pace_.stage[worker % stages()];
    }
    const bool any_slow = slowest_of(pace_.worker).pace >= kSlowPace;
    const double cost = saved(std::move(both)) - (any_slow ? saved(std::move(workers)) : 0);
    cause.evidence += fmt::format("; an even partition saves {:.1f} % of a step", 100 * cost);
    return cost;
  }

  [[nodiscard]] RootCause sequence_length() const {
    const std::int32_t stage = recording_.pp_size / 2;
    const auto passes = correlate_passes(recording_, pairs_, stage, pauses_);
    RootCause cause{"sequence-length",
                    "correlation of forward and backward durations of the same micro-batch",
                    std::nullopt,
                    kLikelyCorrelation,
                    false,
                    "no micro-batches to compare, or passes that never vary"};
    if (!passes) return cause;
    cause.value = passes->correlation;
    cause.likely = is_worth_explaining() && passes->correlation >= kLikelyCorrelation &&
                   passes->variation >= kVariationWorthNaming;
    cause.evidence = fmt::format("{} pairs on stage {}; forward passes vary by {:.1f} %", passes->pairs,
                                 stage, 100 * passes->variation);
    return cause;
  }

  // Forward passes that stood still, here and there.
  [[nodiscard]] RootCause gc_pauses() const {
    RootCause cause{"gc-pauses", "share of a step that isolated long forward passes cost",
                    0.0,         kCostWorthNaming,
                    false,       "no forward pass is much longer than its backward pass lets expect"};
    if (pairs_.empty()) {
      cause.value = std::nullopt;
      cause.evidence = "no micro-batches to compare";
      return cause;
    }
    if (pauses_.empty()) return cause;
    std::set<std::size_t> workers;
    std::set<std::size_t> steps;
    Repair repair;
    double excess_s = 0;
    for (const Pause& pause : pauses_) {
      workers.insert(pause.worker);
      steps.insert(pause.step);
      excess_s += pause.excess_s;
      repair.patches.push_back(pause.expected);
    }
    cause.value = saved(std::move(repair));
    const bool moves = workers.size() >= std::min<std::size_t>(2, recording_.ranks.size()) &&
                       steps.size() >= std::min<std::size_t>(2, recording_.steps.size());
    const double among = static_cast<double>(pauses_.size()) / passes_of(workers.size());
    cause.likely = *cause.value >= cause.threshold && moves && among <= kIsolated;
    cause.evidence = fmt::format(
        "{} long forward passes on {} of {} workers in {} of {} steps, {:.3g} s too long in "
        "the mean",
        pauses_.size(), workers.size(), recording_.ranks.size(), steps.size(), recording_.steps.size(),
        excess_s / static_cast<double>(pauses_.size()));
    return cause;
  }

  // Forward passes of some workers in all steps.
  [[nodiscard]] double passes_of(std::size_t workers) const {
    return static_cast<double>(pairs_.size() * recording_.steps.size() * workers) /
           static_cast<double>(stages());
  }

  [[nodiscard]] RootCause launch_delay() const {
    return {"launch-delay",
            "launch slowdown: recorded over replayed without launch delays",
            result_.launch_slowdown,
            options_.launch_threshold,
            result_.launch_slowdown >= options_.launch_threshold,
            fmt::format("late launches cost {:.1f} % of a step",
                        std::max(0.0, 100 * (1 - 1 / result_.launch_slowdown)))};
  }

  [[nodiscard]] RootCause communication_flap() const {
    RootCause cause{"communication-flap",
                    "share of a step that a few slow transfers of one place cost",
                    0.0,
                    kCostWorthNaming,
                    false,
                    "no transfer takes several times the median of its kind"};
    auto slow = find_slow_transfers(graph_, recording_);
    if (!slow) return cause;
    cause.value = saved({std::move(slow->patches), {}});
    cause.stage = slow->stage;
    if (slow->dp_rank) cause.worker = *slow->dp_rank * stages() + slow->stage;
    const bool is_concentrated = slow->share_of_excess >= kConcentrated;
    const double among = static_cast<double>(slow->count) / static_cast<double>(slow->transfers);
    cause.likely = *cause.value >= cause.threshold && is_concentrated && among <= kIsolated;
    cause.evidence = fmt::format(
        "{} of {} transfers of {} took up to {:.3g}x the median, {:.3g} s too long in the mean, "
        "{:.0f} % of all such time",
        slow->count, slow->transfers, place_of(*slow), slow->worst_factor,
        slow->excess_s / static_cast<double>(slow->count), 100 * slow->share_of_excess);
    return cause;
  }

  [[nodiscard]] std::string place_of(const SlowTransfers& slow) const {
    if (!slow.dp_rank) return fmt::format("stage {} between its replicas", slow.stage);
    const std::string worker = worker_name(recording_, *slow.dp_rank * stages() + slow.stage);
    return slow.peer_stage ? fmt::format("{}, all to or from stage {},", worker, *slow.peer_stage) : worker;
  }

  const OpGraph& graph_;
  const Recording& recording_;
  const WhatIf& result_;
  RootCauseOptions options_;
  std::vector<PassPair> pairs_;
  std::vector<Pause> pauses_;
  SteadyPace pace_;
};

}  // namespace

std::vector<RootCause> find_root_causes(const OpGraph& graph, const Recording& recording,
                                        const WhatIf& result, const RootCauseOptions& options) {
  return CauseFinder(graph, recording, result, options).find();
}

}  // namespace goodput
