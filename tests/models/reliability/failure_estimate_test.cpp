// What is estimated from logs whose truth is known: rates, distributions of repair times, bursts, bad nodes.
#include "models/reliability/failure_estimate.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/index.h"
#include "sim/base/text.h"
#include "sim/nodes/fault_history.h"
#include "tests/support/random_failure_log.h"
#include "traces/faults/fault_reader.h"

namespace goodput::testing {
namespace {

FaultHistory history_of(const std::string& csv, const HistoryOptions& options) {
  const auto table = parse_log_table(csv, "log.csv");
  REQUIRE(table);
  FailureLog log;
  const Status added = add_failure_log(*table, {}, log);
  REQUIRE_MESSAGE(added, (added ? "" : added.error().message()));
  auto history = fault_history(log, options);
  REQUIRE_MESSAGE(history, (history ? "" : history.error().message()));
  return *std::move(history);
}

FailureEstimate estimate_of(const RandomFailureLog& log, std::uint64_t seed) {
  const DrawnFailureLog drawn = draw_failure_log(log, seed);
  return estimate_failures(history_of(drawn.csv, {.nodes = log.nodes}), {});
}

// Logs of all kinds: rates over two orders of magnitude, three laws, bursts, bad nodes, dirt.
RandomFailureLog log_of_kind(std::uint64_t seed) {
  constexpr std::array<RepairLaw, 3> kLaws = {RepairLaw::kExponential, RepairLaw::kWeibull,
                                              RepairLaw::kLognormal};
  RandomFailureLog log;
  log.per_1000_node_days = std::array{1.0, 3.0, 8.0, 20.0}[seed % 4];
  log.law = kLaws[seed % 3];
  log.repair_shape = log.law == RepairLaw::kWeibull ? 0.7 : 1.2;
  log.repair_mean_s = std::array{3600.0, 8 * 3600.0, 86400.0}[seed / 3 % 3];
  log.bursts = static_cast<int>(seed / 2 % 4);
  log.bad_nodes = static_cast<int>(seed / 5 % 2);
  log.missing_ends = seed % 7 == 0 ? 0.05 : 0;
  log.repeated = seed % 5 == 0 ? 0.1 : 0;
  log.is_sorted = seed % 2 == 0;
  return log;
}

constexpr std::uint64_t kLogs = 200;

}  // namespace

// 3000 such logs: 95.2 % inside, and 49.2 % of the estimates below the truth.
TEST_CASE("reliability: the true failure rate is inside the 95 % interval of 92 to 98 % of 200 logs") {
  int inside = 0;
  double below = 0;
  for (std::uint64_t seed = 1; seed <= kLogs; ++seed) {
    const RandomFailureLog log = log_of_kind(seed);
    const DrawnFailureLog drawn = draw_failure_log(log, seed);
    const FailureEstimate estimate = estimate_failures(history_of(drawn.csv, {.nodes = log.nodes}), {});
    const bool is_inside = estimate.independent.low <= drawn.per_1000_node_days &&
                           drawn.per_1000_node_days <= estimate.independent.high;
    inside += is_inside ? 1 : 0;
    below += estimate.independent.value < drawn.per_1000_node_days ? 1 : 0;
  }
  CAPTURE(inside);
  CHECK(inside >= 184);
  CHECK(inside <= 196);
  // No bias: as many estimates are too low as too high, within 3 standard deviations of sqrt(200) / 2 = 7.1.
  CHECK(std::abs(below - 100) < 22);
}

TEST_CASE("reliability: the right distribution of repair times is found in 90 % of logs with 500 repairs") {
  struct Truth {
    RepairLaw law;
    double shape;
  };
  constexpr std::array<Truth, 7> kTruths = {{{RepairLaw::kExponential, 1},
                                             {RepairLaw::kWeibull, 0.5},
                                             {RepairLaw::kWeibull, 0.8},
                                             {RepairLaw::kWeibull, 1.25},
                                             {RepairLaw::kWeibull, 2},
                                             {RepairLaw::kLognormal, 0.5},
                                             {RepairLaw::kLognormal, 1.5}}};
  for (const Truth& truth : kTruths) {
    int right = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      RandomFailureLog log = {.law = truth.law, .repair_shape = truth.shape};
      log.days = 500 / (log.nodes * log.per_1000_node_days / 1000);  // 500 faults
      log.bursts = static_cast<int>(seed % 4);
      right += estimate_of(log, seed).repairs.fits.front().law == truth.law ? 1 : 0;
    }
    CAPTURE(to_string(truth.law));
    CAPTURE(truth.shape);
    CHECK(right >= 36);
  }
}

