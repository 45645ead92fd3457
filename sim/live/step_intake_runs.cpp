// Of StepIntake: which run of the job rows are of.
#include <algorithm>
#include <cmath>

#include "sim/live/step_intake.h"

namespace goodput {
// Whether the rows are of a step that the rank has had already, and run again.
bool StepIntake::is_again(const RowGroup& group, const RankProgress& progress) const {
  if (!group.is_absolute() || progress.last_step[group.type] != group.step ||
      group.start_s <= progress.last_start_s[group.type])
    return false;
  const StepId id{progress.run, group.step};
  const auto open = open_.find(id);
  if (open == open_.end()) {
    const std::optional<double> end_s = runs_.end_of_last(progress.run);
    return runs_.is_whole(id) && end_s && group.start_s - progress.skew_s > *end_s;
  }
  const auto worker = open->second.workers.find(group.worker);
  if (worker == open->second.workers.end() || worker->second.rank != group.rank) return false;
  if (worker->second.is_complete) return true;
  const std::int32_t seq_id = group.rows->seq_id[group.first];
  if (seq_id >= 0) return seq_id <= progress.last_seq[group.type];
  return progress.before[group.type] > 0 && progress.counts[group.type] >= progress.before[group.type] &&
         group.start_s - progress.last_end_s > std::max(step_length_s_, 1.0);
}

// Of a rank that goes back. It joins a run that others began, or begins one.
std::int32_t StepIntake::next_run(const RowGroup& group, const RankProgress& progress) {
  if (!group.is_absolute()) return progress.run < runs_.latest() ? progress.run + 1 : runs_.begin({});
  const double start_s = group.start_s - progress.skew_s;
  // Its last op in the former run; of a clock that was set back since, the last of this type.
  const double last_s =
      progress.last_end_s < group.start_s ? progress.last_end_s : progress.last_start_s[group.type];
  double before_s = last_s - progress.skew_s;
  if (progress.run < runs_.latest()) {
    const std::int32_t run = std::max(progress.run + 1, runs_.run_at(start_s));
    // It may be the first to write of a run behind one that broke off before it wrote anything.
    const auto open = open_.find({run, group.step});
    if (run < runs_.latest() || open == open_.end() || start_s < open->second.end_s + kFarApart) return run;
    before_s = open->second.end_s;
  }
  return runs_.begin((before_s + start_s) / 2);
}

// The run of an open step that lacks this worker: the one at the same time, else the oldest.
std::optional<std::int32_t> StepIntake::find_open_run(const RowGroup& group,
                                                      const RankProgress& progress) const {
  std::optional<std::int32_t> oldest;
  for (std::int32_t run = open_.empty() ? runs_.latest() : open_.begin()->first.run; run <= runs_.latest();
       ++run) {
    const auto open = open_.find({run, group.step});
    if (open == open_.end() || open->second.workers.contains(group.worker)) continue;
    const std::optional<double>& others_s = open->second.first_start_s[group.type];
    if (others_s && std::abs(group.start_s - progress.skew_s - *others_s) < kFarApart) return run;
    if (!oldest) oldest = run;
  }
  return oldest;
}

// Of a rank of which nothing was read yet.
std::int32_t StepIntake::first_run(const RowGroup& group, const RankProgress& progress,
                                   const RowSource& source) {
  // What is read once more to show where each worker is.
  if (!group.is_absolute() && source.is_replay && runs_.is_finished({resumed_run_, group.step}))
    return resumed_run_;
  if (const auto open = find_open_run(group, progress)) return *open;
  if (!group.is_absolute()) {
    std::int32_t run = open_.empty() ? runs_.latest() : open_.begin()->first.run;
    while (run < runs_.latest() && runs_.is_finished({run, group.step})) ++run;
    return run;
  }
  const double start_s = group.start_s - progress.skew_s;
  const std::int32_t run = runs_.run_at(start_s);
  const std::optional<double> end_s = runs_.end_of_last(run);
  const bool is_back = run == runs_.latest() && !source.is_replay && runs_.is_whole({run, group.step}) &&
                       end_s && start_s > *end_s + kFarApart;
  return is_back ? runs_.begin((*end_s + start_s) / 2) : run;
}

StepIntake::ChosenRun StepIntake::choose_run(const RowGroup& group, const RankProgress& progress,
                                             const RowSource& source) {
  if (!progress.is_known) return {first_run(group, progress, source)};
  const bool is_behind = progress.run < runs_.latest();
  switch (order_of(progress, group)) {
    case RowOrder::kBack:
      return {next_run(group, progress)};
    case RowOrder::kOlder:
      // Its clock was set back, and others went back before it: its file goes on, and it had that step.
      if (is_behind && source.file == progress.file && runs_.is_whole({progress.run, group.step}))
        return {next_run(group, progress)};
      return {std::min(progress.run, runs_.run_at(group.start_s - progress.skew_s)), true};
    case RowOrder::kOnward:
      if (is_again(group, progress)) return {next_run(group, progress)};
      if (is_behind && group.is_absolute())
        return {std::max(progress.run, runs_.run_at(group.start_s - progress.skew_s))};
      break;
  }
  return {progress.run};
}

}  // namespace goodput
