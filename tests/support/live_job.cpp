#include "tests/support/live_job.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/ops/op_type.h"
#include "tests/support/random_integer.h"
#include "tests/support/trace_edits.h"

namespace goodput::testing {
namespace {

constexpr std::array kTypes = {OpType::kParamsAllGather, OpType::kForwardCompute, OpType::kForwardSend,
                               OpType::kBackwardCompute, OpType::kOptimizer,      OpType::kGc};

std::int32_t ops_of(OpType type, const LiveJob& job, const LiveRun& run, std::int32_t stage) {
  if (type == OpType::kForwardSend) return stage + 1 < job.pp ? run.micro_batches : 0;
  return is_pass_compute(type) ? run.micro_batches : 1;
}

// When a run begins, by the clock of all.
double begin_of(const LiveJob& job, std::size_t run) {
  double begin_s = job.is_absolute ? 1.7e9 : 0;
  for (std::size_t i = 0; i < run && job.is_absolute; ++i)
    begin_s +=
        static_cast<double>(job.runs[i].last - job.runs[i].first + 1) * LiveJob::kStep + LiveJob::kRestart;
  return begin_s;
}

class Writer {
 public:
  Writer(const LiveJob& job, std::size_t run) : job_(job), run_(run) {}

  // The records of steps first .. last, which are flushed at once.
  std::vector<LiveRecord> flush(WorkerKey worker, std::int32_t peer, std::int64_t first, std::int64_t last) {
    const LiveRun& run = job_.runs[run_];
    std::vector<LiveRecord> records;
    for (std::size_t type = 0; type < kTypes.size(); ++type) {
      LiveRecord record = empty(worker, peer, first);
      for (std::int64_t step = first; step <= last; ++step) {
        for (std::int32_t i = 0; i < ops_of(kTypes[type], job_, run, worker.second); ++i) {
          append(record.rows, row(record, step, type, i));
          if (job_.records == LiveJob::Records::kRows) records.push_back(std::move(record));
          if (job_.records == LiveJob::Records::kRows) record = empty(worker, peer, step);
        }
      }
      if (record.rows.size() > 0) records.push_back(std::move(record));
    }
    return records;
  }

 private:
  LiveRecord empty(WorkerKey worker, std::int32_t peer, std::int64_t step) const {
    LiveRecord record;
    record.id = {static_cast<std::int32_t>(run_), step};
    record.worker = worker;
    record.rank = (worker.first * job_.pp + worker.second) * job_.ranks + peer;
    if (!job_.states_sizes) return record;
    record.source.dp_size = job_.runs[run_].dp;
    record.source.pp_size = job_.pp;
    return record;
  }

  OpRow row(const LiveRecord& record, std::int64_t step, std::size_t type, std::int32_t number) const {
    const LiveRun& run = job_.runs[run_];
    const auto skew = job_.skew_s.find(record.worker);
    double start_s = begin_of(job_, run_) + static_cast<double>(type) + 0.01 * number +
                     0.001 * record.worker.second + 0.0001 * record.worker.first;
    if (job_.is_absolute) start_s += static_cast<double>(step - run.first) * LiveJob::kStep;
    if (skew != job_.skew_s.end()) start_s += skew->second;
    OpRow op;
    op.dp_rank = record.worker.first;
    op.stage = record.worker.second;
    op.rank = record.rank;
    op.step = step;
    op.optype = kTypes[type];
    op.start_s = start_s;
    op.duration_s = 0.01;
    op.seq_id = job_.has_seq_ids ? number : kUnset;
    return op;
  }

