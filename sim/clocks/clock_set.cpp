#include "sim/clocks/clock_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/clocks/clock_course.h"

namespace goodput {
namespace {

constexpr double kSureChange = 8;        // of the noise of single ends
constexpr double kAgreement = 1.0 / 3;   // of the change: how far a neighboring step may be off
constexpr double kEndNoiseS = 2e-4;      // of single ends of real messages
constexpr double kEndNoiseShare = 0.05;  // of their transfer
// A change counts without confirmation by neighboring steps if it is at least this large and no message
// differs from the others of its part of the step by more than this share of the change.
constexpr double kCleanChangeS = 0.02;
constexpr double kCleanResidual = 0.1;
constexpr std::size_t kFewestForJumps = 3;  // steps: in two, the noise of a collective looks like a jump
constexpr std::size_t kFewEnds = 8;         // of a neighboring step: those next to this one
constexpr std::size_t kMostEnds = 96;       // more, evenly thinned out, do not cut better

// The messages between two stages.
struct Channel {
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;
  std::vector<std::pair<OpId, OpId>> ops;
};

std::vector<Channel> find_channels(const Recording& recording, const OpGraph& graph) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Channel> channels;
  for (const OpGraph::Unit& unit : graph.units()) {
    if (!recording.is_message(unit)) continue;
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
  bool is_forward = false;
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

// Splits `ends`, in the order of one clock, where two levels fit best.
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

// A large change that all messages show, in both directions in one of the parts: senders that end early or
// late show opposite signs in the two directions. If every worker counts time from the start of the step, the
// next step does not show the change.
bool is_clean(const Cut& cut, std::span<const SeenEnd> ends) {
  const double by = std::abs(cut.after_s - cut.before_s);
  if (by < std::max(kCleanChangeS, kSureChange * cut.noise_s) || cut.before < 2 || cut.after < 2)
    return false;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (std::abs(ends[i].apart() - (i < cut.before ? cut.before_s : cut.after_s)) > kCleanResidual * by)
      return false;
  }
  const auto has_both = [](std::span<const SeenEnd> part) {
    const auto forwards = std::ranges::count_if(part, &SeenEnd::is_forward);
    return forwards > 0 && forwards < static_cast<std::ptrdiff_t>(part.size());
  };
  return has_both(ends.first(cut.before)) || has_both(ends.subspan(cut.before));
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

  // Tries the order of the lower stage's clock and that of the upper's: a clock that was set back has the
  // wrong order.
  [[nodiscard]] std::vector<SeenEnd> ends_of(std::size_t block_index, std::size_t step, bool by_lower) const {
    const StepBlock& block = recording_.blocks[block_index];
    const std::size_t n = block.shape.stride();
    const std::size_t lane = block.shape.lane(step - block.first_step, replica_);
    std::vector<SeenEnd> ends;
    for (const auto& [lower, upper] : channel_.ops) {
      const std::size_t a = lower * n + lane;
      const std::size_t b = upper * n + lane;
      const double transfer = std::min(block.end_s[a] - block.start_s[a], block.end_s[b] - block.start_s[b]);
      ends.push_back({block.end_s[a], block.end_s[b], kEndNoiseS + kEndNoiseShare * std::max(0.0, transfer),
                      recording_.ops[lower].type == OpType::kForwardSend});
    }
    std::sort(ends.begin(), ends.end(), [by_lower](const SeenEnd& x, const SeenEnd& y) {
      return by_lower ? x.lower_s < y.lower_s : x.upper_s < y.upper_s;
    });
    return ends;
  }

  // 0: no certain change. A clock set back by more than half a step shows the later part first, so the order
  // that fits the neighboring steps is taken.
  [[nodiscard]] double change_in(std::size_t block, std::size_t step) const {
    const std::vector<SeenEnd> by_lower = ends_of(block, step, true);
    const std::vector<SeenEnd> by_upper = ends_of(block, step, false);
    const Cut lower = best_cut(by_lower);
    const Cut upper = best_cut(by_upper);
    if (const double by = sure_change(block, step, lower); by != 0) return by;
    if (const double by = sure_change(block, step, upper); by != 0) return by;
    if (is_clean(lower, by_lower)) return lower.after_s - lower.before_s;
    return is_clean(upper, by_upper) ? upper.after_s - upper.before_s : 0;
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

// The changes that the pairs of one clock show.
struct Witnesses {
  std::vector<double> by_s;  // of pairs that changed
  std::size_t pairs = 0;     // with other clocks
  [[nodiscard]] double share() const {
    return static_cast<double>(by_s.size()) / static_cast<double>(std::max<std::size_t>(1, pairs));
  }
};

std::uint32_t worker_of(const Recording& recording, const StepBlock& block, std::size_t lane, int stage) {
  return static_cast<std::uint32_t>(lane / block.shape.steps * static_cast<std::size_t>(recording.pp_size) +
                                    static_cast<std::size_t>(stage));
}

void add_once(std::vector<SetStep>& sets, const SetStep& set) {
  if (std::ranges::find(sets, set.step, &SetStep::step) == sets.end()) sets.push_back(set);
}

// Passes that start before others of their kind that came earlier.
void add_passes_out_of_order(const Recording& recording, std::vector<SetStep>& sets) {
  std::map<std::tuple<std::int16_t, OpType, std::int32_t>, OpId> passes;  // by stage, type and seq_id
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const TraceOp& at = recording.ops[op];
    if (is_pass(at.type)) passes[{at.stage, at.type, at.seq_id}] = op;
  }
  std::optional<OpId> earlier;
  for (const auto& [kind, op] : passes) {
    const TraceOp& after = recording.ops[op];
    const std::optional<OpId> before = std::exchange(earlier, op);
    if (!before || recording.ops[*before].stage != after.stage || recording.ops[*before].type != after.type)
      continue;
    for (const StepBlock& block : recording.blocks) {
      const auto first = block.row(block.start_s, *before);
      const auto second = block.row(block.start_s, op);
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
        const double back = first[lane] - second[lane];
        if (!(back > kClockWorthAligningS)) continue;
        add_once(sets, {block.first_step + lane % block.shape.steps,
                        {worker_of(recording, block, lane, after.stage), std::nullopt, back}});
      }
    }
  }
}

// Passes that start after the optimizer of their worker, which waits for all of them.
void add_late_passes(const Recording& recording, std::vector<SetStep>& sets) {
  for (OpId optimizer = 0; optimizer < recording.ops.size(); ++optimizer) {
    const TraceOp& end = recording.ops[optimizer];
    if (end.type != OpType::kOptimizer) continue;
    for (const StepBlock& block : recording.blocks) {
      const auto starts = block.row(block.start_s, optimizer);
      std::vector<double> last(block.shape.lanes(), -std::numeric_limits<double>::infinity());
      for (OpId op = 0; op < recording.ops.size(); ++op) {
        if (recording.ops[op].stage != end.stage || !is_pass(recording.ops[op].type)) continue;
        const auto passes = block.row(block.start_s, op);
        for (std::size_t lane = 0; lane < last.size(); ++lane)
          last[lane] = std::max(last[lane], passes[lane]);
      }
      for (std::size_t lane = 0; lane < last.size(); ++lane) {
        const double late = last[lane] - starts[lane];
        if (!(late > kCleanChangeS)) continue;
        add_once(sets, {block.first_step + lane % block.shape.steps,
                        {worker_of(recording, block, lane, end.stage), std::nullopt, late}});
      }
    }
  }
}

// How long each worker says that each step took, from its first start to its last end.
class StepSpans {
 public:
  explicit StepSpans(const Recording& recording)
      : workers_(recording.ranks.size()), span_s_(workers_ * recording.steps.size()) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const auto stages = static_cast<std::size_t>(recording.pp_size);
    for (const StepBlock& block : recording.blocks) {
      std::vector<double> first(workers_ * block.shape.steps, kNever);
      std::vector<double> last(workers_ * block.shape.steps, -kNever);
      for (OpId op = 0; op < recording.ops.size(); ++op) {
        const auto starts = block.row(block.start_s, op);
        const auto ends = block.row(block.end_s, op);
        for (std::size_t replica = 0; replica < block.shape.replicas; ++replica) {
          const std::size_t worker = replica * stages + static_cast<std::size_t>(recording.ops[op].stage);
          for (std::size_t step = 0; step < block.shape.steps; ++step) {
            const std::size_t lane = block.shape.lane(step, replica);
            first[step * workers_ + worker] = std::min(first[step * workers_ + worker], starts[lane]);
            last[step * workers_ + worker] = std::max(last[step * workers_ + worker], ends[lane]);
          }
        }
      }
      for (std::size_t i = 0; i < first.size(); ++i)
        span_s_[block.first_step * workers_ + i] = last[i] - first[i];
    }
  }

