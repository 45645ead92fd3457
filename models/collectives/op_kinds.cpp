#include "models/collectives/op_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace goodput {
namespace {

using Kind = CommunicationPart::Kind;

// A segment is a whole pass if it takes at least this share of the longest pass of its kind.
constexpr double kWholePass = 0.2;
// Enough ranks per stage that one slow rank hardly moves their mean.
constexpr std::size_t kEnoughPeers = 4;

std::string_view plain_name(std::string_view collective) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"allreduce", "all-reduce"},
      {"all_reduce", "all-reduce"},
      {"allreduce_coalesced", "all-reduce"},
      {"_allgather_base", "all-gather"},
      {"allgather", "all-gather"},
      {"all_gather", "all-gather"},
      {"allgather_into_tensor_coalesced", "all-gather"},
      {"_reduce_scatter_base", "reduce-scatter"},
      {"reduce_scatter", "reduce-scatter"},
      {"reduce_scatter_tensor_coalesced", "reduce-scatter"},
      {"all_to_all", "all-to-all"},
      {"all_to_allv", "all-to-all"},
      {"recv", "receive"}};
  const auto* const found =
      std::ranges::find(kNames, collective, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kNames) ? collective : found->second;
}

std::string name_of_group(const RankActivity& rank, const CommunicationPart& part) {
  return part.group < 0 ? "" : label_of(rank.groups[static_cast<std::size_t>(part.group)]);
}

class KindFinder {
 public:
  KindFinder(const JoinedRanks& joined, const CollectiveGraph& graph,
             const std::vector<SlotSegments>& segments)
      : joined_(joined), graph_(graph), segments_(segments) {
    for (std::uint32_t slot = 0; slot < joined.slots().size(); ++slot) {
      labels_.emplace_back();
      work_.emplace_back();
      for (std::size_t cut = 0; cut < joined.slots()[slot].cuts.size(); ++cut) weigh(slot, cut);
    }
    find_longest_passes();
  }

  OpKinds find() {
    for (const CollectiveOp& op : graph_.ops) {
      const bool is_part = op.kind == CollectiveOp::Kind::kPart || op.kind == CollectiveOp::Kind::kMark;
      kinds_.type.push_back(is_part ? type_of_part(op) : type_of_segment(op));
      const auto [pool, is_new] = pools_.try_emplace(is_part ? pool_of_part(op) : pool_of_segment(op),
                                                     static_cast<std::uint32_t>(pools_.size()));
      kinds_.pool.push_back(pool->second);
    }
    return std::move(kinds_);
  }

 private:
  // Type, texts and numbers that ops of a pool have in common.
  using PoolKey = std::tuple<OpType, std::string, std::int64_t, std::uint64_t, std::uint64_t>;

