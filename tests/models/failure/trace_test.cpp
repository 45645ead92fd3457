// The replay of recordings: parts of them, counts, caps, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/models/failure/failure_stream.h"

namespace goodput::testing {
namespace {

using Kind = NodeEvent::Kind;

// "0 +a +b | 60 -a": moments and names; 100 s long.
SpotTrace recorded(const std::string& text) {
  SpotTrace trace;
  trace.file = "spot.csv";
  trace.end = at_s(100);
  std::istringstream words(text);
  SimTime time{};
  for (std::string word; words >> word;) {
    if (word == "|") continue;
    if (word[0] != '+' && word[0] != '-') {
      time = at_s(std::stod(word));
      continue;
    }
    const std::string name = word.substr(1);
    auto& names = trace.node_names;
    const auto found = std::find(names.begin(), names.end(), name);
    const auto node = static_cast<NodeId>(found - names.begin());
    if (found == names.end()) names.push_back(name);
    trace.events.push_back({time, word[0] == '+' ? Kind::kAdd : Kind::kRemove, node, 1});
  }
  return trace;
}

SpotTrace counted(std::vector<std::pair<double, std::int32_t>> counts) {
  SpotTrace trace;
  trace.file = "counts.json";
  trace.end = at_s(100);
  for (const auto& [time_s, count] : counts) trace.counts.push_back({at_s(time_s), count});
  return trace;
}

// `options` are further keys of the config: `"from_s": 5`.
std::string config_with(std::string_view options) {
  return fmt::format(R"({{"model": "trace", "file": "spot.csv"{}{}}})", options.empty() ? "" : ", ", options);
}

NodeEvents replay(const SpotTrace& trace, std::string_view options = "", std::uint64_t trial = 0) {
  return check_stream(*failures_of(config_with(options), {{&trace, {}}}, trial), SimTime::max());
}

std::string refused(const SpotTrace& trace, std::string_view options = "") {
  return problem_of(config_with(options), {{&trace, {}}});
}

const std::string kSmall = "0 +a +b | 10 -a +c +d | 20 -b -c | 30 +e +f +a | 40 -d";

// The p3 recording of Bamboo from the shared data; nothing where there is none.
std::optional<SpotTrace> p3_trace() {
  const auto path = std::filesystem::path(GOODPUT_SHARED_DATA) / "spot/neutral/bamboo_p3_events.csv";
  std::ifstream file(path);
  if (!file) {
    MESSAGE("skipped: no shared data");
    return std::nullopt;
  }
  std::string text;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {  // 2040,remove,node19
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    std::string time;
    std::string event;
    std::string node;
    fields >> time >> event >> node;
    text += time + (event == "add" ? " +" : " -") + node + " ";
  }
  SpotTrace trace = recorded(text);
  trace.end = at_s(40'920);
  return trace;
}

std::string names_of(const SpotTrace& trace, const NodeEvents& events, Kind kind, double time_s) {
  std::set<std::string> names;
  for (const NodeEvent& event : events) {
    if (event.kind == kind && event.time == at_s(time_s)) names.insert(trace.node_names[index(event.node)]);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::int32_t peak_of(const NodeEvents& events) {
  std::int32_t held = 0;
  std::int32_t peak = 0;
  for (const NodeEvent& event : events) {
    held += event.kind == Kind::kAdd ? 1 : event.kind == Kind::kRemove ? -1 : 0;
    peak = std::max(peak, held);
  }
  return peak;
}

}  // namespace

TEST_CASE("trace: events are replayed as they are") {
  const SpotTrace trace = recorded(kSmall);
  const auto model = failures_of(config_with(""), {{&trace, {}}});
  CHECK(model->nodes() == 6);
  CHECK(model->end() == at_s(100));
  CHECK(check_stream(*model, SimTime::max()) == trace.events);
}

TEST_CASE("trace: a part starts with the nodes that are held there") {
  // At 20 s d is left; e, f, a join 10 s later; what happens at the end is still seen.
  const SpotTrace trace = recorded(kSmall);
  const std::string part = R"("from_s": 20, "to_s": 40)";
  CHECK(shown(replay(trace, part)) == "0 +3 | 10 +4 +5 +0 | 20 -3");
  CHECK(failures_of(config_with(part), {{&trace, {}}})->end() == at_s(20));
  CHECK(shown(replay(trace, R"("from_s": 15, "to_s": 25)")) == "0 +1 +2 +3 | 5 -1 -2");
}

TEST_CASE("trace: counts become nodes with the lowest free ids") {
  const SpotTrace trace = counted({{0, 2}, {10, 4}, {20, 1}, {30, 3}});
  CHECK(shown(replay(trace, R"("victims": "newest")")) == "0 +0 +1 | 10 +2 +3 | 20 -3 -2 -1 | 30 +1 +2");
  CHECK(shown(replay(trace, R"("victims": "oldest")")) == "0 +0 +1 | 10 +2 +3 | 20 -0 -1 -2 | 30 +0 +1");
  // Oldest by joining, not by id: node 3 has been there for longest at the end.
  CHECK(shown(replay(counted({{0, 2}, {10, 4}, {20, 1}, {30, 3}, {40, 2}}), R"("victims": "oldest")")) ==
        "0 +0 +1 | 10 +2 +3 | 20 -0 -1 -2 | 30 +0 +1 | 40 -3");
  CHECK(shown(replay(trace, R"("victims": "newest", "from_s": 12, "to_s": 25)")) ==
        "0 +0 +1 +2 +3 | 8 -3 -2 -1");
  CHECK(failures_of(config_with(""), {{&trace, {}}})->nodes() == 4);
  // Of four nodes a random one is left, each in a quarter of 1000 trials.
  std::map<NodeId, int> left;
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    std::set<NodeId> nodes = {0, 1, 2, 3};
    for (const NodeEvent& event : replay(trace, "", trial)) {
      if (event.kind == Kind::kRemove) nodes.erase(event.node);
    }
    ++left[*nodes.begin()];
  }
  CHECK(left.size() == 4);
  for (const auto& [node, times] : left) CHECK(std::abs(times - 250) < 3 * std::sqrt(187.5));
}

TEST_CASE("trace: a cap by names sees only these") {
  const SpotTrace trace = recorded(kSmall);
  CHECK(shown(replay(trace, R"("cap": {"rule": "list", "names": ["e", "b"]})")) == "0 +1 | 20 -1 | 30 +4");
  // Nobody named: b and c, the first that are lost together, and who came first, a.
  CHECK(shown(replay(trace, R"("cap": {"nodes": 3})")) == "0 +0 +1 | 10 -0 +2 | 20 -1 -2 | 30 +0");
}

TEST_CASE("trace: a cap of the first seen") {
  const SpotTrace trace = recorded(kSmall);
  CHECK(shown(replay(trace, R"("cap": {"rule": "first_seen", "nodes": 3})")) ==
        "0 +0 +1 | 10 -0 +2 | 20 -1 -2 | 30 +0");
  CHECK(shown(replay(trace, R"("from_s": 20, "cap": {"rule": "first_seen", "nodes": 3})")) ==
        "0 +3 | 10 +4 +5 | 20 -3");
}

TEST_CASE("trace: a saturated cap lets those wait that came last") {
  // Of a, b, c two are in; c steps in for a. d and e wait; e leaves while it waits; d steps in for b.
  const SpotTrace trace = recorded("0 +a +b +c | 10 -a | 20 +d +e | 30 -e | 40 -b +f | 50 -c -d -f | 60 +a");
  CHECK(shown(replay(trace, R"("cap": {"rule": "saturate", "nodes": 2})")) ==
        "0 +0 +1 | 10 -0 +2 | 40 -1 +3 | 50 -2 -3 | 60 +0");
}

TEST_CASE("trace: a cap that admits turns away nodes that join when it is full") {
  // Of a, b, c two are in; c is turned away, and a's place is empty until d joins. e is turned away; c, which
  // joins again, takes b's place.
  const SpotTrace trace = recorded("0 +a +b +c | 10 -a | 20 +d +e | 30 -e -c | 40 -b | 50 +c | 60 -c -d");
  CHECK(shown(replay(trace, R"("cap": {"rule": "admit", "nodes": 2})")) ==
        "0 +0 +1 | 10 -0 | 20 +3 | 40 -1 | 50 +2 | 60 -2 -3");
}

TEST_CASE("trace: a thinned cap keeps each node with the same chance, and never too many") {
  SpotTrace trace;
  trace.end = at_s(100);
  for (NodeId node = 0; node < 32; ++node) trace.events.push_back({SimTime{}, Kind::kAdd, node, 1});
  std::map<NodeId, int> kept;
  int all = 0;
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    const NodeEvents events = replay(trace, R"("cap": {"rule": "thin", "nodes": 10})", trial);
    CHECK(events.size() <= 10);
    for (const NodeEvent& event : events) ++kept[event.node];
    all += static_cast<int>(events.size());
  }
  // The first node is kept in 10/32 of the trials: 312.5 give or take 3 * 14.7. Binomial(32, 10/32) has a
  // mean of 10 and a deviation of 2.62; cut at 10 it loses E[(X - 10)+], about 0.4 deviations.
  CHECK(std::abs(kept[0] - 312.5) < 44);
  CHECK(all / 1000.0 > 10 - 0.5 * 2.62);
}

TEST_CASE("trace: what a recording does not say is not made up in silence") {
  SpotTrace trace = recorded(kSmall);
  trace.holes = {{at_s(50), at_s(70)}};
  CHECK(refused(trace) ==
        "/holes: spot.csv has no data from 50 s to 70 s; set \"holes\": \"hold\" to keep the nodes from "
        "before the hole, or choose another part of the recording with from_s and to_s");
  CHECK(refused(trace, R"("holes": "hold")") == "");
  CHECK(refused(trace, R"("to_s": 50)") == "");
  CHECK(refused(trace, R"("from_s": 70)") == "");
  CHECK(!refused(trace, R"("from_s": 60)").empty());
}

TEST_CASE("trace: a probe is replayed only when asked to") {
  SpotTrace trace = counted({{0, 2}, {10, 1}});
  trace.meaning = SpotMeaning::kProbe;
  CHECK(refused(trace) ==
        "/probe: counts.json records how many nodes could have been launched, so a drop is not necessarily a "
        "preemption; set \"probe\": \"replay\" to replay drops as preemptions");
  CHECK(replay(trace, R"("probe": "replay")").size() == 3);
}

TEST_CASE("trace: parts and caps that the recording does not have") {
  const SpotTrace trace = recorded("0 +node1 +node2 | 10 -node1");
  CHECK(refused(trace, R"("from_s": 100)") == "/from_s: is 100, but spot.csv ends at 100 s");
  CHECK(refused(trace, R"("to_s": 101)") == "/to_s: is 101, but spot.csv ends at 100 s");
  CHECK(refused(trace, R"("from_s": 10, "to_s": 10)") ==
        "folder/job.json /failures/to_s: must be after from_s (10), not 10");
  CHECK(refused(trace, R"("cap": {"names": ["node2", "nod1"]})") ==
        "/cap/names/1: there is no node \"nod1\" in spot.csv; did you mean \"node1\"?");
  CHECK(refused(trace, R"("cap": {"names": ["node2", "node2"]})") ==
        "folder/job.json /failures/cap/names/1: \"node2\" is listed twice");
  CHECK(refused(trace, R"("cap": {"names": ["node2"], "nodes": 2})") ==
        "folder/job.json /failures/cap/nodes: must be the number of names (1) or 0, not 2");
  CHECK(refused(trace, R"("cap": {"rule": "thin", "names": ["node2"], "nodes": 1})") ==
        "folder/job.json /failures/cap/names: can be given only with rule \"list\", not with \"thin\"");
  CHECK(refused(trace, R"("cap": {"rule": "saturate"})") ==
        "folder/job.json /failures/cap/nodes: is missing; set the maximum number of nodes");
  CHECK(refused(counted({{0, 2}}), R"("cap": {"names": ["node2"]})") ==
        "/cap/names: are given, but the nodes in counts.json have no names; remove names and set \"rule\" to "
        "first_seen, thin or saturate");
  const std::string second =
      "["
      R"({"model": "exponential", "nodes": 2, "mtbf_hours": 1}, )" +
      config_with(R"("from_s": 200)") + "]";
  CHECK(problem_of(second, {{}, {&trace, {}}}) == "/1/from_s: is 200, but spot.csv ends at 100 s");
}

TEST_CASE("trace: slow nodes and bursts act on the nodes of a recording") {
  const SpotTrace trace = recorded("0 +a +b +c | 10 -b | 20 +b");
  const std::string both =
      "[" + config_with("") +
      R"(, {"model": "fail_slow", "per_node_day": 86400, "slowdowns": [2], "duration_s": 1}])";
  const auto model = failures_of(both, {{&trace, {}}});
  CHECK(model->nodes() == 3);
  CHECK(model->end() == at_s(100));
  const NodeEvents events = check_stream(*model, at_s(100));
  CHECK(count_of(events, Kind::kAdd) == 4);
  CHECK(count_of(events, Kind::kRemove) == 1);
  CHECK(count_of(events, Kind::kSpeed) > 100);
}

TEST_CASE("trace: p3 has 177 adds and 167 losses, at most 32 nodes and 273.1 node-hours") {
  const auto trace = p3_trace();
  if (!trace) return;
  const NodeEvents events = replay(*trace);
  CHECK(count_of(events, Kind::kAdd) == 177);
  CHECK(count_of(events, Kind::kRemove) == 167);
  CHECK(peak_of(events) == 32);
  double node_hours = 0;
  for (const NodeEvent& event : events) {
    node_hours += (40'920 - to_seconds(event.time)) / 3600 * (event.kind == Kind::kAdd ? 1 : -1);
  }
  CHECK(node_hours == doctest::Approx(273.1).epsilon(2e-4));
}

TEST_CASE("trace: of ten nodes of p3, the default list holds the four that leave at minute 34") {
  const auto trace = p3_trace();
  if (!trace) return;
  const auto lost_at_34 = [&](std::string_view rule) {
    const NodeEvents events =
        replay(*trace, fmt::format(R"("to_s": 4800, "cap": {{"rule": "{}", "nodes": 10}})", rule));
    CHECK(peak_of(events) <= 10);
    return names_of(*trace, events, Kind::kRemove, 2040);
  };
  CHECK(lost_at_34("list") == "node11 node17 node19 node3");
  // No other rule loses four (nor could a uniform choice of 10 of 32 be expected to).
  CHECK(lost_at_34("first_seen") == "node3");
  CHECK(lost_at_34("saturate") == "node3");
  const std::string thinned = lost_at_34("thin");
  CHECK(std::count(thinned.begin(), thinned.end(), ' ') < 3);
}

}  // namespace goodput::testing
