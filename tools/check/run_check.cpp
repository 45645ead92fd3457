#include "tools/check/run_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/parallel.h"
#include "tools/check/verdicts.h"

namespace goodput {
namespace {

const RunFigure* find_figure(const RunFigures& figures, const std::string& name) {
  const auto found = std::find_if(figures.figures.begin(), figures.figures.end(),
                                  [&](const RunFigure& figure) { return figure.name == name; });
  return found == figures.figures.end() ? nullptr : &*found;
}

class SuiteCheck {
 public:
  SuiteCheck(const Suite& suite, const Baseline* baseline, const SuiteRunner& ours, const SuiteRunner* other,
             const CheckOptions& options)
      : suite_(suite), baseline_(baseline), ours_(ours), other_(other), options_(options) {
    for (const SuiteRun& run : suite.runs) runs_.emplace_back().run = &run;
  }

  Result<CheckReport> check() {
    for_each_run([this](RunProgress& run) { return first_runs(run); });
    GOODPUT_TRY_STATUS(first_error());
    GOODPUT_TRY_STATUS(check_other_works());
    match();
    for_each_run([this](RunProgress& run) { return decide(run); });
    GOODPUT_TRY_STATUS(first_error());
    return verdicts(suite_, baseline_, other_ != nullptr, runs_);
  }

 private:
  // All of them, several at once.
  void for_each_run(const std::function<Status(RunProgress&)>& work) {
    errors_.assign(runs_.size(), Ok{});
    parallel_pieces(options_.jobs, runs_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) errors_[i] = work(runs_[i]);
    });
  }
  [[nodiscard]] Status first_error() const {
    for (const Status& status : errors_) GOODPUT_TRY_STATUS(status);
    return Ok{};
  }

  Status first_runs(RunProgress& run) {
    run.trials = run.run->has_trials() ? std::min(kFirstLook, run.run->trials) : 0;
    auto ours = ours_.run(*run.run, {0, run.trials}, {});
    if (!ours) {
      run.failed = ours.error().message();
      return Ok{};
    }
    run.ours = *std::move(ours);
    if (run.ours.is_one_run) run.trials = 1;
    if (other_ == nullptr) return Ok{};
    auto other = other_->run(*run.run, {0, run.trials}, {});
    if (!other) {  // of a case that it does not know all figures are new
      run.other_failed = other.error().message();
      run.other.emplace();
      return Ok{};
    }
    run.other = *std::move(other);
    return check_it_is_the_same(run);
  }

  // Where it can run nothing it is no goodput.
  [[nodiscard]] Status check_other_works() const {
    const auto failed = [](const RunProgress& run) { return !run.other_failed.empty(); };
    if (other_ == nullptr || !std::all_of(runs_.begin(), runs_.end(), failed)) return Ok{};
    return Error{fmt::format("--against: the program cannot run {}: {}", runs_.front().run->name,
                             runs_.front().other_failed)};
  }

  // As far as the baseline goes.
  [[nodiscard]] Status check_it_is_the_same(const RunProgress& run) const {
    if (baseline_ == nullptr) return Ok{};
    for (const RunFigure& figure : run.other->figures) {
      const auto found = baseline_->figures.find(figure.name);
      if (found == baseline_->figures.end() || !figure.fault.empty()) continue;
      if (is_same(figure, found->second)) continue;
      return Error{
          fmt::format("--against: for {}, this program gives other values than the baseline, so another "
                      "program made the baseline; leave out --baseline",
                      figure.name)};
    }
    return Ok{};
  }
  static bool is_same(const RunFigure& figure, const BaselineFigure& kept) {
    if (!figure.is_of_trials()) return baseline_figure(figure) == kept;
    const std::size_t both = std::min(figure.values.size(), kept.trials.size());
    return std::equal(figure.values.begin(), figure.values.begin() + static_cast<std::ptrdiff_t>(both),
                      kept.trials.begin());
  }

  // What the baseline lacks of the first trials the other program has.
  [[nodiscard]] std::optional<BaselineFigure> before(const RunProgress& run, const RunFigure& figure) const {
    const RunFigure* other = run.other ? find_figure(*run.other, figure.name) : nullptr;
    const bool has_other = other != nullptr && other->fault.empty();
    if (baseline_ == nullptr) return has_other ? std::optional(baseline_figure(*other)) : std::nullopt;
    const auto found = baseline_->figures.find(figure.name);
    if (found == baseline_->figures.end()) return std::nullopt;
    BaselineFigure kept = found->second;
    const std::size_t held = kept.trials.size();
    if (has_other && held > 0 && held < other->values.size())
      kept.trials.insert(kept.trials.end(), other->values.begin() + static_cast<std::ptrdiff_t>(held),
                         other->values.end());
    return kept;
  }

