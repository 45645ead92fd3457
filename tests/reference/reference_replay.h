// The slow, obvious replay of recorded steps under which the reference analysis (reference_whatif.h) stands:
// any ops, dependencies, groups and pools, by name, in ordered maps, with recursion.
//
// It shares nothing with the production engine but the op types.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/ops/op_type.h"

namespace goodput::reference {

struct Dependencies {
  std::map<std::string, std::set<std::string>> deps;  // every op, with its predecessors (all in its own lane)
  std::vector<std::set<std::string>> groups;          // ops of a lane that communicate with each other
  std::set<std::string> dp_synchronised;              // members of groups that also wait for all dp ranks
  std::map<std::string, std::vector<std::set<int>>> blocks = {};  // or for some: those of the same set
};

struct Op {
  OpType type;
  int stage;
  std::int64_t seq_id, mc, mb_id, gmc, rank;
  double start, end, duration;
  std::string pool;        // its ideal value is that of all ops with this pool:
  bool is_pooled_by_mean;  // their mean, or their median
  bool ends_step;
  double transfer = std::numeric_limits<double>::quiet_NaN();
  double launch_delay = 0;
};
using Lane = std::map<std::string, Op>;  // by op name
using Step = std::map<int, Lane>;        // by dp rank

struct Job {
  std::map<std::int64_t, Step> steps;
  std::map<std::int64_t, std::pair<int, int>> workers;  // rank -> (dp rank, stage)
  int dp = 0;
  int pp = 0;
  int vpp = 0;
  bool float32 = true;
};

using GroupOf = std::map<std::string, std::set<std::string>>;  // op -> members of its group, itself included

struct Analysis {
  Job job;  // after preparation, the selected steps only
  Dependencies dependencies;
  GroupOf group_of;
  std::map<std::string, double> ideal = {};  // by pool: duration of plain ops, transfer of grouped ones
};

// Throws where an op depends on itself, a group counting as one op.
void check_no_cycle(const Dependencies& dependencies);

// Transfers and launch delays of all steps; no ideal values yet.
Analysis measure(Job job, Dependencies dependencies);
// End after the last member of the group started, before any clamp.
double recorded_transfer(const Analysis& analysis, const Step& step, int dp, const std::string& name);
// Pooled over the steps there are.
void pool_ideal_values(Analysis& analysis);

double earliest_start(const Step& step);
double latest_end(const Step& step);

// What a choice of ops may look at.
struct OpView {
  const std::string& name;
  OpType type;
  int stage;
  int dp_rank;
  std::int64_t step;
  std::int64_t mb_id;  // kUnset where the trace has none
};
using Choice = std::function<bool(const OpView&)>;
bool none(const OpView& op);
bool all(const OpView& op);

struct Scenario {
  Choice recorded;         // these keep their durations and transfers, the others are ideal
  Choice delayed = &none;  // these are launched as late as recorded
};

struct Span {
  double start, end;
};
using Spans = std::map<std::pair<int, std::string>, Span>;  // by dp rank, op name
Spans simulate_step(const Analysis& analysis, std::int64_t number, const Scenario& scenario);

using PerStep = std::map<std::int64_t, double>;
double mean(const std::vector<double>& values);
double mean(const PerStep& values);

struct StepTimes {
  PerStep to_finish;  // T_opt: from the origin to the last end of an op that ends the step
  PerStep span;       // T_span: from the first start to the last end
};
StepTimes simulate(const Analysis& analysis, const Scenario& scenario);

// (dp rank, stage) -> mean step time with only this worker as recorded and all others ideal, over the ideal
// mean. One simulation of everything per worker.
std::map<std::pair<int, int>, double> exact_worker_slowdowns(const Analysis& analysis);

}  // namespace goodput::reference
