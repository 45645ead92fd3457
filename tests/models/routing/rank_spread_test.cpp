// How an expert's tokens spread over the ranks: exact totals, the spread that was asked for, recorded rows.
#include "models/routing/rank_spread.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "models/routing/job_routing.h"
#include "sim/base/index.h"
#include "sim/base/random.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

using Row = std::vector<std::int64_t>;

// Checks that every rank routes as many tokens as any other (but for one), and that experts keep theirs.
void check_totals(std::span<const std::int32_t> counts, std::int32_t ranks, const Row& tokens) {
  REQUIRE(counts.size() == index(ranks) * tokens.size());
  const std::int64_t all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  Row of_experts(tokens.size());
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const auto row = counts.subspan(index(rank) * tokens.size(), tokens.size());
    REQUIRE(std::accumulate(row.begin(), row.end(), std::int64_t{0}) == tokens_of_rank(all, ranks, rank));
    for (std::size_t e = 0; e < tokens.size(); ++e) {
      REQUIRE(row[e] >= 0);
      of_experts[e] += row[e];
    }
  }
  REQUIRE(of_experts == tokens);
}

// Of an expert's tokens from rank to rank.
double variation(std::span<const std::int32_t> counts, std::size_t experts, std::size_t expert) {
  const double ranks = static_cast<double>(counts.size() / experts);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = expert; i < counts.size(); i += experts) {
    sum += counts[i];
    squares += static_cast<double>(counts[i]) * counts[i];
  }
  const double mean = sum / ranks;
  return std::sqrt((squares - ranks * mean * mean) / (ranks - 1)) / mean;
}

// `rows` of one layer.
RankSpread recorded(const std::vector<Row>& rows) {
  RankRows all{1, rows.size(), rows[0].size()};
  for (const Row& row : rows) all.counts.insert(all.counts.end(), row.begin(), row.end());
  std::vector<std::int32_t> experts(rows[0].size());
  std::iota(experts.begin(), experts.end(), 0);
  return recorded_spread(all, std::vector<std::size_t>{0}, std::vector<std::vector<std::int32_t>>{experts});
}

}  // namespace

TEST_CASE("rank spread: ranks and experts keep their totals on random loads") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "rank spread");
    const auto ranks = static_cast<std::int32_t>(1 + random.below(12));
    Row tokens(1 + random.below(9));
    for (std::int64_t& of_expert : tokens)
      of_expert = static_cast<std::int64_t>(random.below(4) == 0 ? random.below(3) : random.below(5000));
    const RankSpread spread{.spread = random.uniform(0.001, 3), .seed = seed};
    const auto counts = rank_tokens(spread, 0, ranks, tokens);
    check_totals(counts, ranks, tokens);
    CHECK(rank_tokens(spread, 0, ranks, tokens) == counts);
    // Rows with zeros, that nothing can fit as they are.
    std::vector<Row> rows(1 + random.below(5), Row(tokens.size()));
    for (Row& row : rows)
      for (std::int64_t& count : row)
        count = random.below(2) == 0 ? 0 : static_cast<std::int64_t>(random.below(100));
    check_totals(rank_tokens(recorded(rows), 0, ranks, tokens), ranks, tokens);
  }
}

TEST_CASE("rank spread: many small experts vary as much as was asked for") {
  // With 128 experts of the same load, fitting the ranks' totals changes a factor by about spread /
  // sqrt(128).
  const Row tokens(128, 1'000'000);
  for (const double spread : {0.02, 0.1, 0.5}) {
    const auto counts = rank_tokens({.spread = spread, .seed = 5}, 0, 200, tokens);
    double sum = 0;
    for (std::size_t e = 0; e < tokens.size(); ++e) sum += variation(counts, tokens.size(), e);
    INFO(fmt::format("seed 5, spread {}: {:.4f}", spread, sum / 128));
    CHECK(sum / 128 == doctest::Approx(spread).epsilon(0.03));
  }
}

TEST_CASE("rank spread: layers and seeds have draws of their own, more ranks do not change those of others") {
  const Row tokens = {5000, 3000, 2000, 6000};
  const RankSpread spread{.spread = 0.2, .seed = 1};
  const auto first = rank_tokens(spread, 0, 4, tokens);
  CHECK(rank_tokens(spread, 1, 4, tokens) != first);
  CHECK(rank_tokens({.spread = 0.2, .seed = 2}, 0, 4, tokens) != first);
}

TEST_CASE("rank spread: recorded rows that fit are taken as they are, scaled to the loads") {
  // Each of two ranks routes 100 tokens; loads are ten times as many.
  const RankSpread spread = recorded({{60, 30, 10}, {40, 50, 10}});
  CHECK(spread.recorded == std::vector<std::vector<double>>{{1.2, 0.75, 1, 0.8, 1.25, 1}});
  CHECK(rank_tokens(spread, 0, 2, Row{1000, 800, 200}) ==
        std::vector<std::int32_t>{600, 300, 100, 400, 500, 100});
  // A third and a fourth rank do as the first and the second.
  CHECK(rank_tokens(spread, 0, 4, Row{2000, 1600, 400}) ==
        std::vector<std::int32_t>{600, 300, 100, 400, 500, 100, 600, 300, 100, 400, 500, 100});
}

TEST_CASE("rank spread: without a recorded token an expert is even") {
  CHECK(recorded({{60, 0}, {40, 0}}).recorded[0] == std::vector<double>{1.2, 1, 0.8, 1});
}

TEST_CASE("rank spread: the ranks of SmartMoE's job differ by 3 % for the busiest expert of a layer") {
  const auto folder = read_rank_folder(std::string(GOODPUT_SHARED_DATA) + "/routing/smartmoe_raw_sample");
  if (!folder) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const RankRows& rows = folder->rows;
  REQUIRE(rows.rows == 64);     // 16 ranks, 4 micro-batches
  std::vector<double> busiest;  // of each layer: how its tokens in the first micro-batch vary
  for (std::size_t layer = 0; layer < rows.layers; ++layer) {
    std::vector<std::int32_t> counts;
    Row sums(rows.experts);
    for (std::size_t rank = 0; rank < 16; ++rank) {
      for (std::size_t e = 0; e < rows.experts; ++e) {
        counts.push_back(static_cast<std::int32_t>(rows.row(layer, rank)[e]));
        sums[e] += counts.back();
      }
    }
    const auto most = static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
    busiest.push_back(variation(counts, rows.experts, most));
  }
  std::sort(busiest.begin(), busiest.end());
  // Computed with another program from the files: 0.0000, 0.0335, 0.1175.
  CHECK(busiest.front() == doctest::Approx(0).epsilon(0.0001));
  CHECK((busiest[11] + busiest[12]) / 2 == doctest::Approx(0.0335).epsilon(0.003));
  CHECK(busiest.back() == doctest::Approx(0.1175).epsilon(0.003));
}

}  // namespace goodput
