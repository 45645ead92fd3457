#include "models/reliability/failure_estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/errors.h"
#include "sim/base/index.h"
#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kLeastRepair = 1;  // s; times in logs are whole seconds at best

// Any clean cluster has a bad node with at most this probability.
constexpr double kMostChanceBadNode = 0.025;
constexpr double kLeastBadRatio = 2;

// Faults that the estimate is about, apart by whether they are in a burst.
struct SortedFaults {
  std::vector<NodeFault> all;
  std::vector<bool> is_in_burst;  // by fault

  [[nodiscard]] std::int64_t independent() const {
    return std::count(is_in_burst.begin(), is_in_burst.end(), false);
  }
};

// Variance over mean of the number of faults: a burst of s nodes is one event of size s.
double clumping_of(const SortedFaults& faults, const std::vector<FaultBurst>& bursts) {
  double squares = static_cast<double>(faults.independent());
  for (const FaultBurst& burst : bursts) squares += std::pow(static_cast<double>(burst.faults.size()), 2);
  return faults.all.empty() ? 1 : squares / static_cast<double>(faults.all.size());
}

std::optional<double> median_down_time_in_bursts(const SortedFaults& faults) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < faults.all.size(); ++i) {
    if (faults.is_in_burst[i] && faults.all[i].how == NodeFault::End::kRepaired)
      seconds.push_back(to_seconds(faults.all[i].down_time()));
  }
  if (seconds.empty()) return std::nullopt;
  return take_median(seconds);
}

BurstEstimate burst_estimate(FaultBursts found, const SortedFaults& faults, double node_days) {
  BurstEstimate estimate{.found = std::move(found)};
  const auto count = static_cast<double>(estimate.found.bursts.size());
  if (count == 0) return estimate;
  const double nodes = static_cast<double>(faults.all.size()) - static_cast<double>(faults.independent());
  estimate.mean_nodes = nodes / count;
  estimate.per_1000_node_days = count * kNodeDaysOfRate / node_days;
  estimate.outage_s = median_down_time_in_bursts(faults);
  return estimate;
}

// Too many repairs are shorter than the times of the log can tell apart.
bool are_too_coarse(const std::vector<RepairTime>& times, SimDuration resolution) {
  constexpr double kMostShort = 0.2;
  const double shortest = 2 * std::max(to_seconds(resolution), kLeastRepair);
  const auto short_ones = std::count_if(times.begin(), times.end(), [shortest](const RepairTime& time) {
    return time.is_complete && time.seconds < shortest;
  });
  return static_cast<double>(short_ones) > kMostShort * static_cast<double>(times.size());
}

RepairEstimate repair_estimate(const std::vector<NodeFault>& faults, SimDuration resolution) {
  RepairEstimate estimate;
  std::vector<RepairTime> times;
  for (const NodeFault& fault : faults) {
    if (fault.how == NodeFault::End::kUnknown) {
      ++estimate.unknown;
      continue;
    }
    const bool is_complete = fault.how == NodeFault::End::kRepaired;
    ++(is_complete ? estimate.complete : estimate.open);
    times.push_back({to_seconds(fault.down_time()), is_complete});
  }
  if (estimate.complete == 0) return estimate;
  estimate.mean_s = mean_repair(times);
  if (const double median = median_repair(times); std::isfinite(median)) estimate.median_s = median;
  estimate.is_coarse = are_too_coarse(times, resolution);
  for (RepairTime& time : times) time.seconds = std::max(time.seconds, kLeastRepair);
  if (!estimate.is_coarse) estimate.fits = fit_repair_laws(times);
  return estimate;
}

