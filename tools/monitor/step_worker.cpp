#include "tools/monitor/step_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "sim/live/slowdown_shape.h"
#include "tools/monitor_pages/page_route.h"

namespace goodput {
namespace {

constexpr double kRoundS = 1;  // between rounds: deliveries, silence, what is too old
constexpr std::size_t kMostOpenAlerts = 1000;
// What may fail, as MonitorState::problems has it.
constexpr const char* kResults = "results";
constexpr const char* kAlertsOf = "alerts of ";

// Of rounds in which nothing is to be done at the moment.
constexpr std::chrono::milliseconds kPause{200};

// The same cause, and the alert's worker among those that the verdict's sentence names.
bool is_about(const Verdict& verdict, const Alert& alert) {
  if (verdict.kind != alert.cause) return false;
  if (!alert.worker || verdict.workers.empty()) return true;
  const bool is_worker = verdict.subject.type == "worker";
  const std::size_t named =
      is_worker ? std::min(kWorkersInASentence, verdict.workers.size()) : verdict.workers.size();
  return std::ranges::any_of(std::span(verdict.workers).first(named), [&](const Verdict::Worker& worker) {
    return static_cast<std::int32_t>(worker.dp) == alert.worker->dp_rank &&
           static_cast<std::int32_t>(worker.stage) == alert.worker->stage;
  });
}

}  // namespace

double unix_time_s() {
  using Seconds = std::chrono::duration<double>;
  static const auto begun = std::chrono::steady_clock::now();
  static const double begun_s = Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
  return begun_s + Seconds(std::chrono::steady_clock::now() - begun).count();
}

StepWorker::StepWorker(MonitorStore& store, StepQueue& queue, MonitorStatus& status,
                       StepWorkerOptions options, StepListener listener)
    : store_(store),
      queue_(queue),
      status_(status),
      options_(std::move(options)),
      listener_(std::move(listener)) {}

StepWorker::~StepWorker() {
  if (!thread_.joinable()) return;
  queue_.close(StepQueue::Waiting::kDrop);
  give_up();
  thread_.join();
}

Status StepWorker::add_job(const std::string& job) {
  const AlertContext context = context_of(job);
  GOODPUT_TRY(const std::string state, store_.alert_state(job));
  GOODPUT_TRY(const std::vector<Alert> open, store_.alerts(job, true, kMostOpenAlerts));
  if (state.empty() && open.empty()) {
    books_.emplace(job, AlertBook(options_.rules, context));
    return Ok{};
  }
  GOODPUT_TRY(AlertBook book, AlertBook::restore(options_.rules, context, state, open));
  books_.emplace(job, std::move(book));
  return Ok{};
}

AlertContext StepWorker::context_of(const std::string& job) const {
  return {job, options_.gpu_hour_usd, options_.pages.empty() ? "" : options_.pages + job_link(job)};
}

AlertBook& StepWorker::book_of(const std::string& job) {
  auto known = books_.find(job);
  if (known != books_.end()) return known->second;
  // A job that came by itself; what was stored of it is of no use if it cannot be read.
  const Status added = add_job(job);
  if (!added)
    status_.update([&](MonitorState& state) { state.set_problem(kAlertsOf + job, added.error().message()); });
  return books_.try_emplace(job, options_.rules, context_of(job)).first->second;
}

void StepWorker::start() {
  thread_ = std::thread([this] {
    try {
      run();
    } catch (...) {
      failure_ = std::current_exception();
      queue_.close(StepQueue::Waiting::kDrop);
    }
  });
}

void StepWorker::join() {
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void StepWorker::run() {
  while (true) {
    std::optional<QueuedStep> queued = queue_.pop(std::chrono::steady_clock::now() + kPause);
    const bool is_busy = queued.has_value();
    if (is_busy) {
      process(*std::move(queued));
      queue_.done();
    } else if (queue_.is_closed()) {
      return;
    }
    const double now_s = unix_time_s();
    if (std::abs(now_s - last_round_s_) < kRoundS) continue;
    last_round_s_ = now_s;
    if (!is_busy && is_caught_up_) look_for_silence(now_s);
    if (listener_.on_round) listener_.on_round(store_, now_s);
    const Result<bool> thinned = store_.thin_out(now_s);
    status_.update([&](MonitorState& state) {
      state.set_problem("what is too old", thinned ? "" : thinned.error().message());
    });
  }
}

// The same rows, pooled, say more than each step alone: since when, and what is chance.
void StepWorker::explain(const QueuedStep& queued, const AnalysedStep& analysed, std::vector<Alert>& opened) {
  if (std::ranges::all_of(opened, [](const Alert& alert) { return alert.cause.empty(); })) return;
  const std::vector<OpTrace> rows = recent_rows(queued.job.name, analysed);
  const Result<Analysis> pooled = analyze_pooled(rows, queued.job, options_.threads);
  if (!pooled) return;  // each step alone said what there is
  for (Alert& alert : opened) {
    if (pooled->verdict && is_about(*pooled->verdict, alert)) {
      alert.summary = fmt::format("{} ({})", pooled->verdict->sentence, alert.summary);
      alert.next_check = pooled->verdict->next_check;
      alert.verdict = pooled->verdict;
      continue;
    }
    const auto cause = std::ranges::find(pooled->causes, alert.cause, &RootCause::name);
    if (cause == pooled->causes.end() || !cause->likely || cause->evidence.empty()) continue;
    alert.summary += fmt::format("; {} steps together: {}", rows.size(), cause->evidence);
  }
}

// Of the latest steps whose rows are kept, the newest last, as many as may be pooled.
std::vector<OpTrace> StepWorker::recent_rows(const std::string& job, const AnalysedStep& latest) {
  std::vector<OpTrace> rows{latest.rows};
  std::size_t count = latest.rows.size();
  Result<std::vector<StepId>> kept = store_.steps_with_rows(job);
  if (!kept) return rows;
  const StepId last = latest.result.totals.id;
  std::ranges::sort(*kept, std::greater<>());
  for (const StepId& id : *kept) {
    if (id.run != last.run || id >= last || last.step - id.step >= options_.window * options_.every) continue;
    if (rows.size() >= static_cast<std::size_t>(options_.window)) break;
    Result<std::optional<OpTrace>> step = store_.rows(job, id);
    if (!step || !*step || count + (*step)->size() > options_.most_pooled_rows) break;
    count += (*step)->size();
    rows.push_back(*std::move(*step));
  }
  std::ranges::reverse(rows);
  return rows;
}

std::optional<std::vector<Alert>> StepWorker::commit(const StepCommit& commit) {
  std::string problem;
  while (true) {
    Result<std::vector<Alert>> stored = store_.commit(commit);
    if (stored) {
      status_.update([&](MonitorState& state) {
        state.set_problem(kResults, "");
        state.set_problem(kAlertsOf + commit.job, "");
      });
      if (!problem.empty() && listener_.on_problem) listener_.on_problem({});
      return *std::move(stored);
    }
    if (problem.empty() && listener_.on_problem) listener_.on_problem(stored.error().message());
    problem = stored.error().message();
    status_.update([&](MonitorState& state) {
      state.set_problem(kResults, problem);
      state.beat_s = unix_time_s();  // whoever waits for this lives
    });
    if (is_given_up_) return std::nullopt;
    std::this_thread::sleep_for(options_.retry);
  }
}

void StepWorker::tell(AlertBook& book, const std::vector<Alert>& opened, const std::vector<Alert>& closed) {
  book.stored(opened);
  if (!listener_.on_alert) return;
  for (const Alert& alert : opened) listener_.on_alert(alert);
  for (const Alert& alert : closed) listener_.on_alert(alert);
}

void StepWorker::process(QueuedStep queued) {
  StepCommit step;
  step.job = queued.job.name;
  step.positions = std::move(queued.positions);
  step.gone_files = std::move(queued.gone_files);
  step.intake_state = std::move(queued.intake_state);
  // Given out once more, as after positions of files were lost.
  const Result<bool> is_stored = store_.has_step(queued.job.name, queued.step.id);
  if (is_stored && *is_stored) {
    commit(step);
    return;
  }
  AnalysedStep analysed = analyse_step(std::move(queued.step), queued.job, options_.threads);
  StepResult& result = analysed.result;
  StepTotals& totals = result.totals;
  if (!result.worker_slowdown.empty())
    totals.shape =
        slowdown_shape(result.worker_slowdown, result.layout.dp_size, result.layout.pp_size, totals.slowdown);
  totals.finished_s = unix_time_s();
  AlertBook& book = book_of(queued.job.name);
  AlertChanges changes = book.take(result);
  explain(queued, analysed, changes.opened);

  step.alert_state = book.save();
  step.opened = std::move(changes.opened);
  step.closed = std::move(changes.closed);
  step.sinks = options_.sinks;
  StepRecord record{std::move(result), std::nullopt, !step.opened.empty()};
  if (record.result.totals.status == StepStatus::kAnalysed) record.rows = std::move(analysed.rows);
  step.steps.push_back(std::move(record));
  const std::optional<std::vector<Alert>> opened = commit(step);
  if (!opened) return;
  tell(book, *opened, step.closed);
  if (listener_.on_step) listener_.on_step(step.job, step.steps.front().result);
}

void StepWorker::look_for_silence(double now_s) {
  for (auto& [job, book] : books_) {
    AlertChanges changes = book.at(now_s);
    if (changes.empty()) continue;
    StepCommit step;
    step.job = job;
    step.alert_state = book.save();
    step.opened = std::move(changes.opened);
    step.closed = std::move(changes.closed);
    step.sinks = options_.sinks;
    if (const auto opened = commit(step)) tell(book, *opened, step.closed);
  }
}

}  // namespace goodput
