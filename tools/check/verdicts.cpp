#include "tools/check/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "models/check/holm.h"

namespace goodput {
namespace {

std::int64_t size_of(const std::vector<double>& values) {
  return static_cast<std::int64_t>(values.size());
}

std::span<const double> first(const std::vector<double>& values, std::int64_t count) {
  return {values.data(), static_cast<std::size_t>(count)};
}

// ---- Why a figure moved, as far as results know.

constexpr std::size_t kMostParts = 3;
constexpr double kLeastShare = 0.001;  // of the sum of all parts: less is no reason

Parts parts_of(const std::map<std::string, Parts>& parts, const std::string& policy) {
  const auto found = parts.find(policy);
  return found == parts.end() ? Parts{} : found->second;
}

double value_of(const Parts& parts, const std::string& name) {
  const auto found = parts.find(name);
  return found == parts.end() ? 0 : found->second;
}

void add_moved_parts(const Parts& before, const Parts& now, std::vector<std::string>& lines) {
  std::vector<std::string> names;
  double sum = 0;
  for (const auto& [name, value] : before) {
    names.push_back(name);
    sum += std::abs(value);
  }
  for (const auto& [name, value] : now) {
    if (!before.contains(name)) names.push_back(name);
  }
  const auto moved = [&](const std::string& name) { return value_of(now, name) - value_of(before, name); };
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return std::abs(moved(a)) > std::abs(moved(b));
  });
  for (std::size_t i = 0; i < std::min(names.size(), kMostParts); ++i) {
    if (std::abs(moved(names[i])) <= kLeastShare * sum) return;
    lines.push_back(
        fmt::format("{}: {:.6g}, was {:.6g}", names[i], value_of(now, names[i]), value_of(before, names[i])));
  }
}

// What differs in what the run rests on (its config, its calibration, the program), then the parts that moved
// most, a line each.
std::vector<std::string> reasons(const RunOrigin& origin, const std::map<std::string, Parts>& parts,
                                 const RunFigures& now, const std::string& policy) {
  std::vector<std::string> lines;
  const bool has_other_calibration = origin.calibration != now.origin.calibration;
  if (has_other_calibration) {
    const auto named = [](const std::string& file) { return file.empty() ? "none" : file; };
    lines.push_back(
        fmt::format("calibration: {}, was {}", named(now.origin.calibration), named(origin.calibration)));
  }
  // The hash of the config counts the calibration's bytes.
  if (origin.config_hash != now.origin.config_hash && !has_other_calibration)
    lines.push_back(fmt::format("config hash: {}, was {}", now.origin.config_hash, origin.config_hash));
  if (origin.version != now.origin.version || origin.revision != now.origin.revision) {
    lines.push_back(fmt::format("code: {} ({}), was {} ({})", now.origin.version, now.origin.revision,
                                origin.version, origin.revision));
  }
  if (lines.empty()) lines.emplace_back("config, calibration and code revision are unchanged");
  add_moved_parts(parts_of(parts, policy), parts_of(now.parts, policy), lines);
  return lines;
}

// ---- Verdicts.

// Worst first: by outcome, then by how far it moved.
bool comes_first(const CheckedFigure& a, const CheckedFigure& b) {
  if (a.outcome != b.outcome) return a.outcome < b.outcome;
  const double moved_a = a.is_relative ? std::abs(a.change.value_or(0)) : 0;
  const double moved_b = b.is_relative ? std::abs(b.change.value_or(0)) : 0;
  if (a.outcome != Outcome::kSame && moved_a != moved_b) return moved_a > moved_b;
  return a.name < b.name;
}

Outcome moved(const MetricRule& rule, double difference) {
  if (rule.direction() == Direction::kSame) return Outcome::kChanged;
  return (difference > 0) == (rule.direction() == Direction::kMore) ? Outcome::kBetter : Outcome::kWorse;
}

