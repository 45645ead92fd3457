#include "tests/support/damaged_trace.h"

#include <algorithm>
#include <set>

#include "sim/base/float32.h"
#include "tests/support/trace_edits.h"

namespace goodput::testing {
namespace {

using Damage = std::optional<DamagedTrace>;

std::int64_t below(RandomStream& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
}

// From 1 to half of the steps, ascending, at random.
Steps some_steps(const OpTrace& trace, RandomStream& random) {
  const Steps all = steps_of(trace);
  std::set<std::int64_t> chosen;
  for (std::size_t i = 0; i < all.size() / 2; ++i) chosen.insert(all[random.below(all.size())]);
  return {chosen.begin(), chosen.end()};
}

double median_start(const OpTrace& trace, std::int64_t step) {
  std::vector<double> starts;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.step[i] == step) starts.push_back(trace.start_s[i]);
  }
  std::sort(starts.begin(), starts.end());
  return starts[starts.size() / 2];
}

// Last end - first start of a step.
double length_of(const OpTrace& trace, std::int64_t step) {
  double first = 1e300;
  double last = -1e300;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.step[i] != step) continue;
    first = std::min(first, trace.start_s[i]);
    last = std::max(last, trace.start_s[i] + trace.duration_s[i]);
  }
  return last - first;
}

DamagedTrace refused(OpTrace rows, const std::string& words) {
  DamagedTrace damaged;
  damaged.rows = std::move(rows);
  damaged.refusal = words;
  return damaged;
}

DamagedTrace left_out(const WholeTrace& whole, OpTrace rows, const Steps& steps, CleaningRule rule) {
  DamagedTrace damaged;
  damaged.rows = std::move(rows);
  damaged.want = without(whole.rows, steps);
  damaged.counts[rule] = steps.size();
  return damaged;
}

// ---- Steps that are not whole

Damage first_step_cut(const WholeTrace& whole, RandomStream&) {
  const std::int64_t step = steps_of(whole.rows).front();
  const double cut = median_start(whole.rows, step);
  return left_out(
      whole, filtered(whole.rows, [&](const OpRow& row) { return row.step != step || row.start_s >= cut; }),
      {step}, CleaningRule::kMissingOps);
}

Damage last_step_cut(const WholeTrace& whole, RandomStream&) {
  const std::int64_t step = steps_of(whole.rows).back();
  const double cut = median_start(whole.rows, step);
  return left_out(
      whole, filtered(whole.rows, [&](const OpRow& row) { return row.step != step || row.start_s < cut; }),
      {step}, CleaningRule::kMissingOps);
}

// One row in each of some steps.
std::set<std::size_t> one_row_of_each(const OpTrace& trace, const Steps& steps, RandomStream& random) {
  std::set<std::size_t> rows;
  for (const std::int64_t step : steps) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      if (trace.step[i] == step) all.push_back(i);
    }
    rows.insert(all[random.below(all.size())]);
  }
  return rows;
}

OpTrace without_rows(const OpTrace& trace, const std::set<std::size_t>& dropped) {
  OpTrace rows;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (dropped.count(i) == 0) append(rows, trace.row(i));
  }
  return rows;
}

Damage missing_ops(const WholeTrace& whole, RandomStream& random) {
  const Steps steps = some_steps(whole.rows, random);
  return left_out(whole, without_rows(whole.rows, one_row_of_each(whole.rows, steps, random)), steps,
                  CleaningRule::kMissingOps);
}

Damage damaged_rows(const WholeTrace& whole, RandomStream& random) {
  const Steps steps = some_steps(whole.rows, random);
  DamagedTrace damaged = left_out(whole, without_rows(whole.rows, one_row_of_each(whole.rows, steps, random)),
                                  steps, CleaningRule::kDamagedRows);
  damaged.findings.push_back({CleaningRule::kDamagedRows, steps.size(), steps, "duration is nan"});
  return damaged;
}

// A worker without rows in `steps`. All rows of the last replica together look like a smaller job.
Damage without_worker_in(const WholeTrace& whole, const Steps& steps, RandomStream& random) {
  const std::int64_t dp = below(random, dp_size(whole.rows));
  const std::int64_t stage = below(random, pp_size(whole.rows));
  if (dp_size(whole.rows) * pp_size(whole.rows) == 1) return std::nullopt;
  const bool is_replica = pp_size(whole.rows) == 1 && dp == dp_size(whole.rows) - 1 && dp > 0;
  OpTrace rows = filtered(whole.rows, [&](const OpRow& row) {
    return !(contains(steps, row.step) && row.dp_rank == dp && row.stage == stage);
  });
  return left_out(whole, std::move(rows), steps,
                  is_replica ? CleaningRule::kOtherShape : CleaningRule::kMissingOps);
}