  // Finds the label of most of a segment's time, and how long the segment works. That is the 10th percentile
  // of its durations: a pass takes its time in every step, but a hidden wait occurs in some steps only.
  void weigh(std::uint32_t slot, std::size_t cut) {
    std::map<std::string, double> share;
    std::vector<double> durations;
    const std::size_t steps = joined_.steps().size();
    for (std::size_t lane = 0; lane < joined_.lanes(); ++lane) {
      const std::uint32_t rank = joined_.slots()[slot].ranks[lane];
      for (std::size_t step = 0; step < steps; ++step) {
        const SegmentTime& time = segments_[slot].at(lane * steps + step, cut);
        const auto duration = static_cast<double>(time.work_ns + time.host_ns);
        share[joined_.ranks()[rank].names[joined_.cuts(rank, step)[cut].label]] += duration;
        durations.push_back(duration);
      }
    }
    labels_[slot].push_back(
        std::ranges::max_element(share, {}, [](const auto& entry) { return entry.second; })->first);
    const auto tenth = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 10);
    std::ranges::nth_element(durations, tenth);
    work_[slot].push_back(*tenth);
  }

  void find_longest_passes() {
    for (std::size_t slot = 0; slot < work_.size(); ++slot) {
      for (std::size_t cut = 0; cut < work_[slot].size(); ++cut) {
        double& longest = longest_[labels_[slot][cut]];
        longest = std::max(longest, work_[slot][cut]);
      }
    }
  }

  OpType type_named(const std::string& name, OpClass op_class, IdealStatistic ideal) {
    const auto known = std::ranges::find(kinds_.types, name, &OpTypeTable::Row::name);
    if (known != kinds_.types.end()) return static_cast<OpType>(known - kinds_.types.begin());
    return kinds_.types.add({name, name, op_class, ideal});
  }

  OpType type_of_segment(const CollectiveOp& op) {
    const std::string& label = labels_[op.slot][op.at];
    if (label == "data-loader") return type_named(label, OpClass::kHost, IdealStatistic::kMedian);
    if (op.kind == CollectiveOp::Kind::kHost)
      return type_named("host", OpClass::kHost, IdealStatistic::kMedian);
    if (label == "forward") return OpType::kForwardCompute;
    if (label == "backward") return OpType::kBackwardCompute;
    if (label == "optimizer") return OpType::kOptimizer;
    return type_named("other-compute", OpClass::kCompute, IdealStatistic::kMean);
  }

  [[nodiscard]] bool is_at_collective(const CollectiveOp& op, std::size_t cut) const {
    const RankSlot& slot = joined_.slots()[op.slot];
    return slot.cuts[cut] == TrackCut::Kind::kLaunch &&
           joined_.part(slot.ranks.front(), 0, slot.first_part[cut]).kind == Kind::kCollective;
  }

  // Collectives cut passes into pieces; messages only separate whole passes.
  [[nodiscard]] bool is_whole_pass(const CollectiveOp& op) const {
    const std::string& label = labels_[op.slot][op.at];
    const bool has_few_peers = joined_.is_pipeline() && joined_.lanes() < kEnoughPeers;
    if (!has_few_peers || op.kind != CollectiveOp::Kind::kSegment) return false;
    if (label != "forward" && label != "backward") return false;
    if (is_at_collective(op, op.at) || (op.at > 0 && is_at_collective(op, op.at - 1))) return false;
    return work_[op.slot][op.at] >= kWholePass * longest_.at(label);
  }

  PoolKey pool_of_segment(const CollectiveOp& op) {
    const OpType type = kinds_.type.back();
    if (is_whole_pass(op)) return {type, "pass", -1, 0, 0};
    const std::uint64_t slot = joined_.is_pipeline() ? op.slot : 0;
    return {type, op.kind == CollectiveOp::Kind::kHost ? "host" : "segment", op.at, slot, 0};
  }

  [[nodiscard]] const CommunicationPart& part_of(const CollectiveOp& op) const {
    return joined_.part(joined_.slots()[op.slot].ranks.front(), 0, op.at);
  }
  [[nodiscard]] const RankActivity& rank_of(const CollectiveOp& op) const {
    return joined_.ranks()[joined_.slots()[op.slot].ranks.front()];
  }

  OpType type_of_part(const CollectiveOp& op) {
    if (op.kind == CollectiveOp::Kind::kMark)
      return type_named("start of an eager send", OpClass::kOther, IdealStatistic::kMedian);
    const CommunicationPart& part = part_of(op);
    const RankActivity& rank = rank_of(op);
    const std::string group = name_of_group(rank, part);
    const std::string plain(plain_name(rank.names[part.name]));
    const std::string name = group.empty() ? plain : fmt::format("{} ({})", plain, group);
    constexpr std::size_t kRoom = 16;  // for the types of segments, and names without groups
    const bool is_full = kinds_.types.size() + kRoom >= OpTypeTable::kMostTypes;
    return type_named(is_full ? "communication" : name,
                      part.kind == Kind::kCollective ? OpClass::kCollective : OpClass::kP2p,
                      IdealStatistic::kMedian);
  }

  PoolKey pool_of_part(const CollectiveOp& op) {
    const CommunicationPart& part = part_of(op);
    const RankActivity& rank = rank_of(op);
    const OpType type = kinds_.type.back();
    const std::string what = op.kind == CollectiveOp::Kind::kMark ? "mark" : rank.names[part.name];
    const std::int64_t size = part.elements;
    const bool is_sized = size >= 0 && what != "all_to_allv";
    if (is_sized || part.shape != 0) return {type, what, is_sized ? size : -1, is_sized ? 0 : part.shape, 0};
    if (part.kind != Kind::kCollective) return {type, what, -1, 0, 0};
    return {type, what, -1, op.slot + 1, op.at};
  }

  const JoinedRanks& joined_;
  const CollectiveGraph& graph_;
  const std::vector<SlotSegments>& segments_;
  std::vector<std::vector<std::string>> labels_;  // by slot and cut
  std::vector<std::vector<double>> work_;         // by slot and cut: nanoseconds, the 10th percentile
  std::map<std::string, double> longest_;         // of the segments of a label
  std::map<PoolKey, std::uint32_t> pools_;
  OpKinds kinds_;
};

}  // namespace

OpKinds kinds_of_ops(const JoinedRanks& joined, const CollectiveGraph& graph,
                     const std::vector<SlotSegments>& segments) {
  return KindFinder(joined, graph, segments).find();
}

}  // namespace goodput
