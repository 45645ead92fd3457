#include "tests/reference/reference_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/base/float32.h"

// Section numbers in the comments are those of the description of the analysis, in the order it is carried
// out.
namespace goodput::reference {
namespace {

constexpr double kClampAtOrBelow = -0.01;  // seconds, section 5

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

GroupOf groups_by_op(const Dependencies& dependencies) {
  GroupOf group_of;
  for (const auto& group : dependencies.groups) {
    for (const std::string& name : group) {
      if (!group_of.emplace(name, group).second) refuse("{} is in two groups", name);
    }
  }
  return group_of;
}

// Groups contracted: an op comes after the predecessors of all members of its group.
class CycleCheck {
 public:
  explicit CycleCheck(const Dependencies& dependencies)
      : deps_(dependencies.deps), group_of_(groups_by_op(dependencies)) {
    for (const auto& [name, predecessors] : deps_) visit(name);
  }

 private:
  void visit(const std::string& name) {
    const auto group = group_of_.find(name);
    const std::set<std::string> members =
        group == group_of_.end() ? std::set<std::string>{name} : group->second;
    if (done_.contains(*members.begin())) return;
    if (!open_.insert(*members.begin()).second) refuse("{} depends on itself", name);
    for (const std::string& member : members) {
      for (const std::string& predecessor : deps_.at(member)) visit(predecessor);
    }
    done_.insert(*members.begin());
  }

  const std::map<std::string, std::set<std::string>>& deps_;
  GroupOf group_of_;
  std::set<std::string> open_;
  std::set<std::string> done_;
};

// Whether an op waits for its group in another dp rank, or in its own.
bool meet(const Dependencies& dependencies, const std::string& name, int dp, int other_dp) {
  if (dp == other_dp || dependencies.dp_synchronised.contains(name)) return true;
  const auto blocks = dependencies.blocks.find(name);
  if (blocks == dependencies.blocks.end()) return false;
  return std::ranges::any_of(blocks->second, [&](const std::set<int>& block) {
    return block.contains(dp) && block.contains(other_dp);
  });
}

// ---- Section 5: transfers and launch delays

// A difference of recorded times: taken in float32 when they are, and 0 where clocks cannot be right.
double difference(const Job& job, double value) {
  const double rounded = job.float32 ? round_to_float32(value) : value;
  return rounded <= kClampAtOrBelow ? 0.0 : rounded;
}

double recorded_delay(const Analysis& analysis, const Step& step, int dp, const std::string& name) {
  const Lane& lane = step.at(dp);
  const auto& predecessors = analysis.dependencies.deps.at(name);
  if (predecessors.empty()) return lane.at(name).start - earliest_start(step);
  double ready = -std::numeric_limits<double>::infinity();
  for (const std::string& predecessor : predecessors) ready = std::max(ready, lane.at(predecessor).end);
  return lane.at(name).start - ready;
}

void measure_step(const Analysis& analysis, Step& step) {
  for (auto& [dp, lane] : step) {
    for (auto& [name, op] : lane) {
      if (analysis.group_of.contains(name))
        op.transfer = difference(analysis.job, recorded_transfer(analysis, step, dp, name));
      op.launch_delay = difference(analysis.job, recorded_delay(analysis, step, dp, name));
    }
  }
}

// ---- Section 6: simulation

class StepSimulation {
 public:
  StepSimulation(const Analysis& analysis, std::int64_t number, const Scenario& scenario)
      : analysis_(analysis), number_(number), step_(analysis.job.steps.at(number)), scenario_(scenario) {}

  Spans run() {
    Spans spans;
    for (const auto& [dp, lane] : step_) {
      for (const auto& [name, op] : lane) spans[{dp, name}] = {start(dp, name), end(dp, name)};
    }
    return spans;
  }

 private:
  double start(int dp, const std::string& name) {
    if (const auto known = start_.find({dp, name}); known != start_.end()) return known->second;
    const auto& predecessors = analysis_.dependencies.deps.at(name);
    double ready = predecessors.empty() ? 0.0 : -std::numeric_limits<double>::infinity();
    for (const std::string& predecessor : predecessors) ready = std::max(ready, end(dp, predecessor));
    const Op& op = step_.at(dp).at(name);
    const double delay = scenario_.delayed(view(dp, name, op)) ? op.launch_delay : 0.0;
    return start_[{dp, name}] = ready + delay;
  }

  double end(int dp, const std::string& name) {
    if (const auto known = end_.find({dp, name}); known != end_.end()) return known->second;
    const Op& op = step_.at(dp).at(name);
    const bool recorded = scenario_.recorded(view(dp, name, op));
    const double ideal = analysis_.ideal.at(op.pool);
    const auto group = analysis_.group_of.find(name);
    const double value = group == analysis_.group_of.end()
                             ? start(dp, name) + (recorded ? op.duration : ideal)
                             : group_start(dp, name, group->second) + (recorded ? op.transfer : ideal);
    return end_[{dp, name}] = value;
  }

