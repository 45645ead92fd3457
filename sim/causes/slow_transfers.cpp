#include "sim/causes/slow_transfers.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kFarAboveMedian = 4;
constexpr double kWorthALook = 3;  // over the median of a sample
constexpr std::size_t kSample = 2000;

bool is_replica_collective(OpType type) {
  return type == OpType::kParamsAllGather || type == OpType::kGradsReduceScatter ||
         type == OpType::kSeparateGradsAllReduce;
}

// A message or collective that took too long.
struct Event {
  std::size_t stage = 0;
  std::size_t peer_stage = 0;  // messages; else the stage itself
  std::size_t dp_rank = 0;     // messages
  bool is_collective = false;
  double excess_s = 0;
  double factor = 0;
  std::vector<Patch> patches;
};

class SlowTransferFinder {
 public:
  SlowTransferFinder(const OpGraph& graph, const Recording& recording, const LinkPace& links)
      : graph_(graph), recording_(recording), links_(links) {
    for (OpId op = 0; op < recording.ops.size(); ++op)
      ops_of_[{recording.ops[op].type, recording.ops[op].stage}].push_back(op);
  }

  std::optional<SlowTransfers> find() {
    for (const OpGraph::Unit& unit : graph_.units()) visit(unit);
    if (events_.empty()) return std::nullopt;
    for (const Event& event : events_) total_ += event.excess_s;
    const Place place = busiest_place();
    return gather(place.first, place.second);
  }

 private:
  using Kind = std::pair<OpType, std::int16_t>;
  using Place = std::pair<std::size_t, std::optional<std::size_t>>;  // stage, dp rank

