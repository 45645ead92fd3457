#include "sim/cleaning/step_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/cleaning/repeated_rows.h"
#include "sim/cleaning/step_list.h"
#include "sim/cleaning/step_selection.h"

namespace goodput {
namespace {

// The most common set of ops of dense steps; null if no step is dense.
const std::vector<OpKey>* usual_ops(const std::vector<StepFacts>& facts, const OpSets& sets) {
  std::map<std::uint32_t, std::size_t> steps_of;
  for (const StepFacts& step : facts) {
    if (step.shape) ++steps_of[step.shape->op_set];
  }
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(steps_of.begin(), steps_of.end(), fewer);
  return most == steps_of.end() ? nullptr : &sets.at(most->first);
}

struct Survey {
  const OpTrace& trace;
  std::vector<StepInstances> steps;
  std::vector<StepFacts> facts;
  std::vector<std::string> problems;
  OpSets sets;
};

// Keeps the last complete run of steps that have an op twice, if the times show which run is the last.
void resolve_repeated_steps(Survey& survey, Findings& findings) {
  std::vector<std::size_t> repeated;
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    if (first_repeated_op(survey.steps[i])) repeated.push_back(i);
  }
  if (repeated.empty()) return;
  const bool is_relative = starts_are_relative(survey.trace, survey.steps);
  const std::vector<OpKey>* usual = usual_ops(survey.facts, survey.sets);
  const std::vector<OpKey> want = usual != nullptr ? *usual : std::vector<OpKey>{};
  for (const std::size_t i : repeated) {
    StepInstances& step = survey.steps[i];
    StepFacts& facts = survey.facts[i];
    auto run = is_relative || facts.is_damaged
                   ? std::nullopt
                   : last_complete_run(survey.trace, step, want.empty() ? nullptr : &want);
    if (run) {
      step.rows = *std::move(run);
      facts.shape = shape_of(step.rows, survey.sets);
      if (facts.is_asked_for) findings.add(CleaningRule::kRepeatedSteps, 1, step.step);
      continue;
    }
    const InstanceRow twice = *first_repeated_op(step);
    survey.problems[i] = fmt::format(
        "{} is recorded twice in step {}, dp_rank {}; keep one row per op (was a file given twice, or were "
        "two ranks of one worker recorded?)",
        op_name(twice.op), step.step, twice.dp_rank);
    facts.is_damaged = true;
    if (facts.is_asked_for) findings.add(CleaningRule::kUnorderedRepeats, 1, step.step, survey.problems[i]);
  }
}

// Steps with fewer replicas or stages than the job is known to have.
void find_smaller_steps(Survey& survey, const CleaningOptions& options, Findings& findings) {
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    StepFacts& facts = survey.facts[i];
    if (!facts.shape || facts.is_damaged) continue;
    const std::int64_t stages = stage_of(survey.sets.at(facts.shape->op_set).back()) + 1;
    const bool lacks_replica = facts.shape->replicas < options.dp_size;
    if (!lacks_replica && stages >= options.pp_size) continue;
    facts.is_damaged = true;
    survey.problems[i] = fmt::format(
        "{} is missing in step {}, but the job has {} {}; either its log is incomplete or {} in the metadata "
        "is wrong",
        lacks_replica ? fmt::format("dp_rank {}", facts.shape->replicas) : fmt::format("stage {}", stages),
        survey.steps[i].step, lacks_replica ? options.dp_size : options.pp_size,
        lacks_replica ? "replicas" : "stages", lacks_replica ? "dp_size" : "pp_size");
    if (facts.is_asked_for)
      findings.add(CleaningRule::kMissingOps, 1, survey.steps[i].step, survey.problems[i]);
  }
}

