// Rows of a log to a history in which every node is up or down at any moment.
#include "sim/nodes/fault_history.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <string>
#include <vector>

namespace goodput::testing {
namespace {

constexpr double kNoEnd = -1;

SimTime time_of(double seconds) {
  return SimTime{from_seconds(seconds)};
}

// Of nodes 0, 1, ...
FailureLog log_of(const std::vector<std::array<double, 3>>& node_begin_end) {
  FailureLog log;
  log.faults.nodes = {"a", "b", "c"};
  for (const auto& [node, begin, end] : node_begin_end) {
    LoggedFault fault{.node = static_cast<NodeId>(node), .begin = time_of(begin)};
    if (end != kNoEnd) fault.end = time_of(end);
    log.first = std::min(log.first, fault.begin);
    log.last = std::max(log.last, fault.end.value_or(fault.begin));
    log.faults.faults.push_back(fault);
  }
  return log;
}

std::vector<std::string> faults_of(const Result<FaultHistory>& history) {
  REQUIRE_MESSAGE(history, (history ? "" : history.error().message()));
  std::vector<std::string> texts;
  for (const NodeFault& fault : history->faults) {
    constexpr const char* kHow[] = {"repaired", "open", "unknown"};
    texts.push_back(fmt::format("{} {:g}-{:g} {}", fault.node, to_seconds(fault.begin), to_seconds(fault.end),
                                kHow[static_cast<int>(fault.how)]));
  }
  return texts;
}
using Texts = std::vector<std::string>;

const HistoryOptions kFromZero = {.from = SimTime{}, .to = SimTime{std::chrono::seconds{1000}}};

}  // namespace

TEST_CASE("fault history: rows of a node that overlap or touch are one fault") {
  const auto history = fault_history(
      log_of({{0, 100, 200}, {0, 150, 300}, {0, 300, 400}, {1, 150, 250}, {0, 500, 600}, {0, 120, 130}}),
      kFromZero);
  CHECK(faults_of(history) == Texts{"0 100-400 repaired", "1 150-250 repaired", "0 500-600 repaired"});
  CHECK(history->merged == 3);
  // 3 nodes for 1000 s less 300 + 100 + 100 s.
  CHECK(node_seconds(history->up_time) == 3000 - 500);
}

TEST_CASE("fault history: a missing end is open if the fault is the last of its node and not too old") {
  // The longest repair is 300 s: node 1 has been down for 200 s, node 2 for 900 s.
  const auto history =
      fault_history(log_of({{0, 100, 400}, {0, 500, 600}, {1, 800, kNoEnd}, {2, 100, kNoEnd}}), kFromZero);
  // The median repair is 200 s.
  CHECK(faults_of(history) ==
        Texts{"0 100-400 repaired", "2 100-300 unknown", "0 500-600 repaired", "1 800-1000 open"});
}

TEST_CASE("fault history: a missing end before another fault of the node is unknown") {
  const auto history = fault_history(log_of({{0, 100, kNoEnd}, {0, 250, 750}, {0, 800, kNoEnd}}), kFromZero);
  // The only repair takes 500 s, but the node fails again after 150 s.
  CHECK(faults_of(history) == Texts{"0 100-250 unknown", "0 250-750 repaired", "0 800-1000 open"});
}

TEST_CASE("fault history: a fault that the log calls open stays open, unless its node fails again") {
  FailureLog log = log_of({{0, 100, kNoEnd}, {1, 100, 110}, {2, 100, kNoEnd}, {2, 300, 310}});
  for (LoggedFault& fault : log.faults.faults) fault.is_open = !fault.end;
  CHECK(faults_of(fault_history(log, kFromZero)) ==
        Texts{"0 100-1000 open", "1 100-110 repaired", "2 100-110 unknown", "2 300-310 repaired"});
}

TEST_CASE("fault history: the resolution is the unit that all times are multiples of") {
  const auto resolution = [](double end) {
    return to_seconds(fault_history(log_of({{0, 86400, end}, {1, 2 * 86400, 3 * 86400}}), {})->resolution);
  };
  CHECK(resolution(3 * 86400) == 86400);
  CHECK(resolution(90000) == 3600);
  CHECK(resolution(86460) == 60);
  CHECK(resolution(86401) == 1);
  CHECK(resolution(86400.5) == 0);
}

TEST_CASE("fault history: repeated rows with and without an end are one fault with the end") {
  CHECK(faults_of(fault_history(log_of({{0, 100, kNoEnd}, {0, 100, 300}}), kFromZero)) ==
        Texts{"0 100-300 repaired"});
}

TEST_CASE("fault history: the observation cuts what it does not show") {
  const HistoryOptions options = {.from = time_of(150), .to = time_of(450)};
  const auto history = fault_history(
      log_of({{0, 100, 200}, {1, 50, 120}, {0, 400, 500}, {1, 460, 470}, {2, 450, 460}}), options);
  CHECK(faults_of(history) == Texts{"0 150-200 repaired", "0 400-450 open", "2 450-450 open"});
  CHECK_FALSE(history->faults[0].began_inside);
  CHECK(history->faults[1].began_inside);
  CHECK(history->outside == 2);
  CHECK(node_seconds(history->up_time) == 3 * 300 - 50 - 50);
}

TEST_CASE("fault history: without --from the first fault only opens the observation") {
  const auto history = fault_history(log_of({{0, 100, 200}, {1, 300, 400}}), {.nodes = 10});
  REQUIRE(history);
  CHECK(history->cluster_nodes == 10);
  CHECK(to_seconds(history->from) == 100);
  CHECK(to_seconds(history->to) == 400);
  CHECK_FALSE(history->faults[0].began_inside);
  CHECK(history->faults[1].began_inside);
}

TEST_CASE("fault history: a log that begins before its first fault counts that fault") {
  FailureLog log = log_of({{0, 100, 200}, {1, 300, 400}});
  log.first = time_of(50);  // of a job in the same log
  const auto history = fault_history(log, {});
  REQUIRE(history);
  CHECK_FALSE(history->begins_with_fault);
  CHECK(to_seconds(history->from) == 50);
  CHECK(history->faults[0].began_inside);
}

TEST_CASE("fault history: what cannot be a history is refused") {
  const auto error = [](const FailureLog& log, const HistoryOptions& options) {
    const auto history = fault_history(log, options);
    REQUIRE_FALSE(history);
    return history.error().message([](std::string_view key) { return "--" + std::string(key); });
  };
  const FailureLog log = log_of({{0, 100, 200}});
  CHECK(error({}, {}) == "has no fault of a node");
  CHECK(error(log, {.nodes = 2}) == "--nodes 2 is less than the 3 nodes that the log names; correct it");
  CHECK(error(log, {.from = time_of(300)}) == "--from leaves out the whole log");
  CHECK(error(log, {.to = time_of(50)}) == "--to leaves out the whole log");
  CHECK(error(log, {.from = time_of(9), .to = time_of(5)}) ==
        "--to must be after the start of the observation");
  CHECK(error(log_of({{0, 100, kNoEnd}}), {}) ==
        "has only one moment; state from when to when the nodes were observed");
  FailureLog one = log_of({{0, 100, 200}});
  one.faults.nodes = {"a"};
  CHECK(error(one, {}) ==
        "says that all 1 nodes are down all the time; give the number of nodes of the cluster with --nodes");
  CHECK(error(log, {.from = time_of(300), .to = time_of(400)}) ==
        "has no fault between the start and the end of the observation");
}

}  // namespace goodput::testing
