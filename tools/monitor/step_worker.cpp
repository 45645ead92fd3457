#include "tools/monitor/step_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "sim/live/slowdown_shape.h"
#include "tools/monitor/monitor_clock.h"

namespace goodput {
namespace {

constexpr double kRoundS = 1;         // between rounds: deliveries, silence, what is too old
constexpr double kLongestLookS = 60;  // between two looks at the files of a job
constexpr std::size_t kMaxOpenIncidents = 1000;
// What may fail, as MonitorState::problems has it.
constexpr const char* kResults = "results";
constexpr const char* kIncidentsOf = "incidents of ";

// Of rounds in which nothing is to be done at the moment.
constexpr std::chrono::milliseconds kPause{200};

bool is_about_steps(const Incident& incident) {
  return incident.verdict.kind != kSilenceKind && incident.verdict.kind != kIncompleteKind &&
         incident.verdict.kind != kWorseningKind;
}

// As it is now.
std::optional<Incident> find_open(const IncidentBook& book, const std::string& key) {
  const auto found = std::ranges::find(book.open(), key, &Incident::key);
  return found == book.open().end() ? std::nullopt : std::optional(*found);
}

// What would undo the causes of all open incidents.
std::vector<std::string> open_fixes(const IncidentBook& book) {
  std::vector<std::string> fixes;
  for (const Incident& incident : book.open()) {
    for (const std::string& fix : incident.verdict.fix) {
      if (has_cause(incident.verdict) && std::ranges::find(fixes, fix) == fixes.end()) fixes.push_back(fix);
    }
  }
  return fixes;
}

}  // namespace

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
  const IncidentContext context = context_of(job);
  GOODPUT_TRY(const std::string state, store_.incident_state(job));
  GOODPUT_TRY(std::vector<Incident> open, store_.incidents(job, true, kMaxOpenIncidents));
  if (state.empty() && open.empty()) {
    books_.emplace(job, IncidentBook(options_.rules, context));
    return Ok{};
  }
  std::ranges::reverse(open);  // the oldest first
  GOODPUT_TRY(IncidentBook book, IncidentBook::restore(options_.rules, context, state, open));
  books_.emplace(job, std::move(book));
  return Ok{};
}

IncidentContext StepWorker::context_of(const std::string& job) const {
  return {job, options_.gpu_hour_usd, options_.pages};
}

IncidentBook& StepWorker::book_of(const std::string& job) {
  auto known = books_.find(job);
  if (known != books_.end()) return known->second;
  // A job that came by itself; what was stored of it is of no use if it cannot be read.
  const Status added = add_job(job);
  if (!added) {
    status_.update(
        [&](MonitorState& state) { state.set_problem(kIncidentsOf + job, added.error().message()); });
  }
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
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    actions_.clear();
  });
}