  // How much longer the step was than for the workers of other clocks, in the median.
  [[nodiscard]] double excess_s(std::size_t step, std::size_t worker,
                                std::span<const std::uint32_t> clock_of_worker) const {
    std::vector<double> others;
    for (std::size_t other = 0; other < workers_; ++other) {
      if (clock_of_worker[other] != clock_of_worker[worker])
        others.push_back(span_s_[step * workers_ + other]);
    }
    return others.empty() ? 0 : span_s_[step * workers_ + worker] - take_median(others);
  }

 private:
  std::size_t workers_;
  std::vector<double> span_s_;  // by step, then worker
};

}  // namespace

std::vector<SetStep> find_ops_out_of_order(const Recording& recording) {
  std::vector<SetStep> sets;
  add_passes_out_of_order(recording, sets);
  add_late_passes(recording, sets);
  std::ranges::sort(sets, {}, &SetStep::step);
  return sets;
}

std::vector<SetStep> find_sets_at_jumps(const Recording& recording, const ClockEstimate& estimate) {
  std::vector<SetStep> sets;
  if (recording.steps.size() < kFewestForJumps) return sets;
  std::optional<StepSpans> spans;
  for (std::uint32_t worker = 0; worker < estimate.clock_of_worker.size(); ++worker) {
    const std::uint32_t clock = estimate.clock_of_worker[worker];
    const ClockCourse& course = estimate.clocks[clock].course;
    for (std::size_t i = 0; i < course.pieces.size(); ++i) {
      const std::size_t after = course.pieces[i].first_step;
      // Before the first step the clock may have been right.
      const double by = course.pieces[i].offset_s - (i > 0 ? course.pieces[i - 1].offset_s : 0);
      if (std::abs(by) < kCleanChangeS) continue;
      if (!spans) spans.emplace(recording);
      const double excess_after = std::abs(spans->excess_s(after, worker, estimate.clock_of_worker));
      const double excess_before =
          i > 0 ? std::abs(spans->excess_s(after - 1, worker, estimate.clock_of_worker)) : 0;
      if (std::max(excess_after, excess_before) < kAgreement * std::abs(by)) continue;
      const std::size_t step = excess_after >= excess_before ? after : after - 1;
      if (std::ranges::find(sets, step, &SetStep::step) == sets.end())
        sets.push_back({step, {clock, std::nullopt, by}});
    }
  }
  std::ranges::sort(sets, {}, &SetStep::step);
  return sets;
}

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