// The longest time from the first start to the last end of a worker.
double longest_span_s(const OpTrace& trace, const StepInstances& step) {
  std::map<std::pair<std::int32_t, std::int16_t>, std::pair<double, double>> spans;
  for (const InstanceRow& at : step.rows) {
    const double start = trace.start_s[at.row];
    const double end = start + trace.duration_s[at.row];
    const auto [entry, is_new] = spans.try_emplace({at.dp_rank, stage_of(at.op)}, start, end);
    if (is_new) continue;
    entry->second.first = std::min(entry->second.first, start);
    entry->second.second = std::max(entry->second.second, end);
  }
  double longest = 0;
  for (const auto& [worker, span] : spans) longest = std::max(longest, span.second - span.first);
  return longest;
}

// The number of leading steps that are complete but have another shape and take longer than the kept steps.
std::size_t count_warm_up(const Survey& survey, const StepChoice& choice) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    if (choice.states[i] == StepState::kKept) kept.push_back(longest_span_s(survey.trace, survey.steps[i]));
  }
  if (kept.empty() || !choice.shape) return 0;
  const double usual = take_median(kept);
  std::size_t count = 0;
  while (count < survey.steps.size()) {
    const StepState state = choice.states[count];
    const bool is_other = state == StepState::kMissing || state == StepState::kOtherShape;
    if (!is_other || !survey.facts[count].shape ||
        survey.facts[count].shape->replicas != choice.shape->replicas ||
        longest_span_s(survey.trace, survey.steps[count]) <= usual)
      break;
    ++count;
  }
  return count;
}

// Names the first op of `want` that a lane lacks, or how else the step differs.
std::string what_is_missing(const StepInstances& step, const std::vector<OpKey>& want,
                            std::int32_t replicas) {
  std::int32_t replica = 0;
  for (std::size_t begin = 0; begin < step.rows.size(); ++replica) {
    const std::size_t end = end_of_lane(step.rows, begin);
    if (step.rows[begin].dp_rank != replica) break;
    std::size_t at = begin;
    for (const OpKey op : want) {
      while (at < end && step.rows[at].op < op) ++at;
      if (at == end || step.rows[at].op != op) {
        return fmt::format("{} is missing in step {}, dp_rank {}", op_name(op), step.step, replica);
      }
    }
    begin = end;
  }
  if (replica < replicas || (!step.rows.empty() && replica <= step.rows.back().dp_rank)) {
    return fmt::format("dp_rank {} is missing in step {}", replica, step.step);
  }
  return fmt::format("step {} has ops or replicas that other steps do not have", step.step);
}

std::vector<OpKey> all_ops(const std::vector<StepInstances>& steps) {
  std::set<OpKey> ops;
  for (const StepInstances& step : steps) {
    for (const InstanceRow& at : step.rows) ops.insert(at.op);
  }
  return {ops.begin(), ops.end()};
}

std::string describe_shape(const OpTrace& trace, const StepInstances& step, const StepShape& shape) {
  std::set<std::int32_t> micro_batches;
  std::size_t passes = 0;
  for (const InstanceRow& at : step.rows) {
    if (at.dp_rank != 0 || stage_of(at.op) != 0 || type_of(at.op) != OpType::kForwardCompute) continue;
    ++passes;
    if (trace.mb_id[at.row] != kUnset) micro_batches.insert(trace.mb_id[at.row]);
  }
  const std::size_t count = micro_batches.empty() ? passes : micro_batches.size();
  return fmt::format("{} micro-batch{}, {} replica{}", count, count == 1 ? "" : "es", shape.replicas,
                     shape.replicas == 1 ? "" : "s");
}

// Lists the steps of each other shape, and how they differ from the kept steps.
std::string describe_other_shapes(const Survey& survey, const StepChoice& choice) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes;
  std::string kept;
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    const StepState state = choice.states[i];
    if (state != StepState::kOtherShape && !(state == StepState::kKept && kept.empty())) continue;
    const std::string shape = describe_shape(survey.trace, survey.steps[i], *survey.facts[i].shape);
    if (state == StepState::kKept) {
      kept = shape;
      continue;
    }
    if (shapes.empty() || shapes.back().first != shape) shapes.push_back({shape, {}});
    shapes.back().second.push_back(survey.steps[i].step);
  }
  std::string text;
  for (const auto& [shape, steps] : shapes) text += fmt::format("{}: {}; ", named_steps(steps), shape);
  return text + "kept: " + kept;
}

