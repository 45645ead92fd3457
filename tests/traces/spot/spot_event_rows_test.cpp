// Formats that name nodes: neutral CSV and Bamboo's.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/traces/spot/spot_reading.h"
#include "traces/spot/count_changes.h"

namespace goodput::testing {
namespace {

using Kind = NodeEvent::Kind;
using Events = std::vector<NodeEvent>;

const std::string kHeader = "t_s,event,node\n";

NodeEvent event(std::int64_t seconds, Kind kind, NodeId node) {
  return {.time = at_s(seconds), .kind = kind, .node = node};
}

// The error of a neutral file with these rows below the header, without the path.
std::string events_error(const std::string& rows) {
  return spot_error(kHeader + rows);
}

}  // namespace

TEST_CASE("spot events: a row is a node that comes or goes") {
  const SpotTrace trace = read_spot(kHeader + "0,add,a\n0,add,b\n60,remove,a\n90.5,add,c\n");
  CHECK(trace.format == "events_csv");
  CHECK(trace.meaning == SpotMeaning::kHeld);
  CHECK(trace.polarity == SpotPolarity::kAvailable);
  CHECK(trace.node_names == std::vector<std::string>{"a", "b", "c"});
  REQUIRE(trace.events.size() == 4);
  CHECK(trace.events[2] == event(60, Kind::kRemove, 0));
  CHECK(trace.events[3].time == SimTime{std::chrono::milliseconds{90'500}});
  CHECK(trace.end == SimTime{std::chrono::milliseconds{90'500}});
  CHECK(trace.counts.empty());
  CHECK(trace.holes.empty());
}

TEST_CASE("spot events: Bamboo's file has milliseconds, CRLF or LF, and no header") {
  for (const std::string end : {"\n", "\r\n"}) {
    const SpotTrace trace =
        read_spot("0,add,node1" + end + "60000,add,node2" + end + "120000,remove,node1" + end);
    CHECK(trace.format == "bamboo_csv");
    CHECK(trace.events ==
          Events{event(0, Kind::kAdd, 0), event(60, Kind::kAdd, 1), event(120, Kind::kRemove, 0)});
    CHECK(trace.node_names == std::vector<std::string>{"node1", "node2"});
    CHECK(trace.end == at_s(120));
  }
}

TEST_CASE("spot events: columns stand in any order, names with commas in quotes, the last line without end") {
  const SpotTrace trace = read_spot("node,t_s,event\n\"rack 1, node 2\",0,add\nx,5,add");
  CHECK(trace.node_names == std::vector<std::string>{"rack 1, node 2", "x"});
  CHECK(trace.events.back() == event(5, Kind::kAdd, 1));
}

TEST_CASE("spot events: removals of a moment are told before additions") {
  const SpotTrace trace = read_spot(kHeader + "0,add,a\n9,add,b\n9,remove,a\n9,add,c\n");
  CHECK(trace.events == Events{event(0, Kind::kAdd, 0), event(9, Kind::kRemove, 0), event(9, Kind::kAdd, 1),
                               event(9, Kind::kAdd, 2)});
}

TEST_CASE("spot events: a node may come back, also in the moment in which it goes") {
  const SpotTrace trace = read_spot(kHeader + "0,add,a\n5,remove,a\n8,add,a\n9,remove,a\n9,add,a\n");
  CHECK(trace.node_names.size() == 1);
  CHECK(trace.events == Events{event(0, Kind::kAdd, 0), event(5, Kind::kRemove, 0), event(8, Kind::kAdd, 0),
                               event(9, Kind::kRemove, 0), event(9, Kind::kAdd, 0)});
}

TEST_CASE("spot events: a node that comes and goes in one moment was never there, and is counted") {
  const SpotTrace trace = read_spot(kHeader + "0,add,a\n5,add,b\n5,remove,b\n5,add,c\n7,remove,c\n");
  CHECK(trace.momentary == 1);
  CHECK(trace.events == Events{event(0, Kind::kAdd, 0), event(5, Kind::kAdd, 2), event(7, Kind::kRemove, 2)});
  CHECK(trace.node_names == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("spot events: the fleet may start empty and go as a whole") {
  const SpotTrace trace = read_spot("480000,add,a\n480000,add,b\n900000,remove,b\n900000,remove,a\n");
  CHECK(spot_counts(trace) == std::vector<SpotCount>{{at_s(0), 0}, {at_s(480), 2}, {at_s(900), 0}});
}

TEST_CASE("spot events: rows that cannot be are named by line, with what to do") {
  CHECK(events_error("60,add,a\n0,add,b\n") == ":3: 0 s comes after 60 s; sort the rows by time");
  CHECK(events_error("0,add,a\n5,remove,b\n") ==
        ":3: node \"b\" is removed, but was never added; add it at 0 if it was present from the start");
  CHECK(events_error("0,add,a\n5,remove,a\n6,remove,a\n") ==
        ":4: node \"a\" is removed, but it was already removed in line 3; remove one of the two rows");
  CHECK(events_error("0,add,a\n6,add,a\n") ==
        ":3: node \"a\" is added, but it was already added in line 2; remove one of the two rows");
  CHECK(events_error("0,ad,a\n") == ":2: event must be add or remove, not \"ad\"; did you mean \"add\"?");
  CHECK(events_error("0,add\n") == ":2: has 2 fields, but must have 3");
  CHECK(events_error("0,add,a,b\n") == ":2: has 4 fields, but must have 3");
  CHECK(events_error("0,add,\n") ==
        ":2: node must be a name of 1 to 256 characters without quotes, not \"\"");
  CHECK(events_error("0,add,\"a\n") == ":2: a field has an opening quote without a closing quote");
}

TEST_CASE("spot events: times that are none are named by line") {
  const std::string wish = ", but must be a plain number such as 40920 or 0.25";
  CHECK(events_error("x,add,a\n") == ":2: t_s is \"x\"" + wish);
  CHECK(events_error(",add,a\n") == ":2: t_s is \"\"" + wish);
  CHECK(events_error("1e3,add,a\n") == ":2: t_s is \"1e3\"" + wish);
  CHECK(events_error("1.,add,a\n") == ":2: t_s is \"1.\"" + wish);
  CHECK(events_error("nan,add,a\n") == ":2: t_s is \"nan\"" + wish);
  CHECK(events_error("-5,add,a\n") ==
        ":2: t_s is \"-5\", but must be 0 or more, counted from the start of the recording");
  CHECK(events_error("0.0000000001,add,a\n") ==
        ":2: t_s is \"0.0000000001\", which is finer than a nanosecond; round it");
  const std::string far = ", which is more than 292 years; times count from the start of the recording";
  // 2^63 ns is 9223372036.854775808 s.
  CHECK(read_spot(kHeader + "9223372036.854775807,add,a\n").end == SimTime::max());
  CHECK(events_error("9223372036.854775808,add,a\n") == ":2: t_s is \"9223372036.854775808\"" + far);
  CHECK(events_error("99999999999999999999,add,a\n") == ":2: t_s is \"99999999999999999999\"" + far);
  CHECK(spot_error("9999999999999999,add,a\n") == ":1: milliseconds is \"9999999999999999\"" + far);
}

TEST_CASE("spot events: headers that are not understood") {
  CHECK(spot_error("time,event,node\n0,add,a\n") == ":1: unknown column \"time\"; known: t_s, event, node");
  CHECK(spot_error("t_s,event,nodes\n0,add,a\n") ==
        ":1: unknown column \"nodes\"; did you mean \"node\"?; known: t_s, event, node");
  CHECK(spot_error("t_s,event,node,count\n0,add,a,1\n") ==
        ":1: unknown column \"count\"; known: t_s, event, node");
  CHECK(spot_error("t_s,event,event\n") == ":1: column \"event\" occurs twice");
  CHECK(spot_error("t_s,event\n0,add\n") == ":1: expected the columns t_s, event and node");
  // A header in the middle, as of two files put together, and one on top of Bamboo's milliseconds.
  CHECK(events_error("0,add,a\n" + kHeader) ==
        ":3: t_s is \"t_s\", but must be a plain number such as 40920 or 0.25");
  CHECK(spot_error("0,add,a\n" + kHeader) ==
        ":2: milliseconds is \"t_s\", but must be a plain number such as 40920 or 0.25");
}

TEST_CASE("spot events: files without rows") {
  CHECK(events_error("") == ": has no rows; was the recording cut off?");
  CHECK(events_error("0,add,a\n0,remove,a\n") ==
        ": has no nodes: each node is removed at the moment it is added");
  const TemporaryFile empty("empty.csv");
  std::ofstream(empty.path()).close();
  const auto trace = read_spot_trace(empty.path(), {});
  REQUIRE_FALSE(trace);
  CHECK(without_path(trace.error().message(), empty) == ": is empty");
  CHECK(spot_error("iter,layer,e0\n") ==
        ": is not in a known spot trace format (events_csv, counts_csv, google_text, bamboo_csv, skypilot, "
        "failure_log; "
        "see `goodput list formats`); it begins with \"iter,layer,e0\"");
}

TEST_CASE("spot events: a polarity makes no sense, another meaning is taken") {
  const std::string text = kHeader + "0,add,a\n";
  CHECK(read_spot(text, {.polarity = SpotPolarity::kAvailable}).polarity == SpotPolarity::kAvailable);
  CHECK(spot_error(text, {.polarity = SpotPolarity::kPreempted}) ==
        ": polarity preempted does not apply: files of this format list available nodes; remove the option");
  CHECK(read_spot(text, {.meaning = SpotMeaning::kProbe}).meaning == SpotMeaning::kProbe);
}

}  // namespace goodput::testing