// JSON, in short.
std::string text_of(const BaselineFigure& figure) {
  constexpr std::size_t kLongest = 100;
  const std::string text = figure.value ? fmt::format("{}", *figure.value) : figure.text;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

// Of figures as they are.
void compare(const BaselineFigure& before, const BaselineFigure& now, CheckedFigure& checked) {
  if (!before.value || !now.value) {
    if (before.text != now.text || before.value.has_value() != now.value.has_value())
      checked.outcome = Outcome::kChanged;
    if (checked.outcome == Outcome::kChanged)
      checked.reason = fmt::format("is {}, was {}", text_of(now), text_of(before));
    return;
  }
  const Tolerance& tolerance = checked.rule.tolerance;
  checked.is_relative = tolerance.kind != Tolerance::Kind::kAbsolute && *before.value != 0;
  const double difference = *now.value - *before.value;
  checked.change = checked.is_relative ? difference / std::abs(*before.value) : difference;
  if (!tolerance.allows(*before.value, *now.value)) checked.outcome = moved(checked.rule, difference);
}

OpenQuestion::Cause why_open(const RunProgress& run, bool has_other) {
  if (run.is_stopped) return OpenQuestion::Cause::kStopped;
  if (run.out_of_time) return OpenQuestion::Cause::kOutOfTime;
  return has_other ? OpenQuestion::Cause::kAllTrials : OpenQuestion::Cause::kBaselineEnds;
}

std::string why_undecided(const OpenQuestion& open) {
  switch (open.cause) {
    case OpenQuestion::Cause::kStopped:
      return fmt::format("stopped by --fail-fast after {} trials, because another figure got worse",
                         open.trials);
    case OpenQuestion::Cause::kOutOfTime:
      return fmt::format("out of time after {} of {} trials; increase --budget-s", open.trials, open.most);
    case OpenQuestion::Cause::kBaselineEnds:
      return fmt::format(
          "no decision after {} trials, which is all that the baseline has; --against another goodput "
          "program runs more",
          open.trials);
    case OpenQuestion::Cause::kAllTrials:
      return fmt::format("no decision after {} trials", open.trials);
    case OpenQuestion::Cause::kNoTrials:
      return "there were no trials to compare";
  }
  return "";
}

void take_test(const RunProgress& run, const FigureCheck& check, bool has_other, CheckedFigure& checked) {
  const SequentialTest& test = *check.test();
  checked.looks = test.looks();
  checked.outcome = Outcome::kUndecided;
  if (test.looks() == 0) {
    checked.open = {.cause = OpenQuestion::Cause::kNoTrials, .most = check.most()};
    checked.reason = why_undecided(*checked.open);
    return;
  }
  const MeanChange& change = test.change();
  checked.test = change;
  checked.baseline = change.baseline;
  checked.figure = change.mean;
  checked.change = change.change;
  checked.is_relative = change.is_relative;
  checked.p_value = change.p_value;
  if (test.movement() == Movement::kSame) checked.outcome = Outcome::kSame;
  if (test.movement() == Movement::kMoved) checked.outcome = moved(checked.rule, change.change);
  if (checked.outcome != Outcome::kUndecided) return;
  checked.open = {.cause = why_open(run, has_other),
                  .trials = change.trials,
                  .most = check.most(),
                  .needed = trials_needed(change, checked.rule.tolerance, check.most())};
  checked.reason = why_undecided(*checked.open);
}

CheckedFigure checked_figure(const RunProgress& run, const FigureCheck& check, bool has_other) {
  const RunFigure& figure = check.figure();
  CheckedFigure checked{
      .name = figure.name, .run = run.run->name, .policy = figure.policy, .rule = figure.rule};
  if (!figure.fault.empty()) {
    checked.outcome = Outcome::kFailed;
    checked.reason = figure.fault;
    return checked;
  }
  const BaselineFigure now = baseline_figure(figure);
  checked.figure = now.value;
  if (check.is_new()) {
    checked.outcome = Outcome::kNew;
    checked.reason = run.other_failed.empty()
                         ? std::string(kNotInBaseline)
                         : "the other program cannot run this command: " + run.other_failed;
    return checked;
  }
  checked.baseline = check.before()->value;
  if (check.test()) {
    take_test(run, check, has_other, checked);
  } else if (figure.values.size() < check.before()->trials.size()) {
    checked.outcome = Outcome::kUndecided;
    const std::int64_t all = size_of(check.before()->trials);
    checked.open = {.cause = run.is_stopped ? OpenQuestion::Cause::kStopped : OpenQuestion::Cause::kOutOfTime,
                    .trials = size_of(figure.values),
                    .most = all,
                    .needed = all};
    checked.reason = why_undecided(*checked.open);
  } else {
    compare(*check.before(), now, checked);
  }
  return checked;
}

// Each of its figures that the baseline has; else itself.
void add_failed(const RunProgress& run, const Baseline* baseline, CheckReport& report) {
  const std::size_t before = report.figures.size();
  const auto add = [&](const std::string& name) {
    report.figures.push_back(
        {.name = name, .run = run.run->name, .outcome = Outcome::kFailed, .reason = run.failed});
  };
  if (baseline != nullptr) {
    for (const auto& [name, figure] : baseline->figures) {
      if (name.starts_with(run.run->name + "/")) add(name);
    }
  }
  if (report.figures.size() == before) add(run.run->name);
}

bool has_moved_or_may_have(Outcome outcome) {
  return outcome == Outcome::kWorse || outcome == Outcome::kBetter || outcome == Outcome::kChanged ||
         outcome == Outcome::kUndecided;
}

void add_run(const RunProgress& run, const Baseline* baseline, bool has_other, CheckReport& report) {
  if (!run.failed.empty()) {
    add_failed(run, baseline, report);
    return;
  }
  const RunOrigin* origin = nullptr;
  const std::map<std::string, Parts>* parts = nullptr;
  if (run.other) {
    origin = &run.other->origin;
    parts = &run.other->parts;
  }
  if (baseline != nullptr) {
    const auto found = baseline->runs.find(run.run->name);
    origin = found == baseline->runs.end() ? nullptr : &found->second.origin;
    parts = found == baseline->runs.end() ? nullptr : &found->second.parts;
  }
  for (const FigureCheck& check : run.checks) {
    CheckedFigure checked = checked_figure(run, check, has_other);
    if (has_moved_or_may_have(checked.outcome) && origin != nullptr)
      checked.why = reasons(*origin, *parts, run.ours, checked.policy);
    report.figures.push_back(std::move(checked));
  }
}

void add_gone(const Baseline* baseline, CheckReport& report) {
  if (baseline == nullptr) return;
  std::set<std::string> there;
  for (const CheckedFigure& figure : report.figures) there.insert(figure.name);
  for (const auto& [name, figure] : baseline->figures) {
    if (!there.contains(name))
      report.figures.push_back({.name = name,
                                .run = name.substr(0, name.find('/')),
                                .outcome = Outcome::kGone,
                                .baseline = figure.value,
                                .reason = "in the baseline, but no longer reported by the suite"});
  }
}

// For how many were asked: Holm's rule finds some that each by itself could not be sure of.
void adjust(CheckReport& report) {
  std::vector<CheckedFigure*> tested;
  std::vector<double> p_values;
  for (CheckedFigure& figure : report.figures) {
    if (!figure.p_value) continue;
    tested.push_back(&figure);
    p_values.push_back(*figure.p_value);
  }
  const std::vector<double> adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    CheckedFigure& figure = *tested[i];
    figure.p_value = adjusted[i];
    const bool may_have_moved = figure.test->excludes_none() && !figure.test->is_tolerated;
    if (figure.outcome != Outcome::kUndecided || !may_have_moved) continue;
    if (adjusted[i] > 1 - *figure.rule.tolerance.confidence) continue;
    figure.outcome = moved(figure.rule, *figure.change);
    figure.reason.clear();
    figure.open.reset();
  }
}

}  // namespace

