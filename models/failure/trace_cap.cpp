#include "models/failure/trace_cap.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "models/failure/failure_fields.h"
#include "sim/base/index.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using Kind = NodeEvent::Kind;
using Events = std::vector<NodeEvent>;
using NodeFlags = std::vector<bool>;  // by id

std::size_t ids_of(const Events& events) {
  NodeId last = -1;
  for (const NodeEvent& event : events) last = std::max(last, event.node);
  return index(last + 1);
}

Events only_of(const NodeFlags& chosen, const Events& events) {
  Events some;
  for (const NodeEvent& event : events) {
    if (chosen[index(event.node)]) some.push_back(event);
  }
  return some;
}

// Nodes are put down until there are enough.
class Choice {
 public:
  Choice(std::size_t ids, NodeId nodes) : chosen_(ids), left_(nodes) {}

  void add(NodeId node) {
    if (left_ == 0 || chosen_[index(node)]) return;
    chosen_[index(node)] = true;
    --left_;
  }
  void add_first_seen(const Events& events) {
    for (const NodeEvent& event : events) {
      if (event.kind == Kind::kAdd) add(event.node);
    }
  }
  [[nodiscard]] const NodeFlags& chosen() const { return chosen_; }

 private:
  NodeFlags chosen_;
  NodeId left_;
};

Events first_seen(const Events& events, NodeId nodes) {
  Choice choice(ids_of(events), nodes);
  choice.add_first_seen(events);
  return only_of(choice.chosen(), events);
}

// A list that nobody gave: the first nodes that are lost at the same moment, and those that came first.
Events first_lost_together(const Events& events, NodeId nodes) {
  Choice choice(ids_of(events), nodes);
  const auto is_loss = [](const NodeEvent& event) { return event.kind == Kind::kRemove; };
  for (auto loss = std::find_if(events.begin(), events.end(), is_loss); loss != events.end();) {
    const auto is_later = [&](const NodeEvent& event) { return event.time > loss->time || !is_loss(event); };
    const auto end = std::find_if(loss, events.end(), is_later);
    if (end - loss > 1) {
      for (; loss != end; ++loss) choice.add(loss->node);
      break;
    }
    loss = std::find_if(end, events.end(), is_loss);
  }
  choice.add_first_seen(events);
  return only_of(choice.chosen(), events);
}

Result<Events> listed(const Events& events, const TraceCap& cap, const SpotTrace& trace) {
  if (cap.names.empty()) return first_lost_together(events, cap.nodes);
  if (!trace.has_names()) {
    return Error{
        fmt::format("are given, but the nodes in {} have no names; remove names and set \"rule\" to {}",
                    trace.file, "first_seen, thin or saturate"),
        {.pointer = "/names"}};
  }
  const std::vector<std::string_view> known(trace.node_names.begin(), trace.node_names.end());
  NodeFlags chosen(known.size());
  for (std::size_t i = 0; i < cap.names.size(); ++i) {
    const auto found = std::find(known.begin(), known.end(), cap.names[i]);
    if (found == known.end()) {
      return Error{fmt::format("there is no node {} in {}{}", in_quotes(cap.names[i]), trace.file,
                               did_you_mean(cap.names[i], known)),
                   {.pointer = fmt::format("/names/{}", i)}};
    }
    chosen[static_cast<std::size_t>(found - known.begin())] = true;
  }
  return only_of(chosen, events);
}

// Each node with probability nodes / peak, so that the held ones rise and fall as the recorded ones do.
Events thinned(const Events& events, NodeId nodes, const FailureKey& key) {
  const double share = static_cast<double>(nodes) / std::max(1, most_held_in(events));
  NodeFlags chosen(ids_of(events));
  for (std::size_t n = 0; n < chosen.size(); ++n) {
    chosen[n] = key.stream(static_cast<NodeId>(n)).uniform() < share;
  }
  Events some;
  NodeFlags is_held(chosen.size());
  NodeId held = 0;
  for (const NodeEvent& event : events) {
    const bool is_add = event.kind == Kind::kAdd;
    const bool is_seen = is_add ? chosen[index(event.node)] && held < nodes : is_held[index(event.node)];
    if (!is_seen) continue;
    some.push_back(event);
    is_held[index(event.node)] = is_add;
    held += is_add ? 1 : -1;
  }
  return some;
}

// Nodes in the order in which they joined; the first ones are in, the others wait or are turned away.
class Queueing {
 public:
  Queueing(std::size_t ids, NodeId nodes, bool others_wait)
      : is_in_(ids), nodes_(nodes), others_wait_(others_wait) {}

