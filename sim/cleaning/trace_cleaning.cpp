#include "sim/cleaning/trace_cleaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "sim/cleaning/findings.h"
#include "sim/cleaning/plausible_times.h"
#include "sim/cleaning/step_list.h"
#include "sim/cleaning/step_selection.h"
#include "sim/cleaning/step_survey.h"
#include "sim/cleaning/whole_job.h"

namespace goodput {
namespace {

std::vector<std::int64_t> damaged_steps(const std::vector<CleaningFinding>& findings) {
  std::set<std::int64_t> steps;
  for (const CleaningFinding& finding : findings) {
    if (finding.rule == CleaningRule::kDamagedRows) steps.insert(finding.steps.begin(), finding.steps.end());
  }
  return {steps.begin(), steps.end()};
}

void note_recorded_sizes(const OpTrace& trace, CleanTrace& clean) {
  clean.recorded_rows = trace.size();
  clean.recorded_dp_size = std::int64_t{*std::max_element(trace.dp_rank.begin(), trace.dp_rank.end())} + 1;
  clean.recorded_pp_size = std::int64_t{*std::max_element(trace.stage.begin(), trace.stage.end())} + 1;
}

// Says why so few steps are left and what to do about it.
Error too_few_steps(const StepSurvey& survey) {
  const StepChoice& choice = survey.choice;
  if (const auto absent = absent_workers(survey.steps)) {
    return Error{
        fmt::format("there are no rows for some workers ({}); give their files too, one per host", *absent)};
  }
  std::string reason;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    if (choice.states[i] == StepState::kKept) kept.push_back(survey.steps[i].step);
    const bool is_damaged =
        choice.states[i] == StepState::kDamaged || choice.states[i] == StepState::kMissing;
    if (is_damaged && reason.empty()) reason = survey.problems[i];
  }
  const std::string counted = fmt::format("only {} of {} steps are complete, but at least half must be: {}",
                                          choice.kept, choice.kept + choice.damaged, reason);
  if (kept.empty()) return Error{counted};
  return Error{fmt::format("{}; to analyze only the complete steps, select them with {}: {}", counted,
                           kOption, step_list(kept)),
               {},
               "steps"};
}

Status check_choice(const StepSurvey& survey, const CleaningOptions& options) {
  const StepChoice& choice = survey.choice;
  for (const NumberRange& range : options.steps) {
    if (range.first != range.last) continue;
    for (std::size_t i = 0; i < survey.steps.size(); ++i) {
      if (survey.steps[i].step != range.first || choice.states[i] == StepState::kKept) continue;
      return Error{fmt::format("step {} cannot be analyzed: {}", range.first, survey.problems[i])};
    }
  }
  if (!choice.shape || choice.kept < choice.damaged) return too_few_steps(survey);
  return Ok{};
}

// Marks the rows of the kept steps and of the template.
std::vector<bool> rows_to_keep(const StepSurvey& survey, std::size_t rows) {
  std::vector<bool> marked(rows);
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    if (survey.choice.states[i] != StepState::kKept && survey.choice.template_step != i) continue;
    for (const InstanceRow& at : survey.steps[i].rows) marked[at.row] = true;
  }
  return marked;
}

// Checks every step, leaves in `trace` what can be analyzed, and returns the numbers of the kept steps.
Result<std::vector<std::int64_t>> keep_whole_steps(OpTrace& trace, const CleaningOptions& options,
                                                   Findings& findings, CleanTrace& clean,
                                                   const std::vector<std::int64_t>& damaged) {
  const StepSurvey survey = survey_steps(trace, options, findings, damaged);
  for (const StepInstances& step : survey.steps) clean.recorded_steps.push_back(step.step);
  if (const auto problem = miscounting_worker(trace, options.step_origin_s)) return Error{*problem};
  GOODPUT_TRY_STATUS(check_choice(survey, options));
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    if (survey.choice.states[i] == StepState::kKept) kept.push_back(survey.steps[i].step);
  }
  keep_rows(trace, 0, rows_to_keep(survey, trace.size()));
  return kept;
}

bool is_named_singly(std::int64_t step, const CleaningOptions& options) {
  return std::ranges::any_of(
      options.steps, [step](const NumberRange& range) { return range.first == step && range.last == step; });
}

