// `goodput check`: did a change make anything worse?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "goodput_revision.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/check/baseline.h"
#include "tools/check/check_report.h"
#include "tools/check/first_suite.h"
#include "tools/check/run_check.h"
#include "tools/check/speed.h"
#include "tools/check/suite.h"
#include "tools/check/suite_runner.h"
#include "tools/check/update_baseline.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/live_progress.h"
#include "tools/cli/output_file.h"
#include "tools/simulate/policy_commands.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kMostBudget = 1e6;  // seconds

// The runs that --run names.
Status select_runs(const std::vector<std::string>& names, Suite& suite) {
  if (names.empty()) return Ok{};
  std::vector<std::string_view> known;
  for (const SuiteRun& run : suite.runs) known.push_back(run.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Error{fmt::format("--run: {} has no run {}{}; the suite has these runs: {}", suite.file,
                             in_quotes(name), did_you_mean(name, known), fmt::join(known, ", "))};
  }
  std::erase_if(suite.runs, [&](const SuiteRun& run) {
    return std::find(names.begin(), names.end(), run.name) == names.end();
  });
  return Ok{};
}

// What a baseline holds of runs that are left out is not gone.
void forget_other_runs(const Suite& suite, Baseline& baseline) {
  const auto is_left_out = [&](const std::string& run) {
    return std::none_of(suite.runs.begin(), suite.runs.end(),
                        [&](const SuiteRun& one) { return one.name == run; });
  };
  std::erase_if(baseline.figures, [&](const auto& figure) {
    return is_left_out(figure.first.substr(0, figure.first.find('/')));
  });
}

class CheckCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("suite", suite_path_, "SUITE",
             "Suite of commands and the figures to check: a name from 'goodput list suites', or a file")
        .listed("suites")
        .required();
    options.add("--baseline", baseline_path_, "FILE.json",
                "Baseline: file of earlier figures to compare with (default: baselines/SUITE.json next to "
                "the suite); a .trials.csv file next to FILE has the values of single trials");
    options.add_flag("--update", is_update_,
                     "Update the figures in the baseline that changed, and show them");
    options
        .add("--against", other_path_, "PATH",
             "Another goodput program to compare with; if --baseline is also given, that program runs the "
             "trials that the baseline lacks")
        .input();
    options.add_flag("--time", is_timed_, "Also compare the run time of the commands with that of --against");
    options.add("--rounds", rounds_, "N", "Number of times that --time runs each command (default 15)");
    options.add("--budget-s", budget_s_, "SECONDS",
                "Seconds after which no more trials or rounds start (default 60)");
    options.add_flag("--strict", is_strict_, "Also exit with 3 if figures are undecided, new or gone");
    options.add_flag("--fail-fast", stops_at_regression_,
                     "Start no more trials after a regression; figures that need more trials stay undecided");
    options.add("--run", runs_, "NAME", "Check only this run of the suite; repeatable").one_value_each();
    policies_.configure(options);
    options
        .add("--junit", junit_path_, "FILE.xml", "Write the result as JUnit XML for continuous integration")
        .output();
    options
        .add("--markdown", markdown_path_, "FILE.md",
             "Write the result as Markdown, for a comment in a code review")
        .output();
    options.add("--init", scenarios_, "SCENARIO", "Create the new file SUITE, which checks these scenarios")
        .listed("scenarios");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    began_ = Clock::now();
    GOODPUT_TRY_STATUS(check_options());
    if (!scenarios_.empty()) GOODPUT_TRY_STATUS(check_nothing_is_written("--init:", context));
    GOODPUT_TRY_STATUS(policies_.read());
    const RunnerOptions options{context.options.seed, context.options.configs, policies_};
    const ThisProgram ours(context.run_program, options);
    if (!scenarios_.empty()) return write_first_suite(ours, context);
    GOODPUT_TRY(const config::Library library, config_library(context));
    GOODPUT_TRY(const std::string file, config_file(suite_path_, kSuiteFiles, library, context));
    GOODPUT_TRY(Suite suite, read_suite(file));
    GOODPUT_TRY_STATUS(select_runs(runs_, suite));
    choose_baseline(suite);
    GOODPUT_TRY_STATUS(check_files(suite, context));
    std::error_code none;
    if (is_update_ && !fs::exists(baseline_path_, none)) {
      GOODPUT_TRY_STATUS(check_nothing_is_written("--update makes the first baseline:", context));
      return write_first_baseline(suite, ours, context);
    }
    return check(suite, ours, options, context);
  }

 private:
  [[nodiscard]] Status check_options() const {
    if (is_timed_ && other_path_.empty())
      return Error{"--time needs another goodput program to compare with; add --against PATH"};
    if (is_update_ && !other_path_.empty())
      return Error{
          "--update stores the figures of this program, so --against has no effect; give only one of them"};
    if (!(budget_s_ > 0 && budget_s_ <= kMostBudget))
      return Error{fmt::format("--budget-s must be more than 0 and at most {} seconds, not {}", kMostBudget,
                               budget_s_)};
    if (rounds_ < kLeastRounds || rounds_ > 10'000)
      return Error{
          fmt::format("--rounds must be a whole number from {} to 10000, not {}", kLeastRounds, rounds_)};
    if (!baseline_path_.empty() && !baseline_path_.ends_with(".json"))
      return Error{fmt::format("--baseline {}: the name must end in .json", in_quotes(baseline_path_))};
    if (is_update_ && !runs_.empty()) return Error{"--update applies to the whole suite; leave --run out"};
    return Ok{};
  }

  // Where nothing is checked there is no result.
  [[nodiscard]] Status check_nothing_is_written(std::string_view why, const CommandContext& context) const {
    if (!context.options.wants_result() && junit_path_.empty() && markdown_path_.empty()) return Ok{};
    return Error{fmt::format(
        "{} there is no result to write yet; leave out --json, --report, --junit and --markdown", why)};
  }

  // Beside the suite, where nothing else was said.
  void choose_baseline(const Suite& suite) {
    if (!baseline_path_.empty() || !other_path_.empty()) return;
    const fs::path beside = fs::path(suite.file).parent_path() / "baselines" / (suite.name + ".json");
    std::error_code none;
    if (is_update_ || fs::exists(beside, none)) baseline_path_ = beside.string();
  }

  [[nodiscard]] Status check_files(const Suite& suite, const CommandContext& context) const {
    std::vector<std::string> inputs = {suite.file};
    if (!baseline_path_.empty()) inputs.insert(inputs.end(), {baseline_path_, trials_path(baseline_path_)});
    if (!other_path_.empty()) inputs.push_back(other_path_);
    return check_file_roles(inputs, {{"--junit", junit_path_}, {"--markdown", markdown_path_}}, context);
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - began_).count();
  }
  [[nodiscard]] bool is_time_over() const { return seconds() > budget_s_; }
  [[nodiscard]] static unsigned jobs(const CommandContext& context) {
    return static_cast<unsigned>(context.options.jobs);
  }

  // ---- Checks.

  Result<std::optional<Baseline>> baseline(const Suite& suite, const CommandContext& context) const {
    if (baseline_path_.empty()) {
      if (!other_path_.empty()) return std::optional<Baseline>{};
      return Error{
          fmt::format("{} has no baseline; create one with --baseline FILE --update, or give --against PATH "
                      "to compare with another goodput program",
                      suite.file)};
    }
    GOODPUT_TRY(Baseline baseline, read_baseline(baseline_path_));
    if (baseline.seed != context.options.seed)
      return Error{
          fmt::format("was made with --seed {0}, not {1}, so its trials are different; use --seed {0}",
                      baseline.seed, context.options.seed),
          Where{.file = baseline_path_}};
    if (baseline.suite != suite.name)
      return Error{fmt::format("is the baseline of suite {}, not of {}; name another file with --baseline",
                               in_quotes(baseline.suite), in_quotes(suite.name)),
                   Where{.file = baseline_path_}};
    if (!runs_.empty()) forget_other_runs(suite, baseline);
    return std::optional(std::move(baseline));
  }

  Result<ExitCode> check(const Suite& suite, const SuiteRunner& ours, const RunnerOptions& options,
                         const CommandContext& context) const {
    GOODPUT_TRY(const std::optional<Baseline> kept, baseline(suite, context));
    std::unique_ptr<OtherProgram> other;
    if (!other_path_.empty()) other = std::make_unique<OtherProgram>(other_path_, options);
    GOODPUT_TRY(CheckReport report, run_suite(suite, kept ? &*kept : nullptr, ours, other.get(), context));
    if (is_timed_) GOODPUT_TRY_STATUS(time_suite(suite, options, report));
    report.is_strict = is_strict_;
    report.budget_s = budget_s_;
    report.baseline_file = baseline_path_;
    if (kept) note_versions(*kept, report);
    for (const std::string& note : report.notes) context.note(note);
    context.print(check_text(report));
    GOODPUT_TRY_STATUS(write_results(report, context));
    if (!is_update_) return exit_code(report);
    GOODPUT_TRY(const BaselineUpdate update,
                update_baseline(suite, &*kept, &report, ours, context.options.seed, jobs(context)));
    GOODPUT_TRY_STATUS(write_baseline(update, context));
    return report.count(Outcome::kFailed) > 0 ? ExitCode::kRegression : ExitCode::kOk;
  }

  Result<CheckReport> run_suite(const Suite& suite, const Baseline* kept, const SuiteRunner& ours,
                                const SuiteRunner* other, const CommandContext& context) const {
    const bool shows = context.terminal.shows_progress && !context.options.quiet;
    LiveProgress bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever,
                     "checking", suite.runs.size());
    std::atomic<std::uint64_t> done = 0;
    CheckOptions options;
    options.jobs = jobs(context);
    options.stops_at_regression = stops_at_regression_;
    options.is_time_over = [this] { return is_time_over(); };
    options.on_run = [&] { bar.update(++done); };
    return check_suite(suite, kept, ours, other, options);
  }

  // Here, or with the other program.
  static bool failed_in(const CheckReport& report, const std::string& run) {
    return std::any_of(report.figures.begin(), report.figures.end(), [&run](const CheckedFigure& figure) {
      const bool failed = figure.outcome == Outcome::kFailed ||
                          (figure.outcome == Outcome::kNew && figure.reason != kNotInBaseline);
      return figure.run == run && failed;
    });
  }

  Status time_suite(const Suite& suite, const RunnerOptions& options, CheckReport& report) const {
    std::error_code failed;
    const std::string program = fs::read_symlink("/proc/self/exe", failed).string();
    if (program.empty()) return Error{"--time: cannot find the path of this program"};
    for (const SuiteRun& run : suite.runs) {
      if (failed_in(report, run.name)) continue;
      GOODPUT_TRY(report.speeds.emplace_back(),
                  time_run(run, program, other_path_, options, rounds_, [this] { return is_time_over(); }));
    }
    return Ok{};
  }

  // Of a baseline by another version every difference may be that; revisions stand with what moved.
  static void note_versions(const Baseline& baseline, CheckReport& report) {
    std::set<std::string> versions;
    for (const auto& [name, run] : baseline.runs) versions.insert(run.origin.version);
    versions.erase(GOODPUT_VERSION);
    if (versions.empty()) return;
    report.notes.push_back(fmt::format("the baseline was made by goodput {}; this is goodput {}",
                                       fmt::join(versions, ", "), GOODPUT_VERSION));
  }

  [[nodiscard]] Status write_results(const CheckReport& report, const CommandContext& context) const {
    if (!junit_path_.empty()) GOODPUT_TRY_STATUS(write_text_atomically(junit_path_, check_junit(report)));
    if (!markdown_path_.empty())
      GOODPUT_TRY_STATUS(write_text_atomically(markdown_path_, check_markdown(report)));
    OrderedJson json = begin_json_result("check", context, provenance(report));
    add_check_json(report, json);
    return write_json_result(json, context);
  }

  // What was asked: the bytes of the suite.
  static Provenance provenance(const CheckReport& report) {
    std::ifstream file(report.suite.file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    Hash hash;
    hash.add(std::string_view(bytes));
    Provenance provenance;
    provenance.config_hash = hash.value();
    provenance.config_files = {report.suite.file};
    return provenance;
  }

  // ---- Files of a suite's author.

  Result<ExitCode> write_first_baseline(const Suite& suite, const SuiteRunner& ours,
                                        const CommandContext& context) const {
    GOODPUT_TRY(const BaselineUpdate update,
                update_baseline(suite, nullptr, nullptr, ours, context.options.seed, jobs(context)));
    GOODPUT_TRY_STATUS(write_baseline(update, context));
    return ExitCode::kOk;
  }

  // Both, or none where there is no room for either: the trials are renamed once the other file is written.
  Status write_baseline(const BaselineUpdate& update, const CommandContext& context) const {
    for (const std::string& line : update.diff) context.print(line + "\n");
    if (update.diff.empty()) {
      context.print(fmt::format("{}: nothing changed, so the file was not rewritten\n", baseline_path_));
      return Ok{};
    }
    const fs::path folder = fs::path(baseline_path_).parent_path();
    std::error_code failed;
    if (!folder.empty()) fs::create_directories(folder, failed);
    const auto write = [&](const std::string& temporary) -> Status {
      GOODPUT_TRY_STATUS(write_text_atomically(temporary, baseline_json(update.baseline)));
      return write_text_atomically(trials_path(baseline_path_), baseline_trials_csv(update.baseline));
    };
    GOODPUT_TRY_STATUS(write_file_atomically(baseline_path_, write));
    context.print(fmt::format("Wrote {}: {} figures\n", baseline_path_, update.baseline.figures.size()));
    return Ok{};
  }

  Result<ExitCode> write_first_suite(const SuiteRunner& ours, const CommandContext& context) const {
    std::error_code none;
    if (fs::exists(suite_path_, none))
      return Error{fmt::format("{} already exists; --init writes a new file", suite_path_)};
    if (!suite_path_.ends_with(".json"))
      return Error{
          fmt::format("--init: the name of the new suite must end in .json, not {}", in_quotes(suite_path_))};
    GOODPUT_TRY(const FirstSuite suite, first_suite(scenarios_, ours, jobs(context)));
    GOODPUT_TRY_STATUS(write_text_atomically(suite_path_, suite.json));
    for (const std::string& note : suite.notes) context.print(note + "\n");
    const std::string baseline = fs::path(suite_path_).replace_extension(".baseline.json").string();
    context.print(
        fmt::format("Wrote {0}. Next: goodput check {0} --baseline {1} --update\n", suite_path_, baseline));
    return ExitCode::kOk;
  }

  std::string suite_path_;
  std::string baseline_path_;
  std::string other_path_;
  std::string junit_path_;
  std::string markdown_path_;
  std::vector<std::string> scenarios_;
  std::vector<std::string> runs_;
  PolicyCommandOptions policies_;
  double budget_s_ = 60;
  std::int64_t rounds_ = 15;
  bool is_update_ = false;
  bool is_timed_ = false;
  bool is_strict_ = false;
  bool stops_at_regression_ = false;
  Clock::time_point began_{};
};

}  // namespace

CommandInfo command_check() {
  return {.name = "check",
          .summary = "Check whether a change to a policy or model made anything worse (exit code 3 if so)",
          .example =
              "goodput check smoke\n"
              "goodput check mine.json --baseline mine.baseline.json --update\n"
              "goodput check smoke --against ../before/build/release/goodput --markdown comment.md",
          .make = make_command<CheckCommand>};
}

}  // namespace goodput
