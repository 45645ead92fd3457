#include "models/step/op_pricer.h"

#include <algorithm>

#include "sim/base/errors.h"

namespace goodput {
namespace {

// Of the ring, direct and point-to-point algorithms: what one GPU sends to other nodes.
double bytes_to_other_nodes(const CollectiveCall& call) {
  const double nodes = call.group.nodes();
  if (nodes <= 1) return 0;
  const double near = std::min(call.group.per_node, call.group.size);
  const double ring_pass = call.bytes / near * (nodes - 1) / nodes;
  switch (call.kind) {
    case Collective::kAllReduce:
      return 2 * ring_pass;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return ring_pass;
    case Collective::kAllToAll:
      if (call.by_link) return call.imbalance * call.by_link->between;
      return call.imbalance * call.bytes * (call.group.size - near) / call.group.size;
    case Collective::kSendRecv:
      return call.bytes;
  }
  GOODPUT_CHECK(false, "unknown collective");
}

// Bytes that one GPU reads and writes: what it sends, what it receives and, in reductions, its own values.
double bytes_in_memory(const CollectiveCall& call) {
  const double others = (call.group.size - 1.0) / call.group.size;
  switch (call.kind) {
    case Collective::kAllReduce:
      return (3 + 2) * others * call.bytes;
    case Collective::kReduceScatter:
      return 3 * others * call.bytes;
    case Collective::kAllGather:
      return 2 * others * call.bytes;
    case Collective::kAllToAll:
      if (call.by_link) return 2 * call.imbalance * (call.by_link->inside + call.by_link->between);
      return 2 * others * call.imbalance * call.bytes;
    case Collective::kSendRecv:
      return call.bytes;
  }
  GOODPUT_CHECK(false, "unknown collective");
}

}  // namespace

void Transfer::shorten(SimDuration left) {
  const SimDuration rest = std::max(SimDuration{}, left);
  if (time > SimDuration{}) {
    const double part = to_seconds(rest) / to_seconds(time);
    nic_bytes *= part;
    memory_bytes *= part;
  }
  time = rest;
}

SimDuration OpPricer::kernels(std::span<const Kernel> sequence) {
  Cost cost = cost_.kernels(sequence);
  cost.seconds *= interference_.slowest;
  return round(cost);
}

Transfer OpPricer::beside(Transfer transfer, SimDuration computation, SimDuration alone) const {
  const SimDuration overlapped = transfer.time - alone;
  const double taken = share_taken(transfer);
  transfer.shorten(alone + std::max(SimDuration{}, overlapped - computation));
  if (taken > 0)
    transfer.time = std::max(transfer.time, alone + from_seconds(taken * to_seconds(overlapped)));
  return transfer;
}

Transfer OpPricer::collective(const CollectiveCall& call) {
  if (call.group.size == 1 || call.bytes == 0) return {};
  constexpr std::size_t kMostRemembered = 32;
  auto known =
      std::find_if(asked_.begin(), asked_.end(), [&](const auto& asked) { return asked.first == call; });
  if (known == asked_.end()) {
    if (asked_.size() == kMostRemembered) asked_.clear();
    asked_.emplace_back(call, cost_.collective(call));
    known = asked_.end() - 1;
  }
  return {round(known->second), bytes_to_other_nodes(call), bytes_in_memory(call)};
}

Transfer OpPricer::part(const PartWork& work) {
  Transfer total;
  for (const CollectiveCall& call : work.collectives) total += collective(call);
  if (!work.beside.empty()) {
    const auto alone = from_seconds(to_seconds(total.time) * work.share_alone);
    total = beside(total, kernels(work.beside), alone);
  }
  if (!work.kernels.empty()) total.time += kernels(work.kernels);
  if (work.more) total.time += round({work.more->seconds * interference_.slowest, work.more->tier});
  return total;
}

void OpPricer::add(double seconds, Tier tier) {
  priced_s_ += seconds;
  tier_ = lowest(tier_, tier);
}

SimDuration OpPricer::round(Cost cost) {
  add(cost.seconds, cost.tier);
  return priced_s_ <= kLongestStepS ? from_seconds(cost.seconds) : SimDuration{};
}

}  // namespace goodput