  void see(const NodeEvent& event) {
    if (event.kind == Kind::kAdd) {
      waiting_.push_back(event.node);
    } else if (is_in_[index(event.node)]) {
      is_in_[index(event.node)] = false;
      --in_;
      events_.push_back(event);
    } else {
      std::erase(waiting_, event.node);
    }
  }

  void end_moment(SimTime time) {
    const auto free = std::min(waiting_.size(), index(nodes_ - in_));
    for (std::size_t i = 0; i < free; ++i) {
      events_.push_back({time, Kind::kAdd, waiting_[i], 1});
      is_in_[index(waiting_[i])] = true;
      ++in_;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(free));
    if (!others_wait_) waiting_.clear();
  }

  [[nodiscard]] Events take_events() { return std::move(events_); }

 private:
  NodeFlags is_in_;
  NodeId nodes_;
  bool others_wait_;
  NodeId in_ = 0;
  std::vector<NodeId> waiting_;
  Events events_;
};

Events queued(const Events& events, NodeId nodes, bool others_wait) {
  Queueing queueing(ids_of(events), nodes, others_wait);
  for (std::size_t i = 0; i < events.size(); ++i) {
    queueing.see(events[i]);
    const bool is_last_of_moment = i + 1 == events.size() || events[i + 1].time > events[i].time;
    if (is_last_of_moment) queueing.end_moment(events[i].time);
  }
  return queueing.take_events();
}

}  // namespace

config::Fields config_fields(TraceCap& cap) {
  using config::Need;
  return {{"rule", Need::kOptional, config::choice(cap.rule, kTraceCapNames),
           "which nodes to keep. list: those in `names`; first_seen: the first to join; thin: each node with "
           "probability `nodes` / peak number of nodes; saturate: at any time the `nodes` nodes held "
           "longest; admit: "
           "nodes that join while fewer than `nodes` are in use"},
          {"nodes", Need::kOptional, config::integer(cap.nodes, 0, kMostNodes),
           "maximum number of nodes; 0: the length of `names`",
           [&cap] { return cap.names.empty() ? "" : "names sets the number of nodes"; }},
          {"names", Need::kOptional, config::texts(cap.names),
           "list of the names of the nodes to keep (default: the first nodes that are lost at the same time, "
           "then nodes in the order in which they join)"}};
}

Status config_finish(TraceCap& cap) {
  if (cap.rule != TraceCap::Rule::kList && !cap.names.empty()) {
    return Error{fmt::format("can be given only with rule \"list\", not with \"{}\"",
                             kTraceCapNames[static_cast<std::size_t>(cap.rule)]),
                 {.pointer = "/names"}};
  }
  if (cap.names.empty() && cap.nodes == 0)
    return Error{"is missing; set the maximum number of nodes", {.pointer = "/nodes"}};
  for (std::size_t i = 0; i < cap.names.size(); ++i) {
    const auto here = cap.names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(cap.names.begin(), here, *here) == here) continue;
    return Error{fmt::format("{} is listed twice", in_quotes(*here)),
                 {.pointer = fmt::format("/names/{}", i)}};
  }
  if (cap.names.empty() || cap.nodes == 0 || index(cap.nodes) == cap.names.size()) return Ok{};
  return Error{fmt::format("must be the number of names ({1}) or 0, not {0}", cap.nodes, cap.names.size()),
               {.pointer = "/nodes"}};
}

NodeId most_held_in(const std::vector<NodeEvent>& events) {
  NodeId held = 0;
  NodeId peak = 0;
  for (const NodeEvent& event : events) {
    held += event.kind == Kind::kAdd ? 1 : -1;
    peak = std::max(peak, held);
  }
  return peak;
}

Result<std::vector<NodeEvent>> capped(const std::vector<NodeEvent>& events, const TraceCap& cap,
                                      const SpotTrace& trace, const FailureKey& key) {
  switch (cap.rule) {
    case TraceCap::Rule::kList:
      return listed(events, cap, trace);
    case TraceCap::Rule::kFirstSeen:
      return first_seen(events, cap.nodes);
    case TraceCap::Rule::kThin:
      return thinned(events, cap.nodes, key);
    case TraceCap::Rule::kSaturate:
      return queued(events, cap.nodes, /*others_wait=*/true);
    case TraceCap::Rule::kAdmit:
      return queued(events, cap.nodes, /*others_wait=*/false);
  }
  GOODPUT_CHECK(false, "unknown rule of a cap");
}

}  // namespace goodput
