#include "traces/faults/job_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/faults/host_list.h"

namespace goodput {
namespace {

Result<std::vector<std::string>> sorted_names(const std::string& list) {
  GOODPUT_TRY(std::vector<std::string> names, expand_host_list(list));
  std::sort(names.begin(), names.end());
  return names;
}

// The only node of `before` that `after` lacks.
Result<std::optional<std::string>> lost_node(const LoggedJob& before, const LoggedJob& after) {
  if (before.node_list.empty() || after.node_list.empty()) return std::optional<std::string>{};
  GOODPUT_TRY(const auto had, sorted_names(before.node_list));
  GOODPUT_TRY(const auto has, sorted_names(after.node_list));
  std::vector<std::string> lost;
  std::set_difference(had.begin(), had.end(), has.begin(), has.end(), std::back_inserter(lost));
  return lost.size() == 1 ? std::optional(lost.front()) : std::optional<std::string>{};
}

// A job may be in several lists, with an end in the later ones only.
std::vector<LoggedJob> without_repeats(const std::vector<LoggedJob>& jobs) {
  std::map<std::pair<std::string, SimTime>, std::size_t> places;
  std::vector<LoggedJob> kept;
  for (const LoggedJob& job : jobs) {
    const auto [place, is_new] = places.try_emplace({job.id, job.begin}, kept.size());
    if (is_new)
      kept.push_back(job);
    else if (job.end)
      kept[place->second] = job;
  }
  return kept;
}

// The jobs of a user with the same name, by start.
using JobsByName = std::map<std::pair<std::string, std::string>, std::vector<const LoggedJob*>>;
JobsByName by_name(const std::vector<LoggedJob>& jobs) {
  JobsByName all;
  for (const LoggedJob& job : jobs) all[{job.user, job.name}].push_back(&job);
  for (auto& [name, some] : all) {
    std::stable_sort(some.begin(), some.end(),
                     [](const LoggedJob* a, const LoggedJob* b) { return a->begin < b->begin; });
  }
  return all;
}

// The job that goes on with the work of `job`: soon after its end.
const LoggedJob* next_job(const std::vector<const LoggedJob*>& jobs, const LoggedJob& job) {
  constexpr SimDuration kSoon = std::chrono::days{1};
  const auto next = std::lower_bound(jobs.begin(), jobs.end(), *job.end,
                                     [](const LoggedJob* one, SimTime time) { return one->begin < time; });
  return next == jobs.end() || (*next)->begin > *job.end + kSoon ? nullptr : *next;
}

Result<NodeId> count_nodes(const std::vector<LoggedJob>& jobs) {
  std::set<std::string> lists;
  NodeId most = 0;
  for (const LoggedJob& job : jobs) {
    lists.insert(job.node_list);
    most = std::max(most, job.nodes);
  }
  std::set<std::string> names;
  for (const std::string& list : lists) {
    if (list.empty()) continue;
    GOODPUT_TRY(const auto some, expand_host_list(list));
    names.insert(some.begin(), some.end());
  }
  return std::max(most, static_cast<NodeId>(names.size()));
}

class JobFaultFinder {
 public:
  JobFaultFinder(const FailureLog& log, const JobFaultOptions& options)
      : log_(log), options_(options), jobs_(without_repeats(log.jobs)) {}

  Result<JobFaults> find() {
    FaultHistory& history = found_.history;
    history.from = options_.history.from.value_or(log_.first);
    history.to = options_.history.to.value_or(log_.last);
    if (history.from >= history.to)
      return Error{"has no job between the start and the end of the observation"};
    history.has_repairs = false;
    history.causes = {"NODE_FAIL", "FAILED"};
    GOODPUT_TRY(history.cluster_nodes, count_nodes(jobs_));
    const NodeId stated = options_.history.nodes;
    if (stated > 0 && stated < history.cluster_nodes) {
      return Error{fmt::format("{} {} is less than the {} nodes that jobs used; correct it", kOption, stated,
                               history.cluster_nodes),
                   {},
                   "nodes"};
    }
    if (stated > 0) history.cluster_nodes = stated;
    const JobsByName jobs = by_name(jobs_);
    for (const LoggedJob& job : jobs_) GOODPUT_TRY_STATUS(add(job, jobs.at({job.user, job.name})));
    history.merged = static_cast<std::int64_t>(log_.jobs.size() - jobs_.size());
    if (history.up_time == 0)
      return Error{"has no job that held nodes between the start and the end of the observation"};
    std::stable_sort(history.faults.begin(), history.faults.end(),
                     [](const NodeFault& a, const NodeFault& b) { return a.begin < b.begin; });
    return std::move(found_);
  }

 private:
  Status add(const LoggedJob& job, const std::vector<const LoggedJob*>& jobs) {
    FaultHistory& history = found_.history;
    const SimTime begin = std::max(job.begin, history.from);
    const SimTime end = std::min(job.end.value_or(history.to), history.to);
    if (begin < end) history.up_time += NodeTime{job.nodes} * (end - begin).count();
    const bool is_failed = job.state == "FAILED";
    const bool is_inside = job.end && *job.end > history.from && *job.end <= history.to;
    if (is_failed && is_inside) ++found_.failed_jobs;
    const bool counts = job.state.starts_with("NODE_F") || (is_failed && options_.counts_failed);
    if (!counts || !job.end) return Ok{};
    if (!is_inside) {
      ++history.outside;
      return Ok{};
    }
    NodeFault fault{
        .begin = *job.end, .end = *job.end, .how = NodeFault::End::kUnknown, .cause = is_failed ? 1 : 0};
    if (!job.failed_node.empty()) {
      fault.node = id_of(job.failed_node);
    } else if (job.nodes == 1 && !job.node_list.empty()) {
      fault.node = id_of(job.node_list);
    } else if (const LoggedJob* const next = next_job(jobs, job)) {
      GOODPUT_TRY(const auto name, lost_node(job, *next));
      if (name) fault.node = id_of(*name);
    }
    if (fault.node == kUnnamedNode) ++found_.unnamed;
    history.faults.push_back(fault);
    return Ok{};
  }

  NodeId id_of(const std::string& name) {
    std::vector<std::string>& names = found_.history.nodes;
    const auto [found, is_new] = ids_.try_emplace(name, static_cast<NodeId>(names.size()));
    if (is_new) names.push_back(name);
    return found->second;
  }

  const FailureLog& log_;
  const JobFaultOptions& options_;
  std::vector<LoggedJob> jobs_;
  JobFaults found_;
  std::unordered_map<std::string, NodeId> ids_;
};

}  // namespace

Result<JobFaults> job_faults(const FailureLog& log, const JobFaultOptions& options) {
  return JobFaultFinder(log, options).find();
}

}  // namespace goodput
