#include "sim/whatif/root_cause_passes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

// A pause makes a pass this much longer than expected, at least, and stands out of the noise this far.
constexpr double kShortestPause = 0.25;
constexpr double kDeviations = 8;           // median absolute deviations
constexpr double kSuspicious = 1.2;         // over the calmest lane: worth a closer look
constexpr std::size_t kLanesForMedian = 8;  // below, one pause would move the median of a position

// The middle, of two middle ones the lower: stragglers only make values larger.
double take_lower_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A number for each stage in each lane of the whole recording.
class LaneStages {
 public:
  LaneStages(const Recording& recording)  // NOLINT(google-explicit-constructor)
      : steps_(recording.steps.size()),
        replicas_(static_cast<std::size_t>(recording.dp_size)),
        stages_(static_cast<std::size_t>(recording.pp_size)),
        values_(steps_ * replicas_ * stages_) {}

  [[nodiscard]] double& at(std::size_t step, std::size_t replica, std::size_t stage) {
    return values_[(stage * replicas_ + replica) * steps_ + step];
  }
  [[nodiscard]] std::span<double> lanes_of(std::size_t stage) {
    return std::span(values_).subspan(stage * replicas_ * steps_, replicas_ * steps_);
  }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] std::size_t replicas() const { return replicas_; }
  [[nodiscard]] std::size_t stages() const { return stages_; }

 private:
  std::size_t steps_;
  std::size_t replicas_;
  std::size_t stages_;
  std::vector<double> values_;
};

struct BackwardTimes {
  LaneStages mean_s;                  // of a lane and stage
  std::vector<double> squares;        // by worker: sum of squared durations
  std::vector<std::size_t> per_lane;  // by stage: backward passes
};

BackwardTimes measure_backwards(const Recording& recording) {
  BackwardTimes times{LaneStages(recording), std::vector<double>(recording.ranks.size()),
                      std::vector<std::size_t>(static_cast<std::size_t>(recording.pp_size))};
  const auto stages = static_cast<std::size_t>(recording.pp_size);
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    if (recording.ops[op].type != OpType::kBackwardCompute) continue;
    const auto stage = static_cast<std::size_t>(recording.ops[op].stage);
    ++times.per_lane[stage];
    for (const StepBlock& block : recording.blocks) {
      const auto row = block.row(block.value_s, op);
      for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
        double squares = 0;
        for (std::size_t step = 0; step < block.shape.steps; ++step) {
          const double value = row[block.shape.lane(step, dp)];
          times.mean_s.at(block.first_step + step, dp, stage) += value;
          squares += value * value;
        }
        times.squares[dp * stages + stage] += squares;
      }
    }
  }
  for (std::size_t stage = 0; stage < stages; ++stage) {
    for (double& sum : times.mean_s.lanes_of(stage)) sum /= static_cast<double>(times.per_lane[stage]);
  }
  return times;
}

// Divides out what all lanes of a stage have in common, then what all stages of a lane have, twice over;
// returns the stages' part.
std::vector<double> divide_out(LaneStages& pace) {
  std::vector<double> of_stage(pace.stages(), 1.0);
  const auto divide_stages = [&] {
    for (std::size_t stage = 0; stage < pace.stages(); ++stage) {
      std::vector<double> lanes(pace.lanes_of(stage).begin(), pace.lanes_of(stage).end());
      const double common = take_lower_median(lanes);
      if (!(common > 0)) continue;
      of_stage[stage] *= common;
      for (double& value : pace.lanes_of(stage)) value /= common;
    }
  };
  divide_stages();
  if (pace.stages() == 1) return of_stage;  // what a lane has in common is what its worker has
  std::vector<double> stages(pace.stages());
  for (std::size_t step = 0; step < pace.steps(); ++step) {
    for (std::size_t replica = 0; replica < pace.replicas(); ++replica) {
      for (std::size_t stage = 0; stage < stages.size(); ++stage)
        stages[stage] = pace.at(step, replica, stage);
      const double common = take_lower_median(stages);
      if (!(common > 0)) continue;
      for (std::size_t stage = 0; stage < stages.size(); ++stage) pace.at(step, replica, stage) /= common;
    }
  }
  divide_stages();
  return of_stage;
}

// Chunks of a stage are one after the other in `pairs`.
template <typename Visit>
void for_each_chunk(std::span<const PassPair> pairs, Visit visit) {
  while (!pairs.empty()) {
    const auto end = std::find_if(pairs.begin(), pairs.end(), [&](const PassPair& pair) {
      return std::pair(pair.stage, pair.mc) != std::pair(pairs.front().stage, pairs.front().mc);
    });
    const auto count = static_cast<std::size_t>(end - pairs.begin());
    visit(pairs.first(count));
    pairs = pairs.subspan(count);
  }
}

