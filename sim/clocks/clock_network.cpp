#include "sim/clocks/clock_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kLeastNoiseS = 2e-4;      // single ends of real messages differ by some 0.1 to 0.3 ms
constexpr double kNoiseOfTransfer = 0.05;  // what both ends of a transfer differ by, of its length
constexpr double kContradiction = 10;      // times the noise, that ends of one step are apart
// Samples per kind of op, pair and step; more add nothing, least of all if there are many steps.
constexpr std::size_t kLeastSamples = 8;
constexpr std::size_t kMostSamples = 32;
constexpr std::size_t kSamplesOfAllSteps = 128;

// The mean of two independent differences, weighted by precision. Averaging the two directions of a pair
// cancels the time by which sends end before their receives.
ClockDifference combined(const ClockDifference& x, const ClockDifference& y) {
  if (x.noise_s == 0) return y;
  const double weight_x = 1 / (x.noise_s * x.noise_s);
  const double weight_y = 1 / (y.noise_s * y.noise_s);
  return {(weight_x * x.seconds + weight_y * y.seconds) / (weight_x + weight_y),
          1 / std::sqrt(weight_x + weight_y)};
}

// At most `most` of the samples, evenly spread.
template <typename T>
void thin_out(std::vector<T>& items, std::size_t most) {
  if (items.size() <= most) return;
  for (std::size_t i = 0; i < most; ++i) items[i] = items[i * items.size() / most];
  items.resize(most);
}

// How much noisier a kind of op is than expected: |sample - middle| / noise of its samples.
class NoiseScale {
 public:
  void add(std::span<const ClockDifference> samples, const ClockDifference& middle) {
    if (samples.size() < 2) return;
    const auto n = static_cast<double>(samples.size());
    const double correction = std::sqrt(n / (n - 1));
    const std::size_t first = deviations_.size() < kPlenty ? 0 : sets_++ % samples.size();
    const std::size_t end = deviations_.size() < kPlenty ? samples.size() : first + 1;
    for (std::size_t i = first; i < end; ++i)
      deviations_.push_back(correction * std::abs(samples[i].seconds - middle.seconds) / samples[i].noise_s);
  }

  // At least 1 if there are few samples.
  [[nodiscard]] double take() {
    if (deviations_.size() >= kEnough)
      return std::max(kLeastScale, kDeviationOfMedian * take_median(deviations_));
    double square = 0;
    for (const double deviation : deviations_) square += deviation * deviation;
    return deviations_.empty() ? 1.0
                               : std::max(1.0, std::sqrt(square / static_cast<double>(deviations_.size())));
  }

 private:
  static constexpr std::size_t kEnough = 20;
  static constexpr std::size_t kPlenty = 1000;  // with more samples, one per set is enough
  static constexpr double kLeastScale = 0.1;
  std::vector<double> deviations_;
  std::size_t sets_ = 0;
};

// Two stages of a replica, by messages of one kind: ops of the lower stage and of the upper.
struct Link {
  std::size_t lower = 0;
  std::size_t upper = 0;
  std::vector<std::pair<OpId, OpId>> ops;
};

// Collectives of a stage over the same blocks of replicas. Every block has a meeting point.
struct Rounds {
  std::size_t stage = 0;
  ReplicaBlocks blocks;
  std::vector<OpId> ops;
};

struct Matches {
  std::vector<Link> links;
  std::vector<Rounds> rounds;  // first those over all replicas, one a stage, with or without ops
};

// Whether the ops of a collective end together, but for the noise of transfers.
bool ends_together(const Recording& recording, OpType type) {
  if (index_of(type) < kNdtimelineTypeCount)
    return type == OpType::kParamsAllGather || type == OpType::kGradsReduceScatter;
  return recording.types[type].op_class == OpClass::kCollective;
}

