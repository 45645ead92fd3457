#include "tools/monitor/monitor_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "tools/monitor/monitor_clock.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostStepsAhead = 1;  // that a file is read ahead of another one
constexpr std::int64_t kUnreadStep = std::numeric_limits<std::int64_t>::min();
constexpr std::chrono::milliseconds kLongestWait{500};
constexpr std::uint64_t kCaughtUpBytes = std::uint64_t{8} << 20;

// The folder and everything below it.
bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

FilePosition stored(const FollowedPosition& position) {
  return {position.path,       position.device, position.inode, position.head_hash,
          position.head_bytes, position.offset, position.seen,  position.is_done};
}

FollowedPosition followed(const FilePosition& position) {
  return {position.path,       position.device, position.inode, position.head_hash,
          position.head_bytes, position.offset, position.seen,  position.is_done};
}

}  // namespace

struct MonitorLoop::Job {
  std::string folder;
  JobIntake intake;
  std::vector<FileNumber> files;
  double last_row_s = 0;
};

MonitorLoop::MonitorLoop(MonitorLoopOptions options, StepQueue& queue, MonitorStatus& status)
    : options_(std::move(options)), queue_(&queue), status_(&status) {}
MonitorLoop::MonitorLoop(MonitorLoop&&) noexcept = default;
MonitorLoop::~MonitorLoop() = default;

Result<MonitorLoop> MonitorLoop::open(MonitorLoopOptions options, MonitorStore& store, StepQueue& queue,
                                      MonitorStatus& status) {
  MonitorLoop loop(std::move(options), queue, status);
  loop.store_ = &store;
  FollowOptions follow = loop.options_.follow;
  std::vector<FollowedPosition> known;
  std::set<std::string> names;
  for (const WatchedJob& job : loop.options_.jobs) {
    follow.folders.push_back(job.folder);
    names.insert(job.name);
    GOODPUT_TRY_STATUS(loop.add_job(job));
  }
  if (!loop.options_.spool.empty()) follow.folders.push_back(loop.options_.spool);
  // Of the spool each folder is a job; jobs may write the same.
  follow.owner_of = [folders = follow.folders, spool = loop.options_.spool](const std::string& path) {
    if (!spool.empty() && is_below(path, spool)) return path.substr(0, path.find('/', spool.size() + 1));
    const auto folder =
        std::ranges::find_if(folders, [&](const std::string& one) { return is_below(path, one); });
    return folder == folders.end() ? std::string() : *folder;
  };
  GOODPUT_TRY(const std::vector<JobInfo> stored_jobs, store.jobs());
  for (const JobInfo& job : stored_jobs) {
    if (!names.contains(job.name) && loop.options_.spool.empty()) continue;
    GOODPUT_TRY(const std::vector<FilePosition> positions, store.positions(job.name));
    for (const FilePosition& position : positions) {
      // The job may have been watched in another folder then.
      if (!follow.owner_of(position.path).empty()) known.push_back(followed(position));
    }
  }
  GOODPUT_TRY(loop.files_, FollowedFiles::open(follow, known));
  GOODPUT_TRY_STATUS(loop.take_over_known_files());
  return loop;
}

Result<MonitorLoop::Job*> MonitorLoop::add_job(const WatchedJob& watched) {
  JobIntakeOptions options{watched.name, options_.metadata_path, watched.folder, options_.seconds_per_unit,
                           options_.steps};
  GOODPUT_TRY(JobIntake intake, JobIntake::open(std::move(options)));
  GOODPUT_TRY(const std::string state, store_->intake_state(watched.name));
  if (!state.empty()) GOODPUT_TRY_STATUS(intake.steps().restore(state));
  // A job that was silent before a restart still is.
  GOODPUT_TRY(const std::optional<JobInfo> stored, store_->job(watched.name));
  const double last_row_s = stored && stored->latest ? stored->latest->received_s : 0;
  jobs_.push_back(std::make_unique<Job>(Job{watched.folder, std::move(intake), {}, last_row_s}));
  return jobs_.back().get();
}

std::vector<std::string> MonitorLoop::job_names() const {
  std::vector<std::string> names;
  for (const auto& job : jobs_) names.push_back(job->intake.facts().name);
  return names;
}

void MonitorLoop::stop() {
  *is_stopped_ = true;
  files_->wake();
}

// ---- Files and their jobs.

Result<MonitorLoop::Job*> MonitorLoop::job_of_path(const std::string& path) {
  for (const auto& job : jobs_) {
    if (is_below(path, job->folder)) return job.get();
  }
  GOODPUT_CHECK(!options_.spool.empty() && is_below(path, options_.spool),
                "the file is not in a watched folder");
  const std::string rest = path.substr(options_.spool.size() + 1);
  const std::string name = rest.substr(0, rest.find('/'));
  const auto known =
      std::ranges::find_if(jobs_, [&](const auto& job) { return job->intake.facts().name == name; });
  if (known != jobs_.end()) return known->get();
  return add_job({name, options_.spool + "/" + name});
}

