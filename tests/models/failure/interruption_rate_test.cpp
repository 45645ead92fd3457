// How often failure models take a node from a job: closed forms, and the events themselves.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tests/models/failure/failure_stream.h"

namespace goodput::testing {
namespace {

InterruptionRate rate_of(std::string_view text, const FailureSources& sources = {}) {
  const auto configs = read_failures(text);
  REQUIRE_MESSAGE(configs, (configs ? "" : configs.error().message()));
  auto rate = make_interruption_rate(*configs, sources, 1);
  REQUIRE_MESSAGE(rate, (rate ? "" : rate.error().message()));
  REQUIRE(*rate);
  return *std::move(rate);
}

// Moments at which one of the nodes 0 .. used-1 is lost, in so long.
double count_hits(std::string_view text, NodeId used, double length_s) {
  double hits = 0;
  SimTime last{};
  for (const NodeEvent& event : events_of(text, length_s)) {
    if (event.kind != NodeEvent::Kind::kRemove || event.node >= used || event.time == last) continue;
    ++hits;
    last = event.time;
  }
  return hits;
}

// 4 nodes; one of them is lost at 100 s, two of the other three at 300 s; recorded for 1000 s.
SpotTrace two_losses() {
  SpotTrace trace;
  trace.file = "spot.csv";
  trace.end = at_s(1000);
  trace.node_names = {"a", "b", "c", "d"};
  for (NodeId node = 0; node < 4; ++node) trace.events.push_back({at_s(0), NodeEvent::Kind::kAdd, node, 1});
  trace.events.push_back({at_s(100), NodeEvent::Kind::kRemove, 2, 1});
  trace.events.push_back({at_s(300), NodeEvent::Kind::kRemove, 0, 1});
  trace.events.push_back({at_s(300), NodeEvent::Kind::kRemove, 3, 1});
  return trace;
}

}  // namespace

TEST_CASE("interruption rate: nodes that fail by themselves do so once in their mean time") {
  const double hour = 3600;
  for (const std::string model : {R"("exponential")", R"("weibull", "shape": 0.7)"}) {
    const auto rate =
        rate_of(R"({"nodes": 10, "mtbf_hours": 100, "repair_s": 9999, "model": )" + model + "}");
    CHECK(rate(4) == doctest::Approx(4 / (100 * hour)).epsilon(1e-15));
    CHECK(rate(0) == 0);
    CHECK(rate(20) == rate(10));  // there are no more
  }
  const auto per_day =
      rate_of(R"({"model": "exponential", "nodes": 2048, "failures_per_1000_node_days": 6.5})");
  CHECK(per_day(2048) == doctest::Approx(6.5 * 2.048 / 86400).epsilon(1e-15));
}

TEST_CASE("interruption rate: markets, intervals and bursts by their definitions") {
  const auto hourly =
      rate_of(R"({"model": "hourly", "nodes": 10, "loss_probability": 0.2, "return_probability": 0.1})");
  CHECK(hourly(4) == doctest::Approx(4 * 0.2 / 3600).epsilon(1e-15));
  const auto interval = rate_of(R"({"model": "interval", "nodes": 10, "every_s": 600})");
  CHECK(interval(4) == doctest::Approx(0.4 / 600).epsilon(1e-15));
  CHECK(interval(11) == doctest::Approx(1.0 / 600).epsilon(1e-15));
  CHECK(rate_of(R"({"model": "interval", "nodes": 10, "every_s": 600, "floor_nodes": 10})")(10) == 0);
  // Racks of 8 of 60 nodes are 8 racks, the last one smaller; 20 nodes are in 3 of them.
  const auto racks =
      rate_of(R"({"model": "bursts", "nodes": 60, "group_size": 8, "per_hour": 0.5, "outage_s": 60})");
  CHECK(racks(20) == doctest::Approx(0.5 / 3600 * 3 / 8).epsilon(1e-15));
  CHECK(racks(60) == doctest::Approx(0.5 / 3600).epsilon(1e-15));
  const auto fleet =
      rate_of(R"({"model": "bursts", "nodes": 60, "kind": "fleet", "per_hour": 0.5, "outage_s": 60})");
  CHECK(fleet(1) == doctest::Approx(0.5 / 3600).epsilon(1e-15));
}

TEST_CASE("interruption rate: a recording's losses over its time, each as likely as it hits the job") {
  const SpotTrace trace = two_losses();
  const auto rate = rate_of(R"({"model": "trace", "file": "spot.csv"})", {{&trace, {}}});
  // 2 of 4 nodes: 1 - C(3,2)/C(4,2) = 1/2; 2 of 3 with two lost: surely.
  CHECK(rate(2) == doctest::Approx((0.5 + 1) / 1000).epsilon(1e-15));
  // 1 node: 1/4 and 2/3.
  CHECK(rate(1) == doctest::Approx((0.25 + 2.0 / 3) / 1000).epsilon(1e-15));
  CHECK(rate(4) == doctest::Approx(2.0 / 1000).epsilon(1e-15));
  CHECK(rate(9) == rate(4));
  CHECK(rate(0) == 0);
  // A part of it: the second loss alone, in 500 s.
  const auto part =
      rate_of(R"({"model": "trace", "file": "spot.csv", "from_s": 200, "to_s": 700})", {{&trace, {}}});
  CHECK(part(1) == doctest::Approx(2.0 / 3 / 500).epsilon(1e-15));
  const auto none = rate_of(R"({"model": "trace", "file": "spot.csv", "from_s": 400})", {{&trace, {}}});
  CHECK(none(4) == 0);
}

TEST_CASE("interruption rate: of several models they add, and slow nodes interrupt nothing") {
  const auto both = rate_of(R"([{"model": "exponential", "nodes": 10, "mtbf_hours": 100},
      {"model": "bursts", "kind": "fleet", "per_hour": 0.5, "outage_s": 60},
      {"model": "fail_slow", "per_node_day": 5, "speed_min": 0.5, "speed_max": 0.5}])");
  CHECK(both(4) == doctest::Approx((0.04 + 0.5) / 3600).epsilon(1e-15));
  const auto racks = rate_of(R"([{"model": "exponential", "nodes": 16, "mtbf_hours": 1e9},
      {"model": "bursts", "group_size": 4, "per_hour": 1, "outage_s": 60}])");  // the nodes of the other
  CHECK(racks(5) == doctest::Approx(0.5 / 3600).epsilon(1e-6));
}

