#include "sim/live/step_intake.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sim/live/intake_state.h"

namespace goodput {
namespace {

constexpr std::size_t kMostRanks = std::size_t{1} << 18;       // whose progress is kept
constexpr std::int64_t kFarthestStep = std::int64_t{1} << 53;  // as in raw logs: sums stay far from overflow
constexpr std::size_t kRowsPerWorker = 4;  // as much memory as what an open step keeps of a worker

}  // namespace

// ---- Rows come in.

// Nothing when there are too many ranks.
RankProgress* StepIntake::find_rank(const RowGroup& group) {
  WorkerRanks& worker = workers_[group.worker];
  const auto known = worker.ranks.find(group.rank);
  if (known != worker.ranks.end()) return &known->second;
  if (ranks_ >= kMostRanks) return nullptr;
  ++ranks_;
  const double skew_s = worker.ranks.empty() ? 0 : worker.ranks.begin()->second.skew_s;
  RankProgress& progress = worker.ranks[group.rank];
  progress.skew_s = skew_s;  // peers share a host
  return &progress;
}

void StepIntake::note_seen(std::int32_t run, const WorkerKey& worker, double now_s) {
  SeenWorkers& seen = seen_[run];
  if (worker.first < seen.sizes.first && worker.second < seen.sizes.second) return;
  seen.sizes = {std::max(seen.sizes.first, worker.first + 1), std::max(seen.sizes.second, worker.second + 1)};
  seen.grown_s = now_s;
  seen.is_settled = false;
}

void StepIntake::note_late(const RowGroup& group, StepId id, const ChosenRun& chosen,
                           const RowSource& source) {
  if (source.is_replay) return;
  late_rows_ += group.size();
  // It was given out before all of it was there: what is expected of a worker is too little.
  if (chosen.is_older || known_.run != id.run || known_.expected.empty() || !runs_.is_whole(id)) return;
  known_.expected.clear();
  judge_all();
}

OpenStep& StepIntake::open_step(StepId id) {
  const auto [at, is_new] = open_.try_emplace(id);
  if (is_new) {
    at->second.id = id;
    at->second.is_skipped = id.step % options_.every != 0;
  }
  return at->second;
}

// What a worker wrote before a record of a later step of the same type is there as a whole.
void StepIntake::move_on(const RowGroup& group, RankProgress& progress) {
  const std::optional<std::int64_t>& last = progress.last_step[group.type];
  if (!last || group.step <= *last || *last <= progress.past) return;
  const auto from = open_.lower_bound({progress.run, progress.past});
  progress.past = *last;
  for (auto at = from; at != open_.end() && at->first <= StepId{progress.run, progress.past}; ++at) {
    const auto own = at->second.workers.find(group.worker);
    if (own != at->second.workers.end() && own->second.rank == group.rank)
      judge(at->second, group.worker, own->second, progress);
  }
}

void StepIntake::judge(OpenStep& step, const WorkerKey& key, OpenStep::Worker& worker,
                       const RankProgress& progress) const {
  worker.is_complete = known_.run == step.id.run && has_all(worker.counts, known_.expected, key.second);
  step.set_past(worker, worker.is_complete || progress.past > step.id.step ||
                            (progress.past == step.id.step && looks_whole(worker.counts)));
}

// All open steps anew: something else is expected of workers.
void StepIntake::judge_all() {
  for (auto& [id, step] : open_) {
    for (auto& [key, worker] : step.workers) judge(step, key, worker, workers_.at(key).ranks.at(worker.rank));
  }
}

void StepIntake::fill(OpenStep& step, const RowGroup& group, RankProgress& progress,
                      const RowSource& source) {
  constexpr std::size_t kFew = 4096;
  constexpr std::int64_t kMostStated = 1 << 20;
  const std::size_t rows = step.rows.size();
  const std::size_t workers = step.workers.size();
  if (rows >= kFew && step.rows.step.capacity() < last_rows_) step.rows.reserve(last_rows_);
  note_skew(progress, group, step);
  OpenStep::Worker* const worker = take_group(step, group, progress.skew_s);
  open_rows_ += step.rows.size() - rows;
  open_workers_ += step.workers.size() - workers;
  const auto stated = [](std::int32_t known, std::int64_t size) {
    return size > 0 && size <= kMostStated ? std::max(known, static_cast<std::int32_t>(size)) : known;
  };
  step.stated_sizes = {stated(step.stated_sizes.first, source.dp_size),
                       stated(step.stated_sizes.second, source.pp_size)};
  if (step.first_offset.try_emplace(source.file, source.offset).second)
    open_offsets_[source.file].insert(source.offset);
  if (worker != nullptr) judge(step, group.worker, *worker, progress);
}

void StepIntake::add_group(const RowGroup& group, bool is_new_record, const RowSource& source, double now_s) {
  RankProgress* const progress =
      std::abs(group.step) <= kFarthestStep ? find_rank(group) : nullptr;  // no step of a job
  if (progress == nullptr) {
    late_rows_ += source.is_replay ? 0 : group.size();
    return;
  }
  const ChosenRun chosen = choose_run(group, *progress, source);
  const StepId id{chosen.run, group.step};
  if (!chosen.is_older && (!progress->is_known || chosen.run != progress->run)) progress->enter(chosen.run);
  if (!chosen.is_older && is_new_record) move_on(group, *progress);
  const bool counts = workers_.at(group.worker).note(group.rank, chosen.run);
  if (counts && runs_.is_finished(id)) {
    note_late(group, id, chosen, source);
  } else if (counts) {
    note_seen(id.run, group.worker, now_s);
    OpenStep& step = open_step(id);
    step.received_s = now_s;
    fill(step, group, *progress, source);
  }
  if (chosen.is_older) return;
  progress->advance(group, source.file);
  if (chosen.run == runs_.latest()) latest_ = std::max(latest_.value_or(group.step), group.step);
}

void StepIntake::add(const OpTrace& rows, std::size_t first, std::size_t last, const RowSource& source,
                     double now_s) {
  const std::int32_t run = runs_.latest();
  for (std::size_t row = first; row < last;) {
    const RowGroup group = group_at(rows, row, last);
    // A record that holds several steps of a type says nothing of the other types of the earlier ones.
    const bool is_new_record =
        row == first || index_of(rows.optype[row - 1]) != group.type || rows.rank[row - 1] != group.rank;
    add_group(group, is_new_record, source, now_s);
    row = group.last;
  }
  if (runs_.latest() != run && last > first) latest_ = rows.step[last - 1];
}

void StepIntake::add_file(const OpTrace& rows, const RowSource& source, double now_s) {
  whole_files_.insert(source.file);
  add(rows, 0, rows.size(), source, now_s);
  for (auto& [id, step] : open_) {
    if (!step.first_offset.contains(source.file)) continue;
    for (auto& [key, worker] : step.workers) {
      RankProgress& progress = workers_.at(key).ranks.at(worker.rank);
      if (progress.file != source.file || progress.run != id.run) continue;
      progress.past = std::max(progress.past, id.step);
      judge(step, key, worker, progress);
    }
  }
}

void StepIntake::note_findings(const std::vector<CleaningFinding>& findings) {
  for (const CleaningFinding& finding : findings) {
    for (const std::int64_t number : finding.steps) {
      const auto open = std::find_if(open_.rbegin(), open_.rend(),
                                     [&](const auto& entry) { return entry.first.step == number; });
      if (open == open_.rend()) continue;
      std::vector<CleaningFinding>& of_step = open->second.findings;
      const auto known = std::ranges::find(of_step, finding.rule, &CleaningFinding::rule);
      if (known == of_step.end())
        of_step.push_back({finding.rule, finding.count, {number}, finding.detail});
      else
        known->count += finding.count;
    }
  }
}

void StepIntake::set_sizes(std::optional<std::int64_t> dp_size, std::optional<std::int64_t> pp_size) {
  if (dp_size) options_.dp_size = static_cast<std::int32_t>(*dp_size);
  if (pp_size) options_.pp_size = static_cast<std::int32_t>(*pp_size);
}

void StepIntake::note_sizes(std::int64_t dp_size, std::int64_t pp_size) {
  constexpr std::int64_t kMost = 1 << 20;
  if (dp_size > 0 && dp_size <= kMost) stated_.first = static_cast<std::int32_t>(dp_size);
  if (pp_size > 0 && pp_size <= kMost) stated_.second = static_cast<std::int32_t>(pp_size);
}

// ---- Steps go out.

bool StepIntake::knows_sizes(const OpenStep& step) const {
  return (options_.dp_size || step.stated_sizes.first > 0 || stated_.first > 0) &&
         (options_.pp_size || step.stated_sizes.second > 0 || stated_.second > 0);
}

// How many replicas and stages the job has in this step, as far as that is known.
WorkerKey StepIntake::sizes(const OpenStep& step) const {
  const auto seen = seen_.find(step.id.run);
  const WorkerKey in_run = seen == seen_.end() ? WorkerKey{1, 1} : seen->second.sizes;
  const auto choose = [](std::optional<std::int32_t> option, std::int32_t of_step, std::int32_t of_job,
                         std::int32_t of_run) {
    if (option) return *option;
    if (of_step > 0) return of_step;
    return of_job > 0 ? of_job : of_run;
  };
  return {std::max(step.seen_sizes.first,
                   choose(options_.dp_size, step.stated_sizes.first, stated_.first, in_run.first)),
          std::max(step.seen_sizes.second,
                   choose(options_.pp_size, step.stated_sizes.second, stated_.second, in_run.second))};
}

bool StepIntake::is_ready(const OpenStep& step) const {
  if (step.past_workers < step.workers.size()) return false;
  const auto [dp_size, pp_size] = sizes(step);
  if (step.workers.size() < static_cast<std::size_t>(dp_size) * static_cast<std::size_t>(pp_size))
    return false;
  return knows_sizes(step) || seen_.at(step.id.run).is_settled;
}

void StepIntake::settle(double now_s) {
  for (auto& [run, seen] : seen_) seen.is_settled |= now_s - seen.grown_s >= options_.grace_s;
}

// What a step that goes out tells of those behind it.
void StepIntake::learn(const OpenStep& step, bool is_whole) {
  StageCounts counts = count_stages(step);
  if (is_whole && (known_.run != step.id.run || known_.expected != counts)) {
    known_.run = step.id.run;
    known_.expected = counts;
    judge_all();
  }
  known_.given_before = std::move(counts);
}

// Of a worker whose lowest rank brings nothing any more, the next one counts that does.
void StepIntake::pass_over_stopped_ranks(const OpenStep& step, const MissingWorkers& missing) {
  for (const WorkerPlace& place : missing.places) {
    const auto worker = workers_.find({place.dp_rank, place.stage});
    if (worker == workers_.end() || worker->second.ranks.size() < 2) continue;
    for (const auto& [rank, progress] : worker->second.ranks) {
      if (rank <= worker->second.lowest || progress.run < step.id.run || progress.past < step.id.step)
        continue;
      worker->second.lowest = rank;
      break;
    }
  }
}

// Workers that wait in a run of relative times that others have left: they missed a run that broke off.
void StepIntake::join_latest_run(const OpenStep& step) {
  if (step.has_absolute_times() || step.id.run >= runs_.latest()) return;
  for (const auto& [key, worker] : step.workers) {
    RankProgress& progress = workers_.at(key).ranks.at(worker.rank);
    if (progress.run == step.id.run) progress.enter(runs_.latest());
  }
}

GatheredStep StepIntake::give_out(OpenSteps::iterator at) {
  OpenStep step = std::move(at->second);
  open_.erase(at);
  open_rows_ -= step.rows.size();
  open_workers_ -= step.workers.size();
  for (const auto& [file, offset] : step.first_offset) {
    const auto offsets = open_offsets_.find(file);
    offsets->second.erase(offsets->second.find(offset));
    if (offsets->second.empty()) open_offsets_.erase(offsets);
  }
  drop_other_ranks(step);
  GatheredStep gathered{step.id, StepStatus::kAnalysed, {}, std::move(step.findings), {}, {}, 0,
                        0,       step.received_s};
  if (step.has_absolute_times()) {
    gathered.began_s = step.began_s;
    step_length_s_ = step.end_s - step.began_s;
  }
  for (const auto& [key, worker] : step.workers) {
    for (const std::uint32_t count : worker.counts) gathered.ops += count;
  }
  last_rows_ = step.rows.size();
  gathered.rows = std::move(step.rows);
  const WorkerKey job = sizes(step);
  MissingWorkers missing = find_missing(step, job, known_);
  if (missing.count > 0) {
    for (WorkerPlace& place : missing.places) {
      const auto worker = workers_.find({place.dp_rank, place.stage});
      if (worker != workers_.end()) place.rank = worker->second.lowest;
    }
    pass_over_stopped_ranks(step, missing);
  }
  learn(step, missing.count == 0);
  runs_.finish(step.id, step.has_absolute_times() ? std::optional(step.end_s) : std::nullopt,
               missing.count == 0);
  if (step.is_skipped) {
    gathered.status = StepStatus::kSkipped;
  } else if (missing.count > 0) {
    gathered.status = StepStatus::kIncomplete;
    gathered.problem = describe_missing(step, missing, job);
    gathered.missing = std::move(missing.places);
  }
  last_offsets_ = std::move(step.first_offset);
  while (seen_.size() > 1 && !open_.empty() && seen_.begin()->first < open_.begin()->first.run &&
         seen_.begin()->first < step.id.run)
    seen_.erase(seen_.begin());
  return gathered;
}

std::optional<GatheredStep> StepIntake::take(double now_s) {
  if (open_.empty()) return std::nullopt;
  settle(now_s);
  // The oldest step goes out first: when it is ready, when a later one is, when nothing came of it for a
  // while, or when there is too much.
  const auto oldest = open_.begin();
  const bool is_over = std::ranges::any_of(open_, [&](const auto& entry) { return is_ready(entry.second); });
  const bool is_due = now_s - oldest->second.received_s >= options_.grace_s;
  const bool is_too_much = open_rows_ + kRowsPerWorker * open_workers_ > options_.most_rows;
  if (!is_over && !is_due && !is_too_much) return std::nullopt;
  if (is_due && !is_over) join_latest_run(oldest->second);
  return give_out(oldest);
}

std::optional<GatheredStep> StepIntake::take_rest() {
  if (open_.empty()) return std::nullopt;
  return give_out(open_.begin());
}

std::uint64_t StepIntake::used_up_to(std::size_t file, std::uint64_t read_to) const {
  std::uint64_t used = read_to;
  const auto open = open_offsets_.find(file);
  if (open != open_offsets_.end()) used = std::min(used, *open->second.begin());
  const auto last = last_offsets_.find(file);
  if (last != last_offsets_.end() && !whole_files_.contains(file)) used = std::min(used, last->second);
  return used;
}

std::optional<double> StepIntake::next_deadline() const {
  if (open_.empty()) return std::nullopt;
  double deadline_s = open_.begin()->second.received_s + options_.grace_s;
  for (const auto& [run, seen] : seen_) {
    if (!seen.is_settled) deadline_s = std::min(deadline_s, seen.grown_s + options_.grace_s);
  }
  return deadline_s;
}

// ---- Going on.

std::string StepIntake::save() const {
  IntakeState state{runs_, known_, step_length_s_, {}, {}};
  for (const auto& [run, seen] : seen_) state.seen_sizes.emplace_back(run, seen.sizes);
  for (const auto& [key, worker] : workers_) {
    state.workers.push_back({key, worker.run, worker.lowest, {}});
    for (const auto& [rank, progress] : worker.ranks) {
      if (progress.skew_s != 0) state.workers.back().skews_s.emplace_back(rank, progress.skew_s);
    }
  }
  return to_text(state);
}

Status StepIntake::restore(std::string_view text) {
  GOODPUT_TRY(IntakeState state, read_intake_state(text));
  runs_ = std::move(state.runs);
  resumed_run_ = runs_.latest();
  known_ = std::move(state.known);
  step_length_s_ = state.step_length_s;
  for (const auto& [run, seen] : state.seen_sizes) seen_[run].sizes = seen;
  for (const IntakeState::Worker& saved : state.workers) {
    WorkerRanks& worker = workers_[saved.key];
    worker.run = saved.run;
    worker.lowest = saved.lowest;
    for (const auto& [rank, skew_s] : saved.skews_s) worker.ranks[rank].skew_s = skew_s;
    ranks_ += worker.ranks.size();
  }
  return Ok{};
}

}  // namespace goodput
