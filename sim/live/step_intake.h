// Puts the steps of a running job together from rows as its workers' files bring them.
//
// A step is ready when every worker has it: as many ops of every type as workers of its stage had in the step
// before, or, where that is not known or does not fit, when every worker has gone on to another step. What is
// not ready a while after its last row came is given out all the same, with the workers that are missing; so
// are the earlier steps once a later one is whole, for the rows of a worker come in order. Nothing is made
// up.
//
// How many workers there are the job's metadata says, else the lines of the step, else other lines. Where
// none do, all that were seen in the run have to be there, and the first step waits until no new one came for
// `grace_s`.
//
// A worker whose steps go back begins a new run of the job, or joins one that others began (job_runs.h).
// Times are compared on the same clock only, or corrected by what its host's clock is ahead of others, so
// that clocks that are minutes apart or are set make no new run. What cannot be told:
// - relative times: the same step run again at once, whose rows look like more of it
// - absolute times: the same step run again at once, where its rows have no seq_id and the type of op at
// which
//   it broke off is not whole, or where less time passed than a step takes
// - a worker that goes back while its clock is set back, when no other worker goes back: its rows look older
//   than those that were read, and are late
// - runs that broke off before some workers wrote anything, while the files of others are read far behind:
//   their steps may be given out incomplete, until new rows come
// - a worker that is new in a run, when it is the first to bring rows of it
// - a clock that is set forward while its worker still has rows to bring of a run that others have left
//
// Pure: times are the caller's, so are files. Steps of a run come out in ascending order, but for rows that
// come after the steps behind theirs were given out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/live/job_runs.h"
#include "sim/live/open_step.h"
#include "sim/live/rank_progress.h"
#include "sim/live/step_check.h"
#include "sim/live/step_result.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_trace.h"

namespace goodput {

struct StepIntakeOptions {
  std::int64_t every = 1;             // steps that are no multiple of it are skipped
  double grace_s = 30;                // from a step's last row until it is given out as it is
  std::size_t most_rows = 8'000'000;  // of all open steps: beyond it the oldest goes out as it is; what is
                                      // kept of a worker counts as a few rows
  // As the job's metadata says; else what its files state, else as many as were seen.
  std::optional<std::int32_t> dp_size;
  std::optional<std::int32_t> pp_size;
};

// Where rows come from.
struct RowSource {
  std::size_t file = 0;      // the caller's number of it
  std::uint64_t offset = 0;  // of the line in it
  bool is_replay = false;    // read by a former process: what is finished is no news
  std::int64_t dp_size = 0;  // of the job, as this line or file states them; 0: it does not
  std::int64_t pp_size = 0;
};

// A step that is as whole as it gets.
struct GatheredStep {
  StepId id;
  StepStatus status = StepStatus::kAnalysed;  // kAnalysed: it may be analysed; kIncomplete, kSkipped: not
  OpTrace rows;
  std::vector<CleaningFinding> findings;
  std::vector<WorkerPlace> missing;  // of which rows lack, when kIncomplete; the first 10,000
  std::string problem;               // then: in words
  std::int64_t ops = 0;
  double began_s = 0;     // Unix time of its first op; 0: times are relative
  double received_s = 0;  // by the clock of those who called add()
};

class StepIntake {
 public:
  explicit StepIntake(StepIntakeOptions options) : options_(options) {}

  // The rows first .. last-1, of one record of a log or of a line. `rows`: as read.
  void add(const OpTrace& rows, std::size_t first, std::size_t last, const RowSource& source, double now_s);
  // All rows of a file that is read as a whole: its workers have gone on from its steps.
  void add_file(const OpTrace& rows, const RowSource& source, double now_s);
  // What readers found in rows of these steps, of the latest run; of steps that are not open: forgotten. Call
  // it after add() of what came with them.
  void note_findings(const std::vector<CleaningFinding>& findings);
  // As the job's metadata says.
  void set_sizes(std::optional<std::int64_t> dp_size, std::optional<std::int64_t> pp_size);
  // Sizes that files state, for steps whose own lines do not (RowSource); 0: not stated.
  void note_sizes(std::int64_t dp_size, std::int64_t pp_size);

  // The next step that is ready by now. Call it until there is none.
  [[nodiscard]] std::optional<GatheredStep> take(double now_s);
  // The next one of what is open when nothing more will come.
  [[nodiscard]] std::optional<GatheredStep> take_rest();