class RoundsFinder {
 public:
  RoundsFinder(const Recording& recording, const OpGraph& graph) : recording_(recording), graph_(graph) {
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(recording.pp_size); ++stage)
      rounds_.push_back({stage, ReplicaPartition::together().expanded(replicas()), {}});
  }

  void add(const OpGraph::Unit& unit) {
    if (!unit.is_group || unit.partition == kReplicasApart || recording_.dp_size == 1) return;
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      if (!ends_together(recording_, recording_.ops[op].type)) continue;
      const auto stage = static_cast<std::size_t>(recording_.ops[op].stage);
      // Of NDTimeline's groups of a stage the first op stands for all.
      if (op > unit.first && stage == static_cast<std::size_t>(recording_.ops[op - 1].stage)) continue;
      rounds_[place_of(stage, unit)].ops.push_back(op);
    }
  }

  [[nodiscard]] std::vector<Rounds> take() { return std::move(rounds_); }

 private:
  [[nodiscard]] std::size_t replicas() const { return static_cast<std::size_t>(recording_.dp_size); }

  std::size_t place_of(std::size_t stage, const OpGraph::Unit& unit) {
    if (graph_.partition_of(unit).is_together()) return stage;
    const auto [place, is_new] = places_.try_emplace({stage, unit.partition}, rounds_.size());
    if (is_new) rounds_.push_back({stage, graph_.partition_of(unit).expanded(replicas()), {}});
    return place->second;
  }

  const Recording& recording_;
  const OpGraph& graph_;
  std::vector<Rounds> rounds_;
  std::map<std::pair<std::size_t, PartitionId>, std::size_t> places_;
};

Matches find_matches(const Recording& recording, const OpGraph& graph) {
  Matches matches;
  RoundsFinder rounds_finder(recording, graph);
  std::map<std::tuple<std::size_t, std::size_t, OpType>, Link> links;
  for (const OpGraph::Unit& unit : graph.units()) {
    const TraceOp& first = recording.ops[unit.first];
    const auto stage = static_cast<std::size_t>(first.stage);
    rounds_finder.add(unit);
    if (!recording.is_message(unit)) continue;
    const auto other = static_cast<std::size_t>(recording.ops[unit.first + 1].stage);
    if (other == stage) continue;
    OpId lower = unit.first;
    OpId upper = unit.first + 1;
    if (other < stage) std::swap(lower, upper);
    Link& link = links[{std::min(stage, other), std::max(stage, other), recording.ops[lower].type}];
    link.lower = std::min(stage, other);
    link.upper = std::max(stage, other);
    link.ops.emplace_back(lower, upper);
  }
  const std::size_t most =
      std::clamp(kSamplesOfAllSteps / recording.steps.size(), kLeastSamples, kMostSamples);
  for (auto& [key, link] : links) {
    thin_out(link.ops, most);
    matches.links.push_back(std::move(link));
  }
  matches.rounds = rounds_finder.take();
  for (Rounds& rounds : matches.rounds) thin_out(rounds.ops, most);
  return matches;
}

void name_clocks(const Recording& recording, ClockNetwork& network) {
  const auto hosts = std::find_if(recording.places.begin(), recording.places.end(),
                                  [](const Recording::PlaceKind& kind) { return kind.name == "host"; });
  std::unordered_map<std::string, std::uint32_t> clock_of_host;
  for (std::size_t worker = 0; worker < recording.ranks.size(); ++worker) {
    const bool has_shared_clock =
        hosts != recording.places.end() && recording.naming == WorkerGrid::Naming::kByPlace;
    const std::string host = has_shared_clock ? hosts->of_worker[worker] : "";
    auto clock = static_cast<std::uint32_t>(network.names.size());
    if (!host.empty()) clock = clock_of_host.try_emplace(host, clock).first->second;
    if (clock == network.names.size())
      network.names.push_back(host.empty() ? fmt::format("rank {}", recording.ranks[worker]) : host);
    network.clock_of_worker.push_back(clock);
  }
}

// The differences of one recording, pair by pair.
class Measurement {
 public:
  Measurement(const Recording& recording, const OpGraph& graph)
      : recording_(recording),
        matches_(find_matches(recording, graph)),
        replicas_(static_cast<std::size_t>(recording.dp_size)) {
    name_clocks(recording, network_);
    network_.nodes = network_.names.size();
    for (const Rounds& rounds : matches_.rounds) {
      first_node_.push_back(static_cast<std::uint32_t>(network_.nodes));
      network_.nodes += rounds.blocks.size();
    }
    list_pairs();
    network_.differences.resize(network_.pairs.size() * recording.steps.size());
    network_.slack.resize(network_.names.size() * recording.steps.size());
    for (const StepBlock& block : recording.blocks) {
      for (std::size_t i = 0; i < matches_.links.size(); ++i)
        measure_link(block, matches_.links[i], first_of_link_[i]);
      std::size_t first = first_of_rounds_;
      for (const Rounds& rounds : matches_.rounds) {
        for (std::uint32_t one = 0; !rounds.ops.empty() && one < rounds.blocks.size(); ++one) {
          const auto members = rounds.blocks.members_of(one);
          for (std::size_t step = 0; step < block.shape.steps; ++step)
            measure_rounds(block, step, rounds, members, first);
          first += members.size();
        }
      }
    }
    scale_noise_of_pairs();
  }