// Finds the pauses of one chunk of a stage.
class PauseFinder {
 public:
  PauseFinder(const Recording& recording, std::span<const PassPair> chunk)
      : recording_(recording), chunk_(chunk) {}

  void find(std::vector<Pause>& pauses) {
    const double calm = calmest_ratio();
    std::vector<const PassPair*> suspects;
    for (const PassPair& pair : chunk_) {
      if (exceeds(pair, kSuspicious * calm)) suspects.push_back(&pair);
    }
    if (suspects.empty()) return;
    measure_ratios();
    for (const PassPair* pair : suspects) add_pauses(*pair, pauses);
  }

 private:
  // Forward over backward time of the lane where it is lowest: no lane is without pauses, perhaps.
  [[nodiscard]] double calmest_ratio() const {
    double calmest = std::numeric_limits<double>::infinity();
    for (const StepBlock& block : recording_.blocks) {
      std::vector<double> forward(block.shape.lanes());
      std::vector<double> backward(block.shape.lanes());
      for (const PassPair& pair : chunk_) {
        const auto f = block.row(block.value_s, pair.forward);
        const auto b = block.row(block.value_s, pair.backward);
        for (std::size_t lane = 0; lane < forward.size(); ++lane) forward[lane] += f[lane];
        for (std::size_t lane = 0; lane < forward.size(); ++lane) backward[lane] += b[lane];
      }
      for (std::size_t lane = 0; lane < forward.size(); ++lane) {
        if (backward[lane] > 0) calmest = std::min(calmest, forward[lane] / backward[lane]);
      }
    }
    return calmest;
  }

  [[nodiscard]] bool exceeds(const PassPair& pair, double ratio) const {
    bool any = false;
    for (const StepBlock& block : recording_.blocks) {
      const auto f = block.row(block.value_s, pair.forward);
      const auto b = block.row(block.value_s, pair.backward);
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) any |= f[lane] > ratio * b[lane];
    }
    return any;
  }

  void append_ratios(const PassPair& pair, std::vector<double>& ratios) const {
    for (const StepBlock& block : recording_.blocks) {
      const auto f = block.row(block.value_s, pair.forward);
      const auto b = block.row(block.value_s, pair.backward);
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
        if (b[lane] > 0) ratios.push_back(f[lane] / b[lane]);
      }
    }
  }

  void measure_ratios() {
    std::vector<double> ratios;
    for (const PassPair& pair : chunk_) append_ratios(pair, ratios);
    typical_ = take_median(ratios);
    for (double& ratio : ratios) ratio = std::abs(ratio - typical_);
    deviation_ = take_median(ratios);
  }

  void add_pauses(const PassPair& pair, std::vector<Pause>& pauses) const {
    // Some positions take longer in every step: the first pass of a step, say.
    std::vector<double> ratios;
    append_ratios(pair, ratios);
    const double here = ratios.size() >= kLanesForMedian ? take_median(ratios) : typical_;
    const double expected = std::max(here, typical_);
    const double limit = expected + std::max(kShortestPause * expected, kDeviations * deviation_);
    for (std::size_t i = 0; i < recording_.blocks.size(); ++i) {
      const StepBlock& block = recording_.blocks[i];
      const auto f = block.row(block.value_s, pair.forward);
      const auto b = block.row(block.value_s, pair.backward);
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
        if (!(f[lane] > limit * b[lane]) || !(b[lane] > 0)) continue;
        const std::size_t dp = lane / block.shape.steps;
        pauses.push_back(
            {{i, pair.forward, lane, expected * b[lane]},
             f[lane] - expected * b[lane],
             dp * static_cast<std::size_t>(recording_.pp_size) + static_cast<std::size_t>(pair.stage),
             block.first_step + lane % block.shape.steps});
      }
    }
  }

  const Recording& recording_;
  std::span<const PassPair> chunk_;
  double typical_ = 0;
  double deviation_ = 0;
};

// Second moments of pairs with mean 0.
struct Moments {
  double ff = 0;
  double bb = 0;
  double fb = 0;
  std::size_t count = 0;

  void add(double f, double b) {
    ff += f * f;
    bb += b * b;
    fb += f * b;
    ++count;
  }
};

// The passes of one chunk of a stage, without pauses, one lane after the other.
class ChunkPasses {
 public:
  ChunkPasses(const Recording& recording, std::span<const PassPair> chunk, const std::vector<Pause>& pauses)
      : recording_(recording), chunk_(chunk) {
    for (const Pause& pause : pauses) {
      const Patch& patch = pause.expected;
      expected_[{patch.op, patch.block, patch.lane}] = patch.value_s;
    }
  }

