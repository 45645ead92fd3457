#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/analysis/verdict_json.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/statistics.h"
#include "tools/cli/json_result.h"
#include "tools/trace/cleaning_report.h"
#include "tools/trace/job_json.h"
#include "tools/whatif/clock_report.h"
#include "tools/whatif/whatif_report.h"

namespace goodput {
namespace {

OrderedJson by_label(const Attribution& attribution) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t i = 0; i < attribution.labels.size(); ++i) {
    append_member(object, attribution.labels[i], attribution.slowdown[i]);
  }
  return object;
}

std::string worker_key(const WorkerGrid& grid, std::size_t worker) {
  const auto [dp_rank, stage] = grid.worker(worker);
  return fmt::format("{}:{}", dp_rank, stage);
}

OrderedJson by_worker(const WorkerGrid& grid, const std::vector<double>& values) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t w = 0; w < values.size(); ++w) append_member(object, worker_key(grid, w), values[w]);
  return object;
}

// Workers in the order of their ranks.
std::vector<std::size_t> by_rank_order(const WorkerGrid& grid) {
  std::vector<std::size_t> workers(grid.ranks.size());
  std::iota(workers.begin(), workers.end(), std::size_t{0});
  std::ranges::sort(workers, {}, [&](std::size_t worker) { return grid.ranks[worker]; });
  return workers;
}

OrderedJson by_rank(const WorkerGrid& grid, const std::vector<double>& values) {
  OrderedJson object = OrderedJson::object();
  for (const std::size_t w : by_rank_order(grid))
    append_member(object, std::to_string(grid.ranks[w]), values[w]);
  return object;
}

OrderedJson extra_work_json(const WorkerGrid& grid, const RankWork& work) {
  OrderedJson object = OrderedJson::object();
  for (const std::size_t w : by_rank_order(grid))
    append_member(object, std::to_string(grid.ranks[w]), or_null(work.extra_s[w]));
  return object;
}

OrderedJson trace_json(const Analysis& analysis) {
  return {{"formats", analysis.trace.formats},
          {"ops", analysis.trace.ops},
          {"steps", analysis.trace.steps},
          {"analysed_steps", analysis.whatif.steps.size()},
          {"ops_per_lane", analysis.trace.ops_per_lane},
          {"dp_size", analysis.grid.dp_size},
          {"pp_size", analysis.grid.pp_size},
          {"vpp_size", analysis.grid.vpp_size},
          {"notes", analysis.trace.notes}};
}

OrderedJson steps_json(const WhatIf& result) {
  OrderedJson steps = OrderedJson::object();
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    append_member(steps, std::to_string(result.steps[i]),
                  {{"recorded_s", result.base_s[i]},
                   {"replayed_s", result.nodelay.span_s[i]},
                   {"slowdown", result.step_slowdown[i]},
                   {"launch_slowdown", result.launch_step_slowdown[i]}});
  }
  return steps;
}

OrderedJson ideal_json(const std::vector<IdealOfType>& ideal) {
  OrderedJson values = OrderedJson::object();
  for (const IdealOfType& type : ideal) append_member(values, type.name, or_null(type.value_s));
  return values;
}

OrderedJson time_json(const std::vector<std::int64_t>& steps, const TimePattern& time) {
  constexpr const char* kNames[] = {"steady", "window", "growth"};
  if (time.kind == TimePattern::Kind::kSteady) return {{"pattern", kNames[0]}};
  OrderedJson json{{"pattern", kNames[static_cast<std::size_t>(time.kind)]},
                   {"from_step", steps[time.first]},
                   {"to_step", steps[time.last]},
                   {"from", time.low},
                   {"to", time.high}};
  if (time.kind == TimePattern::Kind::kWindow)
    json["onset_95"] = {steps[time.onset_low], steps[time.onset_high]};
  return json;
}

OrderedJson slow_workers_json(const Analysis& analysis, const std::vector<RootCause::SlowWorker>& workers) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [worker, pace, time] : workers) {
    list.push_back({{"worker", worker_key(analysis.grid, worker)},
                    {"rank", analysis.grid.ranks[worker]},
                    {"pace", pace},
                    {"time", time_json(analysis.whatif.steps, time)}});
    for (const WorkerGrid::PlaceKind& kind : analysis.grid.places) {
      if (!kind.of_worker[worker].empty()) list.back()[kind.name] = kind.of_worker[worker];
    }
  }
  return list;
}

OrderedJson causes_json(const Analysis& analysis) {
  OrderedJson list = OrderedJson::array();
  for (const RootCause& cause : analysis.causes) {
    list.push_back(
        {{"cause", cause.name},
         {"likely", cause.likely},
         {"gain", or_null(cause.gain)},
         {"fix", cause.fix},
         {"not_likely_because", cause.likely ? OrderedJson(nullptr) : OrderedJson(cause.reason)},
         {"value", or_null(cause.value)},
         {"threshold", cause.threshold},
         {"criterion", cause.criterion},
         {"evidence", cause.evidence},
         {"workers", slow_workers_json(analysis, cause.workers)},
         {"stage", cause.stage ? OrderedJson(*cause.stage) : OrderedJson(nullptr)},
         {"time", cause.time ? time_json(analysis.whatif.steps, *cause.time) : OrderedJson(nullptr)}});
  }
  return list;
}

