#include "traces/spot/spot_event_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/text.h"
#include "traces/spot/spot_fields.h"

namespace goodput {
namespace {

constexpr NodeId kTakenBack = -1;  // the event is of a node that went in the moment it came
constexpr std::size_t kLongestName = 256;

Status check_name(std::string_view name) {
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == 0x7f; };
  if (!name.empty() && name.size() <= kLongestName && std::none_of(name.begin(), name.end(), is_bad))
    return Ok{};
  return Error{fmt::format("node must be a name of 1 to {} characters without quotes, not {}", kLongestName,
                           in_quotes(name))};
}

std::string seconds_text(SimTime time) {
  std::string text;
  append_spot_seconds(text, time);
  return text;
}

}  // namespace

Result<NodeId> SpotEventRows::id_of(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  GOODPUT_TRY_STATUS(check_name(name));
  if (nodes_.size() == static_cast<std::size_t>(kMostSpotNodes))
    return Error{fmt::format("has more than {} nodes; is it the right file?", kMostSpotNodes)};
  const auto id = static_cast<NodeId>(nodes_.size());
  ids_.emplace(name, id);
  nodes_.emplace_back();
  trace_.node_names.emplace_back(name);
  return id;
}

Error SpotEventRows::impossible(NodeEvent::Kind kind, NodeId id) const {
  const auto index = static_cast<std::size_t>(id);
  const std::string name = in_quotes(trace_.node_names[index]);
  const Node& node = nodes_[index];
  if (kind == NodeEvent::Kind::kAdd) {
    return {fmt::format("node {} is added, but it was already added in line {}; remove one of the two rows",
                        name, node.line)};
  }
  if (node.line == 0)
    return {fmt::format(
        "node {} is removed, but was never added; add it at 0 if it was present from the start", name)};
  return {fmt::format("node {} is removed, but it was already removed in line {}; remove one of the two rows",
                      name, node.line)};
}

// Removals come before additions; each in the order of the file.
void SpotEventRows::begin_moment() {
  std::vector<NodeEvent>& events = trace_.events;
  const auto begin = events.begin() + static_cast<std::ptrdiff_t>(moment_);
  events.erase(
      std::remove_if(begin, events.end(), [](const NodeEvent& event) { return event.node == kTakenBack; }),
      events.end());
  const auto by_kind = [](const NodeEvent& a, const NodeEvent& b) { return a.kind < b.kind; };
  if (!std::is_sorted(begin, events.end(), by_kind)) std::stable_sort(begin, events.end(), by_kind);
  moment_ = events.size();
}

Status SpotEventRows::add(const Text& row, const TimeColumn& column, std::size_t line) {
  GOODPUT_TRY(const SimTime time, parse_spot_time(row.time, column.unit, column.name));
  if (row.event == "add") return add(time, NodeEvent::Kind::kAdd, row.node, line);
  if (row.event == "remove") return add(time, NodeEvent::Kind::kRemove, row.node, line);
  constexpr std::string_view kKnown[] = {"add", "remove"};
  return Error{fmt::format("event must be add or remove, not {}{}", in_quotes(row.event),
                           did_you_mean(row.event, kKnown))};
}

Status SpotEventRows::add(SimTime time, NodeEvent::Kind kind, std::string_view name, std::size_t line) {
  if (rows_ > 0 && time < trace_.end) {
    return Error{fmt::format("{} s comes after {} s; sort the rows by time", seconds_text(time),
                             seconds_text(trace_.end))};
  }
  if (++rows_ > kMostSpotRows) return Error{fmt::format("has more than {} rows", kMostSpotRows)};
  GOODPUT_TRY(const NodeId id, id_of(name));
  Node& node = nodes_[static_cast<std::size_t>(id)];
  const bool is_add = kind == NodeEvent::Kind::kAdd;
  if (node.is_there == is_add) return impossible(kind, id);
  if (time != trace_.end) begin_moment();
  trace_.end = time;
  if (!is_add && node.added == time) {
    trace_.events[node.add_event].node = kTakenBack;
    ++trace_.momentary;
  } else {
    if (is_add) node.add_event = trace_.events.size();
    if (is_add) node.added = time;
    trace_.events.push_back({.time = time, .kind = kind, .node = id});
  }
  node.is_there = is_add;
  node.line = line;
  return Ok{};
}

Result<SpotContent> SpotEventRows::finish(const std::string& path) && {
  if (rows_ == 0) return Error{"has no rows; was the recording cut off?", {.file = path}};
  begin_moment();
  if (trace_.events.empty())
    return Error{"has no nodes: each node is removed at the moment it is added", {.file = path}};
  return SpotContent{.trace = std::move(trace_), .assumed_meaning = SpotMeaning::kHeld};
}

}  // namespace goodput
