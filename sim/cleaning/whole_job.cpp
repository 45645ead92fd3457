#include "sim/cleaning/whole_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

std::string numbered(const char* noun, std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{} {}", noun, first) : fmt::format("{}s {} to {}", noun, first, last);
}

Status check_ranks(const TraceIndex& index) {
  std::map<std::int32_t, std::size_t> place_of;
  const auto stages = static_cast<std::size_t>(index.pp_size());
  for (std::size_t worker = 0; worker < index.ranks.size(); ++worker) {
    const auto [entry, is_new] = place_of.try_emplace(index.ranks[worker], worker);
    if (is_new) continue;
    return Error{
        fmt::format("rank {} is recorded at dp_rank {}, stage {} and at dp_rank {}, stage {}; every worker "
                    "needs its own rank (do these files belong to one job?)",
                    index.ranks[worker], entry->second / stages, entry->second % stages, worker / stages,
                    worker % stages)};
  }
  return Ok{};
}

Status check_stages(const TraceIndex& index) {
  std::int64_t next = 0;  // the first stage not seen yet; ops are in the order of their stages
  for (const TraceOp& op : index.lane.ops) {
    if (op.stage > next) {
      return Error{fmt::format("{} of {} not recorded in any step; give the files of all stages",
                               numbered("stage", next, op.stage - 1),
                               fmt::format("{} {}", index.pp_size(), next + 1 == op.stage ? "is" : "are"))};
    }
    next = op.stage + 1;
  }
  return Ok{};
}

Status check_embedding(const TraceIndex& index) {
  const auto has_embedding = [&](std::int16_t stage) {
    return std::any_of(index.lane.ops.begin(), index.lane.ops.end(), [&](const TraceOp& op) {
      return op.stage == stage && op.type == OpType::kEmbeddingGradsAllReduce;
    });
  };
  const auto last = static_cast<std::int16_t>(index.pp_size() - 1);
  if (!has_embedding(0) || has_embedding(last)) return Ok{};
  return Error{
      fmt::format("stage 0 reduces embedding gradients with the last stage, but the last recorded stage, {}, "
                  "has no embedding-grads-all-reduce, so later stages are missing; give their files too",
                  last)};
}

// Because gmc = mc * pp + stage, an op of a second chunk shows how many stages the job had.
Status check_global_chunks(const TraceIndex& index) {
  std::set<std::int64_t> counted;
  for (const TraceOp& op : index.lane.ops) {
    if (!is_pass_compute(op.type) || op.mc <= 0 || op.gmc == kUnset) continue;
    const std::int64_t stages = (op.gmc - op.stage) / op.mc;
    if (stages * op.mc + op.stage != op.gmc) return Ok{};
    counted.insert(stages);
  }
  if (counted.size() != 1 || *counted.begin() <= index.pp_size()) return Ok{};
  return Error{fmt::format(
      "the gmc values imply {} stages, but only {} recorded; give the files of {} too", *counted.begin(),
      index.pp_size() == 1 ? "stage 0 is" : numbered("stage", 0, index.pp_size() - 1) + " are",
      numbered("stage", index.pp_size(), *counted.begin() - 1))};
}

struct Span {
  double start_s = 0;
  double end_s = 0;
};

// The steps that a worker recorded, with start and end times by its own clock.
struct RecordedSteps {
  std::int32_t rank = 0;
  std::map<std::int64_t, Span> spans;

  [[nodiscard]] std::int64_t first() const { return spans.begin()->first; }
  [[nodiscard]] std::int64_t last() const { return spans.rbegin()->first; }
};

// Keyed by (dp_rank, stage).
using StepsOfWorkers = std::map<std::pair<std::int32_t, std::int16_t>, RecordedSteps>;

StepsOfWorkers steps_of_workers(const OpTrace& trace, const std::map<std::int64_t, double>& step_origin_s) {
  StepsOfWorkers workers;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    RecordedSteps& own = workers[{trace.dp_rank[row], trace.stage[row]}];
    own.rank = trace.rank[row];
    const double start = trace.start_s[row];
    const auto [entry, is_new] = own.spans.try_emplace(trace.step[row], Span{start, start});
    Span& span = entry->second;
    span.start_s = std::min(span.start_s, start);
    span.end_s = std::max(span.end_s, start + trace.duration_s[row]);
  }
  for (auto& [place, own] : workers) {
    for (auto& [step, span] : own.spans) {
      const auto origin = step_origin_s.find(step);
      if (origin == step_origin_s.end()) continue;
      span.start_s += origin->second;
      span.end_s += origin->second;
    }
  }
  return workers;
}

