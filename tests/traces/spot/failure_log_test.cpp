// Failure logs as recordings to replay.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/traces/spot/spot_reading.h"

namespace goodput::testing {
namespace {

std::vector<std::string> events_of(const SpotTrace& trace) {
  std::vector<std::string> texts;
  for (const NodeEvent& event : trace.events) {
    texts.push_back(fmt::format("{:g} {}{}", to_seconds(event.time),
                                event.kind == NodeEvent::Kind::kAdd ? "+" : "-",
                                trace.node_names[static_cast<std::size_t>(event.node)]));
  }
  return texts;
}

}  // namespace

TEST_CASE("failure log as a recording: nodes are away while they are down, and an open fault lasts") {
  const std::string log = "node,start,end\nb,300,400\na,100,200\na,250,260\nc,350,\nb,320,330\n";
  const SpotTrace trace = read_spot(log, {.nodes = 5});
  CHECK(trace.format == "failure_log");
  CHECK(trace.meaning == SpotMeaning::kFaults);
  // Times count from the first row, at which node a is down. The longest repair is 100 s: c is still down.
  CHECK(events_of(trace) == std::vector<std::string>{"0 +b", "0 +c", "0 +(no fault) 4", "0 +(no fault) 5",
                                                     "100 +a", "150 -a", "160 +a", "200 -b", "250 -c",
                                                     "300 +b"});
  CHECK(to_seconds(trace.end) == 300);
  CHECK(read_spot(log).node_names.size() == 3);
}

TEST_CASE("failure log as a recording: a node that is repaired at once is lost and returns") {
  const SpotTrace trace = read_spot("node,start,end\na,100,200\nb,150,150\n");
  CHECK(events_of(trace) == std::vector<std::string>{"0 +b", "50 -b", "50 +b", "100 +a"});
}

TEST_CASE("failure log as a recording: a list of jobs and a wrong number of nodes are refused") {
  CHECK(spot_error("JobID|State|NNodes|Start|End\n1|FAILED|4|10|60\n") ==
        ": lists jobs, which do not say when nodes failed and returned; replay the output of `sacctmgr list "
        "event`, or "
        "estimate a failure rate with `goodput import failures`");
  CHECK(spot_error("node,start,end\na,1,\nb,3,\n") ==
        ": does not say when any node was repaired, so it cannot be replayed");
  CHECK(spot_error("node,start,end\na,1,2\nb,3,4\n", {.nodes = 1}).find("is less than the 2 nodes") !=
        std::string::npos);
  CHECK(spot_error("node,start,end\na,1,2\n", {.polarity = SpotPolarity::kPreempted}).find("polarity") !=
        std::string::npos);
}

TEST_CASE("spot trace: events of nodes may be faults") {
  const SpotTrace trace =
      read_spot("t_s,event,node\n0,add,a\n5,remove,a\n", {.meaning = SpotMeaning::kFaults});
  CHECK(trace.meaning == SpotMeaning::kFaults);
}

}  // namespace goodput::testing
