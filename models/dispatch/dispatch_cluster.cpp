#include "models/dispatch/dispatch_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/dispatch/dispatch_schedule.h"
#include "models/dispatch/dispatch_tables.h"

namespace goodput::moe {
namespace {

// A slot of the cluster: rank * slots + slot. It is what travels in place of a row of activations.
using SlotId = std::int64_t;

std::vector<SlotId> scatter(const RankDispatch& dispatch, const RoutedSlots& routed, std::int32_t rank) {
  const std::span<const std::int32_t> expert_of = routed.of_rank(rank);
  std::vector<SlotId> buffer(static_cast<std::size_t>(dispatch.send_offsets().back()), -1);
  const std::vector<std::int64_t> positions = dispatch.positions(expert_of);
  for (std::size_t slot = 0; slot < positions.size(); ++slot) {
    if (positions[slot] < 0) continue;
    buffer[static_cast<std::size_t>(positions[slot])] =
        SlotId{rank} * routed.slots + static_cast<SlotId>(slot);
  }
  return buffer;
}

class Emulation {
 public:
  Emulation(const DispatchSchedule& schedule, const RoutedSlots& routed)
      : hosts_(schedule.hosts()), routed_(routed), times_delivered_(routed.expert_of.size(), 0) {
    const auto ranks = static_cast<std::size_t>(hosts_.ranks());
    dispatches_.reserve(ranks);
    for (std::int32_t rank = 0; rank < hosts_.ranks(); ++rank) dispatches_.emplace_back(schedule, rank);
    result_.processed.assign(ranks, 0);
    result_.sent_to.assign(ranks, 0);
    result_.received_from.assign(ranks, 0);
  }

  ClusterDispatch run() {
    for (std::int32_t source = 0; source < hosts_.ranks(); ++source) send_all(source);
    check_all_delivered();
    return std::move(result_);
  }

 private:
  void send_all(std::int32_t source) {
    const auto s = static_cast<std::size_t>(source);
    const std::vector<SlotId> buffer = scatter(dispatches_[s], routed_, source);
    const std::span<const Tokens> counts = dispatches_[s].send_counts();
    std::size_t offset = 0;
    for (std::int32_t destination = 0; destination < hosts_.ranks(); ++destination) {
      const std::size_t columns = hosts_.of_rank(destination).size();
      const std::span<const Tokens> sent = counts.subspan(hosts_.first_entry(destination), columns);
      const auto total = static_cast<std::size_t>(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}));
      receive(source, destination, std::span(buffer).subspan(offset, total));
      offset += total;
    }
    GOODPUT_CHECK(offset == buffer.size(), "a rank must send all its slots");
  }

  // The receiver cuts the message up by its own counts.
  void receive(std::int32_t source, std::int32_t destination, std::span<const SlotId> message) {
    const std::span<const HostedExpert> own = hosts_.of_rank(destination);
    const std::span<const Tokens> counts =
        dispatches_[static_cast<std::size_t>(destination)].receive_counts().subspan(
            static_cast<std::size_t>(source) * own.size(), own.size());
    std::size_t offset = 0;
    for (std::size_t column = 0; column < own.size(); ++column) {
      const auto count = static_cast<std::size_t>(counts[column]);
      GOODPUT_CHECK(offset + count <= message.size(),
                    "a receiver must not expect more slots than it was sent");
      deliver(source, own[column].expert, message.subspan(offset, count));
      offset += count;
    }
    GOODPUT_CHECK(offset == message.size(), "sender and receiver must agree on the length of a message");
    result_.processed[static_cast<std::size_t>(destination)] += static_cast<std::int64_t>(offset);
    if (source == destination || message.empty()) return;
    result_.moved += static_cast<std::int64_t>(offset);
    ++result_.sent_to[static_cast<std::size_t>(source)];
    ++result_.received_from[static_cast<std::size_t>(destination)];
  }

  void deliver(std::int32_t source, std::int32_t expert, std::span<const SlotId> segment) {
    SlotId last = SlotId{source} * routed_.slots - 1;
    const SlotId end = (SlotId{source} + 1) * routed_.slots;
    for (const SlotId id : segment) {
      GOODPUT_CHECK(id > last && id < end, "slots must belong to their sender and stay in order");
      const auto slot = static_cast<std::size_t>(id);
      GOODPUT_CHECK(routed_.expert_of[slot] == expert, "a slot must arrive at a replica of its expert");
      ++times_delivered_[slot];
      last = id;
    }
  }

  void check_all_delivered() {
    for (std::size_t slot = 0; slot < times_delivered_.size(); ++slot) {
      const bool kept = routed_.expert_of[slot] >= 0;
      GOODPUT_CHECK(times_delivered_[slot] == (kept ? 1 : 0),
                    "every slot that is not dropped must be delivered exactly once");
      ++(kept ? result_.delivered : result_.dropped);
    }
  }

  const ExpertHosts& hosts_;
  const RoutedSlots& routed_;
  std::vector<RankDispatch> dispatches_;
  std::vector<std::uint8_t> times_delivered_;  // of every slot
  ClusterDispatch result_;
};

}  // namespace

Result<std::vector<Tokens>> count_slots(const RoutedSlots& routed) {
  const auto width = static_cast<std::size_t>(routed.experts);
  std::vector<Tokens> counts(static_cast<std::size_t>(routed.ranks) * width, 0);
  for (std::int32_t rank = 0; rank < routed.ranks; ++rank) {
    Tokens* row = counts.data() + static_cast<std::size_t>(rank) * width;
    for (const std::int32_t expert : routed.of_rank(rank)) {
      if (expert >= routed.experts) {
        return Error{
            fmt::format("routed slots, rank {0}: expert must be 0 to {2}, or -1 for a dropped slot, not {1}",
                        rank, expert, routed.experts - 1)};
      }
      if (expert >= 0) ++row[expert];
    }
  }
  return counts;
}

Result<ClusterDispatch> emulate_cluster(const ExpertHosts& hosts, const RoutedSlots& routed,
                                        DispatchPolicy policy) {
  const std::size_t slots = static_cast<std::size_t>(routed.ranks) * static_cast<std::size_t>(routed.slots);
  if (routed.expert_of.size() != slots) {
    return Error{fmt::format("routed slots: must have {1} ranks x {2} slots, not {0} slots",
                             routed.expert_of.size(), routed.ranks, routed.slots)};
  }
  GOODPUT_TRY(const auto counts, count_slots(routed));
  const RoutedTokens tokens{routed.ranks, routed.experts, counts};
  GOODPUT_TRY(const auto schedule, DispatchSchedule::make(hosts, tokens, policy));
  ClusterDispatch result = Emulation(schedule, routed).run();

  DispatchTables tables;
  GOODPUT_TRY_STATUS(tables.update(hosts, tokens));
  GOODPUT_CHECK(std::ranges::equal(result.processed, tables.processed()),
                "both implementations must give every rank the same number of tokens");
  return result;
}

}  // namespace goodput::moe