Damage worker_begins_late(const WholeTrace& whole, RandomStream& random) {
  Steps steps = steps_of(whole.rows);
  steps.resize(1 + random.below((steps.size() - 1) / 2));
  return without_worker_in(whole, steps, random);
}

Damage worker_ends_early(const WholeTrace& whole, RandomStream& random) {
  Steps steps = steps_of(whole.rows);
  steps.erase(steps.begin(),
              steps.end() - static_cast<std::ptrdiff_t>(1 + random.below((steps.size() - 1) / 2)));
  return without_worker_in(whole, steps, random);
}

// A hole in the middle of the run, even when it leaves fewer replicas.
Damage replica_pauses(const WholeTrace& whole, RandomStream&) {
  const std::int64_t last = dp_size(whole.rows) - 1;
  const Steps all = steps_of(whole.rows);
  if (last == 0 || all.size() < 3) return std::nullopt;
  const std::int64_t step = all[all.size() / 2];
  return left_out(
      whole, filtered(whole.rows, [&](const OpRow& row) { return row.step != step || row.dp_rank != last; }),
      {step}, CleaningRule::kMissingOps);
}

Damage too_few_whole_steps(const WholeTrace& whole, RandomStream& random) {
  Steps steps = steps_of(whole.rows);
  steps.resize(steps.size() / 2 + 1);
  return refused(without_rows(whole.rows, one_row_of_each(whole.rows, steps, random)),
                 " steps are complete, but at least half must be: ");
}

// ---- Steps asked for

Damage damage_elsewhere(const WholeTrace& whole, RandomStream& random) {
  const Steps all = steps_of(whole.rows);
  const Steps steps = {all.back()};
  DamagedTrace damaged = left_out(whole, without_rows(whole.rows, one_row_of_each(whole.rows, steps, random)),
                                  steps, CleaningRule::kMissingOps);
  damaged.steps = {{all[1], all[all.size() - 2]}};
  damaged.counts.clear();
  return damaged;
}

Damage damage_in_template(const WholeTrace& whole, RandomStream& random) {
  const Steps all = steps_of(whole.rows);
  const Steps steps = {all.front()};
  DamagedTrace damaged = left_out(whole, without_rows(whole.rows, one_row_of_each(whole.rows, steps, random)),
                                  steps, CleaningRule::kMissingOps);
  damaged.steps = {{all[2], all.back()}};
  damaged.counts.clear();
  return damaged;
}

Damage damaged_step_asked_for(const WholeTrace& whole, RandomStream& random) {
  const Steps steps = some_steps(whole.rows, random);
  DamagedTrace damaged =
      refused(without_rows(whole.rows, one_row_of_each(whole.rows, steps, random)), "cannot be analyzed: ");
  damaged.steps = {{steps.front(), steps.front()}};
  return damaged;
}

// ---- Rows that are there twice

Damage rows_twice(const WholeTrace& whole, RandomStream& random) {
  DamagedTrace damaged{whole.rows, {}, {}, "", whole.rows, {}};
  std::set<std::size_t> repeated;
  for (int i = 0; i < 20; ++i) repeated.insert(random.below(whole.rows.size()));
  for (const std::size_t row : repeated) append(damaged.rows, whole.rows.row(row));
  damaged.counts[CleaningRule::kRepeatedRows] = repeated.size();
  return damaged;
}

Damage file_twice(const WholeTrace& whole, RandomStream&) {
  DamagedTrace damaged{whole.rows, {}, {}, "", whole.rows, {}};
  append_all(damaged.rows, whole.rows);
  damaged.counts[CleaningRule::kRepeatedRows] = whole.rows.size();
  return damaged;
}

Damage overlapping_files(const WholeTrace& whole, RandomStream& random) {
  DamagedTrace damaged{whole.rows, {}, {}, "", whole.rows, {}};
  const OpTrace overlap = only(whole.rows, some_steps(whole.rows, random));
  append_all(damaged.rows, overlap);
  damaged.counts[CleaningRule::kRepeatedRows] = overlap.size();
  return damaged;
}