  // Figures to what they were.
  void match() {
    std::int64_t questions = 0;
    for (const RunProgress& run : runs_) {
      for (const RunFigure& figure : run.ours.figures) {
        if (figure.rule.tolerance.is_statistical() && before(run, figure)) ++questions;
      }
    }
    for (RunProgress& run : runs_) {
      for (const RunFigure& figure : run.ours.figures) {
        auto kept = before(run, figure);
        const std::int64_t held = kept ? static_cast<std::int64_t>(kept->trials.size()) : 0;
        run.checks.emplace_back(figure, std::move(kept), max_trials(*run.run, figure, held),
                                std::max<std::int64_t>(questions, 1));
      }
    }
  }

  [[nodiscard]] std::int64_t max_trials(const SuiteRun& run, const RunFigure& figure,
                                        std::int64_t held) const {
    if (!figure.is_of_trials()) return 0;
    if (!figure.rule.tolerance.is_statistical()) return baseline_ != nullptr ? held : run.trials;
    return other_ != nullptr ? std::max(options_.max_trials, held) : held;
  }

  Status decide(RunProgress& run) {
    for (;;) {
      for (FigureCheck& check : run.checks) check.look();
      note_regression(run);
      const auto next = next_trials(run);
      if (!next) break;
      GOODPUT_CHECK(*next > run.trials, "a check that asks for the trials it has");
      run.is_stopped = has_regression_;
      if (run.is_stopped) break;
      run.out_of_time = options_.is_time_over();
      if (run.out_of_time) break;
      GOODPUT_TRY_STATUS(extend(run, *next));
      if (!run.failed.empty()) break;
    }
    options_.on_run();
    return Ok{};
  }

  void note_regression(const RunProgress& run) {
    if (options_.stops_at_regression && goodput::has_regression(run)) has_regression_ = true;
  }

  static std::optional<std::int64_t> next_trials(const RunProgress& run) {
    std::optional<std::int64_t> next;
    for (const FigureCheck& check : run.checks) {
      if (const auto wanted = check.wanted()) next = next ? std::min(*next, *wanted) : *wanted;
    }
    return next;
  }

  // To so many trials, of the policies that some figure is not yet decided of. A policy that was decided
  // stays so, with the trials that it has.
  Status extend(RunProgress& run, std::int64_t trials) {
    std::set<std::string> policies;
    for (const FigureCheck& check : run.checks) {
      if (check.wanted()) policies.insert(check.figure().policy);
    }
    const std::vector<std::string> names(policies.begin(), policies.end());
    const TrialRange range{run.trials, trials - run.trials};
    auto ours = ours_.run(*run.run, range, names);
    if (!ours) {
      run.failed = ours.error().message();
      return Ok{};
    }
    std::optional<RunFigures> other;
    if (lacks_baseline(run, trials)) {
      GOODPUT_TRY(other, other_->run(*run.run, range, names));
    }
    run.trials = trials;
    for (FigureCheck& check : run.checks) extend(check, range, *ours, other);
    return Ok{};
  }

  [[nodiscard]] bool lacks_baseline(const RunProgress& run, std::int64_t trials) const {
    return other_ != nullptr &&
           std::any_of(run.checks.begin(), run.checks.end(), [&](const FigureCheck& check) {
             return check.wanted() && std::ssize(check.before()->trials) < trials;
           });
  }

  // What the baseline holds of these trials is what they were.
  void extend(FigureCheck& check, TrialRange range, const RunFigures& ours,
              const std::optional<RunFigures>& other) const {
    if (!check.wanted()) return;
    const RunFigure* now = find_figure(ours, check.figure().name);
    RunFigure none{.fault = "with more trials, the command no longer reports this figure"};
    RunFigure was;
    const RunFigure* lacking = nullptr;
    const auto held = static_cast<std::int64_t>(check.before()->trials.size());
    if (other && held < range.first + range.count) {
      const RunFigure* all = find_figure(*other, check.figure().name);
      was = all == nullptr ? none : *all;
      was.values.erase(
          was.values.begin(),
          was.values.begin() + std::clamp<std::int64_t>(held - range.first, 0, std::ssize(was.values)));
      lacking = &was;
    }
    check.extend(now == nullptr ? none : *now, lacking);
  }

  const Suite& suite_;
  const Baseline* baseline_;
  const SuiteRunner& ours_;
  const SuiteRunner* other_;
  const CheckOptions& options_;
  std::vector<RunProgress> runs_{};
  std::vector<Status> errors_{};
  std::atomic<bool> has_regression_ = false;
};

}  // namespace

Result<CheckReport> check_suite(const Suite& suite, const Baseline* baseline, const SuiteRunner& ours,
                                const SuiteRunner* other, const CheckOptions& options) {
  GOODPUT_CHECK(baseline != nullptr || other != nullptr, "a check against nothing");
  return SuiteCheck(suite, baseline, ours, other, options).check();
}

}  // namespace goodput
