// Hourly lots, fixed intervals, bursts and slow nodes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tests/models/failure/failure_stream.h"

namespace goodput::testing {
namespace {

using Kind = NodeEvent::Kind;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t ns_of(SimTime time) {
  return time.time_since_epoch().count();
}
// Hours end with their last second.
std::int64_t hour_of(SimTime time) {
  return (ns_of(time) - 1) / (3600 * kNsPerSecond);
}

struct Mean {
  double sum = 0;
  double squares = 0;
  double n = 0;

  void add(double value) {
    sum += value;
    squares += value * value;
    n += 1;
  }
  [[nodiscard]] double value() const { return sum / n; }
  [[nodiscard]] double standard_error() const { return std::sqrt((squares / n - value() * value()) / n); }
  [[nodiscard]] bool is_near(double expected) const {
    return std::abs(value() - expected) < 3 * standard_error();
  }
};

}  // namespace

TEST_CASE("hourly: losses and returns are as frequent as asked, and a node boots for 45 s") {
  // A node granted in hour g is lost in hour l > g with l - g geometric: mean 1/p. Returned in hour r > l:
  // r - l has mean 1/q.
  const NodeEvents events =
      events_of(R"({"model": "hourly", "nodes": 40, "loss_probability": 0.2, "return_probability": 0.4})",
                3600.0 * 2000);
  Mean hours_held;
  Mean hours_missing;
  Mean loss_second;
  std::map<NodeId, SimTime> since;
  for (const NodeEvent& event : events) {
    REQUIRE(ns_of(event.time) % kNsPerSecond == 0);
    if (event.time == SimTime{}) {
      since[event.node] = SimTime{};
    } else if (event.kind == Kind::kRemove) {
      const auto before = since[event.node] == SimTime{} ? -1 : hour_of(since[event.node]);
      hours_held.add(static_cast<double>(hour_of(event.time) - before));
      loss_second.add(static_cast<double>(ns_of(event.time) / kNsPerSecond - 3600 * hour_of(event.time)));
      since[event.node] = event.time;
    } else {
      const SimTime granted = event.time - std::chrono::seconds{45};
      hours_missing.add(static_cast<double>(hour_of(granted) - hour_of(since[event.node])));
      since[event.node] = granted;
    }
  }
  CHECK(hours_held.n > 10'000);
  CHECK(hours_held.is_near(1 / 0.2));
  CHECK(hours_missing.is_near(1 / 0.4));
  CHECK(loss_second.is_near((1 + 3600) / 2.0));
}

TEST_CASE(
    "hourly: with hour_of_day each hour of the day has a return probability of its own, the same every day") {
  // All nodes are lost in every hour, so that of those missing at its start a share p of the hour returns.
  // Their shares have a standard error of sqrt(p (1 - p) / missing) < 0.005 with more than 10,000 missing
  // nodes.
  const NodeEvents events =
      events_of(R"({"model": "hourly", "nodes": 20000, "loss_probability": 1, "boot_s": 0,
                                          "return_probability": 0.25, "return_variation": "hour_of_day"})",
                3600.0 * 72);
  std::vector<double> joined(73);
  std::vector<double> lost(73);
  for (const NodeEvent& event : events) {
    if (event.time == SimTime{}) continue;
    (event.kind == Kind::kAdd ? joined : lost)[static_cast<std::size_t>(hour_of(event.time))] += 1;
  }
  double missing = lost[0];
  CHECK(missing == 20'000);
  std::vector<double> returned{0};
  for (std::size_t hour = 1; hour < 72; ++hour) {
    returned.push_back(joined[hour] / missing);
    missing += lost[hour] - joined[hour];
  }
  for (std::size_t hour = 1; hour < 24; ++hour) {
    CAPTURE(hour);
    CHECK(returned[hour] <= 0.5 + 0.02);  // uniform around 0.25 is from 0 to 0.5
    CHECK(std::abs(returned[hour] - returned[hour + 24]) < 0.03);
  }
  const auto [least, most] = std::minmax_element(returned.begin() + 1, returned.begin() + 24);
  CHECK(*most - *least > 0.3);  // of 23 draws: less than 0.3 of 0.5 has probability 23 * 0.6^22 = 0.0003
}

TEST_CASE("hourly: with hour_of_day the mean over trials is the return probability, and trials differ") {
  // 0.8 reaches from 0.6 to 1. The mean of 400 uniform draws is off by 0.4 / sqrt(12 * 400) = 0.006 at one
  // sigma, and the share of 500 nodes by less.
  Mean returned;
  double least = 1;
  for (std::uint64_t trial = 0; trial < 400; ++trial) {
    const NodeEvents events = events_of(R"({"model": "hourly", "nodes": 500, "initial_nodes": 0, "boot_s": 0,
                                            "loss_probability": 0, "return_probability": 0.8,
                                            "return_variation": "hour_of_day"})",
                                        3600, trial);
    returned.add(static_cast<double>(events.size()) / 500);
    least = std::min(least, static_cast<double>(events.size()) / 500);
  }
  CHECK(returned.is_near(0.8));
  CHECK(returned.standard_error() > 0.005);
  CHECK(least > 0.5);
}

