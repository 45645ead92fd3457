// What the nodes of a job cost, told what happens to them and how time passes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/membership.h"
#include "sim/nodes/price_schedule.h"

namespace goodput {

// Which nodes are paid for.
enum class Billing : std::uint8_t {
  kHeld,      // those that are there, used or not
  kReserved,  // all, from the start to the end, also while they are being repaired
};
inline constexpr std::array<std::string_view, 2> kBillingNames = {"held", "reserved"};

// Nodes of consecutive ids that are paid for alike.
struct PricedNodes {
  NodeId nodes = 0;  // behind those of the pools before it; the last pool has all other ids, too
  PriceSchedule prices{};
  Billing billing = Billing::kHeld;
  std::optional<NodeId> most_held{};  // of them at the same time, which is how many are reserved; none: all

  [[nodiscard]] NodeId reserved() const { return most_held.value_or(nodes); }
};

class NodeBill {
 public:
  // Nodes without a pool cost nothing. `pools` outlive it.
  explicit NodeBill(std::span<const PricedNodes> pools);

  // Nodes that came and went at one moment.
  void note(const NodeChange& change);
  // Nothing happened to the nodes from `begin` to `end`. Takes time with the pools alone.
  void pass(SimTime begin, SimTime end);

  [[nodiscard]] double usd() const;
  [[nodiscard]] const std::vector<double>& usd_by_pool() const { return usd_; }
  // Node-nanoseconds that were paid for without the node being there.
  [[nodiscard]] NodeTime missing_time() const { return missing_; }

 private:
  [[nodiscard]] std::size_t pool_of(NodeId node) const;

  std::span<const PricedNodes> pools_;
  std::vector<NodeId> ends_;        // of the ids, by pool
  std::vector<std::int32_t> held_;  // by pool
  std::vector<double> usd_;         // likewise
  NodeTime missing_ = 0;
};

}  // namespace goodput
