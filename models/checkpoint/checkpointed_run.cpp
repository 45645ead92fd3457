#include "models/checkpoint/checkpointed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace goodput {
namespace {

constexpr double kMostWork = 1e9;      // additions, some seconds
constexpr double kLoadAwareWork = 20;  // of an expert that is sorted among others
constexpr double kLongestSaveSeconds = 1e8;
constexpr double kLongestRunSeconds = 5e9;  // 160 years
constexpr std::int64_t kLoadAwareRotations = 4;

double experts_of(const ModuleBytes& modules) {
  return static_cast<double>(modules.expert_each.size()) * modules.experts;
}

// Times of a checkpoint by K, each computed once.
class TimesByK {
 public:
  TimesByK(const ModuleBytes& modules, const PartialCheckpoint& checkpoint, const ExpertTokens& tokens,
           const SavePath& path)
      : modules_(modules), checkpoint_(checkpoint), tokens_(tokens), path_(path) {}

  const SaveTimes& at(const PecLevels& k) {
    const auto [entry, is_new] = times_.try_emplace(std::pair(k.snapshot, k.persist));
    if (is_new)
      entry->second = save_times(writes(k, PecLevel::kSnapshot), writes(k, PecLevel::kPersist), path_);
    return entry->second;
  }

 private:
  [[nodiscard]] LevelWrites writes(const PecLevels& k, PecLevel level) const {
    PartialCheckpoint checkpoint = checkpoint_;
    checkpoint.k = k;
    return level_writes(modules_, checkpoint, level, tokens_);
  }

  const ModuleBytes& modules_;
  const PartialCheckpoint& checkpoint_;
  const ExpertTokens& tokens_;
  const SavePath& path_;
  std::map<std::pair<std::int32_t, std::int32_t>, SaveTimes> times_;
};

// No checkpoint is larger than a full one on every rank.
Status check_times(const ModuleBytes& modules, const PartialCheckpoint& checkpoint, const SavePath& path) {
  const auto bytes = static_cast<double>(modules.total().value);
  double slowest = std::max(bytes / path.snapshot.value, bytes / path.storage.value);
  if (path.storage_total.value > 0)
    slowest = std::max(slowest, bytes * checkpoint.ranks / path.storage_total.value);
  if (slowest <= kLongestSaveSeconds) return Ok{};
  return Error{fmt::format("writing a checkpoint could take {:.2g} s; increase the bandwidths", slowest)};
}

// Over which the heaviest rank is looked for.
std::int64_t checkpoints_of_interest(const ModuleBytes& modules, ExpertSelection selection, std::int32_t k) {
  if (selection == ExpertSelection::kSequential || k == 0) return rotation_length(modules.experts, k);
  return kLoadAwareRotations * ((modules.experts + k - 1) / k);
}

double work_of(ExpertSelection selection) {
  return selection == ExpertSelection::kLoadAware ? kLoadAwareWork : 1;
}

// Sums of times must fit into 63 bits of nanoseconds.
Status check_length(const CheckpointedRun& run, SimDuration stall) {
  const double checkpoints = static_cast<double>(run.steps) / static_cast<double>(run.interval);
  const double seconds =
      static_cast<double>(run.steps) * to_seconds(run.step) + checkpoints * to_seconds(stall);
  if (seconds <= kLongestRunSeconds) return Ok{};
  return Error{fmt::format("the run would take {:.2g} s, more than {:.0e} s; use fewer or shorter steps",
                           seconds, kLongestRunSeconds)};
}

// Checkpoints up to the last fault, and after every fault those again that were on their way to storage.
Status check_replay(const ModuleBytes& modules, ExpertSelection selection, const CheckpointedRun& run,
                    const SaveTimes& times) {
  if (run.faults.empty()) return Ok{};
  const auto interval = static_cast<double>(run.interval);
  const double checkpoints = static_cast<double>(run.faults.back().step) / interval;
  const double on_their_way = 3 * to_seconds(times.total()) / to_seconds(run.step) / interval;
  double again = 0;
  for (const CheckpointFault& fault : run.faults)
    again += std::min(on_their_way, static_cast<double>(fault.step) / interval) + experts_of(modules);
  if (checkpoints * (1 + experts_of(modules)) * work_of(selection) + again <= kMostWork) return Ok{};
  return Error{fmt::format("{} is {}, so {:.3g} checkpoints of {} experts precede the last fault, which is "
                           "too much to compute; increase the interval",
                           kOption, run.interval, checkpoints, experts_of(modules))}
      .of_option("interval");
}

// O_save changes with K, at the steps from which training goes on.
CheckpointOverhead overhead(const CheckpointedRun& run, PecLevels k, const RunCosts& costs,
                            const SaveTimings& timing) {
  CheckpointOverhead sum;
  std::int64_t since = 0;
  const auto add_saves = [&](std::int64_t until) {
    const SaveTiming of_k = timing(k);
    sum.save_s += saving_seconds(of_k.stall, until - since, mean_interval(of_k, run.step, run.interval));
    since = until;
  };
  for (std::size_t i = 0; i < costs.loss.faults.size(); ++i) {
    const FaultLoss& fault = costs.loss.faults[i];
    add_saves(fault.recovered_step);
    k = fault.k_after;
    sum.restart_s += to_seconds(run.restart + costs.restores[i].time);
    sum.lost_s += to_seconds(run.step) * static_cast<double>(fault.fault.step - fault.recovered_step);
  }
  add_saves(run.steps);
  return sum;
}

}  // namespace