void StepWorker::join() {
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void StepWorker::note_read(const std::vector<std::string>& jobs) {
  const double now_s = steady_time_s();
  const std::lock_guard lock(mutex_);
  for (auto& [job, quiet] : quiet_) {
    if (std::ranges::find(jobs, job) == jobs.end()) quiet.read_at_s = 0;
  }
  for (const std::string& job : jobs) {
    QuietJob& quiet = quiet_[job];
    // Time in which the monitor itself stood still says nothing about the job.
    if (quiet.read_at_s > 0) quiet.quiet_s += std::min(now_s - quiet.read_at_s, kLongestLookS);
    quiet.read_at_s = now_s;
  }
}

std::future<Result<std::optional<Incident>>> StepWorker::act(IncidentAction action) {
  PendingAction pending{std::move(action), {}};
  auto done = pending.done.get_future();
  const std::lock_guard lock(mutex_);
  if (!is_over_) actions_.push_back(std::move(pending));
  return done;
}

void StepWorker::run() {
  while (true) {
    std::optional<QueuedStep> queued = queue_.pop(std::chrono::steady_clock::now() + kPause);
    if (queued) {
      const std::string job = queued->job.name;
      process(*std::move(queued));
      queue_.done(job);
      const std::lock_guard lock(mutex_);
      quiet_[job] = {.read_at_s = steady_time_s()};
    } else if (queue_.is_closed()) {
      return;
    }
    take_actions();
    const double steady_s = steady_time_s();
    if (steady_s - last_round_s_ < kRoundS) continue;
    last_round_s_ = steady_s;
    const double now_s = wall_time_s();
    count_silence(now_s);
    if (listener_.on_round) listener_.on_round(store_, now_s);
    const Result<bool> thinned = store_.thin_out(now_s);
    status_.update([&](MonitorState& state) {
      state.set_problem("what is too old", thinned ? "" : thinned.error().message());
    });
  }
}

// ---- Steps.

// A fault of goodput itself must not stop the monitor of all jobs.
AnalysedStep StepWorker::analyze(GatheredStep step, const JobFacts& job) const {
  AnalysedStep failed;
  StepTotals& totals = failed.result.totals;
  totals.id = step.id;
  totals.status = StepStatus::kRefused;
  totals.began_s = step.began_s;
  totals.received_s = step.received_s;
  totals.ops = step.ops;
  try {
    AnalysedStep analysed = options_.analyze(std::move(step), job, options_.threads);
    StepResult& result = analysed.result;
    if (!result.worker_slowdown.empty())
      result.totals.shape = slowdown_shape(result.worker_slowdown, result.layout.dp_size,
                                           result.layout.pp_size, result.totals.slowdown);
    return analysed;
  } catch (const std::exception& error) {
    failed.result.problem = fmt::format(
        "internal error in goodput: {}; please report it with the rows of this step", error.what());
    return failed;
  }
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
  AnalysedStep analysed = analyze(std::move(queued.step), queued.job);
  StepTotals& totals = analysed.result.totals;
  totals.finished_s = wall_time_s();
  IncidentBook& book = book_of(queued.job.name);
  IncidentChanges changes = book.take(analysed.result);
  explain(queued, analysed, book, changes);
  fill(book, changes, totals.finished_s, step);
  StepRecord record{std::move(analysed.result), std::nullopt, !step.steps_to_keep.empty()};
  if (record.result.totals.status == StepStatus::kAnalysed) record.rows = std::move(analysed.rows);
  step.steps.push_back(std::move(record));
  if (!commit(step)) return;
  tell(step.job, changes);
  if (listener_.on_step) listener_.on_step(step.job, step.steps.front().result);
}

// ---- Incidents.

// The same rows, pooled, say more than each step alone: what a fix would gain, and what a fault hides.
void StepWorker::explain(const QueuedStep& queued, const AnalysedStep& analysed, IncidentBook& book,
                         IncidentChanges& changes) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::optional<Incident> open = find_open(book, changes[i].incident.key);
    if (!open || !is_about_steps(*open)) continue;
    const Incident& incident = *open;
    const std::vector<OpTrace> rows = recent_rows(queued.job.name, analysed, incident.verdict.since_step);
    if (rows.front().size() == 0) continue;
    try {
      if (incident.slowdown) {  // it was seen in the steps themselves
        Verdict closer = look_closer(incident.verdict, rows, queued.job, options_.threads);
        changes[i].incident = book.explain(incident.key, std::move(closer));
      }
      if (!has_cause(changes[i].incident.verdict)) continue;
      const std::vector<StepFault> hidden =
          find_hidden_faults(open_fixes(book), rows, queued.job, options_.threads);
      for (IncidentChange& change : book.take_hidden(hidden)) changes.push_back(std::move(change));
    } catch (const std::exception&) {
      continue;  // each step alone said what there is
    }
  }
}

// Of the latest steps whose rows are kept, from `since_step` on, the newest last, as many as may be pooled.
std::vector<OpTrace> StepWorker::recent_rows(const std::string& job, const AnalysedStep& latest,
                                             std::optional<std::int64_t> since_step) {
  std::vector<OpTrace> rows{latest.rows};
  std::size_t count = latest.rows.size();
  Result<std::vector<StepId>> kept = store_.steps_with_rows(job);
  if (!kept) return rows;
  const StepId last = latest.result.totals.id;
  std::ranges::sort(*kept, std::greater<>());
  for (const StepId& id : *kept) {
    if (id.run != last.run || id >= last || last.step - id.step >= options_.window * options_.every) continue;
    if (since_step && id.step < *since_step) continue;
    if (rows.size() >= static_cast<std::size_t>(options_.window)) break;
    Result<std::optional<OpTrace>> step = store_.rows(job, id);
    if (!step || !*step || count + (*step)->size() > options_.max_pooled_rows) break;
    count += (*step)->size();
    rows.push_back(*std::move(*step));
  }
  std::ranges::reverse(rows);
  return rows;
}