TEST_CASE("hourly: a node that is lost while it boots was never there") {
  // Boots take two hours, and every granted node is lost in the hour after: nobody ever joins again.
  const NodeEvents events = events_of(R"({"model": "hourly", "nodes": 5, "loss_probability": 1,
                                          "return_probability": 1, "boot_s": 7200})",
                                      1e6);
  CHECK(count_of(events, Kind::kAdd) == 5);
  CHECK(count_of(events, Kind::kRemove) == 5);
  // Boots that span hours, of a market that loses nobody: all are there in the end, and it is over.
  const NodeEvents safe = events_of(R"({"model": "hourly", "nodes": 5, "initial_nodes": 2, "boot_s": 9000,
                                        "loss_probability": 0, "return_probability": 1})",
                                    1e6);
  CHECK(safe.size() == 5);
  CHECK(safe.back().time <= at_s(3600 + 9000));
  CHECK(safe[2].time > at_s(9000));
}

TEST_CASE("hourly: a market in which nothing can happen ends") {
  CHECK(events_of(R"({"model": "hourly", "nodes": 5, "loss_probability": 0, "return_probability": 0.5})", 1e9)
            .size() == 5);
  CHECK(events_of(R"({"model": "hourly", "nodes": 5, "loss_probability": 0.5, "return_probability": 0})", 1e9)
            .size() == 10);
  CHECK(events_of(R"({"model": "hourly", "nodes": 5, "initial_nodes": 0, "loss_probability": 0.5,
                      "return_probability": 0})",
                  1e9)
            .empty());
}

TEST_CASE("interval: a random node is lost every time until the floor is reached") {
  const NodeEvents events =
      events_of(R"({"model": "interval", "nodes": 10, "every_s": 300, "floor_nodes": 5})", 1e9);
  REQUIRE(events.size() == 15);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(events[10 + i].kind == Kind::kRemove);
    CHECK(events[10 + i].time == at_s(300.0 * static_cast<double>(i + 1)));
  }
  // Each is as often the first victim as the others: of 2000 trials 200, give or take 3 * sqrt(180).
  std::map<NodeId, int> first;
  for (std::uint64_t trial = 0; trial < 2000; ++trial) {
    ++first[events_of(R"({"model": "interval", "nodes": 10, "every_s": 300})", 300, trial).back().node];
  }
  CHECK(first.size() == 10);
  for (const auto& [node, times] : first) CHECK(std::abs(times - 200) < 3 * std::sqrt(180) + 1);
}

TEST_CASE("interval: named victims go first, and who is lost may return") {
  CHECK(shown(events_of(R"({"model": "interval", "nodes": 3, "every_s": 10, "floor_nodes": 1,
                            "victims": [2, 0]})",
                        1e9)) == "0 +0 +1 +2 | 10 -2 | 20 -0");
  // The floor of 2 is reached at 10 s; nothing may be lost until node 1 is back at 45 s.
  CHECK(shown(events_of(R"({"model": "interval", "nodes": 3, "every_s": 10, "floor_nodes": 2,
                            "victims": [1, 1, 0], "return_after_s": 35})",
                        100)) == "0 +0 +1 +2 | 10 -1 | 45 +1 | 50 -1 | 85 +1 | 90 -0");
  // A loss and a return at one moment: node 1 is back when another is lost already.
  CHECK(shown(events_of(R"({"model": "interval", "nodes": 2, "every_s": 10, "victims": [1, 0, 1],
                            "return_after_s": 10})",
                        30)) == "0 +0 +1 | 10 -1 | 20 -0 +1 | 30 -1 +0");
  // Ticks of a millisecond and a return after 30 years are no endless loop.
  CHECK(events_of(R"({"model": "interval", "nodes": 1, "every_s": 0.001, "return_after_s": 9e8})", 2e9)
            .size() == 6);
}

TEST_CASE("bursts: the whole fleet goes from 16 to 0 and comes back") {
  const NodeEvents events = events_of(
      R"({"model": "bursts", "nodes": 16, "kind": "fleet", "per_hour": 0.5, "outage_s": 1800})", 1e6);
  REQUIRE(events.size() > 16 * 20);
  for (std::size_t first = 16; first + 32 <= events.size(); first += 32) {
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(events[first + i] == NodeEvent{events[first].time, Kind::kRemove, static_cast<NodeId>(i), 1});
      CHECK(events[first + 16 + i] == NodeEvent{events[first].time + std::chrono::seconds{1800}, Kind::kAdd,
                                                static_cast<NodeId>(i), 1});
    }
  }
}