  void add_to(Moments& moments) const {
    for (std::size_t dp = 0; dp < static_cast<std::size_t>(recording_.dp_size); ++dp) {
      std::vector<std::pair<double, double>> passes;
      for (std::size_t i = 0; i < recording_.blocks.size(); ++i) {
        for (std::size_t step = 0; step < recording_.blocks[i].shape.steps; ++step) {
          append_lane(i, recording_.blocks[i].shape.lane(step, dp), passes);
          if (chunk_.size() > 1) add_centred(passes, moments);
        }
      }
      add_centred(passes, moments);
    }
  }

 private:
  void append_lane(std::size_t block_index, std::size_t lane,
                   std::vector<std::pair<double, double>>& passes) const {
    const StepBlock& block = recording_.blocks[block_index];
    for (const PassPair& pair : chunk_) {
      double forward = block.row(block.value_s, pair.forward)[lane];
      if (!expected_.empty()) {
        const auto expected = expected_.find({pair.forward, block_index, lane});
        if (expected != expected_.end()) forward = expected->second;
      }
      passes.emplace_back(forward, block.row(block.value_s, pair.backward)[lane]);
    }
  }

  // Relative to their mean; leaves `passes` empty.
  static void add_centred(std::vector<std::pair<double, double>>& passes, Moments& moments) {
    double forward = 0;
    double backward = 0;
    for (const auto& [f, b] : passes) {
      forward += f;
      backward += b;
    }
    const auto count = static_cast<double>(passes.size());
    if (forward > 0 && backward > 0) {
      for (const auto& [f, b] : passes) moments.add(f / (forward / count) - 1, b / (backward / count) - 1);
    }
    passes.clear();
  }

  const Recording& recording_;
  std::span<const PassPair> chunk_;
  std::map<std::tuple<OpId, std::size_t, std::size_t>, double> expected_;
};

}  // namespace

std::vector<PassPair> pair_passes(const Recording& recording) {
  std::map<std::tuple<std::int16_t, std::int16_t, std::int32_t>, OpId> forwards;
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const TraceOp& forward = recording.ops[op];
    if (forward.type != OpType::kForwardCompute || forward.mb_id == kUnset) continue;
    forwards.try_emplace({forward.stage, forward.mc, forward.mb_id}, op);
  }
  std::vector<PassPair> pairs;
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const TraceOp& backward = recording.ops[op];
    if (backward.type != OpType::kBackwardCompute) continue;
    const auto forward = forwards.find({backward.stage, backward.mc, backward.mb_id});
    if (forward != forwards.end()) pairs.push_back({forward->second, op, backward.stage, backward.mc});
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const PassPair& a, const PassPair& b) {
    return std::pair(a.stage, a.mc) < std::pair(b.stage, b.mc);
  });
  return pairs;
}

SteadyPace measure_pace(const Recording& recording) {
  BackwardTimes backwards = measure_backwards(recording);
  LaneStages pace = backwards.mean_s;
  const std::vector<double> of_stage = divide_out(pace);
  SteadyPace result;
  std::vector<double> sorted = of_stage;
  const double middle = take_lower_median(sorted);
  for (const double stage : of_stage) result.stage.push_back(middle > 0 ? stage / middle : 1);
  for (std::size_t dp = 0; dp < pace.replicas(); ++dp) {
    for (std::size_t stage = 0; stage < pace.stages(); ++stage) {
      double own = 0;
      double seconds = 0;
      for (std::size_t step = 0; step < pace.steps(); ++step) {
        own += pace.at(step, dp, stage);
        seconds += backwards.mean_s.at(step, dp, stage);
      }
      const auto steps = static_cast<double>(pace.steps());
      result.worker.push_back(own / steps);
      const double count = steps * static_cast<double>(backwards.per_lane[stage]);
      const double square = backwards.squares[dp * pace.stages() + stage] / count;
      const double of_mean = seconds / steps > 0 ? square / ((seconds / steps) * (seconds / steps)) - 1 : 0;
      result.worker_noise.push_back(std::sqrt(std::max(0.0, of_mean) / count));
    }
  }
  return result;
}

std::vector<Pause> find_pauses(const Recording& recording, const std::vector<PassPair>& pairs) {
  std::vector<Pause> pauses;
  for_each_chunk(pairs, [&](std::span<const PassPair> chunk) { PauseFinder(recording, chunk).find(pauses); });
  return pauses;
}

std::optional<PassCorrelation> correlate_passes(const Recording& recording,
                                                const std::vector<PassPair>& pairs, std::int32_t stage,
                                                const std::vector<Pause>& pauses) {
  Moments moments;
  for_each_chunk(pairs, [&](std::span<const PassPair> chunk) {
    if (chunk.front().stage == stage) ChunkPasses(recording, chunk, pauses).add_to(moments);
  });
  if (!(moments.ff > 0) || !(moments.bb > 0)) return std::nullopt;
  return PassCorrelation{moments.fb / std::sqrt(moments.ff * moments.bb),
                         std::sqrt(moments.ff / static_cast<double>(moments.count)), moments.count};
}

}  // namespace goodput
