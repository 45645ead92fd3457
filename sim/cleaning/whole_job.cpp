#include "sim/cleaning/whole_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/cleaning/repeated_rows.h"

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
    return Error{fmt::format(
        "rank {} is recorded at dp_rank {}, stage {} and at dp_rank {}, stage {}; every worker needs a rank "
        "of its own (are these files of one job?)",
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
  return Error{fmt::format(
      "stage 0 reduces embedding gradients with the last stage, but stage {}, the last recorded, has no "
      "embedding-grads-all-reduce: the stages after it are missing; give their files too",
      last)};
}

// gmc = mc * pp + stage gives away how many stages there were, once a stage has several chunks.
Status check_global_chunks(const TraceIndex& index) {
  std::set<std::int64_t> counted;
  for (const TraceOp& op : index.lane.ops) {
    if (!is_pass_compute(op.type) || op.mc <= 0 || op.gmc == kUnset) continue;
    const std::int64_t stages = (op.gmc - op.stage) / op.mc;
    if (stages * op.mc + op.stage != op.gmc) return Ok{};
    counted.insert(stages);
  }
  if (counted.size() != 1 || *counted.begin() <= index.pp_size()) return Ok{};
  return Error{
      fmt::format("gmc counts {} stages, but only {} recorded; give the files of {} too", *counted.begin(),
                  index.pp_size() == 1 ? "stage 0 is" : numbered("stage", 0, index.pp_size() - 1) + " are",
                  numbered("stage", index.pp_size(), *counted.begin() - 1))};
}

// The steps that a worker recorded, and when each began by its clock.
struct RecordedSteps {
  std::int32_t rank = 0;
  std::map<std::int64_t, double> first_start_s;

  [[nodiscard]] std::int64_t first() const { return first_start_s.begin()->first; }
  [[nodiscard]] std::int64_t last() const { return first_start_s.rbegin()->first; }
};

// By (dp_rank, stage).
using StepsOfWorkers = std::map<std::pair<std::int32_t, std::int16_t>, RecordedSteps>;

StepsOfWorkers steps_of_workers(const OpTrace& trace, const std::vector<StepInstances>& steps) {
  StepsOfWorkers workers;
  for (const StepInstances& step : steps) {
    for (const InstanceRow& at : step.rows) {
      RecordedSteps& own = workers[{at.dp_rank, stage_of(at.op)}];
      own.rank = trace.rank[at.row];
      const double start = trace.start_s[at.row];
      const auto [entry, is_new] = own.first_start_s.try_emplace(step.step, start);
      if (!is_new) entry->second = std::min(entry->second, start);
    }
  }
  return workers;
}

// Of all the workers, the first one that records the steps which most record.
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

// Whether a worker's steps begin when those of the same number begin elsewhere, by clocks that are no more
// than half a step apart.
bool begin_together(const RecordedSteps& own, const RecordedSteps& usual) {
  std::vector<double> apart;
  for (const auto& [step, start] : own.first_start_s) {
    const auto other = usual.first_start_s.find(step);
    if (other != usual.first_start_s.end()) apart.push_back(start - other->second);
  }
  std::vector<double> periods;
  for (auto at = usual.first_start_s.begin(); std::next(at) != usual.first_start_s.end(); ++at)
    periods.push_back((std::next(at)->second - at->second) /
                      static_cast<double>(std::next(at)->first - at->first));
  return !apart.empty() && !periods.empty() && std::abs(take_median(apart)) < take_median(periods) / 2;
}

}  // namespace

std::optional<std::string> miscounting_worker(const OpTrace& trace, const std::vector<StepInstances>& steps) {
  const StepsOfWorkers workers = steps_of_workers(trace, steps);
  if (workers.size() < 2) return std::nullopt;
  const RecordedSteps& usual = usual_steps(workers);
  const bool are_relative = starts_are_relative(trace, steps);
  for (const auto& [place, own] : workers) {
    const std::int64_t off = own.first() - usual.first();
    if (off == 0 || off != own.last() - usual.last() ||
        own.first_start_s.size() != usual.first_start_s.size())
      continue;
    if (!are_relative && begin_together(own, usual)) continue;
    return fmt::format(
        "rank {} (dp_rank {}, stage {}) records steps {}-{} where other workers record {}-{}: its step "
        "counter "
        "is off by {}; correct its step numbers",
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