// `has 2 grads-reduce-scatter ops instead of 1 on stage 0`, the first difference from the kept steps.
std::string describe_difference(const StepInstances& step, const std::vector<OpKey>& want) {
  std::map<std::pair<std::int16_t, OpType>, std::pair<std::size_t, std::size_t>> counts;
  for (const InstanceRow& at : step.rows) {
    if (at.dp_rank == 0) ++counts[{stage_of(at.op), type_of(at.op)}].first;
  }
  for (const OpKey op : want) ++counts[{stage_of(op), type_of(op)}].second;
  for (const auto& [kind, count] : counts) {
    if (count.first == count.second) continue;
    return fmt::format("has {} {} ops instead of {} on stage {}", count.first, to_string(kind.second),
                       count.second, kind.first);
  }
  return "has different operations";
}

void report_choice(Survey& survey, const StepChoice& choice, Findings& findings) {
  const std::vector<OpKey> want = choice.shape ? survey.sets.at(choice.shape->op_set) : all_ops(survey.steps);
  bool has_other_shapes = false;
  const std::size_t warm_up = count_warm_up(survey, choice);
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    const std::int64_t step = survey.steps[i].step;
    if (i < warm_up) {
      survey.problems[i] = fmt::format("step {} is a warm-up step: it takes longer than the others and {}",
                                       step, describe_difference(survey.steps[i], want));
      findings.add(CleaningRule::kWarmUp, 1, step, survey.problems[i]);
      continue;
    }
    if (choice.states[i] == StepState::kOtherShape) {
      findings.add(CleaningRule::kOtherShape, 1, step);
      survey.problems[i] = fmt::format("step {} has {}", step,
                                       describe_shape(survey.trace, survey.steps[i], *survey.facts[i].shape));
      has_other_shapes = true;
    }
    if (choice.states[i] != StepState::kMissing) continue;
    survey.problems[i] = what_is_missing(survey.steps[i], want, choice.shape ? choice.shape->replicas : 0);
    findings.add(CleaningRule::kMissingOps, 1, step, survey.problems[i]);
  }
  if (has_other_shapes) {
    findings.set_detail(CleaningRule::kOtherShape, describe_other_shapes(survey, choice));
  }
}

}  // namespace

StepSurvey survey_steps(const OpTrace& trace, const CleaningOptions& options, Findings& findings,
                        const std::vector<std::int64_t>& damaged_steps) {
  Survey survey{trace, list_instances(trace), {}, {}, {}};
  for (const std::int64_t step : damaged_steps) {
    const auto at = std::lower_bound(survey.steps.begin(), survey.steps.end(), step,
                                     [](const StepInstances& a, std::int64_t b) { return a.step < b; });
    if (at == survey.steps.end() || at->step != step) survey.steps.insert(at, {step, {}});
  }
  survey.problems.resize(survey.steps.size());
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    StepInstances& step = survey.steps[i];
    StepFacts facts;
    facts.is_asked_for = is_asked_for(step.step, options.steps);
    facts.is_damaged = std::binary_search(damaged_steps.begin(), damaged_steps.end(), step.step);
    if (facts.is_damaged) survey.problems[i] = fmt::format("step {} has damaged rows", step.step);
    const std::size_t dropped = drop_repeated_rows(trace, step);
    if (dropped > 0 && facts.is_asked_for) findings.add(CleaningRule::kRepeatedRows, dropped, step.step);
    facts.shape = shape_of(step.rows, survey.sets);
    survey.facts.push_back(facts);
  }
  resolve_repeated_steps(survey, findings);
  find_smaller_steps(survey, options, findings);
  StepSurvey result{{}, choose_steps(survey.facts, survey.sets), {}};
  report_choice(survey, result.choice, findings);
  result.steps = std::move(survey.steps);
  result.problems = std::move(survey.problems);
  return result;
}

}  // namespace goodput
