#include "sim/routing/routing_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "sim/base/errors.h"

namespace goodput {
namespace {

double sum_of(std::span<const std::int64_t> loads) {
  double sum = 0;
  for (const std::int64_t load : loads) sum += static_cast<double>(load);
  return sum;
}

std::vector<double> descending_shares(std::span<const std::int64_t> loads, double sum) {
  std::vector<double> shares(loads.size());
  std::transform(loads.begin(), loads.end(), shares.begin(),
                 [sum](std::int64_t load) { return static_cast<double>(load) / sum; });
  std::sort(shares.begin(), shares.end(), std::greater<>());
  return shares;
}

double mean_log_rank(std::size_t ranks, double exponent) {
  double weights = 0;
  double logs = 0;
  for (std::size_t r = 1; r <= ranks; ++r) {
    const double log_rank = std::log(static_cast<double>(r));
    const double weight = std::exp(-exponent * log_rank);
    weights += weight;
    logs += weight * log_rank;
  }
  return logs / weights;
}

// The mean logarithm of the rank falls as the exponent grows.
double fit_zipf(const std::vector<double>& shares) {
  constexpr double kMostExponent = 16;
  constexpr int kHalvings = 50;
  double target = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) target += shares[i] * std::log(static_cast<double>(i + 1));
  double low = 0;
  double high = kMostExponent;
  if (target >= mean_log_rank(shares.size(), low)) return low;
  if (target <= mean_log_rank(shares.size(), high)) return high;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (mean_log_rank(shares.size(), middle) > target ? low : high) = middle;
  }
  return (low + high) / 2;
}

double entropy_of(const std::vector<double>& shares) {
  if (shares.size() == 1) return 1;
  double entropy = 0;
  for (const double share : shares) {
    if (share > 0) entropy -= share * std::log(share);
  }
  return entropy / std::log(static_cast<double>(shares.size()));
}

double variation_of(const std::vector<double>& shares) {
  const auto count = static_cast<double>(shares.size());
  double squares = 0;
  for (const double share : shares) squares += (share * count - 1) * (share * count - 1);
  return std::sqrt(squares / count);
}

std::size_t hottest_of(std::span<const std::int64_t> loads) {
  return static_cast<std::size_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
}

}  // namespace

RoutingSkew skew_of(std::span<const std::int64_t> loads) {
  GOODPUT_CHECK(!loads.empty(), "a layer must have experts");
  const auto count = static_cast<double>(loads.size());
  RoutingSkew skew;
  skew.hottest_share = 1 / count;
  skew.hottest = static_cast<std::int32_t>(hottest_of(loads));
  skew.idle_experts = static_cast<std::int32_t>(std::count(loads.begin(), loads.end(), std::int64_t{0}));
  const double sum = sum_of(loads);
  if (sum == 0) return skew;
  const std::vector<double> shares = descending_shares(loads, sum);
  skew.padding_factor = shares.front() * count;
  skew.variation = variation_of(shares);
  skew.zipf_exponent = fit_zipf(shares);
  skew.hottest_share = shares.front();
  skew.entropy = entropy_of(shares);
  return skew;
}

std::vector<std::int32_t> busiest_experts(std::span<const std::int64_t> loads, std::size_t count) {
  GOODPUT_CHECK(count <= loads.size(), "count must not exceed the number of experts in the layer");
  std::vector<std::int32_t> experts(loads.size());
  std::iota(experts.begin(), experts.end(), 0);
  std::stable_sort(experts.begin(), experts.end(), [&](std::int32_t a, std::int32_t b) {
    return loads[static_cast<std::size_t>(a)] > loads[static_cast<std::size_t>(b)];
  });
  experts.resize(count);
  return experts;
}

double padding_factor_of_busiest(std::span<const std::int64_t> loads, std::size_t count) {
  GOODPUT_CHECK(count > 0, "the mean needs at least one expert");
  std::vector<std::int64_t> busiest;
  for (const std::int32_t expert : busiest_experts(loads, count)) {
    busiest.push_back(loads[static_cast<std::size_t>(expert)]);
  }
  const double sum = sum_of(busiest);
  return sum == 0 ? 1 : static_cast<double>(busiest.front()) * static_cast<double>(count) / sum;
}

double routing_distance(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  GOODPUT_CHECK(a.size() == b.size() && !a.empty(), "both distributions must have the same experts");
  const double sum_a = sum_of(a);
  const double sum_b = sum_of(b);
  const double even = 1 / static_cast<double>(a.size());
  double distance = 0;
  for (std::size_t e = 0; e < a.size(); ++e) {
    const double share_a = sum_a == 0 ? even : static_cast<double>(a[e]) / sum_a;
    const double share_b = sum_b == 0 ? even : static_cast<double>(b[e]) / sum_b;
    distance += std::abs(share_a - share_b);
  }
  return distance / 2;
}

double mean_routing_distance(const RoutingTrace& trace, std::size_t layer, std::size_t rows) {
  GOODPUT_CHECK(rows < trace.iterations().size(),
                "the trace must have more iterations than the distance between the rows");
  const std::size_t pairs = trace.iterations().size() - rows;
  double sum = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    sum += routing_distance(trace.loads(i, layer), trace.loads(i + rows, layer));
  }
  return sum / static_cast<double>(pairs);
}

double hottest_change_rate(const RoutingTrace& trace, std::size_t layer) {
  const std::size_t pairs = trace.iterations().size() - 1;
  if (pairs == 0) return 0;
  std::size_t changes = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (hottest_of(trace.loads(i, layer)) != hottest_of(trace.loads(i + 1, layer))) ++changes;
  }
  return static_cast<double>(changes) / static_cast<double>(pairs);
}

}  // namespace goodput