Result<MonitorLoop::FileState*> MonitorLoop::state_of(FileNumber file) {
  FileState& state = file_states_[file];
  if (state.job != nullptr) return &state;
  state.log = files_->log_of(file);
  GOODPUT_TRY(state.job, job_of_path(state.log));
  // What was pushed of a job is one stream, in the order in which it came.
  if (!options_.spool.empty() && is_below(state.log, options_.spool))
    state.log.resize(state.log.find('/', options_.spool.size() + 1));
  state.job->files.push_back(file);
  return &state;
}

Status MonitorLoop::take_over_known_files() {
  for (const FileNumber file : files_->files()) {
    GOODPUT_TRY(FileState * state, state_of(file));
    const FollowedPosition position = files_->position(file);
    state->read_to = position.offset;
    state->told_path = position.path;
    state->told_offset = position.offset;
    state->told_seen = position.seen;
  }
  return Ok{};
}

// Of each log the oldest part, those whose steps are furthest behind first.
Result<std::vector<MonitorLoop::ReadableFile>> MonitorLoop::readable_files() {
  std::vector<ReadableFile> readable;
  std::set<std::string_view> logs;
  for (const FileNumber file : files_->readable()) {
    GOODPUT_TRY(const FileState* state, state_of(file));
    if (!logs.insert(state->log).second) continue;
    readable.push_back({file, state->job->intake.step_of(file).value_or(kUnreadStep)});
  }
  std::ranges::stable_sort(readable, {}, &ReadableFile::step);
  return readable;
}

// ---- Reading.

Status MonitorLoop::take(const FollowedPiece& piece) {
  GOODPUT_TRY(FileState * state, state_of(piece.file));
  Job& job = *state->job;
  const double now_s = steady_time_s();
  const std::uint64_t rows = job.intake.rows();
  if (piece.kind == FollowedPiece::Kind::kGone) {
    if (on_note)
      on_note(
          fmt::format("{}: the file was removed, truncated or replaced before it was read completely; its "
                      "content from byte {} on is lost",
                      piece.path, piece.offset));
    return Ok{};
  }
  if (piece.kind == FollowedPiece::Kind::kWhole)
    job.intake.take_file(piece, now_s);
  else
    job.intake.take(piece, files_->head(piece.file), now_s);
  state->read_to = piece.end;
  if (job.intake.rows() > rows && !piece.is_replay) job.last_row_s = wall_time_s();
  return Ok{};
}

// A piece of each file that is not ahead of others: the steps of a job come together, and little waits in
// memory. An empty piece is progress too: it shows that a file which was read before has nothing new.
Result<bool> MonitorLoop::read_some() {
  GOODPUT_TRY(const std::vector<ReadableFile> readable, readable_files());
  bool any = false;
  for (const ReadableFile& next : readable) {
    const std::int64_t lowest = readable.front().step;
    if (any && next.step > lowest && (lowest == kUnreadStep || next.step - lowest > kMostStepsAhead)) break;
    if (*is_stopped_) return false;
    const Result<FollowedPiece> piece = files_->read(next.file);
    if (!piece) {
      if (on_note) on_note(piece.error().message());
      continue;
    }
    any = any || piece->kind != FollowedPiece::Kind::kLines || !piece->text.empty();
    GOODPUT_TRY_STATUS(take(*piece));
    if (!hand_on(*file_states_.at(next.file).job)) return false;
  }
  return !readable.empty();
}

// The last lines, which have no end.
Status MonitorLoop::read_rests() {
  for (const FileNumber file : files_->files()) {
    while (true) {
      const Result<FollowedPiece> piece = files_->read_rest(file);
      if (!piece || (piece->kind == FollowedPiece::Kind::kLines && piece->text.empty())) break;
      GOODPUT_TRY_STATUS(take(*piece));
      if (piece->kind != FollowedPiece::Kind::kLines) break;
    }
  }
  return Ok{};
}

// ---- Handing on.

void MonitorLoop::note_positions(Job& job, QueuedStep& queued) {
  for (const FileNumber file : job.files) {
    FileState& state = file_states_.at(file);
    files_->set_used(file, job.intake.steps().used_up_to(file, state.read_to));
    const FollowedPosition position = files_->position(file);
    const bool is_moved = position.path != state.told_path;
    if (!is_moved && position.offset == state.told_offset && position.seen == state.told_seen) continue;
    if (is_moved && !state.told_path.empty()) queued.gone_files.push_back(state.told_path);
    state.told_path = position.path;
    state.told_offset = position.offset;
    state.told_seen = position.seen;
    if (!position.path.empty()) queued.positions.push_back(stored(position));
  }
  forget_files(job);
}

// Those that went long ago.
void MonitorLoop::forget_files(Job& job) {
  std::erase_if(job.files, [&](FileNumber file) {
    if (files_->is_known(file)) return false;
    file_states_.erase(file);
    job.intake.forget_file(file);
    return true;
  });
}