FigureCheck::FigureCheck(RunFigure figure, std::optional<BaselineFigure> before, std::int64_t most,
                         std::int64_t questions)
    : figure_(std::move(figure)), before_(std::move(before)), most_(most) {
  if (before_ && figure_.is_of_trials() && size_of(figure_.values) > most_)  // more than the baseline holds
    figure_.values.resize(static_cast<std::size_t>(most_));
  const bool can_be_tested = figure_.fault.empty() && before_ && figure_.is_of_trials() && most >= 2;
  if (can_be_tested && figure_.rule.tolerance.is_statistical())
    test_.emplace(figure_.rule.tolerance, most, questions);
}

std::optional<std::int64_t> FigureCheck::wanted() const {
  if (!figure_.fault.empty() || !before_ || !figure_.is_of_trials()) return std::nullopt;
  if (test_) return test_->next_look();
  return size_of(figure_.values) < most_ ? std::optional(most_) : std::nullopt;
}

void FigureCheck::extend(const RunFigure& ours, const RunFigure* before) {
  if (!ours.fault.empty()) {
    figure_.fault = ours.fault;
    return;
  }
  figure_.values.insert(figure_.values.end(), ours.values.begin(), ours.values.end());
  if (before == nullptr) return;
  if (!before->fault.empty()) figure_.fault = "the other program: " + before->fault;
  before_->trials.insert(before_->trials.end(), before->values.begin(), before->values.end());
}

void FigureCheck::look() {
  const auto count = wanted();
  if (!count || !test_) return;
  if (size_of(figure_.values) < *count || size_of(before_->trials) < *count) return;
  test_->look(first(before_->trials, *count), first(figure_.values, *count));
}

bool has_regression(const RunProgress& run) {
  return !run.failed.empty() ||
         std::any_of(run.checks.begin(), run.checks.end(), [&](const FigureCheck& check) {
           return is_regression(checked_figure(run, check, false).outcome);
         });
}

std::optional<std::int64_t> trials_needed(const MeanChange& change, const Tolerance& tolerance,
                                          std::int64_t most) {
  const double size = change.is_relative == tolerance.is_relative() ? tolerance.size : 0;
  const double moved = std::abs(change.change);
  const double half = (change.interval[1] - change.interval[0]) / 2;
  // The interval has to exclude 0, or to lie inside the tolerance.
  const double wanted = moved > size ? moved : std::max(moved, size - moved);
  const double for_same = moved > size ? 0 : static_cast<double>(std::min(most, kLeastForSame));
  const double needed =
      std::max(for_same, static_cast<double>(change.trials) * (half / wanted) * (half / wanted));
  if (!(needed <= static_cast<double>(kMostBaselineTrials))) return std::nullopt;
  std::int64_t trials = kFirstLook;
  while (static_cast<double>(trials) < needed || trials <= change.trials) trials *= 2;
  return trials <= kMostBaselineTrials ? std::optional(trials) : std::nullopt;
}

CheckReport verdicts(const Suite& suite, const Baseline* baseline, bool has_other,
                     std::span<const RunProgress> runs) {
  CheckReport report{suite};
  for (const RunProgress& run : runs) add_run(run, baseline, has_other, report);
  add_gone(baseline, report);
  adjust(report);
  std::stable_sort(report.figures.begin(), report.figures.end(), comes_first);
  return report;
}

}  // namespace goodput