  [[nodiscard]] ClockNetwork take() { return std::move(network_); }

 private:
  [[nodiscard]] std::uint32_t worker(std::size_t replica, std::size_t stage) const {
    return static_cast<std::uint32_t>(replica * static_cast<std::size_t>(recording_.pp_size) + stage);
  }
  [[nodiscard]] std::uint32_t clock(std::uint32_t worker) const { return network_.clock_of_worker[worker]; }

  // Links of the same two stages share their pairs.
  void list_pairs() {
    for (std::size_t i = 0; i < matches_.links.size(); ++i) {
      const Link& link = matches_.links[i];
      const bool is_new =
          i == 0 || matches_.links[i - 1].lower != link.lower || matches_.links[i - 1].upper != link.upper;
      first_of_link_.push_back(is_new ? network_.pairs.size() : first_of_link_.back());
      for (std::size_t replica = 0; is_new && replica < replicas_; ++replica) {
        const std::uint32_t lower = worker(replica, link.lower);
        const std::uint32_t upper = worker(replica, link.upper);
        network_.pairs.push_back({clock(lower), clock(upper), lower, upper});
      }
    }
    first_of_rounds_ = network_.pairs.size();
    for (std::size_t i = 0; i < matches_.rounds.size(); ++i) {
      const Rounds& rounds = matches_.rounds[i];
      for (std::uint32_t one = 0; !rounds.ops.empty() && one < rounds.blocks.size(); ++one) {
        for (const std::uint32_t replica : rounds.blocks.members_of(one)) {
          const std::uint32_t member = worker(replica, rounds.stage);
          network_.pairs.push_back({clock(member), first_node_[i] + one, member, kMeetingPoint});
        }
      }
    }
  }

  void add(std::size_t step, std::size_t pair, const ClockDifference& difference) {
    ClockDifference& at = network_.differences[step * network_.pairs.size() + pair];
    at = combined(at, difference);
  }

  void measure_link(const StepBlock& block, const Link& link, std::size_t first_pair) {
    const std::size_t n = block.shape.stride();
    samples_.resize(link.ops.size());
    for (std::size_t replica = 0; replica < replicas_; ++replica) {
      for (std::size_t step = 0; step < block.shape.steps; ++step) {
        const std::size_t lane = block.shape.lane(step, replica);
        for (std::size_t i = 0; i < link.ops.size(); ++i) {
          const std::size_t lower = link.ops[i].first * n + lane;
          const std::size_t upper = link.ops[i].second * n + lane;
          const double transfer =
              std::min(block.end_s[lower] - block.start_s[lower], block.end_s[upper] - block.start_s[upper]);
          samples_[i] = {block.end_s[lower] - block.end_s[upper], noise_of(transfer)};
        }
        const ClockDifference middle = take_middle(samples_);
        noise_of_messages_.add(samples_, middle);
        for (const std::size_t stage : {link.lower, link.upper})
          leave_no_slack(link, replica, stage, block.first_step + step);
        add(block.first_step + step, first_pair + replica, middle);
      }
    }
  }

  // Both ends of a message end together, so messages leave two clocks no slack.
  void leave_no_slack(const Link& link, std::size_t replica, std::size_t stage, std::size_t step) {
    if (clock(worker(replica, link.lower)) == clock(worker(replica, link.upper))) return;
    network_.slack[step * network_.names.size() + clock(worker(replica, stage))] = {0, 0};
  }

