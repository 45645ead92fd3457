#include "tools/monitor_analysis/step_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/errors.h"
#include "sim/causes/patterns.h"
#include "sim/causes/root_cause.h"
#include "sim/cleaning/findings.h"
#include "sim/whatif/whatif.h"
#include "tools/cli/command_line.h"
#include "tools/trace/load_recording.h"
#include "tools/whatif/cause_advice.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {
namespace {

// Rows as if a reader had read them from a file.
Result<TraceWithMetadata> as_read(OpTrace rows, std::vector<CleaningFinding> findings, const JobFacts& job) {
  TraceWithMetadata read;
  read.metadata = job.metadata;
  read.metadata_path = job.metadata_path;
  read.reading.trace = std::move(rows);
  read.reading.findings = std::move(findings);
  read.reading.hosts = job.hosts;
  OpTraceReadOptions options;
  if (job.metadata.vpp_size) options.vpp_size = static_cast<int>(*job.metadata.vpp_size);
  GOODPUT_TRY_STATUS(complete_ids(read.reading, options, job.has_absent_chunks));
  return read;
}

ArrangeOptions arrange_options(const JobFacts& job) {
  return {.trial_name = job.name, .note = [](const std::string&) {}};
}

JobLayout layout_of(const LoadedRecording& loaded, const JobFacts& job) {
  const Recording& recording = loaded.recording;
  JobLayout layout{recording.dp_size, recording.pp_size, recording.vpp_size, 1, recording.ranks, {}};
  const std::map<std::int64_t, std::string>& hosts =
      job.metadata.hosts.empty() ? job.hosts : job.metadata.hosts;
  if (!hosts.empty()) {
    for (const std::int32_t rank : recording.ranks) {
      const auto host = hosts.find(rank);
      layout.hosts.push_back(host == hosts.end() ? "" : host->second);
    }
  }
  // The metadata knows. Else the ranks tell how many tensor-parallel peers a worker has, or the size that
  // logs state.
  const auto workers = static_cast<std::int64_t>(layout.workers());
  std::int64_t peers = std::max(loaded.job.tp_size, job.world_size / workers);
  if (job.metadata.world_size) peers = *job.metadata.world_size / workers;
  layout.gpus_per_worker = static_cast<std::int32_t>(std::max<std::int64_t>(1, peers));
  return layout;
}

StepCause cause_of(const RootCause& cause, const Recording& recording) {
  StepCause step{cause.name, cause.likely, cause.gain, {}, cause.stage, cause.fix, cause.evidence, {}};
  for (const RootCause::SlowWorker& slow : cause.workers) step.workers.push_back(slow.worker);
  if (cause.likely) step.next_check = advice(cause, recording);
  return step;
}

std::vector<LabelledSlowdown> labelled(const Attribution& attribution) {
  std::vector<LabelledSlowdown> parts;
  for (std::size_t i = 0; i < attribution.labels.size(); ++i)
    parts.push_back({attribution.labels[i], attribution.slowdown[i]});
  return parts;
}

void fill_totals(const WhatIf& analysed, const std::vector<StepCause>& causes, StepTotals& totals) {
  totals.recorded_s = analysed.base_s.front();
  totals.replayed_s = analysed.nodelay.span_s.front();
  totals.ideal_s = analysed.ideal_finish_s;
  totals.slowdown = analysed.slowdown;
  totals.launch_slowdown = analysed.launch_slowdown;
  totals.discrepancy = analysed.discrepancy;
  const auto worst = std::ranges::max_element(analysed.worker_slowdown);
  totals.worst_worker = static_cast<std::size_t>(worst - analysed.worker_slowdown.begin());
  totals.worst_slowdown = *worst;
  if (!causes.empty() && causes.front().is_likely) {
    totals.cause = causes.front().name;
    totals.gain = causes.front().gain.value_or(1);
  }
}

std::vector<std::string> notes_of(const LoadedRecording& loaded) {
  std::vector<std::string> notes = loaded.notes;
  for (const CleaningFinding& finding : loaded.cleaning) {
    const CleaningRuleInfo& rule = info(finding.rule);
    notes.push_back(fmt::format("{} {} {}", finding.count, rule.found, rule.done));
  }
  return notes;
}

Status analyse_rows(const LoadedRecording& loaded, const JobFacts& job, unsigned threads,
                    StepResult& result) {
  const WhatIfOptions options{.jobs = threads};
  const WhatIfEngine engine(loaded.graph, loaded.recording, options);
  GOODPUT_TRY(const WhatIf analysed, engine.analyse());
  const AnalysedJob analysed_job{loaded.graph, loaded.recording, analysed, threads};
  const Patterns patterns = find_patterns(analysed_job);
  for (const RootCause& cause : find_root_causes(analysed_job, patterns, options.decompose_threshold))
    result.causes.push_back(cause_of(cause, loaded.recording));
  fill_totals(analysed, result.causes, result.totals);
  result.layout = layout_of(loaded, job);
  result.worker_slowdown = analysed.worker_slowdown;
  for (const PeerPace& pace : patterns.pace.worker) result.worker_pace.push_back(pace.mean);
  result.by_stage = analysed.blocking.by_stage.slowdown;
  result.by_dp_rank = analysed.blocking.by_dp_rank.slowdown;
  result.by_optype = labelled(analysed.blocking.by_optype);
  result.m_w = analysed.slowest_workers_share.recovered();
  result.m_s = analysed.last_stage_share.recovered();
  if (patterns.micro_batches) result.correlation = patterns.micro_batches->correlation;
  result.notes = notes_of(loaded);
  return Ok{};
}

void refuse(const Error& error, StepResult& result) {
  result.totals.status = StepStatus::kRefused;
  result.problem = error.message(flag_of);
}

}  // namespace

AnalysedStep analyse_step(GatheredStep step, const JobFacts& job, unsigned threads) {
  AnalysedStep analysed;
  StepResult& result = analysed.result;
  result.totals.id = step.id;
  result.totals.status = step.status;
  result.totals.began_s = step.began_s;
  result.totals.received_s = step.received_s;
  result.totals.ops = step.ops;
  result.problem = std::move(step.problem);
  result.missing = std::move(step.missing);
  for (WorkerPlace& place : result.missing) {
    const auto host = job.hosts.find(place.rank);
    if (host != job.hosts.end()) place.host = host->second;
  }
  if (step.status != StepStatus::kAnalysed) return analysed;
  Result<TraceWithMetadata> read = as_read(std::move(step.rows), std::move(step.findings), job);
  if (!read) {
    refuse(read.error(), result);
    return analysed;
  }
  analysed.rows = read->reading.trace;
  Result<LoadedRecording> loaded = arrange_recording(*std::move(read), arrange_options(job));
  if (!loaded) {
    refuse(loaded.error(), result);
    return analysed;
  }
  const Status status = analyse_rows(*loaded, job, threads, result);
  if (!status) refuse(status.error(), result);
  return analysed;
}

Result<std::vector<StepCause>> analyse_pooled(const std::vector<OpTrace>& steps, const JobFacts& job,
                                              unsigned threads) {
  OpTrace pooled;
  for (const OpTrace& step : steps) {
    append_rows(pooled, step);
  }
  GOODPUT_TRY(TraceWithMetadata read, as_read(std::move(pooled), {}, job));
  GOODPUT_TRY(const LoadedRecording loaded, arrange_recording(std::move(read), arrange_options(job)));
  StepResult result;
  GOODPUT_TRY_STATUS(analyse_rows(loaded, job, threads, result));
  return std::move(result.causes);
}

}  // namespace goodput
