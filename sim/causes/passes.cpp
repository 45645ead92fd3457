#include "sim/causes/passes.h"

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

// A pause makes a pass at least this much longer than expected, and by at least this many deviations.
constexpr double kShortestPause = 0.25;
constexpr double kDeviations = 8;           // median absolute deviations
constexpr double kSuspicious = 1.2;         // over the calmest lane: worth a closer look
constexpr std::size_t kLanesForMedian = 8;  // below, one pause would move the median of a position

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

// Finds the pauses in forward passes of one chunk of a stage; with swapped pairs, in backward passes.
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
  // Forward over backward time in the lane with the lowest ratio, because every lane may have pauses.
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
    // Some positions take longer in every step, for example the first pass of a step.
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

std::vector<Pause> find_pauses(const Recording& recording, const std::vector<PassPair>& pairs) {
  std::vector<Pause> pauses;
  const auto find = [&](std::span<const PassPair> chunk) { PauseFinder(recording, chunk).find(pauses); };
  for_each_chunk(pairs, find);
  std::vector<PassPair> reversed = pairs;
  for (PassPair& pair : reversed) std::swap(pair.forward, pair.backward);
  for_each_chunk(reversed, find);
  return pauses;
}

}  // namespace goodput
