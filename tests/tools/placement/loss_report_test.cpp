// What a loss of nodes moves: against loops over the library, and the times that follow.
#include "tools/placement/loss_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

using namespace std::chrono_literals;

PlacementReport placed(std::int32_t nodes, std::int32_t slots, const std::vector<std::int64_t>& loads,
                       std::uint64_t seed = 0) {
  PlacementRequest request;
  request.nodes = {nodes, slots, 1};
  request.choice.allocation = Allocation::kEq1;
  request.choice.rule = PlacementRule::kMro;
  request.failures = {1};
  RequestedLayer layer{0, {}, loads, {}};
  for (std::size_t e = 0; e < loads.size(); ++e) layer.experts.push_back(static_cast<std::int32_t>(e));
  request.layers = {layer};
  request.new_layers = {layer};
  std::reverse(request.new_layers[0].loads.begin(), request.new_layers[0].loads.end());
  Result<PlacementReport> report = place_as_requested(std::move(request), seed);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  return *std::move(report);
}

LossReport loss_of(const PlacementReport& report, const LossRequest& request) {
  Result<LossReport> loss = report_loss(report, request);
  REQUIRE_MESSAGE(loss, (loss ? "" : loss.error().message()));
  return *std::move(loss);
}

LossRequest losing(std::vector<std::int32_t> nodes) {
  LossRequest request;
  request.lose = static_cast<std::int32_t>(nodes.size());
  request.lost = std::move(nodes);
  request.bytes = StateBytes{Bytes{100'000'000}, Bytes{1'000'000'000}};
  request.timing.detect = {10s, 20s};
  request.timing.regroup = {5s, 15s};
  return request;
}

}  // namespace

TEST_CASE("loss report: the spread over pairs of nodes is that of each pair alone") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "loss report");
    std::vector<std::int64_t> loads;
    for (int e = 0; e < 6; ++e) loads.push_back(1 + static_cast<std::int64_t>(random.below(500)));
    const PlacementReport report = placed(7, 3, loads);
    LossRequest both = losing({});
    both.lose = 2;
    const LossReport all = loss_of(report, both);
    REQUIRE(all.spread);
    std::vector<double> experts;
    std::vector<double> seconds;
    for (std::int32_t a = 0; a < 7; ++a) {
      for (std::int32_t b = a + 1; b < 7; ++b) {
        const LossReport one = loss_of(report, losing({a, b}));
        if (!one.migration->moves.from_checkpoint.empty()) continue;
        experts.push_back(static_cast<double>(one.migration->newly_assigned));
        seconds.push_back(to_seconds(one.transfer));
      }
    }
    CHECK(all.spread->sets == 21);
    CHECK_FALSE(all.spread->is_sampled);
    REQUIRE(all.spread->survived == std::ssize(experts));
    if (experts.empty()) continue;
    for (const auto& [values, range] :
         {std::pair(experts, all.spread->experts), {seconds, all.spread->transfer_s}}) {
      double sum = 0;
      for (const double value : values) sum += value;
      CHECK(range.least == std::ranges::min(values));
      CHECK(range.most == std::ranges::max(values));
      CHECK(range.mean == doctest::Approx(sum / static_cast<double>(values.size())));
    }
  }
}

TEST_CASE("loss report: many sets are sampled, by the seed, within the range of all sets") {
  // 15 nodes have 3,003 sets of 5, 13 nodes 1,287.
  const std::vector<std::int64_t> loads = {50, 40, 30, 20, 10};
  LossRequest five = losing({});
  five.lose = 5;
  const LossSpread sampled = *loss_of(placed(15, 3, loads, 1), five).spread;
  CHECK(sampled.is_sampled);
  CHECK(sampled.sets == 1'000);
  CHECK(loss_of(placed(15, 3, loads, 1), five).spread->experts.mean == sampled.experts.mean);
  CHECK(loss_of(placed(15, 3, loads, 2), five).spread->experts.mean != sampled.experts.mean);
  CHECK_FALSE(loss_of(placed(13, 3, loads), five).spread->is_sampled);
}

TEST_CASE("loss report: a node that replaces a lost one fetches all its state") {
  const PlacementReport report = placed(7, 3, {50, 40, 30, 20, 10, 5});
  LossRequest request = losing({2});
  request.joined = 1;
  const LossReport loss = loss_of(report, request);
  CHECK(loss.nodes_after == 7);
  REQUIRE(loss.migration->moves.from_checkpoint.empty());
  REQUIRE(loss.migration->dense.size() == 1);
  CHECK(loss.migration->dense[0].to == 7);
  // 3 experts of 0.1 GB and 1 GB at 0.7 GB/s: no other node moves as much.
  CHECK(loss.transfer == 2s + Bytes{1'300'000'000} / BytesPerSecond{0.7e9});
  request.timing.dense_state = false;
  CHECK(loss_of(report, request).transfer < loss.transfer);
}

TEST_CASE("loss report: the total adds the limits and the means, or overlaps detection and regrouping") {
  LossRequest request = losing({});
  request.lose = 1;
  const PlacementReport report = placed(7, 3, {50, 40, 30, 20, 10, 5});
  const LossReport sum = loss_of(report, request);
  const LossSpread::Range transfer = sum.spread->transfer_s;
  CHECK(total_seconds(sum).least == doctest::Approx(15.1 + transfer.least));
  CHECK(total_seconds(sum).mean == doctest::Approx(25.1 + transfer.mean));
  CHECK(total_seconds(sum).most == doctest::Approx(35.1 + transfer.most));
  request.timing.overlap = true;
  const LossReport longer = loss_of(report, request);
  CHECK(total_seconds(longer).least == doctest::Approx(10.1 + transfer.least));
  // The mean of the longer one is 15 s and the mean excess of regrouping, the integral of (y - x) / 100 over
  // 10 < x < y < 15: 125 / 6 / 100.
  CHECK(total_seconds(longer).mean == doctest::Approx(15.1 + 125.0 / 600 + transfer.mean).epsilon(1e-4));
  CHECK(total_seconds(longer).most == doctest::Approx(20.1 + transfer.most));
}

}  // namespace goodput
