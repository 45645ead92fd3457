#include "tools/monitor/step_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/analysis/analyze.h"
#include "models/analysis/arrange_passes.h"
#include "sim/analysis/analysis.h"
#include "sim/analysis/verdict.h"
#include "sim/base/errors.h"
#include "sim/base/statistics.h"
#include "sim/cleaning/findings.h"
#include "sim/live/open_incidents.h"
#include "sim/ops/job_rows.h"
#include "tools/cli/command_line.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {
namespace {

// Rows as if a reader had read them from a file.
Result<JobRows> as_read(OpTrace rows, std::vector<CleaningFinding> findings, const JobFacts& job) {
  JobRows read;
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

Result<ArrangedJob> arrange_rows(JobRows rows, const JobFacts& job) {
  std::vector<std::string> notes;
  return arrange_passes(std::move(rows), {.trial_name = job.name}, notes);
}

Result<Analysis> analyze_rows(JobRows rows, const JobFacts& job, unsigned threads) {
  GOODPUT_TRY(const ArrangedJob arranged, arrange_rows(std::move(rows), job));
  return analyze(arranged, {.whatif = {.jobs = threads}});
}

JobLayout layout_of(const Analysis& analysis, const JobFacts& job) {
  const WorkerGrid& grid = analysis.grid;
  JobLayout layout{grid.dp_size, grid.pp_size, grid.vpp_size, 1, grid.ranks, {}};
  const std::map<std::int64_t, std::string>& hosts =
      job.metadata.hosts.empty() ? job.hosts : job.metadata.hosts;
  if (!hosts.empty()) {
    for (const std::int32_t rank : grid.ranks) {
      const auto host = hosts.find(rank);
      layout.hosts.push_back(host == hosts.end() ? "" : host->second);
    }
  }
  // The metadata knows. Else the ranks tell how many tensor-parallel peers a worker has, or the size that
  // logs state.
  const auto workers = static_cast<std::int64_t>(layout.workers());
  std::int64_t peers = std::max(analysis.job.tp_size, job.world_size / workers);
  if (job.metadata.world_size) peers = *job.metadata.world_size / workers;
  layout.gpus_per_worker = static_cast<std::int32_t>(std::max<std::int64_t>(1, peers));
  return layout;
}

StepCause cause_of(const RootCause& cause, const WorkerGrid& grid) {
  StepCause step{cause.name, cause.likely, cause.gain, {}, cause.stage, cause.fix, cause.evidence, {}};
  for (const RootCause::SlowWorker& slow : cause.workers) step.workers.push_back(slow.worker);
  if (cause.likely) step.next_check = next_check(cause, grid);
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

std::vector<std::string> notes_of(const Analysis& analysis) {
  std::vector<std::string> notes = analysis.trace.notes;
  for (const CleaningFinding& finding : analysis.cleaning) {
    const CleaningRuleInfo& rule = info(finding.rule);
    notes.push_back(fmt::format("{} {} {}", finding.count, rule.found, rule.done));
  }
  return notes;
}

std::vector<StepCause> causes_of(const Analysis& analysis) {
  std::vector<StepCause> causes;
  for (const RootCause& cause : analysis.causes) causes.push_back(cause_of(cause, analysis.grid));
  return causes;
}

std::vector<StepFault> faults_of(const Analysis& analysis) {
  std::vector<StepFault> faults;
  for (const Fault& fault : find_faults(analysis.causes, analysis.grid)) {
    const auto cause = std::ranges::find(analysis.causes, fault.cause.name, &RootCause::name);
    faults.push_back({verdict_on(fault, analysis.whatif, analysis.grid), cause->gain.value_or(1)});
  }
  return faults;
}

void fill(const Analysis& analysis, const JobFacts& job, StepResult& result) {
  const WhatIf& whatif = analysis.whatif;
  result.causes = causes_of(analysis);
  fill_totals(whatif, result.causes, result.totals);
  result.layout = layout_of(analysis, job);
  result.worker_slowdown = whatif.worker_slowdown;
  for (const PeerPace& pace : analysis.worker_pace) result.worker_pace.push_back(pace.mean);
  result.by_stage = whatif.blocking.by_stage.slowdown;
  result.by_dp_rank = whatif.blocking.by_dp_rank.slowdown;
  result.by_optype = labelled(whatif.blocking.by_optype);
  result.m_w = whatif.slowest_workers_share.recovered();
  result.m_s = whatif.last_stage_share.recovered();
  result.correlation = analysis.correlation;
  result.verdict = analysis.verdict;
  result.faults = faults_of(analysis);
  result.notes = notes_of(analysis);
}

void refuse(const Error& error, StepResult& result) {
  result.totals.status = StepStatus::kRefused;
  result.problem = error.message(flag_of);
}

Result<ArrangedJob> arrange_steps(const std::vector<OpTrace>& steps, const JobFacts& job) {
  OpTrace pooled;
  for (const OpTrace& step : steps) append_rows(pooled, step);
  GOODPUT_TRY(JobRows rows, as_read(std::move(pooled), {}, job));
  return arrange_rows(std::move(rows), job);
}

// The fault that a verdict is about, or the whole cause if its place differs from step to step.
std::optional<Fault> fault_of(const Verdict& known, const Analysis& analysis) {
  std::vector<Fault> faults = find_faults(analysis.causes, analysis.grid);
  const auto found = std::ranges::find(faults, known.subject, &Fault::subject);
  if (found != faults.end()) return std::move(*found);
  const auto cause = std::ranges::find(analysis.causes, known.kind, &RootCause::name);
  if (cause == analysis.causes.end() || !cause->likely || known.subject.type != "job") return std::nullopt;
  return Fault{*cause, known.subject};
}

// Several faults hide each other: without one of them, the next one is what the others wait for.
std::string cost_of_all_parts(const std::string& cause, const Analysis& analysis) {
  const auto whole = std::ranges::find(analysis.causes, cause, &RootCause::name);
  const std::string parts = cause == "worker-fault"   ? "workers"
                            : cause == "slow-replica" ? "replicas"
                            : cause == "slow-switch"  ? "switches"
                                                      : cause.substr(5) + "s";
  return fmt::format(" Together, all slow {} cost {:.1f} % of the time.", parts,
                     100 * (1 - 1 / whole->gain.value_or(1)));
}

// About the fault that is the whole of the costliest cause if that is at least half of what is lost, or the
// job.
std::optional<Verdict> verdict_on_job(const Analysis& analysis) {
  std::optional<Verdict> verdict = analysis.verdict;
  if (!verdict || !has_cause(*verdict)) return verdict;
  const std::vector<Fault> faults = find_faults({analysis.causes.front()}, analysis.grid);
  const bool is_most = verdict->cost && verdict->cost->gain - 1 >= (analysis.whatif.slowdown - 1) / 2;
  verdict->subject = faults.size() == 1 && is_most ? faults.front().subject : Verdict::Subject{"job", "job"};
  return verdict;
}

Verdict closer_verdict(const Verdict& known, const Analysis& analysis) {
  const std::optional<double> gain =
      analysis.interventions.empty() ? std::nullopt : std::optional(analysis.interventions.front().speedup);
  if (std::optional<Fault> fault = fault_of(known, analysis)) {
    const bool is_part = !fault->cause.gain.has_value();
    if (is_part) fault->cause.gain = gain;
    Verdict verdict = verdict_on(*fault, analysis.whatif, analysis.grid, known.since_step);
    if (is_part) verdict.sentence += cost_of_all_parts(fault->cause.name, analysis);
    return verdict;
  }
  Verdict verdict = known;
  if (known.kind != kUnexplained) {
    if (gain && !verdict.cost) verdict.cost = cost_of_gain(mean(analysis.whatif.nodelay.span_s), *gain);
    return verdict;
  }
  if (known.subject.type == "job") return verdict_on_job(analysis).value_or(known);
  if (gain) {
    verdict.cost = cost_of_gain(mean(analysis.whatif.nodelay.span_s), *gain);
    verdict.sentence += " " + step_without(*verdict.cost, "its delays");
  }
  return verdict;
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
  Result<JobRows> read = as_read(std::move(step.rows), std::move(step.findings), job);
  if (!read) {
    refuse(read.error(), result);
    return analysed;
  }
  analysed.rows = read->reading.trace;
  const Result<Analysis> result_of_rows = analyze_rows(*std::move(read), job, threads);
  if (result_of_rows) {
    fill(*result_of_rows, job, result);
  } else {
    refuse(result_of_rows.error(), result);
  }
  return analysed;
}

Verdict look_closer(const Verdict& known, const std::vector<OpTrace>& steps, const JobFacts& job,
                    unsigned threads) {
  const Result<ArrangedJob> arranged = arrange_steps(steps, job);
  if (!arranged) return known;  // the steps alone said what there is
  Result<Analysis> analysis = analyze(*arranged, {.whatif = {.jobs = threads}, .fix = known.fix, .keep = {}});
  // What one step showed may not be there in several.
  if (!analysis) analysis = analyze(*arranged, {.whatif = {.jobs = threads}});
  return analysis ? closer_verdict(known, *analysis) : known;
}

std::vector<StepFault> find_hidden_faults(const std::vector<std::string>& fix,
                                          const std::vector<OpTrace>& steps, const JobFacts& job,
                                          unsigned threads) {
  const Result<ArrangedJob> arranged = arrange_steps(steps, job);
  if (!arranged) return {};
  const Result<ArrangedJob> fixed = repair(*arranged, fix, threads);
  if (!fixed) return {};
  const Result<Analysis> analysis = analyze(*fixed, {.whatif = {.jobs = threads}});
  if (!analysis) return {};
  std::vector<StepFault> faults = faults_of(*analysis);
  for (StepFault& fault : faults)
    fault.verdict.sentence +=
        " Another fault hides this one for now; the cost given here applies once the other fault is fixed.";
  return faults;
}

}  // namespace goodput
