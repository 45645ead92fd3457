#include "sim/clocks/clock_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/clocks/clock_course.h"

namespace goodput {
namespace {

constexpr double kSureChange = 8;        // of the noise of single ends
constexpr double kAgreement = 1.0 / 3;   // of the change: how far a neighbouring step may be off
constexpr double kEndNoiseS = 2e-4;      // of single ends of real messages
constexpr double kEndNoiseShare = 0.05;  // of their transfer
constexpr std::size_t kFewEnds = 8;      // of a neighbouring step: those next to this one
constexpr std::size_t kMostEnds = 96;    // more, evenly thinned out, do not cut better

// The messages between two stages.
struct Channel {
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;
  std::vector<std::pair<OpId, OpId>> ops;
};

std::vector<Channel> find_channels(const Recording& recording, const OpGraph& graph) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Channel> channels;
  for (const OpGraph::Unit& unit : graph.units()) {
    if (unit.sync != Sync::kLane || unit.count != 2 || !is_message(recording.ops[unit.first].type)) continue;
    OpId lower = unit.first;
    OpId upper = unit.first + 1;
    if (recording.ops[lower].stage == recording.ops[upper].stage) continue;
    if (recording.ops[lower].stage > recording.ops[upper].stage) std::swap(lower, upper);
    const auto low = static_cast<std::uint32_t>(recording.ops[lower].stage);
    const auto high = static_cast<std::uint32_t>(recording.ops[upper].stage);
    Channel& channel = channels[{low, high}];
    channel.lower = low;
    channel.upper = high;
    channel.ops.emplace_back(lower, upper);
  }
  std::vector<Channel> all;
  for (auto& [stages, channel] : channels) {
    const std::size_t count = std::min(channel.ops.size(), kMostEnds);
    for (std::size_t i = 0; i < count; ++i) channel.ops[i] = channel.ops[i * channel.ops.size() / count];
    channel.ops.resize(count);
    all.push_back(std::move(channel));
  }
  return all;
}

// One message, seen by both clocks.
struct SeenEnd {
  double lower_s = 0;
  double upper_s = 0;
  double noise_s = 0;
  [[nodiscard]] double apart() const { return lower_s - upper_s; }
};

double middle(std::span<const SeenEnd> ends) {
  std::vector<double> apart;
  for (const SeenEnd& end : ends) apart.push_back(end.apart());
  return take_median(apart);
}

struct Cut {
  double before_s = 0;
  double after_s = 0;
  std::size_t before = 0;  // messages
  std::size_t after = 0;
  double deviation_s = std::numeric_limits<double>::infinity();  // the sum of what is left
  double noise_s = 0;
};

// Of `ends` in the order of one clock: where two levels leave least.
Cut best_cut(std::span<const SeenEnd> ends) {
  Cut best;
  for (std::size_t at = 1; at < ends.size(); ++at) {
    Cut cut{middle(ends.first(at)), middle(ends.subspan(at)), at, ends.size() - at, 0, 0};
    for (std::size_t i = 0; i < ends.size(); ++i)
      cut.deviation_s += std::abs(ends[i].apart() - (i < at ? cut.before_s : cut.after_s));
    if (cut.deviation_s < best.deviation_s) best = cut;
  }
  std::vector<double> noises;
  std::vector<double> deviations;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    noises.push_back(ends[i].noise_s);
    deviations.push_back(std::abs(ends[i].apart() - (i < best.before ? best.before_s : best.after_s)));
  }
  best.noise_s = std::max(take_median(noises), kDeviationOfMedian * take_median(deviations));
  return best;
}

// A channel of one replica, step by step.
class Search {
 public:
  Search(const Recording& recording, const Channel& channel, std::size_t replica)
      : recording_(recording), channel_(channel), replica_(replica) {}

  void add_changes(std::vector<DifferenceChange>& changes) {
    if (channel_.ops.size() < 2) return;
    for (std::size_t block = 0; block < recording_.blocks.size(); ++block) {
      for (std::size_t step = 0; step < recording_.blocks[block].shape.steps; ++step) {
        if (!may_change(recording_.blocks[block], step)) continue;
        const std::size_t index = recording_.blocks[block].first_step + step;
        if (const double by = change_in(block, index); by != 0)
          changes.push_back({index, worker(channel_.lower), worker(channel_.upper), by});
      }
    }
  }

 private:
  [[nodiscard]] std::uint32_t worker(std::uint32_t stage) const {
    return static_cast<std::uint32_t>(replica_) * static_cast<std::uint32_t>(recording_.pp_size) + stage;
  }