  void visit(const OpGraph::Unit& unit) {
    const OpType type = recording_.ops[unit.first].type;
    const bool is_pair = recording_.is_message(unit);
    if (!is_pair && !(unit.count == 1 && is_replica_collective(type))) return;
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      if (stands_out(op)) {
        add_events(unit, !is_pair);
        return;
      }
    }
  }

  // All transfers of this type on this stage,
  double median_of(OpId op) {
    const Kind kind{recording_.ops[op].type, recording_.ops[op].stage};
    const auto [known, is_new] = medians_.try_emplace(kind, 0.0);
    if (is_new) known->second = median_of(kind, 1);
    return known->second;
  }
  // or some thousand, to see whether any is worth a closer look.
  double rough_median_of(OpId op) {
    const Kind kind{recording_.ops[op].type, recording_.ops[op].stage};
    const auto [known, is_new] = rough_medians_.try_emplace(kind, 0.0);
    if (is_new) {
      const std::size_t lanes = recording_.steps.size() * static_cast<std::size_t>(recording_.dp_size);
      known->second = median_of(kind, 1 + lanes * ops_of_[kind].size() / kSample);
    }
    return known->second;
  }

  // Of every `stride`-th value.
  double median_of(const Kind& kind, std::size_t stride) {
    std::vector<double> values;
    std::size_t next = 0;
    for (const OpId op : ops_of_[kind]) {
      for (const StepBlock& block : recording_.blocks) {
        const auto row = block.row(block.value_s, op).first(block.shape.lanes());
        for (; next < row.size(); next += stride) values.push_back(row[next]);
        next -= row.size();
      }
    }
    return take_median(values);
  }

  bool stands_out(OpId op) {
    const double limit = kWorthALook * rough_median_of(op);
    bool any = false;
    if (!(limit > 0)) return false;
    for (const StepBlock& block : recording_.blocks) {
      const auto row = block.row(block.value_s, op);
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) any |= row[lane] > limit;
    }
    return any;
  }

  // One event per meeting: messages one by one, a collective once for all replicas that take part.
  void add_events(const OpGraph::Unit& unit, bool is_collective) {
    const ReplicaBlocks meetings =
        graph_.partition_of(unit).expanded(static_cast<std::size_t>(recording_.dp_size));
    for (std::size_t i = 0; i < recording_.blocks.size(); ++i) {
      const LaneShape shape = recording_.blocks[i].shape;
      for (std::size_t step = 0; step < shape.steps; ++step) {
        for (std::uint32_t meeting = 0; meeting < meetings.size(); ++meeting) {
          Event event = event_of(unit, is_collective);
          for (const std::uint32_t dp : meetings.members_of(meeting)) {
            event.dp_rank = dp;
            const double usual =
                is_collective ? 1 : links_.factor(unit, dp, recording_.blocks[i].first_step + step);
            for (OpId op = unit.first; op < unit.first + unit.count; ++op)
              add_end(i, op, shape.lane(step, dp), usual, event);
          }
          if (event.excess_s > 0) events_.push_back(std::move(event));
        }
      }
    }
  }

  [[nodiscard]] Event event_of(const OpGraph::Unit& unit, bool is_collective) const {
    Event event;
    event.is_collective = is_collective;
    event.stage = static_cast<std::size_t>(recording_.ops[unit.first].stage);
    event.peer_stage = static_cast<std::size_t>(recording_.ops[unit.first + unit.count - 1].stage);
    return event;
  }

  // Adds an op to the event if it took too long. `usual` is its link's pace, as a multiple of the median.
  void add_end(std::size_t block_index, OpId op, std::size_t lane, double usual, Event& event) {
    const double median = usual * median_of(op);
    const StepBlock& block = recording_.blocks[block_index];
    const double value = block.row(block.value_s, op)[lane];
    if (!(median > 0) || !(value > kFarAboveMedian * median)) return;
    event.excess_s = std::max(event.excess_s, value - median);
    event.factor = std::max(event.factor, value / median);
    event.patches.push_back({block_index, op, lane, median});
  }

  // A slow message counts for both its ends, a slow collective for all replicas of its stage.
  [[nodiscard]] Place busiest_place() const {
    std::map<std::size_t, double> of_stage;
    std::map<std::pair<std::size_t, std::size_t>, double> of_worker;  // by (dp, stage)
    for (const Event& event : events_) {
      if (event.is_collective) {
        of_stage[event.stage] += event.excess_s;
        continue;
      }
      of_worker[{event.dp_rank, event.stage}] += event.excess_s;
      if (event.peer_stage != event.stage) of_worker[{event.dp_rank, event.peer_stage}] += event.excess_s;
    }
    Place busiest{of_stage.empty() ? 0 : of_stage.begin()->first, std::nullopt};
    double most = 0;
    const auto consider = [&](Place place, double excess) {
      if (excess <= most) return;
      busiest = place;
      most = excess;
    };
    for (const auto& [stage, excess] : of_stage) consider({stage, std::nullopt}, excess);
    for (const auto& [worker, excess] : of_worker) {
      const auto collectives = of_stage.find(worker.second);
      consider({worker.second, worker.first},
               excess + (collectives == of_stage.end() ? 0 : collectives->second));
    }
    return busiest;
  }

  // Without any excess the share counts as 1.
  [[nodiscard]] static double share_of(double part, double all) { return all > 0 ? part / all : 1; }

  // A worker also takes part in the collectives of its stage.
  [[nodiscard]] SlowTransfers gather(std::size_t stage, std::optional<std::size_t> dp_rank) const {
    SlowTransfers slow;
    slow.stage = stage;
    slow.dp_rank = dp_rank;
    std::vector<std::size_t> peers;
    double messages = 0;
    double all_messages = 0;
    for (const Event& event : events_) {
      if (!event.is_collective) all_messages += event.excess_s;
      const bool touches = event.stage == stage || event.peer_stage == stage;
      if (!touches || (!event.is_collective && event.dp_rank != dp_rank)) continue;
      if (!event.is_collective) messages += event.excess_s;
      ++slow.count;
      slow.excess_s += event.excess_s;
      slow.worst_factor = std::max(slow.worst_factor, event.factor);
      slow.patches.insert(slow.patches.end(), event.patches.begin(), event.patches.end());
      peers.push_back(event.stage == stage ? event.peer_stage : event.stage);
    }
    slow.share_of_excess =
        std::min(share_of(slow.excess_s, total_), share_of(messages, dp_rank ? all_messages : 0));
    const bool is_one_link = std::all_of(
        peers.begin(), peers.end(), [&](std::size_t peer) { return peer == peers.front() && peer != stage; });
    if (is_one_link) slow.peer_stage = peers.front();
    slow.transfers = count_transfers(stage, dp_rank.has_value());
    return slow;
  }

  [[nodiscard]] std::size_t count_transfers(std::size_t stage, bool with_messages) const {
    std::size_t count = 0;
    for (OpId op = 0; op < recording_.ops.size(); ++op) {
      if (static_cast<std::size_t>(recording_.ops[op].stage) != stage) continue;
      const bool is_collective = is_replica_collective(recording_.ops[op].type);
      if (is_collective || (with_messages && recording_.is_message(op))) ++count;
    }
    return count * recording_.steps.size();
  }

  const OpGraph& graph_;
  const Recording& recording_;
  const LinkPace& links_;
  std::map<Kind, std::vector<OpId>> ops_of_;
  std::map<Kind, double> medians_;
  std::map<Kind, double> rough_medians_;
  std::vector<Event> events_;
  double total_ = 0;
};

}  // namespace

std::optional<SlowTransfers> find_slow_transfers(const OpGraph& graph, const Recording& recording,
                                                 const LinkPace& links) {
  return SlowTransferFinder(graph, recording, links).find();
}

}  // namespace goodput
