// A step of a running job while its rows come in, and what is known of each of its workers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/live/step_result.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_trace.h"
#include "sim/ops/op_type.h"

namespace goodput {

using TypeCounts = std::array<std::uint32_t, kNdtimelineTypeCount>;  // ops by index_of(type)

// What the workers of a stage record in a step.
using StageCounts = std::map<std::int32_t, TypeCounts>;

// dp_rank and stage: of several tensor-parallel ranks there the lowest counts.
using WorkerKey = std::pair<std::int32_t, std::int32_t>;

// Neighbouring rows of one record that are of one rank, step and type.
struct RowGroup {
  const OpTrace* rows = nullptr;
  std::size_t first = 0;
  std::size_t last = 0;  // one behind it
  WorkerKey worker;
  std::int32_t rank = 0;
  std::int64_t step = 0;
  std::size_t type = 0;         // index_of()
  double start_s = 0;           // of the first row
  double latest_start_s = 0;    // of all
  double latest_end_s = 0;      // of all
  std::int32_t latest_seq = 0;  // of all; kUnset: they have none

  [[nodiscard]] std::size_t size() const { return last - first; }
  // Unix seconds, not seconds from the beginning of a step.
  [[nodiscard]] bool is_absolute() const;
};

// The group that begins at `first`, of rows up to `last`. REQUIRES: first < last.
[[nodiscard]] RowGroup group_at(const OpTrace& rows, std::size_t first, std::size_t last);

struct OpenStep {
  struct Worker {
    std::int32_t rank = 0;     // the lowest that was seen
    TypeCounts counts{};       // of that rank
    bool is_complete = false;  // it has all that its stage has in other steps
    bool is_past = false;      // nothing more comes: it is complete, or went on to another step
  };

  StepId id;
  bool is_skipped = false;  // its rows are not kept
  OpTrace rows;
  std::map<WorkerKey, Worker> workers;
  std::size_t past_workers = 0;  // of which nothing more comes
  WorkerKey stated_sizes{0, 0};  // replicas and stages, as its lines state them; 0: they do not
  WorkerKey seen_sizes{0, 0};    // as its rows show them
  bool has_more_ranks = false;   // rows of other ranks than Worker::rank are among `rows`
  std::map<std::size_t, std::uint64_t> first_offset;  // by file: where its first row of this step is
  std::vector<CleaningFinding> findings;              // what of its rows could not be taken as it stood
  std::array<std::optional<double>, kNdtimelineTypeCount>
      first_start_s{};                                       // absolute, of the first row of each type
  double began_s = std::numeric_limits<double>::infinity();  // of absolute times
  double end_s = -std::numeric_limits<double>::infinity();
  double received_s = 0;  // its last row

  [[nodiscard]] bool has_absolute_times() const { return end_s > began_s; }
  void set_past(Worker& worker, bool is_past);
};

// Takes rows in, whose clock is `skew_s` ahead of others. Returns the worker, or nothing when its rank does
// not count.
OpenStep::Worker* take_group(OpenStep& step, const RowGroup& group, double skew_s);

// Leaves only rows of the ranks that count.
void drop_other_ranks(OpenStep& step);

// By stage, the most ops of each type that any of its workers has.
[[nodiscard]] StageCounts count_stages(const OpenStep& step);

// Whether a worker has all that its stage has elsewhere.
[[nodiscard]] bool has_all(const TypeCounts& counts, const StageCounts& expected, std::int32_t stage);

// Whether there are passes both ways and an optimizer, which every worker has in every step.
[[nodiscard]] bool looks_whole(const TypeCounts& counts);

}  // namespace goodput
