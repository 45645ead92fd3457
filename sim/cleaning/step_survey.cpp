#include "sim/cleaning/step_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/cleaning/repeated_rows.h"
#include "sim/cleaning/step_list.h"
#include "sim/cleaning/step_selection.h"

namespace goodput {
namespace {

// The ops most dense steps have; null when no step is dense.
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

// Of steps with an op twice the last complete run, where times tell it.
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
        "{} is recorded twice in step {}, dp_rank {}; keep one row an op (were files given twice, or two "
        "ranks of one worker recorded?)",
        op_name(twice.op), step.step, twice.dp_rank);
    facts.is_damaged = true;
    if (facts.is_asked_for) findings.add(CleaningRule::kUnorderedRepeats, 1, step.step, survey.problems[i]);
  }
}

// The first op of `want` that a lane lacks, or how else the step differs.
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
  return fmt::format("step {} has ops or replicas that other steps have not", step.step);
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

// The steps of other shapes, shape by shape, and what the kept ones have.
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

void report_choice(Survey& survey, const StepChoice& choice, Findings& findings) {
  const std::vector<OpKey> want = choice.shape ? survey.sets.at(choice.shape->op_set) : all_ops(survey.steps);
  bool has_other_shapes = false;
  for (std::size_t i = 0; i < survey.steps.size(); ++i) {
    const std::int64_t step = survey.steps[i].step;
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

StepSurvey survey_steps(const OpTrace& trace, std::span<const NumberRange> asked_for, Findings& findings,
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
    facts.is_asked_for = is_asked_for(step.step, asked_for);
    facts.is_damaged = std::binary_search(damaged_steps.begin(), damaged_steps.end(), step.step);
    if (facts.is_damaged) survey.problems[i] = fmt::format("step {} has damaged rows", step.step);
    const std::size_t dropped = drop_repeated_rows(trace, step);
    if (dropped > 0 && facts.is_asked_for) findings.add(CleaningRule::kRepeatedRows, dropped, step.step);
    facts.shape = shape_of(step.rows, survey.sets);
    survey.facts.push_back(facts);
  }
  resolve_repeated_steps(survey, findings);
  StepSurvey result{{}, choose_steps(survey.facts, survey.sets), {}};
  report_choice(survey, result.choice, findings);
  result.steps = std::move(survey.steps);
  result.problems = std::move(survey.problems);
  return result;
}

}  // namespace goodput