// False: nobody takes it any more.
bool MonitorLoop::push(Job& job, GatheredStep step) {
  const Status metadata = job.intake.look_for_metadata();
  if (!metadata && on_note) on_note(metadata.error().message());
  step.received_s += wall_time_s() - steady_time_s();  // as people read it
  QueuedStep queued{std::move(step), job.intake.facts(), {}, {}, job.intake.steps().save()};
  note_positions(job, queued);
  return queue_->push(std::move(queued), is_behind_ ? WhenFull::kSkip : WhenFull::kWait);
}

bool MonitorLoop::hand_on(Job& job) {
  // While a backlog is read, rows that lack may just not have been read yet.
  const bool is_caught_up = !options_.is_once && unread_ <= kCaughtUpBytes;
  const double now_s = is_caught_up ? steady_time_s() : 0;
  while (auto step = job.intake.steps().take(now_s)) {
    if (!push(job, *std::move(step))) return false;
  }
  return true;
}

// Whether more comes than is read: what was there at the beginning may take its time.
void MonitorLoop::look_at_backlog() {
  unread_by_folder_ = files_->unread_bytes();
  unread_ = 0;
  for (const auto& [folder, bytes] : unread_by_folder_) unread_ += bytes;
  allowed_unread_ = std::min(allowed_unread_, unread_ + options_.slack_bytes);
  is_behind_ = !options_.is_once && unread_ > allowed_unread_;
}

std::uint64_t MonitorLoop::unread_below(const std::string& folder) const {
  std::uint64_t unread = 0;
  for (const auto& [one, bytes] : unread_by_folder_) {
    if (one == folder || is_below(one, folder)) unread += bytes;
  }
  return unread;
}

// Until some step is to be given out as it is.
std::chrono::milliseconds MonitorLoop::longest_wait() const {
  constexpr std::chrono::milliseconds kShortest{10};
  std::chrono::milliseconds wait = kLongestWait;
  for (const auto& job : jobs_) {
    const std::optional<double> deadline_s = job->intake.steps().next_deadline();
    if (!deadline_s) continue;
    const auto left = std::chrono::duration<double>(*deadline_s - steady_time_s());
    wait = std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(left));
  }
  return std::max(wait, kShortest);
}

std::uint64_t MonitorLoop::unread_of(const Job& job) const {
  const std::string pushed = options_.spool + "/" + job.intake.facts().name;
  const bool has_pushed = !options_.spool.empty() && pushed != job.folder;
  return unread_below(job.folder) + (has_pushed ? unread_below(pushed) : 0);
}

std::vector<std::string> MonitorLoop::read_jobs() const {
  std::set<const Job*> unread;
  for (const FileNumber file : files_->readable()) {
    const auto state = file_states_.find(file);
    if (state != file_states_.end()) unread.insert(state->second.job);
  }
  std::vector<std::string> names;
  for (const auto& job : jobs_) {
    if (!unread.contains(job.get())) names.push_back(job->intake.facts().name);
  }
  return names;
}

void MonitorLoop::report() {
  status_->update([&](MonitorState& state) {
    state.beat_s = wall_time_s();
    state.uses_inotify = files_->uses_inotify();
    state.is_ready = true;
    state.spooled_bytes = options_.spool.empty() ? 0 : unread_below(options_.spool);
    for (const auto& job : jobs_) {
      const std::string& name = job->intake.facts().name;
      JobStatus& status = state.jobs[name];
      status.last_row_s = job->last_row_s;
      status.unread_bytes = unread_of(*job);
      status.bad_lines = job->intake.bad_lines();
      status.last_bad_line = job->intake.last_bad_line();
      status.late_rows = job->intake.steps().late_rows();
      status.open_steps = static_cast<std::int64_t>(job->intake.steps().open_steps());
      status.is_behind = is_behind_;
    }
  });
  for (const std::string& warning : files_->take_warnings()) {
    if (on_note) on_note(warning);
  }
  if (on_round) on_round();
}

Status MonitorLoop::run() {
  allowed_unread_ = std::numeric_limits<std::uint64_t>::max();
  while (!*is_stopped_) {
    files_->refresh();
    look_at_backlog();
    GOODPUT_TRY(const bool any, read_some());
    for (const auto& job : jobs_) hand_on(*job);
    report();
    if (queue_->is_closed()) break;
    if (any) continue;
    if (options_.is_once) break;
    files_->wait(longest_wait());
  }
  if (options_.is_once && !*is_stopped_) {
    GOODPUT_TRY_STATUS(read_rests());
    for (const auto& job : jobs_) {
      if (!hand_on(*job)) break;
      while (auto step = job->intake.steps().take_rest()) {
        if (!push(*job, *std::move(step))) break;
      }
    }
    report();
  }
  queue_->close(*is_stopped_ ? StepQueue::Waiting::kDrop : StepQueue::Waiting::kKeep);
  return Ok{};
}

}  // namespace goodput
