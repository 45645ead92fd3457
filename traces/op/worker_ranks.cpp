#include "traces/op/worker_ranks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace goodput {
namespace {

using WorkerPlace = std::pair<std::int32_t, std::int16_t>;  // dp_rank, stage

struct TimeSpan {
  double start_s = std::numeric_limits<double>::infinity();
  double end_s = -std::numeric_limits<double>::infinity();

  void add(double start, double duration) {
    start_s = std::min(start_s, start);
    end_s = std::max(end_s, start + std::max(0.0, duration));
  }
  [[nodiscard]] bool precedes(const TimeSpan& other) const {
    return end_s <= other.start_s && start_s < other.start_s;
  }
};

struct PlaceStep {
  std::map<std::int32_t, TimeSpan> ranks;
  std::int32_t kept = 0;
};
using PlaceSteps = std::map<std::int64_t, PlaceStep>;

WorkerPlace place_of(const OpTrace& trace, std::size_t row) {
  return {trace.dp_rank[row], trace.stage[row]};
}

// Places that were recorded under several ranks.
std::map<WorkerPlace, PlaceSteps> find_shared_places(const OpTrace& trace) {
  std::map<WorkerPlace, std::int32_t> first_rank;
  std::map<WorkerPlace, PlaceSteps> shared;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const auto [at, is_first] = first_rank.try_emplace(place_of(trace, row), trace.rank[row]);
    if (!is_first && at->second != trace.rank[row]) shared.try_emplace(at->first);
  }
  if (shared.empty()) return shared;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const auto place = shared.find(place_of(trace, row));
    if (place == shared.end()) continue;
    place->second[trace.step[row]].ranks[trace.rank[row]].add(trace.start_s[row], trace.duration_s[row]);
  }
  return shared;
}

bool is_superseded(const PlaceStep& step, std::int32_t rank) {
  return std::any_of(step.ranks.begin(), step.ranks.end(),
                     [&](const auto& other) { return step.ranks.at(rank).precedes(other.second); });
}

// The rank that may stand for the most of the steps, the lowest of equals.
std::int32_t most_recorded_rank(const std::vector<PlaceStep*>& steps) {
  std::map<std::int32_t, std::size_t> recorded;
  for (const PlaceStep* step : steps) {
    for (const auto& [rank, span] : step->ranks) recorded[rank] += is_superseded(*step, rank) ? 0 : 1;
  }
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(recorded.begin(), recorded.end(), fewer)->first;
}

void choose_ranks(PlaceSteps& steps) {
  std::vector<PlaceStep*> open;
  for (auto& [number, step] : steps) open.push_back(&step);
  while (!open.empty()) {
    const std::int32_t rank = most_recorded_rank(open);
    std::erase_if(open, [&](PlaceStep* step) {
      if (!step->ranks.contains(rank) || is_superseded(*step, rank)) return false;
      step->kept = rank;
      return true;
    });
  }
}

}  // namespace

KeptRanks keep_one_rank(OpTrace& trace, OtherTimes other_times) {
  KeptRanks result;
  std::map<WorkerPlace, PlaceSteps> shared = find_shared_places(trace);
  if (shared.empty()) return result;
  for (auto& [place, steps] : shared) choose_ranks(steps);
  std::vector<bool> kept(trace.size(), true);
  bool drops = false;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const auto place = shared.find(place_of(trace, row));
    if (place == shared.end()) continue;
    const PlaceStep& step = place->second.at(trace.step[row]);
    if (trace.rank[row] == step.kept) continue;
    const bool is_earlier = step.ranks.at(trace.rank[row]).precedes(step.ranks.at(step.kept));
    if (is_earlier && other_times == OtherTimes::kKept) continue;
    if (is_earlier)
      result.replaced[place->first].insert(trace.step[row]);
    else
      ++result.peer_rows;
    kept[row] = false;
    drops = true;
  }
  if (drops) keep_rows(trace, 0, kept);
  return result;
}

}  // namespace goodput