  [[nodiscard]] bool may_change(const StepBlock& block, std::size_t step) const {
    const std::size_t n = block.shape.stride();
    const std::size_t lane = block.shape.lane(step, replica_);
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const auto& [lower, upper] : channel_.ops) {
      const double apart = block.end_s[lower * n + lane] - block.end_s[upper * n + lane];
      least = std::min(least, apart);
      most = std::max(most, apart);
    }
    return most - least > kClockWorthAligningS;
  }

  // In the order of the lower stage's clock, or of the upper's: that of a clock that was set back is wrong.
  [[nodiscard]] std::vector<SeenEnd> ends_of(std::size_t block_index, std::size_t step, bool by_lower) const {
    const StepBlock& block = recording_.blocks[block_index];
    const std::size_t n = block.shape.stride();
    const std::size_t lane = block.shape.lane(step - block.first_step, replica_);
    std::vector<SeenEnd> ends;
    for (const auto& [lower, upper] : channel_.ops) {
      const std::size_t a = lower * n + lane;
      const std::size_t b = upper * n + lane;
      const double transfer = std::min(block.end_s[a] - block.start_s[a], block.end_s[b] - block.start_s[b]);
      ends.push_back({block.end_s[a], block.end_s[b], kEndNoiseS + kEndNoiseShare * std::max(0.0, transfer)});
    }
    std::sort(ends.begin(), ends.end(), [by_lower](const SeenEnd& x, const SeenEnd& y) {
      return by_lower ? x.lower_s < y.lower_s : x.upper_s < y.upper_s;
    });
    return ends;
  }

  // 0: none that is sure. A clock set back by more than half a step shows the later part first: of the two
  // orders one fits the neighbouring steps.
  [[nodiscard]] double change_in(std::size_t block, std::size_t step) const {
    const double by = sure_change(block, step, best_cut(ends_of(block, step, true)));
    return by != 0 ? by : sure_change(block, step, best_cut(ends_of(block, step, false)));
  }

  [[nodiscard]] double sure_change(std::size_t block, std::size_t step, const Cut& cut) const {
    const double by = cut.after_s - cut.before_s;
    if (std::abs(by) <= std::max(kClockWorthAligningS, kSureChange * cut.noise_s)) return 0;
    const StepBlock& own = recording_.blocks[block];
    const bool has_last = step > 0;
    const bool has_next = step + 1 < recording_.steps.size();
    if ((!has_last && cut.before < 2) || (!has_next && cut.after < 2)) return 0;
    const double agreement = kAgreement * std::abs(by);
    if (has_last) {
      const auto ends = ends_of(step > own.first_step ? block : block - 1, step - 1, true);
      const auto late = std::span(ends).last(std::min(kFewEnds, ends.size()));
      if (std::abs(middle(late) - cut.before_s) > agreement) return 0;
    }
    if (has_next) {
      const bool same = step + 1 < own.first_step + own.shape.steps;
      const auto ends = ends_of(same ? block : block + 1, step + 1, true);
      const auto early = std::span(ends).first(std::min(kFewEnds, ends.size()));
      if (std::abs(middle(early) - cut.after_s) > agreement) return 0;
    }
    return by;
  }

  const Recording& recording_;
  const Channel& channel_;
  std::size_t replica_;
};

// What pairs of one clock say.
struct Witnesses {
  std::vector<double> by_s;  // of pairs that changed
  std::size_t pairs = 0;     // with other clocks
  [[nodiscard]] double share() const {
    return static_cast<double>(by_s.size()) / static_cast<double>(std::max<std::size_t>(1, pairs));
  }
};

}  // namespace

std::vector<DifferenceChange> find_changes_inside_steps(const Recording& recording, const OpGraph& graph) {
  std::vector<DifferenceChange> changes;
  for (const Channel& channel : find_channels(recording, graph)) {
    for (std::size_t replica = 0; replica < static_cast<std::size_t>(recording.dp_size); ++replica)
      Search(recording, channel, replica).add_changes(changes);
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const DifferenceChange& x, const DifferenceChange& y) { return x.step < y.step; });
  return changes;
}

ClockSet explain_changes(std::span<const DifferenceChange> of_step, const Recording& recording,
                         std::span<const std::uint32_t> clock_of_worker) {
  std::map<std::uint32_t, Witnesses> clocks;
  for (const DifferenceChange& change : of_step) {
    clocks[clock_of_worker[change.lower]].by_s.push_back(change.by_s);
    clocks[clock_of_worker[change.upper]].by_s.push_back(-change.by_s);
  }
  const auto stages = static_cast<std::size_t>(recording.pp_size);
  // Neighbours of a worker's stage; the first stage and the last have one.
  for (std::size_t worker = 0; worker + 1 < clock_of_worker.size(); ++worker) {
    if ((worker + 1) % stages == 0) continue;
    const std::uint32_t lower = clock_of_worker[worker];
    const std::uint32_t upper = clock_of_worker[worker + 1];
    if (lower == upper) continue;
    for (const std::uint32_t clock : {lower, upper}) {
      if (const auto found = clocks.find(clock); found != clocks.end()) ++found->second.pairs;
    }
  }
  const auto better = [](const auto& x, const auto& y) {
    if (x.second.share() != y.second.share()) return x.second.share() > y.second.share();
    return x.second.by_s.size() > y.second.by_s.size();
  };
  const auto best = std::min_element(clocks.begin(), clocks.end(), better);
  ClockSet set{best->first, std::nullopt, take_median(best->second.by_s)};
  for (auto other = std::next(best); other != clocks.end(); ++other) {
    if (!set.other && !better(*best, *other)) set.other = other->first;
  }
  return set;
}

}  // namespace goodput