// A step again, `away_s` later, or earlier, and slower.
OpTrace run_of(const WholeTrace& whole, std::int64_t step, double away_s, std::int64_t rank_shift = 0) {
  return changed(only(whole.rows, {step}), [&](OpRow& row) {
    row.start_s += away_s;
    row.duration_s *= 0.75;
    row.rank += rank_shift;
  });
}

Damage step_run_again(const WholeTrace& whole, RandomStream& random) {
  const Steps steps = some_steps(whole.rows, random);
  DamagedTrace damaged{whole.rows, {}, {}, "", whole.rows, {}};
  for (const std::int64_t step : steps) {
    append_all(damaged.rows, run_of(whole, step, whole.absolute ? -2 * length_of(whole.rows, step) : 1e-3));
  }
  damaged.counts[CleaningRule::kRepeatedSteps] = steps.size();
  if (whole.absolute) return damaged;
  damaged.want = without(whole.rows, steps);
  damaged.counts = {{CleaningRule::kUnorderedRepeats, steps.size()}};
  return damaged;
}

// Before the restart the step was cut, on other nodes.
Damage cut_step_run_again(const WholeTrace& whole, RandomStream& random) {
  if (!whole.absolute) return std::nullopt;
  const Steps steps = some_steps(whole.rows, random);
  DamagedTrace damaged{whole.rows, {}, {}, "", whole.rows, {}};
  for (const std::int64_t step : steps) {
    const OpTrace run = run_of(whole, step, -2 * length_of(whole.rows, step), 100'000);
    const double cut = median_start(run, step);
    append_all(damaged.rows, filtered(run, [&](const OpRow& row) { return row.start_s < cut; }));
  }
  damaged.counts[CleaningRule::kRepeatedSteps] = steps.size();
  return damaged;
}

// What was begun after a restart and cut does not replace what was complete.
Damage step_begun_again(const WholeTrace& whole, RandomStream&) {
  if (!whole.absolute) return std::nullopt;
  const std::int64_t step = steps_of(whole.rows).back();
  DamagedTrace damaged{whole.rows, {}, {}, "", whole.rows, {}};
  const OpTrace run = run_of(whole, step, 2 * length_of(whole.rows, step), 100'000);
  const double cut = median_start(run, step);
  append_all(damaged.rows, filtered(run, [&](const OpRow& row) { return row.start_s < cut; }));
  damaged.counts[CleaningRule::kRepeatedSteps] = 1;
  return damaged;
}

// All ranks of a tensor-parallel group recorded: nothing to choose by.
Damage tensor_parallel_peers(const WholeTrace& whole, RandomStream&) {
  OpTrace rows = whole.rows;
  append_all(rows, changed(whole.rows, [](OpRow& row) {
               row.rank += 100'000;
               row.start_s += 1e-6;
             }));
  return refused(std::move(rows), "is recorded twice in step");
}

Damage replaced_node(const WholeTrace& whole, RandomStream& random) {
  const std::int64_t last = steps_of(whole.rows).back();
  const std::int32_t rank = whole.rows.rank[random.below(whole.rows.size())];
  DamagedTrace damaged;
  damaged.rows = changed(whole.rows, [&](OpRow& row) {
    if (row.rank == rank && row.step < last) row.rank += 100'000;
  });
  damaged.want = whole.rows;
  damaged.counts[CleaningRule::kReplacedWorkers] = 1;
  return damaged;
}

// ---- Jobs that change

// The first steps are those of another job with the same steps.
Damage begins_as(const WholeTrace& whole, const std::optional<OpTrace>& other, std::size_t of_steps) {
  if (!other) return std::nullopt;
  Steps steps = steps_of(whole.rows);
  steps.resize(of_steps);
  OpTrace rows = only(*other, steps);
  append_all(rows, without(whole.rows, steps));
  return left_out(whole, std::move(rows), steps, CleaningRule::kOtherShape);
}

Damage batch_ramp_up(const WholeTrace& whole, RandomStream& random) {
  return begins_as(whole, whole.small, 1 + random.below(steps_of(whole.rows).size() / 2));
}

Damage replicas_join(const WholeTrace& whole, RandomStream& random) {
  return begins_as(whole, whole.narrow, 1 + random.below(steps_of(whole.rows).size() / 2));
}

Damage cut_steps_of_a_ramp_up(const WholeTrace& whole, RandomStream& random) {
  auto ramp = begins_as(whole, whole.small, 2);
  if (!ramp) return std::nullopt;
  const Steps all = steps_of(whole.rows);
  const Steps cut = {all[3]};
  ramp->rows = without_rows(ramp->rows, one_row_of_each(ramp->rows, cut, random));
  ramp->want = without(ramp->want, cut);
  ramp->counts[CleaningRule::kMissingOps] = 1;
  return ramp;
}

// ---- What no step tells

Damage worker_absent(const WholeTrace& whole, RandomStream& random) {
  const std::int64_t dp = below(random, dp_size(whole.rows));
  const std::int64_t stage = below(random, pp_size(whole.rows));
  if (dp_size(whole.rows) == 1) return std::nullopt;
  if (pp_size(whole.rows) == 1 && dp == dp_size(whole.rows) - 1) return std::nullopt;  // a smaller job
  return refused(
      filtered(whole.rows, [&](const OpRow& row) { return row.dp_rank != dp || row.stage != stage; }),
      "there are no rows for some workers (dp_rank " + std::to_string(dp));
}

Damage first_stage_absent(const WholeTrace& whole, RandomStream&) {
  if (pp_size(whole.rows) == 1) return std::nullopt;
  return refused(filtered(whole.rows, [](const OpRow& row) { return row.stage != 0; }),
                 "stage 0 of " + std::to_string(pp_size(whole.rows)) + " is not recorded in any step");
}

Damage last_stage_absent(const WholeTrace& whole, RandomStream&) {
  const std::int64_t last = pp_size(whole.rows) - 1;
  const bool has_chunks = *std::max_element(whole.rows.mc.begin(), whole.rows.mc.end()) > 0;
  if (last == 0) return std::nullopt;
  return refused(filtered(whole.rows, [&](const OpRow& row) { return row.stage != last; }),
                 last == 1 && has_chunks ? "the gmc values imply" : "later stages");
}

Damage rank_at_two_places(const WholeTrace& whole, RandomStream&) {
  const std::set<std::int32_t> ranks(whole.rows.rank.begin(), whole.rows.rank.end());
  if (ranks.size() == 1) return std::nullopt;
  return refused(changed(whole.rows,
                         [&](OpRow& row) {
                           if (row.rank == *ranks.begin()) row.rank = *ranks.rbegin();
                         }),
                 "every worker needs its own rank");
}

Damage microseconds(const WholeTrace& whole, RandomStream&) {
  return refused(changed(whole.rows,
                         [](OpRow& row) {
                           row.start_s *= 1e6;
                           row.duration_s *= 1e6;
                         }),
                 "the times are not in seconds");
}

Damage epoch_in_float32(const WholeTrace& whole, RandomStream&) {
  return refused(changed(whole.rows, [](OpRow& row) { row.start_s = round_to_float32(row.start_s + 1.7e9); }),
                 "the order of ops is lost");
}

}  // namespace

const std::vector<DamageKind>& damage_kinds() {
  static const std::vector<DamageKind> kKinds = {
      {"first step cut", first_step_cut},
      {"last step cut", last_step_cut},
      {"ops missing in some steps", missing_ops},
      {"rows that a reader could not use", damaged_rows},
      {"a worker begins late", worker_begins_late},
      {"a worker ends early", worker_ends_early},
      {"a replica pauses", replica_pauses},
      {"too few whole steps", too_few_whole_steps},
      {"damage outside of --steps", damage_elsewhere},
      {"damage in the first step, before --steps", damage_in_template},
      {"damage in the step asked for", damaged_step_asked_for},
      {"rows twice", rows_twice},
      {"a file twice", file_twice},
      {"overlapping files", overlapping_files},
      {"steps run again", step_run_again},
      {"cut steps run again", cut_step_run_again},
      {"a step begun again", step_begun_again},
      {"tensor-parallel peers", tensor_parallel_peers},
      {"a replaced node", replaced_node},
      {"batch ramp-up", batch_ramp_up},
      {"replicas join", replicas_join},
      {"cut steps of a ramp-up", cut_steps_of_a_ramp_up},
      {"a worker absent", worker_absent},
      {"the first stage absent", first_stage_absent},
      {"the last stage absent", last_stage_absent},
      {"a rank at two places", rank_at_two_places},
      {"microseconds", microseconds},
      {"seconds since 1970 in float32", epoch_in_float32},
  };
  return kKinds;
}

}  // namespace goodput::testing
