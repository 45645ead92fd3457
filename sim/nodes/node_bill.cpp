#include "sim/nodes/node_bill.h"

#include <algorithm>
#include <numeric>

#include "sim/base/errors.h"

namespace goodput {

NodeBill::NodeBill(std::span<const PricedNodes> pools)
    : pools_(pools), held_(pools.size()), usd_(pools.size()) {
  NodeId end = 0;
  for (const PricedNodes& pool : pools) {
    end += pool.nodes;
    ends_.push_back(end);
  }
}

std::size_t NodeBill::pool_of(NodeId node) const {
  if (ends_.size() == 1) return 0;
  const auto pool = std::upper_bound(ends_.begin(), ends_.end() - 1, node);
  return static_cast<std::size_t>(pool - ends_.begin());
}

void NodeBill::note(const NodeChange& change) {
  if (pools_.empty()) return;
  for (const NodeId node : change.lost) --held_[pool_of(node)];
  for (const NodeId node : change.joined) ++held_[pool_of(node)];
}

void NodeBill::pass(SimTime begin, SimTime end) {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const PricedNodes& pool = pools_[i];
    const bool is_reserved = pool.billing == Billing::kReserved;
    GOODPUT_CHECK(!is_reserved || held_[i] <= pool.reserved(), "more nodes are held than are reserved");
    const std::int32_t paid = is_reserved ? pool.reserved() : held_[i];
    missing_ += NodeTime{paid - held_[i]} * (end - begin).count();
    if (!pool.prices.is_free()) usd_[i] += paid * pool.prices.cost(begin, end);
  }
}

double NodeBill::usd() const {
  return std::accumulate(usd_.begin(), usd_.end(), 0.0);
}

}  // namespace goodput
