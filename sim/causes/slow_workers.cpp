#include "sim/causes/slow_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/base/statistics.h"
#include "sim/recording/op_labels.h"

namespace goodput {
namespace {

constexpr double kFaintWorker = 0.01;   // slower than peers
constexpr double kFaintReplica = 0.02;  // its steps differ by the lengths of their sequences as well
constexpr double kNecessary = 0.01;     // of the step: what a worker's repair must gain beside the others'
constexpr double kAlone = 0.8;          // of the joint gain: enough to be named apart
constexpr std::size_t kMostSuspects = 64;

using Workers = std::vector<std::size_t>;

Remedy repair_of(const Recording& recording, const Workers& workers) {
  Remedy remedy;
  for (const std::size_t worker : workers) {
    const auto [dp_rank, stage] = recording.worker(worker);
    remedy.ideal.boxes.push_back(box_of_worker(recording, dp_rank, stage));
  }
  return remedy;
}

// Slowest first, at most kMostSuspects.
Workers find_suspects(const Recording& recording, const Pace& pace) {
  Workers suspects;
  for (std::size_t worker = 0; worker < pace.worker.size(); ++worker) {
    if (slowness(recording, pace, worker) - 1 >= kFaintWorker) suspects.push_back(worker);
  }
  std::stable_sort(suspects.begin(), suspects.end(), [&](std::size_t a, std::size_t b) {
    return slowness(recording, pace, a) > slowness(recording, pace, b);
  });
  suspects.resize(std::min(suspects.size(), kMostSuspects));
  return suspects;
}

// Those without whose repair the step is longer.
Workers keep_necessary(const AnalysedJob& job, Workers suspects) {
  if (suspects.empty()) return suspects;
  double fixed_s = gain_of(job, repair_of(job.recording, suspects)).step_s;
  for (std::size_t i = suspects.size(); i-- > 0;) {
    Workers others = suspects;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const double without_s = gain_of(job, repair_of(job.recording, others)).step_s;
    if (without_s - fixed_s >= kNecessary * fixed_s) continue;
    suspects = std::move(others);
    fixed_s = without_s;
  }
  std::sort(suspects.begin(), suspects.end());
  return suspects;
}

SlowGroup group_of_workers(const Recording& recording, const Workers& workers) {
  SlowGroup group{"worker", workers, {}, {}};
  for (const std::size_t worker : workers) {
    const auto [dp_rank, stage] = recording.worker(worker);
    group.fix.push_back(fmt::format("worker={}:{}", dp_rank, stage));
  }
  return group;
}

// Takes the workers of every name that has several, all of them in `left`, out of `left`.
void take_whole(const Recording& recording, const std::string& kind,
                const std::vector<std::string>& of_worker, Workers& left, std::vector<SlowGroup>& groups) {
  std::map<std::string, Workers> members;
  for (std::size_t worker = 0; worker < of_worker.size(); ++worker) {
    if (!of_worker[worker].empty()) members[of_worker[worker]].push_back(worker);
  }
  Workers whole;
  std::vector<std::string> names;
  for (const auto& [name, workers] : members) {
    if (workers.size() < 2 || !std::includes(left.begin(), left.end(), workers.begin(), workers.end()))
      continue;
    whole.insert(whole.end(), workers.begin(), workers.end());
    names.push_back(name);
  }
  if (whole.empty()) return;
  std::sort(whole.begin(), whole.end());
  Workers others;
  std::set_difference(left.begin(), left.end(), whole.begin(), whole.end(), std::back_inserter(others));
  left = std::move(others);
  groups.push_back(group_of_workers(recording, whole));
  groups.back().kind = kind;
  groups.back().names = std::move(names);
}

std::vector<std::string> replica_names(const Recording& recording) {
  std::vector<std::string> names;
  for (std::size_t worker = 0; worker < recording.ranks.size(); ++worker)
    names.push_back(fmt::format("dp={}", recording.worker(worker).dp_rank));
  return names;
}

std::vector<SlowGroup> group(const Recording& recording, Workers left) {
  std::vector<SlowGroup> groups;
  for (auto kind = recording.places.rbegin(); kind != recording.places.rend(); ++kind)
    take_whole(recording, kind->name, kind->of_worker, left, groups);
  if (recording.pp_size > 1) {
    take_whole(recording, "replica", replica_names(recording), left, groups);
    if (!groups.empty() && groups.back().kind == "replica") groups.back().fix = groups.back().names;
  }
  if (!left.empty()) groups.push_back(group_of_workers(recording, left));
  return groups;
}

// Groups that gain next to nothing one by one are one.
std::vector<SlowGroup> joined_unless_apart(const AnalysedJob& job, std::vector<SlowGroup> groups,
                                           const Workers& all) {
  if (groups.size() < 2) return groups;
  const double joint = gain_of(job, repair_of(job.recording, all)).gain - 1;
  const bool any_alone = std::any_of(groups.begin(), groups.end(), [&](const SlowGroup& group) {
    return gain_of(job, repair_of(job.recording, group.workers)).gain - 1 >= kAlone * joint;
  });
  if (any_alone) return groups;
  SlowGroup together{"worker", all, {}, {}};
  for (const SlowGroup& group : groups)
    together.fix.insert(together.fix.end(), group.fix.begin(), group.fix.end());
  return {together};
}

}  // namespace

double slowness(const Recording& recording, const Pace& pace, std::size_t worker) {
  const PeerPace& own = pace.worker[worker];
  const PeerPace& replica = pace.replica[recording.worker(worker).dp_rank];
  const bool is_replica_slow = replica.is_slow(kFaintReplica);
  if (is_replica_slow) return own.mean * replica.mean;
  return own.is_slow(kFaintWorker) ? own.mean : 1;
}

SlowWorkers find_slow_workers(const AnalysedJob& job, const Pace& pace) {
  SlowWorkers slow;
  Workers suspects = find_suspects(job.recording, pace);
  const Workers necessary = keep_necessary(job, suspects);
  slow.suspects = std::move(suspects);
  slow.groups = joined_unless_apart(job, group(job.recording, necessary), necessary);
  return slow;
}

}  // namespace goodput
