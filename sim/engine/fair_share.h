// Max-min fair rates of flows that share links: no flow can get more without taking from one that has no more
// than it. (Bertsekas and Gallager, Data Networks, section 6.5.2: progressive filling.)
//
// A flow has one rate on all links of its route at once, as a long TCP or RDMA transfer has: buffers,
// start-up and losses are not modelled. A change reaches only the flows that are connected with it through
// shared links; only their rates are computed anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/units.h"

namespace goodput {

// Dense numbers, 0 .. count-1.
using LinkId = std::uint32_t;
using FlowId = std::uint32_t;

class FairShare {
 public:
  // No flow is active. Keeps the memory of earlier use. REQUIRES: capacities > 0.
  void reset(std::span<const BytesPerSecond> capacities, std::size_t flows);

  // The flow asks for as much as it can get of each link of `route`, which must outlive it.
  // REQUIRES: it is not active; the route has a link and none twice.
  void start(FlowId flow, std::span<const LinkId> route);

  // REQUIRES: the flow is active.
  void stop(FlowId flow);

  // Some flow has started or stopped since the last settle().
  [[nodiscard]] bool is_unsettled() const { return !changed_links_.empty(); }

  // Computes the rates of all flows that are connected with a change, and calls function(flows) for each set
  // of connected ones: a std::span<const FlowId>, in which rates may or may not be as before. The function
  // must not start or stop flows.
  template <typename Function>
  void settle(const Function& function) {
    ++round_;
    for (const LinkId link : changed_links_) {
      if (links_[link].visited == round_) continue;
      collect_connected(link);
      fill();
      function(std::span<const FlowId>(connected_flows_));
    }
    changed_links_.clear();
  }

  // As of the last settle().
  [[nodiscard]] BytesPerSecond rate(FlowId flow) const { return {flows_[flow].rate}; }

 private:
  struct Link {
    double capacity = 0;
    double left = 0;            // while filling: capacity not taken by flows with a rate
    std::uint32_t open = 0;     // while filling: flows without a rate
    std::uint32_t visited = 0;  // the last round that saw it
    std::vector<FlowId> flows;  // active, in the order they started

    [[nodiscard]] double share() const { return left / open; }
  };
  struct Flow {
    std::span<const LinkId> route;
    double rate = 0;
    std::uint32_t visited = 0;
    std::uint32_t filled = 0;  // the last round that gave it a rate
  };

  void collect_connected(LinkId from);
  void visit(LinkId link);
  void fill();
  void fix(FlowId flow, double rate);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<LinkId> changed_links_;
  std::vector<LinkId> connected_links_;              // with each other, through flows
  std::vector<FlowId> connected_flows_;              // the flows on them
  std::vector<std::pair<double, LinkId>> by_share_;  // heap, least share first; shares may have grown since
  std::uint32_t round_ = 0;
};

}  // namespace goodput