  const LiveJob& job_;
  std::size_t run_;
};

}  // namespace

LiveFiles write_files(const LiveJob& job, RandomStream& random) {
  LiveFiles files;
  for (std::size_t run = 0; run < job.runs.size(); ++run) {
    const LiveRun& steps = job.runs[run];
    for (std::int64_t first = steps.first; first <= steps.last; first += job.steps_a_flush) {
      const std::int64_t last = std::min(first + job.steps_a_flush - 1, steps.last);
      LiveFiles writers;  // a worker or peer each
      for (std::int32_t dp = 0; dp < steps.dp; ++dp) {
        for (std::int32_t stage = 0; stage < job.pp; ++stage) {
          for (std::int32_t peer = 0; peer < job.ranks; ++peer)
            writers.push_back(Writer(job, run).flush({dp, stage}, peer, first, last));
        }
      }
      for (LiveRecord& record : interleave(writers, random)) {
        record.file = job.files == LiveJob::Files::kOne       ? 0
                      : job.files == LiveJob::Files::kReplica ? static_cast<std::size_t>(record.worker.first)
                                                              : static_cast<std::size_t>(record.rank);
        files.resize(std::max(files.size(), record.file + 1));
        record.offset = 100 * files[record.file].size();
        record.source.file = record.file;
        record.source.offset = record.offset;
        files[record.file].push_back(std::move(record));
      }
    }
  }
  return files;
}

std::vector<LiveRecord> interleave(const LiveFiles& files, RandomStream& random) {
  std::vector<std::size_t> next(files.size());
  std::vector<std::size_t> waiting;
  for (std::size_t file = 0; file < files.size(); ++file) {
    if (!files[file].empty()) waiting.push_back(file);
  }
  const std::uint64_t longest = 1 + random.below(20);  // piece that is read of a file at once
  std::vector<LiveRecord> records;
  while (!waiting.empty()) {
    const std::size_t at = random.below(waiting.size());
    const std::size_t file = waiting[at];
    for (std::uint64_t left = 1 + random.below(longest); left > 0 && next[file] < files[file].size(); --left)
      records.push_back(files[file][next[file]++]);
    if (next[file] == files[file].size()) waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return records;
}

std::vector<LiveRecord> kept(const std::vector<LiveRecord>& records,
                             const std::function<bool(const LiveRecord&)>& keep) {
  std::vector<LiveRecord> rest;
  std::ranges::copy_if(records, std::back_inserter(rest), keep);
  return rest;
}

bool LiveOutput::is_same(const LiveOutput& other) const {
  return id == other.id && status == other.status && rows == other.rows && ops == other.ops &&
         missing == other.missing && problem == other.problem;
}

LiveOutput output_of(const GatheredStep& step, std::size_t after) {
  return {step.id,      step.status, hash_rows(step.rows), static_cast<std::size_t>(step.ops), step.missing,
          step.problem, after};
}

std::vector<LiveOutput> all_out(StepIntake& intake, const std::vector<LiveRecord>& records) {
  std::vector<LiveOutput> out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    intake.add(records[i].rows, 0, records[i].rows.size(), records[i].source, 0);
    while (const auto step = intake.take(0)) out.push_back(output_of(*step, i + 1));
  }
  while (const auto step = intake.take_rest()) out.push_back(output_of(*step, records.size() + 1));
  return out;
}

std::vector<LiveOutput> all_out(const std::vector<LiveRecord>& records, const StepIntakeOptions& options) {
  StepIntake intake(options);
  return all_out(intake, records);
}

std::map<StepId, OpTrace> true_steps(const std::vector<LiveRecord>& records) {
  std::map<StepId, OpTrace> steps;
  for (const LiveRecord& record : records) {
    for (std::size_t row = 0; row < record.rows.size(); ++row)
      append(steps[{record.id.run, record.rows.step[row]}], record.rows.row(row));
  }
  return steps;
}

void check_all_whole(const std::vector<LiveOutput>& out, const std::map<StepId, OpTrace>& steps) {
  CAPTURE(to_text(out));
  REQUIRE(out.size() == steps.size());
  std::size_t i = 0;
  for (const auto& [id, rows] : steps) {
    CHECK(out[i].id == id);
    CHECK(out[i].status == StepStatus::kAnalysed);
    CHECK(out[i].ops == rows.size());
    CHECK(out[i].rows == hash_rows(rows));
    ++i;
  }
}

LiveJob random_live_job(RandomStream& random) {
  LiveJob job;
  job.records = random.below(3) == 0 ? LiveJob::Records::kRows : LiveJob::Records::kTypes;
  job.files = static_cast<LiveJob::Files>(random.below(3));
  job.pp = between(random, 1, 3);
  job.steps_a_flush = job.records == LiveJob::Records::kTypes ? between(random, 1, 3) : 1;
  job.is_absolute = random.below(2) == 0;
  job.has_seq_ids = random.below(2) == 0;
  job.runs = {{1, 4 + between(random, 0, 5), between(random, 1, 3), between(random, 1, 4)}};
  return job;
}

std::string to_text(const LiveJob& job) {
  std::string text =
      fmt::format("pp {} ranks {} flush {} {} {} {} files {}:", job.pp, job.ranks, job.steps_a_flush,
                  job.is_absolute ? "absolute" : "relative", job.has_seq_ids ? "ids" : "no ids",
                  job.records == LiveJob::Records::kRows ? "rows" : "types", static_cast<int>(job.files));
  for (const LiveRun& run : job.runs)
    text += fmt::format(" {}-{} (dp {}, {} micro-batches)", run.first, run.last, run.dp, run.micro_batches);
  for (const auto& [key, skew_s] : job.skew_s)
    text += fmt::format(" dp {} stage {} {:+.0f} s", key.first, key.second, skew_s);
  return text;
}

std::string to_text(const std::vector<LiveOutput>& out) {
  std::string text;
  for (const LiveOutput& step : out)
    text +=
        fmt::format("{}/{} {} ops {} after {} {}\n", step.id.run, step.id.step,
                    kStepStatuses[static_cast<std::size_t>(step.status)], step.ops, step.after, step.problem);
  return text;
}

}  // namespace goodput::testing