  // Every worker of a block against the middle of all.
  void measure_rounds(const StepBlock& block, std::size_t step, const Rounds& rounds,
                      std::span<const std::uint32_t> members, std::size_t first_pair) {
    const std::size_t n = block.shape.stride();
    const std::vector<OpId>& ops = rounds.ops;
    samples_.resize(ops.size() * members.size());
    shortest_.clear();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ends_.clear();
      double transfer = std::numeric_limits<double>::infinity();
      for (const std::uint32_t replica : members) {
        const std::size_t at = ops[i] * n + block.shape.lane(step, replica);
        transfer = std::min(transfer, block.end_s[at] - block.start_s[at]);
        ends_.push_back(block.end_s[at]);
      }
      shortest_.push_back(transfer);
      const auto middle = ends_.begin() + static_cast<std::ptrdiff_t>((ends_.size() - 1) / 2);
      std::nth_element(ends_.begin(), middle, ends_.end());
      for (std::size_t member = 0; member < members.size(); ++member) {
        const double end = block.end_s[ops[i] * n + block.shape.lane(step, members[member])];
        samples_[member * ops.size() + i] = {end - *middle, noise_of(transfer)};
      }
    }
    for (std::size_t member = 0; member < members.size(); ++member) {
      const auto own = std::span(samples_).subspan(member * ops.size(), ops.size());
      const auto [least, most] = slack_of(block, block.shape.lane(step, members[member]), ops, own);
      ClockDifference its = take_middle(own);
      noise_of_rounds_.add(own, its);
      its.noise_s = std::max(its.noise_s, noise_of_contradiction(own, its));
      ClockSlack& slack = network_.slack[(block.first_step + step) * network_.names.size() +
                                         clock(worker(members[member], rounds.stage))];
      slack.early_s = std::min(slack.early_s, most - its.seconds);
      slack.late_s = std::min(slack.late_s, its.seconds - least);
      add(block.first_step + step, first_pair + member, its);
    }
  }

  // The lowest and highest offset of a worker's clock at which no worker ends a collective before all have
  // started it. `own` is in the order of `ops`, as are the durations of the shortest members.
  [[nodiscard]] std::pair<double, double> slack_of(const StepBlock& block, std::size_t lane,
                                                   const std::vector<OpId>& ops,
                                                   std::span<const ClockDifference> own) const {
    const std::size_t n = block.shape.stride();
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::size_t at = ops[i] * n + lane;
      least = std::max(least, own[i].seconds - (block.end_s[at] - block.start_s[at]));
      most = std::min(most, own[i].seconds + shortest_[i]);
    }
    return {least, most};
  }

  // If the ends of a step disagree, their median is as uncertain as the distance between them.
  [[nodiscard]] static double noise_of_contradiction(std::span<const ClockDifference> samples,
                                                     const ClockDifference& middle) {
    double square = 0;
    for (const ClockDifference& sample : samples) square += std::pow(sample.seconds - middle.seconds, 2);
    const auto n = static_cast<double>(samples.size());
    const double noise = std::sqrt(square) / n;
    return noise > kContradiction * middle.noise_s ? noise : 0;
  }

  void scale_noise_of_pairs() {
    const double messages = noise_of_messages_.take();
    const double rounds = noise_of_rounds_.take();
    for (std::size_t i = 0; i < network_.differences.size(); ++i)
      network_.differences[i].noise_s *= i % network_.pairs.size() < first_of_rounds_ ? messages : rounds;
  }

  // No op transfers for longer than the shortest member lasted: the last to start does not wait.
  [[nodiscard]] static double noise_of(double transfer_s) {
    return kLeastNoiseS + kNoiseOfTransfer * std::max(0.0, transfer_s);
  }

  const Recording& recording_;
  Matches matches_;
  std::size_t replicas_;
  ClockNetwork network_;
  std::vector<std::size_t> first_of_link_;
  std::size_t first_of_rounds_ = 0;
  std::vector<ClockDifference> samples_;
  std::vector<double> ends_;
  std::vector<double> shortest_;           // of the ops of the block at hand
  std::vector<std::uint32_t> first_node_;  // by rounds: the meeting point of their first block
  NoiseScale noise_of_messages_;
  NoiseScale noise_of_rounds_;
};

}  // namespace

ClockDifference take_middle(std::span<ClockDifference> samples) {
  std::sort(samples.begin(), samples.end(),
            [](const ClockDifference& x, const ClockDifference& y) { return x.seconds < y.seconds; });
  double weight = 0;
  double precision = 0;
  for (const ClockDifference& sample : samples) {
    weight += 1 / sample.noise_s;
    precision += 1 / (sample.noise_s * sample.noise_s);
  }
  const double noise = 1 / std::sqrt(precision);
  double before = 0;  // weight up to the middle of the last sample
  double below = samples.front().seconds;
  double reached = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double own = 1 / samples[i].noise_s;
    const double centre = reached + own / 2;
    if (centre >= weight / 2) {
      if (i == 0) return {samples[0].seconds, noise};
      const double part = (weight / 2 - before) / (centre - before);
      return {below + part * (samples[i].seconds - below), noise};
    }
    before = centre;
    below = samples[i].seconds;
    reached += own;
  }
  return {samples.back().seconds, noise};
}

ClockNetwork measure_clocks(const Recording& recording, const OpGraph& graph) {
  return Measurement(recording, graph).take();
}

}  // namespace goodput