// Removes steps with impossible times from `trace` and `kept`, and indexes the rest again.
Status leave_out_implausible_steps(OpTrace& trace, TraceIndex& index, const CleaningOptions& options,
                                   Findings& findings, std::vector<std::int64_t>& kept) {
  GOODPUT_TRY(const std::vector<ImplausibleStep> steps, find_implausible_steps(trace, index));
  if (steps.empty()) return Ok{};
  std::set<std::int64_t> left_out;
  for (const ImplausibleStep& implausible : steps) {
    const bool was_kept = std::erase(kept, implausible.step) > 0;
    if (options.strict && was_kept) return Error{implausible.problem};
    if (is_named_singly(implausible.step, options))
      return Error{fmt::format("step {} cannot be analyzed: {}", implausible.step, implausible.problem)};
    if (was_kept) findings.add(implausible.rule, 1, implausible.step, implausible.problem);
    left_out.insert(implausible.step);
  }
  if (kept.empty()) return Error{steps.front().problem};
  std::vector<bool> keeps_rows(trace.size());
  for (std::size_t row = 0; row < trace.size(); ++row) keeps_rows[row] = !left_out.contains(trace.step[row]);
  keep_rows(trace, 0, keeps_rows);
  GOODPUT_TRY(index, index_trace(trace));
  return Ok{};
}

// Reports workers recorded under several ranks; the index has the rank of the latest step.
void find_replaced_workers(const OpTrace& trace, const TraceIndex& index, Findings& findings) {
  const auto workers =
      static_cast<std::size_t>(std::count(index.has_more_ranks.begin(), index.has_more_ranks.end(), 1));
  if (workers == 0) return;
  const auto stages = static_cast<std::size_t>(index.pp_size());
  std::set<std::int64_t> steps;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const std::size_t worker =
        static_cast<std::size_t>(trace.dp_rank[row]) * stages + static_cast<std::size_t>(trace.stage[row]);
    if (index.has_more_ranks[worker] != 0 && trace.rank[row] != index.ranks[worker])
      steps.insert(trace.step[row]);
  }
  const auto first = static_cast<std::size_t>(
      std::find(index.has_more_ranks.begin(), index.has_more_ranks.end(), 1) - index.has_more_ranks.begin());
  const std::string detail =
      fmt::format("dp_rank {}, stage {}: now rank {}", first / stages, first % stages, index.ranks[first]);
  std::size_t counted = workers;
  for (const std::int64_t step : steps) {
    findings.add(CleaningRule::kReplacedWorkers, std::exchange(counted, 0), step, detail);
  }
}

std::vector<std::uint32_t> select(const TraceIndex& index, const std::vector<std::int64_t>& kept) {
  std::vector<std::uint32_t> selected;
  for (std::uint32_t i = 0; i < index.steps.size(); ++i) {
    if (std::binary_search(kept.begin(), kept.end(), index.steps[i])) selected.push_back(i);
  }
  return selected;
}

}  // namespace

Result<CleanTrace> clean_trace(OpTrace trace, const std::vector<CleaningFinding>& findings_of_readers,
                               const CleaningOptions& options) {
  if (trace.size() == 0) return Error{"contains no ops"};
  if (options.strict) GOODPUT_TRY_STATUS(refuse_strictly(findings_of_readers));
  CleanTrace clean;
  note_recorded_sizes(trace, clean);
  const std::vector<std::int64_t> damaged = damaged_steps(findings_of_readers);
  Findings findings(findings_of_readers);
  Result<TraceIndex> index = index_trace(trace);
  if (!index && options.strict) return std::move(index).error();
  std::vector<std::int64_t> kept;
  if (index && damaged.empty()) {
    clean.recorded_steps = index->steps;
    std::copy_if(index->steps.begin(), index->steps.end(), std::back_inserter(kept),
                 [&](std::int64_t step) { return is_asked_for(step, options.steps); });
  } else {
    GOODPUT_TRY(kept, keep_whole_steps(trace, options, findings, clean, damaged));
    index = index_trace(trace);
    if (!index) return std::move(index).error();
  }
  GOODPUT_TRY_STATUS(check_whole_job(*index));
  GOODPUT_TRY_STATUS(leave_out_implausible_steps(trace, *index, options, findings, kept));
  find_replaced_workers(trace, *index, findings);
  clean.selected = select(*index, kept);
  clean.findings = std::move(findings).take();
  clean.index = *std::move(index);
  clean.trace = std::move(trace);
  return clean;
}

}  // namespace goodput
