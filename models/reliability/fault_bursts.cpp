#include "models/reliability/fault_bursts.h"

#include <algorithm>
#include <array>
#include <set>

#include "models/reliability/poisson_counts.h"

namespace goodput {
namespace {

constexpr double kMostChanceBursts = 0.05;

// A group begins with any of the faults; the others of it follow within the window.
std::int64_t least_nodes_of_burst(std::size_t faults, SimDuration time, SimDuration window,
                                  double most_by_chance) {
  const auto count = static_cast<double>(faults);
  const double others = count * (to_seconds(window) / to_seconds(time));
  std::int64_t nodes = 2;
  while (count * chance_of_at_least(nodes - 1, others) > most_by_chance) ++nodes;
  return nodes;
}

class BurstFinder {
 public:
  BurstFinder(std::span<const NodeFault> faults, SimDuration time) : faults_(faults), time_(time) {
    for (std::size_t i = 0; i < faults.size(); ++i) left_.push_back(i);
  }

  // Fewer independent faults remain after each round, which may make smaller groups unlikely.
  std::int64_t find_within(SimDuration window, double most_by_chance) {
    for (;;) {
      const std::int64_t least = least_nodes_of_burst(left_.size(), time_, window, most_by_chance);
      if (!take_groups(window, least)) return least;
    }
  }

  std::vector<FaultBurst> take_bursts() {
    std::sort(bursts_.begin(), bursts_.end(),
              [](const FaultBurst& a, const FaultBurst& b) { return a.faults.front() < b.faults.front(); });
    return std::move(bursts_);
  }

 private:
  bool take_groups(SimDuration window, std::int64_t least) {
    std::vector<std::size_t> rest;
    bool found = false;
    for (std::size_t i = 0; i < left_.size();) {
      const SimTime begin = faults_[left_[i]].begin;
      std::set<NodeId> nodes;
      std::size_t end = i;
      for (; end < left_.size() && faults_[left_[end]].begin <= begin + window; ++end)
        nodes.insert(faults_[left_[end]].node);
      if (static_cast<std::int64_t>(nodes.size()) < least) {
        rest.push_back(left_[i++]);
        continue;
      }
      found = true;
      bursts_.push_back({begin,
                         {left_.begin() + static_cast<std::ptrdiff_t>(i),
                          left_.begin() + static_cast<std::ptrdiff_t>(end)}});
      i = end;
    }
    left_ = std::move(rest);
    return found;
  }

  std::span<const NodeFault> faults_;
  SimDuration time_;
  std::vector<std::size_t> left_;  // indices of faults that are in no burst
  std::vector<FaultBurst> bursts_;
};

}  // namespace

FaultBursts find_fault_bursts(std::span<const NodeFault> faults, const FaultHistory& history,
                              std::optional<SimDuration> window) {
  std::vector<SimDuration> windows = {std::chrono::minutes{5}, std::chrono::minutes{1},
                                      std::chrono::seconds{10}};
  if (window) windows = {*window};
  BurstFinder finder(faults, history.to - history.from);
  FaultBursts found{.window = windows.front()};
  for (const SimDuration one : windows) {
    const std::int64_t least =
        finder.find_within(one + history.resolution, kMostChanceBursts / static_cast<double>(windows.size()));
    if (one == windows.front()) found.least_nodes = least;
  }
  found.bursts = finder.take_bursts();
  return found;
}

}  // namespace goodput
