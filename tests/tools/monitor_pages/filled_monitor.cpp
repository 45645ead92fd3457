#include "tests/tools/monitor_pages/filled_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tests/support/trace_generator.h"

namespace goodput::testing {
namespace {

constexpr std::int32_t kSlowDpRank = 2;
constexpr std::int32_t kSlowStage = 1;

// Some noise that is the same in every run.
double wobble(std::int64_t step, std::size_t worker) {
  return 0.5 + 0.5 * std::sin(static_cast<double>(step) * 12.9898 + static_cast<double>(worker) * 78.233);
}

JobLayout layout_of(const MadeUpJob& job) {
  JobLayout layout;
  layout.dp_size = job.dp_size;
  layout.pp_size = job.pp_size;
  layout.gpus_per_worker = 8;
  for (std::int32_t worker = 0; worker < job.dp_size * job.pp_size; ++worker) {
    layout.ranks.push_back(worker * 8);
    layout.hosts.push_back(fmt::format("{}{:04}", job.host_prefix, worker));
  }
  return layout;
}

bool is_slow(const MadeUpJob& job, std::int64_t step) {
  return step >= job.slow_from;
}

std::size_t slow_worker(const MadeUpJob& job) {
  return static_cast<std::size_t>(std::min(kSlowDpRank, job.dp_size - 1) * job.pp_size +
                                  std::min(kSlowStage, job.pp_size - 1));
}

void add_causes(const MadeUpJob& job, StepResult& result) {
  const WorkerPlace place = place_of(result.layout, slow_worker(job));
  StepCause fault;
  fault.name = "worker-fault";
  fault.is_likely = is_slow(job, result.totals.id.step);
  fault.gain = fault.is_likely ? job.slowdown - 0.02 : 1.001;
  fault.workers = {slow_worker(job)};
  fault.fix = {fmt::format("worker={}:{}", place.dp_rank, place.stage)};
  fault.evidence = "passes take 1.42x those of peers, 31 standard errors";
  fault.next_check = fmt::format("clocks, temperatures and ECC errors of the GPUs of {}", place.host);
  StepCause partition;
  partition.name = "stage-partition";
  partition.gain = 1.004;
  partition.stage = static_cast<std::size_t>(job.pp_size - 1);
  partition.fix = {"cause=stage-partition"};
  partition.evidence = "passes of the last stage take 1.01x those of the middle one";
  result.causes = {fault, partition};
}

// As the rules of a monitor would open it.
Incident made_up_incident(const MadeUpJob& job, const StepResult& step) {
  const WorkerPlace place = place_of(step.layout, slow_worker(job));
  Incident incident;
  Verdict& verdict = incident.verdict;
  verdict.kind = "worker-fault";
  verdict.subject = {"worker", fmt::format("worker:{}:{}", place.dp_rank, place.stage)};
  verdict.workers = {{static_cast<std::size_t>(place.dp_rank), static_cast<std::size_t>(place.stage),
                      place.rank, place.host}};
  verdict.since_step = job.slow_from;
  verdict.pace = job.slowdown;
  verdict.cost =
      Verdict::Cost{step.totals.replayed_s, step.totals.lost_s(), step.totals.waste(), step.totals.slowdown};
  verdict.fix = step.causes.front().fix;
  verdict.next_check = step.causes.front().next_check;
  verdict.sentence =
      fmt::format("One slow worker costs this job {:.1f} % of its time: rank {} (dp {}, stage {}, host {}).",
                  100 * verdict.cost->share, place.rank, place.dp_rank, place.stage, place.host);
  incident.key = incident_key(job.name, verdict.subject, step.totals.id);
  incident.job = job.name;
  incident.severity = AlertSeverity::kError;
  incident.evidence = {{"slow-worker", "worker-fault", AlertSeverity::kError, step.totals.id, true},
                       {"slow-job", kUnexplained, AlertSeverity::kWarning, step.totals.id, false}};
  incident.opened_at = step.totals.id;
  incident.opened_s = step.totals.finished_s;
  incident.last_seen = {0, job.steps - 1};
  incident.slowdown = step.totals.slowdown;
  incident.usd_per_day = 2345.6;
  incident.page = "https://goodput.example.org/incidents/" + incident.key;
  return incident;
}

OpTrace made_up_rows(const MadeUpJob& job) {
  TraceSpec spec;
  spec.dp = job.dp_size;
  spec.pp = job.pp_size;
  spec.steps = 1;
  return generate_trace(spec);
}

StepResult incomplete_step(const MadeUpJob& job, std::int64_t step) {
  StepResult result = made_up_step(job, step);
  StepResult empty;
  empty.layout = result.layout;
  empty.totals.id = result.totals.id;
  empty.totals.status = StepStatus::kIncomplete;
  empty.totals.began_s = result.totals.began_s;
  empty.totals.received_s = result.totals.received_s;
  empty.totals.finished_s = result.totals.finished_s + 30;
  empty.problem = "rows of 1 of its workers did not come within 30 s";
  empty.missing = {place_of(result.layout, 3)};
  return empty;
}

StepRecord made_up_record(const MadeUpJob& job, std::int64_t step) {
  StepRecord record;
  const bool is_incomplete = job.has_incomplete_step && step == job.steps - 2;
  record.result = is_incomplete ? incomplete_step(job, step) : made_up_step(job, step);
  if (job.has_rows && step >= job.steps - 2 && !is_incomplete) record.rows = made_up_rows(job);
  if (step % job.every == 0) return record;
  StepRecord skipped;
  skipped.result.layout = record.result.layout;
  skipped.result.totals.id = {0, step};
  skipped.result.totals.status = StepStatus::kSkipped;
  skipped.result.totals.finished_s = record.result.totals.finished_s;
  return skipped;
}

}  // namespace

StepResult made_up_step(const MadeUpJob& job, std::int64_t step) {
  StepResult result;
  result.layout = layout_of(job);
  const std::size_t workers = result.layout.workers();
  const bool slow = is_slow(job, step);
  for (std::size_t worker = 0; worker < workers; ++worker)
    result.worker_slowdown.push_back(1 + 0.01 * wobble(step, worker));
  if (slow) result.worker_slowdown[slow_worker(job)] = job.slowdown + 0.01 * wobble(step, 7);
  if (slow && job.is_data) {
    const auto stages = static_cast<std::size_t>(job.pp_size);
    const auto first = static_cast<std::size_t>(step % job.dp_size) * stages;
    result.worker_slowdown[slow_worker(job)] = 1;
    for (std::size_t worker = first; worker < first + stages; ++worker)
      result.worker_slowdown[worker] = job.slowdown;
  }
  result.worker_pace = result.worker_slowdown;
  for (std::int32_t stage = 0; stage < job.pp_size; ++stage)
    result.by_stage.push_back(slow && stage == std::min(kSlowStage, job.pp_size - 1) ? job.slowdown : 1.004);
  for (std::int32_t rank = 0; rank < job.dp_size; ++rank)
    result.by_dp_rank.push_back(slow && rank == std::min(kSlowDpRank, job.dp_size - 1) ? job.slowdown
                                                                                       : 1.002);
  result.by_optype = {{"forward-compute", slow ? 1.1 : 1.002},
                      {"backward-compute", slow ? 1.15 : 1.003},
                      {"send/recv", 1.001}};
  result.m_w = slow ? 0.93 : 0.2;
  result.m_s = 0.05;
  result.correlation = 0.31;
  StepTotals& totals = result.totals;
  totals.id = {0, step};
  totals.began_s = kFirstStep_s + static_cast<double>(step) * kStepGap_s;
  totals.received_s = totals.began_s + 9;
  totals.finished_s = totals.received_s + 0.4;
  if (!job.has_absolute_times) totals.began_s = 0;
  totals.ops = static_cast<std::int64_t>(workers) * 194;
  totals.slowdown = (slow ? job.slowdown + 0.02 : 1.012) + 0.004 * wobble(step, 3);
  totals.ideal_s = 7.2;
  totals.replayed_s = totals.ideal_s * totals.slowdown;
  totals.launch_slowdown = 1.003;
  totals.recorded_s = totals.replayed_s * totals.launch_slowdown;
  totals.discrepancy = 0.004;
  const auto worst = std::ranges::max_element(result.worker_slowdown);
  totals.worst_slowdown = *worst;
  totals.worst_worker = static_cast<std::size_t>(worst - result.worker_slowdown.begin());
  totals.shape = slow ? SlowdownShape::kWorkers : SlowdownShape::kNone;
  add_causes(job, result);
  if (slow) {
    totals.cause = result.causes.front().name;
    totals.gain = *result.causes.front().gain;
  }
  return result;
}

std::string incident_key_of(const MadeUpJob& job) {
  return made_up_incident(job, made_up_step(job, job.slow_from + 2)).key;
}

void add_job(MonitorStore& store, const MadeUpJob& job) {
  for (std::int32_t step = 0; step < job.steps; ++step) {
    StepCommit commit;
    commit.job = job.name;
    StepRecord record = made_up_record(job, step);
    if (step == job.slow_from + 2 && record.result.totals.status == StepStatus::kAnalysed)
      commit.incidents.push_back(made_up_incident(job, record.result));
    commit.steps.push_back(std::move(record));
    const auto stored = store.commit(commit);
    if (!stored) throw std::runtime_error(stored.error().message());
  }
}

double end_of(const MadeUpJob& job) {
  return kFirstStep_s + job.steps * kStepGap_s;
}

void follow(MonitorStatus& status, const MadeUpJob& job) {
  status.update([&](MonitorState& state) {
    state.started_s = kFirstStep_s - 60;
    state.beat_s = end_of(job);
    state.is_ready = true;
    state.uses_inotify = true;
    JobStatus& followed = state.jobs[job.name];
    followed.lag_s = 0.4;
    followed.last_row_s = end_of(job) - 1;
    followed.unread_bytes = 12345;
    followed.bad_lines = 2;
    followed.last_bad_line = fmt::format("{}.log:17: no op is called \"<b>forward</b>\"", job.host_prefix);
  });
}

std::string hostile_name(std::string_view kind) {
  return fmt::format("{}\"'><script>alert(1)</script>&amp;\xe2\x80\xae\x01\xff\xd7\xa9", kind);
}

}  // namespace goodput::testing