  // Up to where a file of which `read_to` bytes were read is used up: all rows before belong to steps that
  // were given out. The last of these is read once more after a restart: it shows where each worker is.
  [[nodiscard]] std::uint64_t used_up_to(std::size_t file, std::uint64_t read_to) const;
  // Nothing of it comes any more. Its rows stay in their steps.
  void forget_file(std::size_t file) { whole_files_.erase(file); }
  // When take() is worth calling again though nothing comes.
  [[nodiscard]] std::optional<double> next_deadline() const;

  [[nodiscard]] std::size_t open_steps() const { return open_.size(); }
  [[nodiscard]] std::uint64_t late_rows() const { return late_rows_; }
  // Of rows that came, in the latest run.
  [[nodiscard]] std::optional<std::int64_t> latest_step() const { return latest_; }

  // What a process that goes on from used_up_to() needs to know.
  [[nodiscard]] std::string save() const;
  Status restore(std::string_view text);

 private:
  using OpenSteps = std::map<StepId, OpenStep>;

  // The workers of a run as rows show them.
  struct SeenWorkers {
    WorkerKey sizes{0, 0};
    double grown_s = -std::numeric_limits<double>::infinity();  // when that was more than before
    bool is_settled = true;                                     // for a while there were no new ones
  };
  struct ChosenRun {
    std::int32_t run = 0;
    bool is_older = false;  // rows that come after those that were written after them
  };

  [[nodiscard]] ChosenRun choose_run(const RowGroup& group, const RankProgress& progress,
                                     const RowSource& source);
  [[nodiscard]] std::int32_t first_run(const RowGroup& group, const RankProgress& progress,
                                       const RowSource& source);
  [[nodiscard]] std::optional<std::int32_t> find_open_run(const RowGroup& group,
                                                          const RankProgress& progress) const;
  [[nodiscard]] std::int32_t next_run(const RowGroup& group, const RankProgress& progress);
  [[nodiscard]] bool is_again(const RowGroup& group, const RankProgress& progress) const;

  void add_group(const RowGroup& group, bool is_new_record, const RowSource& source, double now_s);
  void fill(OpenStep& step, const RowGroup& group, RankProgress& progress, const RowSource& source);
  RankProgress* find_rank(const RowGroup& group);
  void note_seen(std::int32_t run, const WorkerKey& worker, double now_s);
  void note_late(const RowGroup& group, StepId id, const ChosenRun& chosen, const RowSource& source);
  OpenStep& open_step(StepId id);
  void move_on(const RowGroup& group, RankProgress& progress);
  void judge(OpenStep& step, const WorkerKey& key, OpenStep::Worker& worker,
             const RankProgress& progress) const;
  void judge_all();

  [[nodiscard]] WorkerKey sizes(const OpenStep& step) const;
  [[nodiscard]] bool knows_sizes(const OpenStep& step) const;
  [[nodiscard]] bool is_ready(const OpenStep& step) const;
  void settle(double now_s);
  [[nodiscard]] GatheredStep give_out(OpenSteps::iterator at);
  void learn(const OpenStep& step, bool is_whole);
  void pass_over_stopped_ranks(const OpenStep& step, const MissingWorkers& missing);
  void join_latest_run(const OpenStep& step);

  StepIntakeOptions options_;
  JobRuns runs_;
  std::int32_t resumed_run_ = 0;  // the latest that a former process knew
  OpenSteps open_;
  std::map<WorkerKey, WorkerRanks> workers_;
  std::size_t ranks_ = 0;  // of all workers
  KnownCounts known_;
  double step_length_s_ = 0;  // of the last one with absolute times
  WorkerKey stated_{0, 0};
  std::map<std::int32_t, SeenWorkers> seen_;                          // by run
  std::map<std::size_t, std::multiset<std::uint64_t>> open_offsets_;  // by file: where open steps begin
  std::map<std::size_t, std::uint64_t> last_offsets_;  // by file: where the step that was given out last did
  std::set<std::size_t> whole_files_;
  std::size_t open_rows_ = 0;
  std::size_t open_workers_ = 0;
  std::size_t last_rows_ = 0;  // of the step that was given out last
  std::uint64_t late_rows_ = 0;
  std::optional<std::int64_t> latest_;
};

}  // namespace goodput