TEST_CASE("bursts: what strikes while all groups are out is not waited for") {
  // A burst a second would be 3e7 of them in each outage of a year.
  const NodeEvents events =
      events_of(R"({"model": "bursts", "nodes": 2, "kind": "fleet", "per_hour": 3600, "outage_s": 31536000})",
                86400.0 * 365 * 3);
  std::vector<SimTime> returns;
  SimTime lost{};
  for (const NodeEvent& event : events) {
    if (event.node != 0 || event.time == SimTime{}) continue;
    if (event.kind == Kind::kRemove) lost = event.time;
    if (event.kind == Kind::kAdd) {
      CHECK(event.time - lost == std::chrono::seconds{31536000});
      returns.push_back(event.time);
    }
  }
  CHECK(returns.size() == 2);
}

TEST_CASE("bursts: a rack is lost together, at the rate asked for") {
  // 10 nodes in racks of 4: 0-3, 4-7, 8-9. Outages of 0 s hide no burst: gaps of 1 / rate in the mean.
  const NodeEvents events = events_of(
      R"({"model": "bursts", "nodes": 10, "group_size": 4, "per_hour": 2, "outage_s": 0})", 3600.0 * 10'000);
  std::map<std::pair<NodeId, std::size_t>, int> groups;  // first node and size
  for (std::size_t i = 10; i < events.size();) {
    std::size_t end = i;
    while (end < events.size() && events[end].time == events[i].time && events[end].kind == events[i].kind)
      ++end;
    if (events[i].kind == Kind::kRemove) ++groups[{events[i].node, end - i}];
    i = end;
  }
  REQUIRE(groups.size() == 3);
  int bursts = 0;
  for (const auto& group : {std::pair<NodeId, std::size_t>{0, 4}, {4, 4}, {8, 2}}) {
    // Poisson with a mean of 20,000 / 3.
    CHECK(std::abs(groups[group] - 20'000.0 / 3) < 3 * std::sqrt(20'000.0 / 3));
    bursts += groups[group];
  }
  CHECK(std::abs(bursts - 20'000) < 3 * std::sqrt(20'000));
}

TEST_CASE("fail_slow: nodes are slow as often and as long as asked") {
  // Healthy for 1 day, slow for 6 h in the mean: 0.2 of the time.
  const NodeEvents events = events_of(R"({"model": "fail_slow", "nodes": 50, "per_node_day": 1,
                                          "speed_min": 0.25, "speed_max": 0.75, "duration_s": 21600})",
                                      86400.0 * 400);
  Mean healthy_days;
  Mean slow_hours;
  Mean speed;
  std::map<NodeId, SimTime> since;
  for (const NodeEvent& event : events) {
    if (event.kind == Kind::kSpeed) {
      const double lasted = to_seconds(event.time - since[event.node]);
      if (event.speed == 1) {
        slow_hours.add(lasted / 3600);
      } else {
        healthy_days.add(lasted / 86400);
        speed.add(event.speed);
        CHECK((event.speed >= 0.25 && event.speed < 0.75));
      }
    }
    since[event.node] = event.time;
  }
  CHECK(speed.n > 10'000);
  CHECK(healthy_days.is_near(1));
  CHECK(slow_hours.is_near(6));
  CHECK(speed.is_near(0.5));
}

TEST_CASE("fail_slow: measured slowdowns are drawn, and no node is faster than a healthy one") {
  const std::vector<double> measured = {0.98, 1.25, 4};  // speeds 1, 0.8, 0.25
  const auto model = failures_of(
      R"({"model": "fail_slow", "nodes": 20, "per_node_day": 2, "whatif": "w.json", "duration_s": 60,
          "duration": "fixed"})",
      {{nullptr, measured}});
  std::map<double, int> drawn;
  std::map<NodeId, SimTime> since;
  bool is_end = false;
  for (const NodeEvent& event : check_stream(*model, at_s(86400.0 * 90))) {
    if (event.kind != Kind::kSpeed) continue;
    is_end = since.contains(event.node);
    if (is_end) {
      CHECK(event.time - since[event.node] == std::chrono::seconds{60});
      since.erase(event.node);
    } else {
      since[event.node] = event.time;
      ++drawn[event.speed];
    }
  }
  // 3600 episodes in the mean, a third of each.
  REQUIRE(drawn.size() == 3);
  for (const double speed : {1.0, 0.8, 0.25}) CHECK(std::abs(drawn[speed] - 1200) < 3 * std::sqrt(1200));
}

}  // namespace goodput::testing