Status check_rotation(const ModuleBytes& modules, const PartialCheckpoint& checkpoint) {
  const double one = experts_of(modules) + checkpoint.ranks + static_cast<double>(modules.dense.size());
  const std::int64_t count =
      std::max(checkpoints_of_interest(modules, checkpoint.selection, checkpoint.k.persist),
               checkpoints_of_interest(modules, checkpoint.selection, checkpoint.k.snapshot));
  if (one * static_cast<double>(count) * work_of(checkpoint.selection) <= kMostWork) return Ok{};
  return Error{
      fmt::format("goodput would have to compute {} checkpoints of {} ranks and {} experts each, which is "
                  "too much; use a larger K that divides {} (experts per layer), or fewer ranks",
                  count, checkpoint.ranks, experts_of(modules), modules.experts)};
}

RankWrites partial_rank_writes(const ModuleBytes& modules, const PartialCheckpoint& checkpoint,
                               PecLevel level, const ExpertTokens& tokens) {
  const auto& [k, selection, sharding, ranks] = checkpoint;
  if (selection == ExpertSelection::kSequential || tokens.empty()) {
    const std::int32_t saved = level == PecLevel::kSnapshot ? k.snapshot : k.persist;
    return rotation_writes(modules, {saved, k.persist}, sharding, ranks);
  }
  return rank_writes(modules, load_aware_series(tokens, k, level, ranks),
                     checkpoints_of_interest(modules, selection, k.persist), sharding, ranks);
}

LevelWrites level_writes(const ModuleBytes& modules, const PartialCheckpoint& checkpoint, PecLevel level,
                         const ExpertTokens& tokens) {
  const RankWrites of_rank = partial_rank_writes(modules, checkpoint, level, tokens);
  return {of_rank.peak, of_rank.mean_bytes * checkpoint.ranks};
}

// By bisection. With more experts the heaviest rank copies no less, but for what ADPS and load-aware
// selection happen to even out.
std::optional<PecLevels> recommended_levels(const ModuleBytes& modules, PartialCheckpoint checkpoint,
                                            const ExpertTokens& tokens, const CheckpointedRun& run) {
  const auto hides = [&](std::int32_t snapshot) {
    checkpoint.k = {snapshot, 1};
    const RankWrites writes = partial_rank_writes(modules, checkpoint, PecLevel::kSnapshot, tokens);
    return writes.peak / run.path.snapshot <= run.forward_backward;
  };
  checkpoint.k = {modules.experts, 1};
  if (!check_rotation(modules, checkpoint) || !hides(1)) return std::nullopt;
  std::int32_t fits = 1;
  std::int32_t too_many = modules.experts + 1;
  while (too_many - fits > 1) {
    const std::int32_t middle = fits + (too_many - fits) / 2;
    (hides(middle) ? fits : too_many) = middle;
  }
  return PecLevels{fits, 1};
}

Result<RunCosts> run_costs(const ModuleBytes& modules, const PartialCheckpoint& checkpoint,
                           const ExpertTokens& tokens, const CheckpointedRun& run) {
  GOODPUT_TRY_STATUS(check_times(modules, checkpoint, run.path));
  TimesByK times(modules, checkpoint, tokens, run.path);
  const SaveTimings timing = [&](const PecLevels& k) {
    const SaveTimes& of_k = times.at(k);
    return SaveTiming{of_k, save_stall(run.mode, of_k, run.forward_backward)};
  };
  RunCosts costs;
  costs.times = times.at(checkpoint.k);
  costs.stall = timing(checkpoint.k).stall;
  costs.least_interval = least_buffered_interval(timing(checkpoint.k), run.step);
  costs.mean_interval = mean_interval(timing(checkpoint.k), run.step, run.interval);
  GOODPUT_TRY_STATUS(check_replay(modules, checkpoint.selection, run, costs.times));
  GOODPUT_TRY_STATUS(check_length(run, costs.stall));
  // Written while training stands still, they are in storage at once.
  const bool is_async = run.mode == SaveMode::kAsync;
  costs.loss = replay_losses(tokens,
                             {checkpoint.k, checkpoint.selection, checkpoint.ranks, run.interval, run.steps,
                              run.step, is_async ? timing : SaveTimings{}, run.dynamic_limit},
                             run.faults);
  for (const CheckpointFault& fault : run.faults) {
    const RestoreReads reads = restore_reads(modules, fault.ranks, checkpoint.ranks);
    costs.restores.push_back({reads, restore_time(reads, run.path)});
  }
  costs.overhead = overhead(run, checkpoint.k, costs, timing);
  return costs;
}

}  // namespace goodput
