#include "sim/engine/fair_share.h"

#include <algorithm>
#include <functional>

#include "sim/base/errors.h"

namespace goodput {

void FairShare::reset(std::span<const BytesPerSecond> capacities, std::size_t flows) {
  links_.resize(capacities.size());
  for (std::size_t link = 0; link < links_.size(); ++link) {
    GOODPUT_CHECK(capacities[link].value > 0, "a link must have a capacity above 0");
    links_[link].capacity = capacities[link].value;
    links_[link].visited = 0;
    links_[link].flows.clear();
  }
  flows_.assign(flows, {});
  changed_links_.clear();
  round_ = 0;
}

void FairShare::start(FlowId flow, std::span<const LinkId> route) {
  GOODPUT_CHECK(flows_[flow].route.empty() && !route.empty(),
                "a flow must start only once and use at least one link");
  flows_[flow] = {.route = route};
  for (const LinkId link : route) {
    links_[link].flows.push_back(flow);
    changed_links_.push_back(link);
  }
}

void FairShare::stop(FlowId flow) {
  GOODPUT_CHECK(!flows_[flow].route.empty(), "a flow that was not active was stopped");
  for (const LinkId link : flows_[flow].route) {
    auto& sharers = links_[link].flows;
    sharers.erase(std::find(sharers.begin(), sharers.end(), flow));
    if (!sharers.empty()) changed_links_.push_back(link);
  }
  flows_[flow] = {};
}

void FairShare::visit(LinkId id) {
  Link& link = links_[id];
  if (link.visited == round_) return;
  link.visited = round_;
  link.left = link.capacity;
  link.open = static_cast<std::uint32_t>(link.flows.size());
  connected_links_.push_back(id);
}

void FairShare::collect_connected(LinkId from) {
  connected_links_.clear();
  connected_flows_.clear();
  visit(from);
  for (std::size_t next = 0; next < connected_links_.size(); ++next) {
    for (const FlowId id : links_[connected_links_[next]].flows) {
      Flow& flow = flows_[id];
      if (flow.visited == round_) continue;
      flow.visited = round_;
      connected_flows_.push_back(id);
      for (const LinkId link : flow.route) visit(link);
    }
  }
}

// Takes the link with the least share for each of its flows, gives them that, and goes on with the others. A
// share never falls on the way, so one that is out of date goes back into the heap.
void FairShare::fill() {
  by_share_.clear();
  for (const LinkId link : connected_links_) {
    if (links_[link].open > 0) by_share_.emplace_back(links_[link].share(), link);
  }
  std::make_heap(by_share_.begin(), by_share_.end(), std::greater<>());
  while (!by_share_.empty()) {
    std::pop_heap(by_share_.begin(), by_share_.end(), std::greater<>());
    auto& [share, id] = by_share_.back();
    const Link& link = links_[id];
    if (link.open > 0 && link.share() > share) {
      share = link.share();
      std::push_heap(by_share_.begin(), by_share_.end(), std::greater<>());
      continue;
    }
    const double rate = share;
    by_share_.pop_back();
    if (link.open == 0) continue;
    for (const FlowId flow : link.flows) fix(flow, rate);
  }
}

void FairShare::fix(FlowId id, double rate) {
  Flow& flow = flows_[id];
  if (flow.filled == round_) return;
  flow.filled = round_;
  for (const LinkId link : flow.route) {
    links_[link].left -= rate;
    --links_[link].open;
  }
  flow.rate = rate;
}

}  // namespace goodput
