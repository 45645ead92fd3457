#include "tests/support/random_failure_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/random.h"
#include "traces/faults/log_time.h"

namespace goodput::testing {
namespace {

constexpr double kDay = 86400;
constexpr std::int64_t kBegin = 1'767'225'600;  // 2026-01-01T00:00:00Z

double draw_repair_time(const RandomFailureLog& log, RandomStream& random) {
  switch (log.law) {
    case RepairLaw::kExponential:
      return random.exponential(1 / log.repair_mean_s);
    case RepairLaw::kWeibull:
      return log.repair_mean_s / std::tgamma(1 + 1 / log.repair_shape) *
             std::pow(random.exponential(1), 1 / log.repair_shape);
    case RepairLaw::kLognormal:
      return log.repair_mean_s *
             std::exp(log.repair_shape * random.normal(0, 1) - log.repair_shape * log.repair_shape / 2);
  }
  return 0;
}

struct Row {
  double begin = 0, end = 0;
  int node = 0;
  bool has_end = true;
};

std::string iso(double seconds) {
  std::string text = date_text(SimTime{std::chrono::seconds{kBegin + std::llround(seconds)}});
  text[10] = 'T';
  return text;
}

}  // namespace

std::string node_name(int node) {
  return fmt::format("n{:03}", node + 1);
}

DrawnFailureLog draw_failure_log(const RandomFailureLog& log, std::uint64_t seed) {
  RandomStream random(seed, "failure log");
  DrawnFailureLog drawn;
  const double rate_per_s = log.per_1000_node_days / 1000 / kDay;
  const double end = log.days * kDay;
  drawn.per_1000_node_days =
      log.per_1000_node_days * (log.nodes + log.bad_nodes * (log.bad_ratio - 1)) / log.nodes;
  std::vector<Row> rows;
  for (int node = 0; node < log.nodes; ++node) {
    const double rate = rate_per_s * (node < log.bad_nodes ? log.bad_ratio : 1);
    for (double time = random.exponential(rate); time < end; time += random.exponential(rate)) {
      const double repair = draw_repair_time(log, random);
      rows.push_back({time, time + repair, node});
      time += repair;
      ++drawn.independent_faults;
    }
  }
  for (int burst = 0; burst < log.bursts; ++burst) {
    const double time = random.uniform(0, end);
    const auto first =
        static_cast<int>(random.below(static_cast<std::uint64_t>(log.nodes - log.burst_nodes)));
    for (int i = 0; i < log.burst_nodes; ++i)
      rows.push_back({time + random.uniform(0, 20), time + 3600 + random.uniform(0, 60), first + i});
  }
  const std::size_t faults = rows.size();
  for (std::size_t i = 0; i < faults; ++i) {
    Row& row = rows[i];
    if (random.uniform() < log.repeated) {
      const double half = (row.begin + row.end) / 2;
      rows.push_back({half, row.end, row.node});
      continue;  // rows[i] may have moved
    }
    if (row.end > end || random.uniform() < log.missing_ends) row.has_end = false;
  }
  if (log.is_sorted) {
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.begin < b.begin; });
  } else {
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  }
  drawn.csv = "cause,end,node,start\n";
  for (const Row& row : rows)
    drawn.csv +=
        fmt::format("gpu,{},{},{}\n", row.has_end ? iso(row.end) : "", node_name(row.node), iso(row.begin));
  return drawn;
}

}  // namespace goodput::testing