TEST_CASE("reliability: a bad node with 20 faults at five times the rate is found") {
  // 4 faults of a node are expected in 800 days at 5 per 1000 node-days, 20 of the bad one, give or take 4.5.
  // Any of 500 nodes has 15 faults by chance in 1.0 % of logs, and 14 in 3.8 %, which is more than the 2.5 %
  // that are accepted.
  const RandomFailureLog log = {.days = 800, .repair_mean_s = 3600, .bad_nodes = 1};
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const DrawnFailureLog drawn = draw_failure_log(log, seed);
    const FaultHistory history = history_of(drawn.csv, {.nodes = log.nodes});
    const FailureEstimate estimate = estimate_failures(history, {});
    const auto faults =
        std::count_if(history.faults.begin(), history.faults.end(), [&](const NodeFault& fault) {
          return history.nodes[index(fault.node)] == node_name(0) && fault.began_inside;
        });
    CAPTURE(seed);
    CAPTURE(faults);
    CHECK(estimate.bad_nodes.size() == (faults >= 15 ? 1 : 0));
    if (faults >= 20) ++found;
    if (estimate.bad_nodes.empty()) continue;
    CHECK(history.nodes[index(estimate.bad_nodes[0].node)] == node_name(0));
    CHECK(estimate.bad_nodes[0].ratio == doctest::Approx(static_cast<double>(faults) / 4).epsilon(0.1));
  }
  CHECK(found >= 5);
}

TEST_CASE("reliability: a clean log of 500 nodes names no bad node in 95 % of draws") {
  int named = 0;
  for (std::uint64_t seed = 1; seed <= kLogs; ++seed) {
    RandomFailureLog log;
    log.per_1000_node_days = std::array{2.0, 10.0}[seed % 2];
    named += estimate_of(log, seed).bad_nodes.empty() ? 0 : 1;
  }
  CAPTURE(named);
  CHECK(named <= 10);
}

TEST_CASE("reliability: bursts are found with all of their nodes, and a log without them has none") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomFailureLog log = {.per_1000_node_days = 8};
    CHECK(estimate_of(log, seed).bursts.found.bursts.size() <= 1);
    log.bursts = 5;
    const BurstEstimate bursts = estimate_of(log, seed).bursts;
    CAPTURE(seed);
    // A burst may hit a node that is down already, and an independent fault may fall into its window.
    CHECK(bursts.found.bursts.size() >= 4);
    CHECK(bursts.found.bursts.size() <= 6);
    CHECK(bursts.mean_nodes == doctest::Approx(8).epsilon(0.1));
    CHECK(*bursts.outage_s == doctest::Approx(3600).epsilon(0.02));
  }
}

TEST_CASE("reliability: times that are whole days show no distribution of repairs of hours") {
  const DrawnFailureLog drawn = draw_failure_log({.repair_mean_s = 10 * 3600}, 5);
  std::string days;
  for (const std::string_view line : split(drawn.csv, '\n')) {
    const std::vector<std::string_view> fields = split(line, ',');
    if (fields.size() < 4) continue;
    days +=
        fmt::format("{},{},{},{}\n", fields[0], fields[1].substr(0, 10), fields[2], fields[3].substr(0, 10));
  }
  const FailureEstimate estimate = estimate_failures(history_of(days, {.nodes = 500}), {});
  CHECK(estimate.repairs.is_coarse);
  CHECK(estimate.repairs.fits.empty());
  // Rounding both times down keeps the mean.
  CHECK(*estimate.repairs.mean_s == doctest::Approx(10 * 3600).epsilon(0.2));
  CHECK(estimate.bursts.found.bursts.empty());
}

TEST_CASE("reliability: overlaps, unsorted rows and sorted rows give the same estimate") {
  const RandomFailureLog sorted = {.bursts = 2};
  RandomFailureLog dirty = sorted;
  dirty.is_sorted = false;
  CHECK(estimate_of(sorted, 3).independent.value == estimate_of(dirty, 3).independent.value);
  // A second row that overlaps its fault adds nothing.
  const DrawnFailureLog clean = draw_failure_log(sorted, 4);
  RandomFailureLog repeated = sorted;
  repeated.repeated = 1;
  const DrawnFailureLog twice = draw_failure_log(repeated, 4);
  const FaultHistory once = history_of(clean.csv, {.nodes = 500});
  const FaultHistory merged = history_of(twice.csv, {.nodes = 500});
  CHECK(merged.merged >= static_cast<std::int64_t>(once.faults.size()));
  CHECK(merged.faults.size() == once.faults.size());
}

}  // namespace goodput::testing