// Nodes whose number of independent faults is out of line with the rate of the nodes that are not bad.
std::vector<BadNode> find_bad_nodes(const FaultHistory& history, const SortedFaults& faults,
                                    double node_days) {
  std::vector<std::int64_t> counts(history.nodes.size());
  std::int64_t left = 0;
  for (std::size_t i = 0; i < faults.all.size(); ++i) {
    if (faults.is_in_burst[i] || faults.all[i].node == kUnnamedNode) continue;
    ++counts[index(faults.all[i].node)];
    ++left;
  }
  const auto nodes = static_cast<double>(history.cluster_nodes);
  const double days_of_node = node_days / nodes;
  std::vector<BadNode> bad;
  for (bool found = true; found;) {
    found = false;
    const double others = nodes - static_cast<double>(bad.size());
    for (NodeId node = 0; node < static_cast<NodeId>(counts.size()); ++node) {
      std::int64_t& count = counts[index(node)];
      if (count < 2 || others < 2) continue;
      // Half a fault more than there were: none among the others does not mean that they cannot fail.
      const double expected = (static_cast<double>(left - count) + 0.5) / (others - 1);
      const bool is_bad = static_cast<double>(count) >= kLeastBadRatio * expected &&
                          chance_of_at_least(count, expected) * nodes <= kMostChanceBadNode;
      if (!is_bad) continue;
      bad.push_back({.node = node, .faults = count});
      left -= count;
      count = 0;
      found = true;
      break;
    }
  }
  std::sort(bad.begin(), bad.end(), [](const BadNode& a, const BadNode& b) {
    return a.faults != b.faults ? a.faults > b.faults : a.node < b.node;
  });
  const double rate =
      static_cast<double>(left) / (node_days - static_cast<double>(bad.size()) * days_of_node);
  for (BadNode& node : bad) {
    const double own = static_cast<double>(node.faults) / days_of_node;
    node.per_1000_node_days = own * kNodeDaysOfRate;
    node.ratio = rate > 0 ? own / rate : 0;
  }
  return bad;
}

std::vector<CauseCount> count_causes(const std::vector<NodeFault>& faults) {
  std::map<std::int32_t, std::vector<double>> repairs;
  std::map<std::int32_t, std::int64_t> counts;
  for (const NodeFault& fault : faults) {
    ++counts[fault.cause];
    if (fault.how == NodeFault::End::kRepaired) repairs[fault.cause].push_back(to_seconds(fault.down_time()));
  }
  std::vector<CauseCount> causes;
  for (const auto& [cause, count] : counts) {
    CauseCount one{.cause = cause, .faults = count};
    if (auto& seconds = repairs[cause]; !seconds.empty()) one.median_repair_s = take_median(seconds);
    causes.push_back(one);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const CauseCount& a, const CauseCount& b) { return a.faults > b.faults; });
  return causes;
}

}  // namespace

FailureEstimate estimate_failures(const FaultHistory& history, const EstimateOptions& options) {
  GOODPUT_CHECK(history.up_time > 0, "nodes must have been up");
  FailureEstimate estimate;
  estimate.node_days = node_seconds(history.up_time) / kSecondsPerDay;
  SortedFaults faults;
  std::vector<NodeFault> first;  // faults that open the observation: not counted, but their repairs are known
  for (const NodeFault& fault : history.faults) {
    if (fault.began_inside)
      faults.all.push_back(fault);
    else if (history.begins_with_fault)
      first.push_back(fault);
  }
  faults.is_in_burst.resize(faults.all.size());
  FaultBursts bursts;
  if (history.has_repairs) bursts = find_fault_bursts(faults.all, history, options.burst_window);
  for (const FaultBurst& burst : bursts.bursts) {
    for (const std::size_t fault : burst.faults) faults.is_in_burst[fault] = true;
  }
  std::vector<NodeFault> independent = first;
  for (std::size_t i = 0; i < faults.all.size(); ++i) {
    if (!faults.is_in_burst[i]) independent.push_back(faults.all[i]);
  }
  const auto rate = [](std::int64_t events, double days, double clumping = 1) {
    return event_rate(static_cast<double>(events), days, kNodeDaysOfRate, clumping);
  };
  estimate.faults = static_cast<std::int64_t>(faults.all.size());
  estimate.all = rate(estimate.faults, estimate.node_days, clumping_of(faults, bursts.bursts));
  estimate.independent = rate(faults.independent(), estimate.node_days);
  estimate.bad_nodes = find_bad_nodes(history, faults, estimate.node_days);
  std::int64_t of_bad_nodes = 0;
  for (const BadNode& node : estimate.bad_nodes) of_bad_nodes += node.faults;
  const double share =
      1 - static_cast<double>(estimate.bad_nodes.size()) / static_cast<double>(history.cluster_nodes);
  if (share > 0) estimate.others = rate(faults.independent() - of_bad_nodes, estimate.node_days * share);
  if (history.has_repairs) estimate.repairs = repair_estimate(independent, history.resolution);
  estimate.bursts = burst_estimate(std::move(bursts), faults, estimate.node_days);
  std::vector<NodeFault> counted = first;
  counted.insert(counted.end(), faults.all.begin(), faults.all.end());
  estimate.causes = count_causes(counted);
  return estimate;
}

std::string_view how_clear(const std::vector<RepairFit>& fits) {
  if (fits.size() < 2) return "";
  const double lead = fits[1].bic - fits[0].bic;
  return lead >= 10 ? "clearly" : lead >= 2 ? "probably" : "hardly";
}

}  // namespace goodput
