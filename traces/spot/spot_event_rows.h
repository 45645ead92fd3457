// Rows "at this time this node came, or went", checked and put into the order of a FailureModel: shared by
// the formats that name nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/base/errors.h"
#include "sim/nodes/spot_trace.h"
#include "traces/spot/spot_format.h"

namespace goodput {

// A node may leave and come back. What came and went again in one moment was never there to be used: it is
// counted (SpotTrace::momentary) and leaves no events.
class SpotEventRows {
 public:
  // The fields of a row: "40920000", "remove", "node3".
  struct Text {
    std::string_view time;
    std::string_view event;
    std::string_view node;
  };
  struct TimeColumn {
    std::string_view name;  // for messages
    SimDuration unit{};
  };
  Status add(const Text& row, const TimeColumn& column, std::size_t line);

  // In the order of the file. Fails on times that go back, on a node that is added while it is there, on one
  // that is removed while it is not, and on too many rows; the Error has no place.
  Status add(SimTime time, NodeEvent::Kind kind, std::string_view node, std::size_t line);

  // The events, names and end; nothing is left here. Fails, naming the file, when nothing happens.
  Result<SpotContent> finish(const std::string& path) &&;

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  struct Node {
    bool is_there = false;
    std::size_t line = 0;  // of its last row; 0: none
    SimTime added{};
    std::size_t add_event = 0;  // in trace_.events, while their moment lasts
  };

  Result<NodeId> id_of(std::string_view name);
  [[nodiscard]] Error impossible(NodeEvent::Kind kind, NodeId id) const;
  void begin_moment();

  SpotTrace trace_;
  std::unordered_map<std::string, NodeId, NameHash, std::equal_to<>> ids_;
  std::vector<Node> nodes_;
  std::size_t rows_ = 0;
  std::size_t moment_ = 0;  // events from here on have the time of the last row
};

}  // namespace goodput
