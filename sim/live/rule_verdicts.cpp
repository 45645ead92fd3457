#include "sim/live/rule_verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/live/incident.h"

namespace goodput {
namespace {

// `rank 72 (dp 2, stage 1, host n4)`, as far as it is known.
std::string name_of(const WorkerPlace& place) {
  const std::string host = place.host.empty() ? "" : ", host " + place.host;
  if (place.rank < 0) return fmt::format("the worker at dp {}, stage {}{}", place.dp_rank, place.stage, host);
  return fmt::format("rank {} (dp {}, stage {}{})", place.rank, place.dp_rank, place.stage, host);
}

std::string duration_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (seconds < 2 * kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} minutes", seconds / kMinute);
  return fmt::format("{:.1f} hours", seconds / kHour);
}

bool is_at_same_place(const WorkerPlace& a, const WorkerPlace& b) {
  return a.dp_rank == b.dp_rank && a.stage == b.stage;
}

// Those that are missing in at least half of the steps; in the order in which they were missed first.
std::vector<WorkerPlace> often_missing(const std::deque<std::vector<WorkerPlace>>& steps) {
  std::vector<std::pair<WorkerPlace, std::size_t>> counts;
  for (const std::vector<WorkerPlace>& step : steps) {
    for (const WorkerPlace& place : step) {
      const auto found = std::ranges::find_if(
          counts, [&place](const auto& count) { return is_at_same_place(count.first, place); });
      if (found == counts.end()) {
        counts.emplace_back(place, 1);
      } else {
        found->first = place;
        ++found->second;
      }
    }
  }
  std::vector<WorkerPlace> often;
  for (const auto& [place, count] : counts) {
    if (2 * count >= steps.size()) often.push_back(place);
  }
  return often;
}

Verdict::Subject common_subject(const std::vector<WorkerPlace>& places) {
  if (places.empty()) return {"job", "job"};
  const WorkerPlace& first = places.front();
  if (places.size() == 1) return {"worker", fmt::format("worker:{}:{}", first.dp_rank, first.stage)};
  const auto all = [&places](auto is_alike) { return std::ranges::all_of(places, is_alike); };
  if (!first.host.empty() && all([&first](const WorkerPlace& one) { return one.host == first.host; }))
    return {"host", "host:" + first.host};
  if (all([&first](const WorkerPlace& one) { return one.dp_rank == first.dp_rank; }))
    return {"replica", fmt::format("replica:{}", first.dp_rank)};
  return {"job", "job"};
}

}  // namespace

std::string to_text(SeenSteps seen) {
  if (seen.count == seen.of) return fmt::format("{} step{}", seen.count, seen.count == 1 ? "" : "s");
  return fmt::format("{} of the last {} steps", seen.count, seen.of);
}

Verdict::Worker verdict_worker(const WorkerPlace& place) {
  return {static_cast<std::size_t>(place.dp_rank), static_cast<std::size_t>(place.stage), place.rank,
          place.host};
}

Verdict straggling_verdict(double slowdown, double lost_s, SeenSteps seen) {
  Verdict verdict;
  verdict.kind = kUnexplained;
  verdict.subject = {"job", "job"};
  const double share = 1 - 1 / slowdown;
  verdict.cost = Verdict::Cost{lost_s / share, lost_s, share, slowdown};
  verdict.sentence = fmt::format(
      "Stragglers cost this job {:.1f} % of its time (S = {:.2f}, mean of {}), and no single cause was "
      "found.",
      100 * share, slowdown, to_text(seen));
  verdict.next_check =
      "look at the worker map of these steps (each row is a replica, each column is a stage)";
  return verdict;
}

Verdict worst_worker_verdict(const WorkerPlace& place, SeenSteps seen) {
  Verdict verdict;
  verdict.kind = kUnexplained;
  verdict.subject = {"worker", fmt::format("worker:{}:{}", place.dp_rank, place.stage)};
  verdict.workers = {verdict_worker(place)};
  verdict.fix = {fmt::format("worker={}:{}", place.dp_rank, place.stage)};
  verdict.sentence =
      fmt::format("One worker costs this job more time than any other in {}: {}. No cause was found.",
                  to_text(seen), name_of(place));
  verdict.next_check =
      fmt::format("check {}: clocks, memory errors, links",
                  place.host.empty() ? "the host of " + name_of(place) : "host " + place.host);
  return verdict;
}

Verdict silence_verdict(double silent_s, std::int64_t last_step) {
  Verdict verdict;
  verdict.kind = kSilenceKind;
  verdict.subject = {"job", "job:silence"};
  verdict.sentence = fmt::format("No step of this job has finished for {}; the last one was step {}.",
                                 duration_text(silent_s), last_step);
  verdict.next_check = "check whether the job still runs and whether its logs still reach the watched folder";
  return verdict;
}

Verdict incomplete_verdict(const std::deque<std::vector<WorkerPlace>>& missing, SeenSteps seen,
                           std::size_t missing_now) {
  const std::vector<WorkerPlace> places = often_missing(missing);
  Verdict verdict;
  verdict.kind = kIncompleteKind;
  verdict.subject = common_subject(places);
  for (const WorkerPlace& place : places) verdict.workers.push_back(verdict_worker(place));
  std::string whose = fmt::format("{} workers", missing_now);
  std::string who = "these workers still write their logs";
  if (verdict.subject.type == "worker") {
    whose = name_of(places.front());
    who = "this worker still writes its log";
  } else if (verdict.subject.type == "host") {
    whose = fmt::format("{} workers on host {}", places.size(), places.front().host);
  } else if (verdict.subject.type == "replica") {
    whose = fmt::format("{} workers of replica {}", places.size(), places.front().dp_rank);
  }
  verdict.sentence = fmt::format("Rows of {} were missing in {}, so these steps could not be analyzed.",
                                 whose, to_text(seen));
  verdict.next_check = fmt::format("check whether {} and whether the logs reach the watched folder", who);
  return verdict;
}

Verdict worsening_verdict(const SlowdownTrend& trend, const std::vector<std::int64_t>& steps) {
  Verdict verdict;
  verdict.kind = kWorseningKind;
  verdict.subject = {"job", "job"};
  verdict.since_step = steps[trend.onset];
  verdict.sentence = fmt::format(
      "This job is getting slower: its slowdown S rose by {:.2f} to {:.2f} within {} steps, starting at "
      "about step {}.",
      trend.rise, trend.last, steps.size(), steps[trend.onset]);
  verdict.next_check = "compare the current worker map with the map from before S began to rise";
  return verdict;
}

}  // namespace goodput