  // The last member to start, in all dp ranks that meet.
  double group_start(int dp, const std::string& name, const std::set<std::string>& members) {
    const std::pair key(dp, *members.begin());
    if (const auto known = group_start_.find(key); known != group_start_.end()) return known->second;
    double latest = -std::numeric_limits<double>::infinity();
    for (const auto& [other_dp, lane] : step_) {
      if (!meet(analysis_.dependencies, name, dp, other_dp)) continue;
      for (const std::string& member : members) latest = std::max(latest, start(other_dp, member));
    }
    return group_start_[key] = latest;
  }

  OpView view(int dp, const std::string& name, const Op& op) const {
    return {name, op.type, op.stage, dp, number_, op.mb_id};
  }

  const Analysis& analysis_;
  std::int64_t number_;
  const Step& step_;
  const Scenario& scenario_;
  std::map<std::pair<int, std::string>, double> start_;
  std::map<std::pair<int, std::string>, double> end_;
  std::map<std::pair<int, std::string>, double> group_start_;
};

void read_step_times(StepTimes& times, std::int64_t number, const Step& step, const Spans& spans) {
  double finish = -std::numeric_limits<double>::infinity();
  double first = std::numeric_limits<double>::infinity();
  double last = -std::numeric_limits<double>::infinity();
  for (const auto& [key, span] : spans) {
    if (step.at(key.first).at(key.second).ends_step) finish = std::max(finish, span.end);
    first = std::min(first, span.start);
    last = std::max(last, span.end);
  }
  times.to_finish[number] = finish;
  times.span[number] = last - first;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

void check_no_cycle(const Dependencies& dependencies) {
  const CycleCheck check(dependencies);
}

// End after the last member of the group started, before any clamp.
double recorded_transfer(const Analysis& analysis, const Step& step, int dp, const std::string& name) {
  double last_start = -std::numeric_limits<double>::infinity();
  for (const auto& [other_dp, lane] : step) {
    if (!meet(analysis.dependencies, name, dp, other_dp)) continue;
    for (const std::string& member : analysis.group_of.at(name)) {
      last_start = std::max(last_start, lane.at(member).start);
    }
  }
  return step.at(dp).at(name).end - last_start;
}

double earliest_start(const Step& step) {
  double earliest = std::numeric_limits<double>::infinity();
  for (const auto& [dp, lane] : step) {
    for (const auto& [name, op] : lane) earliest = std::min(earliest, op.start);
  }
  return earliest;
}

double latest_end(const Step& step) {
  double latest = -std::numeric_limits<double>::infinity();
  for (const auto& [dp, lane] : step) {
    for (const auto& [name, op] : lane) latest = std::max(latest, op.end);
  }
  return latest;
}

Analysis measure(Job job, Dependencies dependencies) {
  Analysis analysis{std::move(job), std::move(dependencies), {}};
  analysis.group_of = groups_by_op(analysis.dependencies);
  for (auto& [number, step] : analysis.job.steps) measure_step(analysis, step);
  return analysis;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double mean(const PerStep& values) {
  std::vector<double> flat;
  for (const auto& [number, value] : values) flat.push_back(value);
  return mean(flat);
}

// ---- Section 7: ideal values

void pool_ideal_values(Analysis& analysis) {
  std::map<std::string, std::vector<double>> pooled;
  std::set<std::string> by_mean;
  std::set<std::string> grouped;
  for (const auto& [number, step] : analysis.job.steps) {
    for (const auto& [dp, lane] : step) {
      for (const auto& [name, op] : lane) {
        const bool in_group = analysis.group_of.contains(name);
        pooled[op.pool].push_back(in_group ? op.transfer : op.duration);
        if (in_group) grouped.insert(op.pool);
        if (op.is_pooled_by_mean) by_mean.insert(op.pool);
      }
    }
  }
  for (const auto& [pool, values] : pooled) {
    double& ideal = analysis.ideal[pool];
    ideal = by_mean.contains(pool) ? mean(values) : median(values);
    if (grouped.contains(pool) && analysis.job.float32) ideal = round_to_float32(ideal);
  }
}

bool none(const OpView& /*op*/) {
  return false;
}
bool all(const OpView& /*op*/) {
  return true;
}

Spans simulate_step(const Analysis& analysis, std::int64_t number, const Scenario& scenario) {
  return StepSimulation(analysis, number, scenario).run();
}

StepTimes simulate(const Analysis& analysis, const Scenario& scenario) {
  StepTimes times;
  for (const auto& [number, step] : analysis.job.steps) {
    read_step_times(times, number, step, simulate_step(analysis, number, scenario));
  }
  return times;
}

std::map<std::pair<int, int>, double> exact_worker_slowdowns(const Analysis& analysis) {
  const double ideal = mean(simulate(analysis, {.recorded = &none}).to_finish);
  std::map<std::pair<int, int>, double> slowdowns;
  for (const auto& entry : analysis.job.workers) {
    const auto& worker = entry.second;
    const Choice of_worker = [&](const OpView& op) { return std::pair(op.dp_rank, op.stage) == worker; };
    slowdowns[worker] = mean(simulate(analysis, {.recorded = of_worker}).to_finish) / ideal;
  }
  return slowdowns;
}

}  // namespace goodput::reference
