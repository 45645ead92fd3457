#include "tools/check/update_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "models/check/sequential_test.h"
#include "sim/base/parallel.h"

namespace goodput {
namespace {

bool is_rewritten(Outcome outcome) {
  switch (outcome) {
    case Outcome::kWorse:
    case Outcome::kBetter:
    case Outcome::kChanged:
    case Outcome::kNew:
      return true;
    case Outcome::kFailed:
    case Outcome::kUndecided:
    case Outcome::kGone:
    case Outcome::kSame:
      return false;
  }
  return false;
}

// All trials of a run: first those of a check's first look, whose parts and hash a check can compare with its
// own.
Result<RunFigures> all_trials(const SuiteRun& run, const SuiteRunner& runner) {
  const std::int64_t trials = run.has_trials() ? run.trials : 0;
  const std::int64_t first = std::min(trials, kFirstLook);
  GOODPUT_TRY(RunFigures figures, runner.run(run, {0, first}, {}));
  if (trials == first) return figures;
  GOODPUT_TRY(const RunFigures more, runner.run(run, {first, trials - first}, {}));
  for (std::size_t i = 0; i < figures.figures.size(); ++i) {
    RunFigure& figure = figures.figures[i];
    if (!figure.is_of_trials()) continue;
    GOODPUT_CHECK(more.figures.size() > i && more.figures[i].name == figure.name, "figures come and go");
    if (figure.fault.empty()) figure.fault = more.figures[i].fault;
    figure.values.insert(figure.values.end(), more.figures[i].values.begin(), more.figures[i].values.end());
  }
  return figures;
}

class Update {
 public:
  Update(const Suite& suite, const Baseline* old, const CheckReport* report) {
    if (old != nullptr) update_.baseline = *old;
    is_first_ = old == nullptr;
    if (report == nullptr) return;
    for (const CheckedFigure& figure : report->figures) {
      if (is_rewritten(figure.outcome) || has_other_trials(suite, figure)) {
        rewritten_.insert(figure.name);
        runs_.insert(figure.run);
      }
      if (figure.outcome == Outcome::kGone) remove(figure.name);
    }
  }

  [[nodiscard]] bool wants(const SuiteRun& run) const { return is_first_ || runs_.contains(run.name); }

  Status take(const SuiteRun& run, const RunFigures& figures) {
    update_.baseline.runs[run.name] = {figures.origin, figures.parts};
    for (const RunFigure& figure : figures.figures) {
      if (!is_first_ && !rewritten_.contains(figure.name)) continue;
      if (!figure.fault.empty())
        return Error{fmt::format("{} cannot be stored: {}", figure.name, figure.fault)};
      const auto found = update_.baseline.figures.find(figure.name);
      const bool was_there = found != update_.baseline.figures.end();
      if (was_there) update_.diff.push_back("- " + figure_line(figure.name, found->second));
      const BaselineFigure kept = baseline_figure(figure);
      update_.diff.push_back("+ " + figure_line(figure.name, kept));
      update_.baseline.figures[figure.name] = kept;
    }
    return Ok{};
  }

  // Runs of which nothing is left go.
  BaselineUpdate finish(const Suite& suite, std::uint64_t seed) && {
    update_.baseline.suite = suite.name;
    update_.baseline.seed = seed;
    std::erase_if(update_.baseline.runs, [&](const auto& run) {
      const auto next = update_.baseline.figures.lower_bound(run.first + "/");
      return next == update_.baseline.figures.end() || !next->first.starts_with(run.first + "/");
    });
    return std::move(update_);
  }

 private:
  // The suite asks for more, or fewer, than the baseline holds.
  [[nodiscard]] bool has_other_trials(const Suite& suite, const CheckedFigure& figure) const {
    const auto held = update_.baseline.figures.find(figure.name);
    if (figure.outcome == Outcome::kFailed || held == update_.baseline.figures.end()) return false;
    const std::int64_t trials = std::ssize(held->second.trials);
    return trials > 0 && std::any_of(suite.runs.begin(), suite.runs.end(), [&](const SuiteRun& run) {
             return run.name == figure.run && run.trials != trials;
           });
  }

  void remove(const std::string& name) {
    const auto found = update_.baseline.figures.find(name);
    update_.diff.push_back("- " + figure_line(name, found->second));
    update_.baseline.figures.erase(found);
  }

  BaselineUpdate update_{};
  bool is_first_ = false;
  std::set<std::string> rewritten_{};
  std::set<std::string> runs_{};
};

}  // namespace

Result<BaselineUpdate> update_baseline(const Suite& suite, const Baseline* old, const CheckReport* report,
                                       const SuiteRunner& runner, std::uint64_t seed, unsigned jobs) {
  Update update(suite, old, report);
  std::vector<Result<RunFigures>> figures(suite.runs.size(), RunFigures{});
  parallel_pieces(jobs, suite.runs.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (update.wants(suite.runs[i])) figures[i] = all_trials(suite.runs[i], runner);
    }
  });
  for (std::size_t i = 0; i < suite.runs.size(); ++i) {
    if (!update.wants(suite.runs[i])) continue;
    if (!figures[i]) return Error{fmt::format("{}: {}", suite.runs[i].name, figures[i].error().message())};
    GOODPUT_TRY_STATUS(update.take(suite.runs[i], *figures[i]));
  }
  return std::move(update).finish(suite, seed);
}

}  // namespace goodput