TEST_CASE("interruption rate: it is that of the events in the long run") {
  // Repaired at once, so that the first nodes are always there. Counts scatter by their root at most; four
  // times that is exceeded in one of 16,000 cases.
  const double length_s = 3e7;
  for (const std::string text :
       {R"({"model": "exponential", "nodes": 12, "mtbf_hours": 20})",
        R"({"model": "weibull", "nodes": 12, "mtbf_hours": 20, "shape": 1.5})",
        R"({"model": "weibull", "nodes": 12, "mtbf_hours": 20, "shape": 0.7})",
        R"({"model": "interval", "nodes": 12, "every_s": 9000, "return_after_s": 1})",
        R"({"model": "bursts", "nodes": 12, "group_size": 5, "per_hour": 0.4, "outage_s": 1})"}) {
    for (const NodeId used : {1, 5, 6, 12}) {
      const double expected = rate_of(text)(used) * length_s;
      CAPTURE(text);
      CAPTURE(used);
      CHECK(expected > 100);
      // Weibull counts of shape 0.7 scatter by the lives' coefficient of variation, 1.46 at most.
      CHECK(std::abs(count_hits(text, used, length_s) - expected) < 4 * 1.5 * std::sqrt(expected));
    }
  }
}

}  // namespace goodput::testing