// The first worker with the most common first and last step.
const RecordedSteps& usual_steps(const StepsOfWorkers& workers) {
  const RecordedSteps* usual = nullptr;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> counts;
  for (const auto& [place, own] : workers) ++counts[{own.first(), own.last()}];
  for (const auto& [place, own] : workers) {
    if (usual == nullptr || counts[{own.first(), own.last()}] > counts[{usual->first(), usual->last()}])
      usual = &own;
  }
  return *usual;
}

// The median time from the start of a step to the start of the next one. Empty if times count from the start
// of each step.
std::optional<double> period_s(const RecordedSteps& steps) {
  std::vector<double> periods;
  std::vector<double> lengths;
  for (auto at = steps.spans.begin(); at != steps.spans.end(); ++at) {
    lengths.push_back(at->second.end_s - at->second.start_s);
    const auto next = std::next(at);
    if (next == steps.spans.end()) break;
    periods.push_back((next->second.start_s - at->second.start_s) /
                      static_cast<double>(next->first - at->first));
  }
  if (periods.empty()) return std::nullopt;
  const double period = take_median(periods);
  return period > take_median(lengths) / 2 ? std::optional(period) : std::nullopt;
}

// Whether a worker's steps begin at the same times as the usual worker's steps with numbers lower by `off`:
// the median difference is below `max_s`.
bool begin_together(const RecordedSteps& own, const RecordedSteps& usual, std::int64_t off, double max_s) {
  std::vector<double> apart;
  for (const auto& [step, span] : own.spans) {
    const auto other = usual.spans.find(step - off);
    if (other != usual.spans.end()) apart.push_back(span.start_s - other->second.start_s);
  }
  return !apart.empty() && std::abs(take_median(apart)) < max_s;
}

// Whether a worker that begins `off` steps later than the others recorded the same steps under other numbers.
// If its log does not also end `off` steps later, the start times must match closely.
bool counts_differently(const RecordedSteps& own, const RecordedSteps& usual, std::int64_t off) {
  constexpr double kCloseShare = 0.1;  // of a step
  const std::optional<double> period = period_s(usual);
  if (period && begin_together(own, usual, 0, *period / 2)) return false;
  return (off == own.last() - usual.last() && own.spans.size() == usual.spans.size()) ||
         (period && begin_together(own, usual, off, kCloseShare * *period));
}

}  // namespace

std::optional<std::string> miscounting_worker(const OpTrace& trace,
                                              const std::map<std::int64_t, double>& step_origin_s) {
  const StepsOfWorkers workers = steps_of_workers(trace, step_origin_s);
  if (workers.size() < 2) return std::nullopt;
  const RecordedSteps& usual = usual_steps(workers);
  for (const auto& [place, own] : workers) {
    const std::int64_t off = own.first() - usual.first();
    if (off == 0 || !counts_differently(own, usual, off)) continue;
    return fmt::format(
        "rank {} (dp_rank {}, stage {}) records steps {}-{}, but other workers record {}-{}, so its step "
        "counter is off by {}; correct its step numbers",
        own.rank, place.first, place.second, own.first(), own.last(), usual.first(), usual.last(), off);
  }
  return std::nullopt;
}

Status check_whole_job(const TraceIndex& index) {
  GOODPUT_TRY_STATUS(check_stages(index));
  GOODPUT_TRY_STATUS(check_embedding(index));
  GOODPUT_TRY_STATUS(check_global_chunks(index));
  return check_ranks(index);
}

std::optional<std::string> absent_workers(const std::vector<StepInstances>& steps) {
  std::set<std::pair<std::int32_t, std::int16_t>> recorded;
  std::int64_t stages = 0;
  std::int64_t replicas = 0;
  for (const StepInstances& step : steps) {
    for (const InstanceRow& at : step.rows) {
      recorded.insert({at.dp_rank, stage_of(at.op)});
      stages = std::max(stages, std::int64_t{stage_of(at.op)} + 1);
      replicas = std::max(replicas, std::int64_t{at.dp_rank} + 1);
    }
  }
  const std::int64_t absent = stages * replicas - static_cast<std::int64_t>(recorded.size());
  if (absent == 0) return std::nullopt;
  constexpr std::int64_t kNamed = 3;
  std::string names;
  std::int64_t named = 0;
  for (std::int64_t at = 0; named < std::min(absent, kNamed); ++at) {
    const auto dp_rank = static_cast<std::int32_t>(at / stages);
    const auto stage = static_cast<std::int16_t>(at % stages);
    if (recorded.count({dp_rank, stage}) > 0) continue;
    names += fmt::format("{}dp_rank {}, stage {}", named++ > 0 ? "; " : "", dp_rank, stage);
  }
  if (absent > named) names += fmt::format("; and {} more", absent - named);
  return names;
}

}  // namespace goodput