OrderedJson interventions_json(const std::vector<Intervention>& interventions) {
  OrderedJson list = OrderedJson::array();
  for (const Intervention& intervention : interventions) {
    list.push_back({{"fix", intervention.fix},
                    {"keep", intervention.keep},
                    {"jct_s", intervention.jct_s},
                    {"speedup", intervention.speedup}});
  }
  return list;
}

// Of everything the analysis sees, whatever the order of the rows.
std::uint64_t hash_recording(const Recording& recording) {
  Hash hash;
  for (const TraceOp& op : recording.ops) {
    for (const std::int64_t part : {std::int64_t{op.seq_id}, std::int64_t{op.stage}, std::int64_t{op.mc},
                                    std::int64_t{op.mb_id}, std::int64_t{op.gmc}}) {
      hash.add(part);
    }
    hash.add(std::string_view(recording.types[op.type].name));
  }
  if (recording.naming == WorkerGrid::Naming::kByRank) {
    for (const std::uint32_t pool : recording.pools) hash.add(pool);
    for (const OpId op : recording.finish_ops) hash.add(op);
  }
  for (const std::int64_t step : recording.steps) hash.add(step);
  for (const std::int32_t rank : recording.ranks) hash.add(rank);
  for (const StepBlock& block : recording.blocks) {
    hash.add(std::span<const double>(block.start_s));
    hash.add(std::span<const double>(block.end_s));
  }
  return hash.value();
}

}  // namespace

std::uint64_t config_hash(const Recording& recording, const Analysis& analysis) {
  Hash hash;
  hash.add(hash_recording(recording));
  hash.add(analysis.decompose_threshold);
  for (const Intervention& intervention : analysis.interventions) {
    for (const std::string& selector : intervention.fix) hash.add("fix " + selector);
    for (const std::string& selector : intervention.keep) hash.add("keep " + selector);
  }
  return hash.value();
}

void add_whatif_json(const Analysis& analysis, OrderedJson& json) {
  const WhatIf& result = analysis.whatif;
  const WorkerGrid& grid = analysis.grid;
  json["verdict"] = verdict_json(analysis.verdict);
  json["doubt"] = analysis.doubt ? OrderedJson(analysis.doubt->why) : OrderedJson(nullptr);
  json["decompose_threshold"] = analysis.decompose_threshold;
  json["job"] = job_json(analysis.job);
  json["trace"] = trace_json(analysis);
  json["cleaning"] = cleaning_json(analysis.cleaning);
  add_clock_json(analysis, json);
  json["slowdown"] = result.slowdown;
  json["waste"] = result.waste();
  json["message_share"] = analysis.message_share;
  json["recorded_step_s"] = mean(result.base_s);
  json["replayed_step_s"] = mean(result.nodelay.span_s);
  json["ideal_step_s"] = result.ideal_span_s;
  json["discrepancy"] = result.discrepancy;
  json["launch_slowdown"] = result.launch_slowdown;
  json["slowdown_by_optype"] = by_label(result.blocking.by_optype);
  json["slowdown_by_stage"] = by_label(result.blocking.by_stage);
  json["slowdown_by_dp_rank"] = by_label(result.blocking.by_dp_rank);
  json["slowdown_by_worker"] = by_worker(grid, result.worker_slowdown);
  if (analysis.rank_work) {
    json["slowdown_by_rank"] = by_rank(grid, result.worker_slowdown);
    json["extra_work_s_by_rank"] = extra_work_json(grid, *analysis.rank_work);
  }
  json["slowdown_by_worker_min_rule"] = by_worker(grid, result.worker_slowdown_bound);
  json["launch_slowdown_by_optype"] =
      result.launch ? by_label(result.launch->by_optype) : OrderedJson(nullptr);
  json["launch_slowdown_by_stage"] = result.launch ? by_label(result.launch->by_stage) : OrderedJson(nullptr);
  json["launch_slowdown_by_dp_rank"] =
      result.launch ? by_label(result.launch->by_dp_rank) : OrderedJson(nullptr);
  json["m_w"] = or_null(result.slowest_workers_share.recovered());
  json["m_s"] = or_null(result.last_stage_share.recovered());
  json["slowest_stage"] = result.slowest_stage;
  json["slowest_stage_share"] = or_null(result.slowest_stage_share.recovered());
  json["slowest_workers"] = OrderedJson::array();
  for (const std::size_t worker : result.slowest_workers) {
    json["slowest_workers"].push_back(worker_key(grid, worker));
  }
  json["ideal_values_s"] = ideal_json(result.ideal_by_type);
  json["root_causes"] = causes_json(analysis);
  json["interventions"] = interventions_json(analysis.interventions);
  json["per_step"] = steps_json(result);
}

}  // namespace goodput
