// Jobs that write logs while they run, record by record, for tests of what follows them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/live/open_step.h"
#include "sim/live/step_intake.h"
#include "sim/ops/op_trace.h"

namespace goodput::testing {

// Steps first .. last that a job runs in one go.
struct LiveRun {
  std::int64_t first = 1;
  std::int64_t last = 4;
  std::int32_t dp = 2;
  std::int32_t micro_batches = 3;
};

struct LiveJob {
  enum class Records : std::uint8_t { kTypes, kRows } records = Records::kTypes;  // what a record holds
  enum class Files : std::uint8_t { kWorker, kReplica, kOne } files = Files::kWorker;

  std::int32_t pp = 2;
  std::int32_t ranks = 1;          // that are recorded of each worker: tensor-parallel peers
  std::int32_t steps_a_flush = 1;  // that a record of kTypes holds
  bool is_absolute = true;         // times, since 1970
  bool has_seq_ids = true;
  bool states_sizes = true;
  std::map<WorkerKey, double> skew_s;  // clocks that are ahead of others
  std::vector<LiveRun> runs = {{}};

  static constexpr double kStep = 10;      // seconds that a step takes
  static constexpr double kRestart = 200;  // from a run to the next
};

struct LiveRecord {
  std::size_t file = 0;
  std::uint64_t offset = 0;  // in its file
  StepId id;                 // of its first row
  WorkerKey worker;
  std::int32_t rank = 0;
  OpTrace rows;
  RowSource source;
};

// In the order in which each file was written.
using LiveFiles = std::vector<std::vector<LiveRecord>>;
[[nodiscard]] LiveFiles write_files(const LiveJob& job, RandomStream& random);

// All records in one order, in which those of each file stay in theirs: at random, files far apart or close.
[[nodiscard]] std::vector<LiveRecord> interleave(const LiveFiles& files, RandomStream& random);

// The records for which this is true, with their offsets.
[[nodiscard]] std::vector<LiveRecord> kept(const std::vector<LiveRecord>& records,
                                           const std::function<bool(const LiveRecord&)>& keep);

// ---- What comes out of an intake.

struct LiveOutput {
  StepId id;
  StepStatus status = StepStatus::kAnalysed;
  std::uint64_t rows = 0;  // hash
  std::size_t ops = 0;
  std::vector<WorkerPlace> missing;
  std::string problem;
  std::size_t after = 0;  // so many records; one more than there are: of the rest

  [[nodiscard]] bool is_same(const LiveOutput& other) const;
};

[[nodiscard]] LiveOutput output_of(const GatheredStep& step, std::size_t after);
// Takes all records in at one moment, with take() after each, then the rest out.
[[nodiscard]] std::vector<LiveOutput> all_out(StepIntake& intake, const std::vector<LiveRecord>& records);
[[nodiscard]] std::vector<LiveOutput> all_out(const std::vector<LiveRecord>& records,
                                              const StepIntakeOptions& options = {});

// The rows of each step, as they were written; of jobs that record one rank a worker.
[[nodiscard]] std::map<StepId, OpTrace> true_steps(const std::vector<LiveRecord>& records);
// Checks that these are those steps, whole, each once, in order.
void check_all_whole(const std::vector<LiveOutput>& out, const std::map<StepId, OpTrace>& steps);

// A job of one run.
[[nodiscard]] LiveJob random_live_job(RandomStream& random);

[[nodiscard]] std::string to_text(const LiveJob& job);
[[nodiscard]] std::string to_text(const std::vector<LiveOutput>& out);

}  // namespace goodput::testing