// Nobody is told about a muted incident, nor about the end of one that nobody was told about.
void StepWorker::fill(IncidentBook& book, const IncidentChanges& changes, double now_s,
                      StepCommit& commit) const {
  for (const Incident& incident : book.open()) {
    if (incident.is_told || incident.is_muted(now_s)) continue;
    commit.notices.push_back({incident.key, IncidentEvent::kOpens});
  }
  const auto opens_now = commit.notices;
  for (const IncidentNotice& notice : opens_now) book.mark_told(notice.key);
  for (const IncidentChange& change : changes) {
    const Incident& incident = change.incident;
    if (change.event == IncidentEvent::kOpens) commit.steps_to_keep.push_back(incident.opened_at);
    const bool is_news = change.event == IncidentEvent::kChanges && !incident.is_muted(now_s) &&
                         std::ranges::find(opens_now, incident.key, &IncidentNotice::key) == opens_now.end();
    if (incident.is_told && (is_news || change.event == IncidentEvent::kCloses))
      commit.notices.push_back({incident.key, change.event});
    if (change.event == IncidentEvent::kCloses) commit.incidents.push_back(incident);
  }
  commit.incidents.insert(commit.incidents.end(), book.open().begin(), book.open().end());
  commit.incident_state = book.save();
  commit.sinks = options_.sinks;
}

bool StepWorker::commit(const StepCommit& commit) {
  std::string problem;
  while (true) {
    const Status stored = store_.commit(commit);
    if (stored) {
      status_.update([&](MonitorState& state) {
        state.set_problem(kResults, "");
        state.set_problem(kIncidentsOf + commit.job, "");
      });
      if (!problem.empty() && listener_.on_problem) listener_.on_problem({});
      return true;
    }
    if (problem.empty() && listener_.on_problem) listener_.on_problem(stored.error().message());
    problem = stored.error().message();
    status_.update([&](MonitorState& state) {
      state.set_problem(kResults, problem);
      state.beat_s = wall_time_s();  // the loop, which waits for this, is well
    });
    if (is_given_up_) return false;
    std::this_thread::sleep_for(options_.retry);
  }
}

void StepWorker::tell(const std::string& job, const IncidentChanges& changes) const {
  if (listener_.on_incident && !changes.empty()) listener_.on_incident(job);
}

void StepWorker::count_silence(double now_s) {
  for (auto& [job, book] : books_) {
    double waited_s = 0;
    {
      const std::lock_guard lock(mutex_);
      waited_s = std::exchange(quiet_[job].quiet_s, 0.0);
      if (!queue_.is_idle(job)) waited_s = 0;
    }
    const IncidentChanges changes = book.wait(waited_s, now_s);
    if (changes.empty()) continue;
    StepCommit step;
    step.job = job;
    fill(book, changes, now_s, step);
    if (commit(step)) tell(job, changes);
  }
}

void StepWorker::take_actions() {
  std::deque<PendingAction> actions;
  {
    const std::lock_guard lock(mutex_);
    actions.swap(actions_);
  }
  for (PendingAction& pending : actions) pending.done.set_value(apply(pending.action));
}

Result<std::optional<Incident>> StepWorker::apply(const IncidentAction& action) {
  GOODPUT_TRY(const std::optional<Incident> stored, store_.incident(action.incident));
  if (!stored || !stored->is_open()) return std::optional<Incident>();
  IncidentBook& book = book_of(stored->job);
  const double now_s = wall_time_s();
  IncidentChanges changes;
  bool is_done = false;
  switch (action.kind) {
    case IncidentAction::Kind::kAcknowledge:
      is_done = book.acknowledge(action.incident, {action.by, now_s});
      break;
    case IncidentAction::Kind::kMute:
      is_done = book.mute(action.incident, {action.by, now_s, now_s + action.mute_s});
      break;
    case IncidentAction::Kind::kEnd:
      if (std::optional<IncidentChange> ended = book.end(action.incident, {action.by, now_s})) {
        changes.push_back(*std::move(ended));
        is_done = true;
      }
      break;
  }
  if (!is_done) return std::optional<Incident>();
  StepCommit step;
  step.job = stored->job;
  fill(book, changes, now_s, step);
  if (!commit(step)) return Error{"the monitor is shutting down; try again when it is running"};
  if (listener_.on_incident) listener_.on_incident(stored->job);
  return store_.incident(action.incident);
}

}  // namespace goodput
