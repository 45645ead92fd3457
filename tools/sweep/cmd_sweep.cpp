// `goodput sweep`: a scenario with some of its values varied, every combination run, and all results in a
// folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/config/json_file.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/live_progress.h"
#include "tools/sweep/point_runner.h"
#include "tools/sweep/run_points.h"
#include "tools/sweep/sbatch_script.h"
#include "tools/sweep/store/sweep_folder.h"
#include "tools/sweep/sweep_check.h"
#include "tools/sweep/sweep_report.h"
#include "tools/sweep/sweep_request.h"
#include "tools/sweep/sweep_shard.h"

namespace goodput {
namespace {

class SweepCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("sweep", options_.file, "SWEEP|SCENARIO",
             "A sweep, by a name that goodput list sweeps prints or a file; or a scenario to --vary")
        .listed("sweeps")
        .required();
    options
        .add("--vary", options_.vary, "POINTER=VALUES",
             "What varies: /failures/mtbf_hours=10,100, /policies/ds/ep=[4,8], 0..8, 0..64:8, "
             "600..86400/7:log, "
             "spares=0..8; /nodes,/plan/parallel/dp=[136,16],[144,17] together; repeated: each with each")
        .one_value_each();
    options.add("--out", out_, "DIR", "The folder of the results").folder().required();
    options
        .add("--set", options_.set, "POINTER=VALUE",
             "Change a value of the scenario, at all points; repeated: in turn")
        .one_value_each();
    options
        .add("--policy", options_.policies, "NAME", "Run this policy of the scenario; repeated: all of these")
        .one_value_each();
    options_.commands.configure(options);
    options
        .add("--design", options_.design, "NAME",
             fmt::format("Which points: {} (default: the sweep's, else grid)",
                         fmt::join(kSweepDesignNames, ", ")))
        .one_of(kSweepDesignNames);
    options.add("--points", options_.points, "N", "Of a latin design");
    options.add("--trials", options_.trials, "N",
                "Runs of every policy at a point, with --until the first ones (default: the scenario's)");
    options.add("--until", options_.until, "METRIC±X%",
                "Run more until the 95 % interval is as narrow: cost±0.2%, or of a ratio cost:A/B±0.2%");
    options.add("--most-trials", options_.most_trials, "N", "But no more than these (default 10000)");
    options.add_flag("--resume", is_resumed_,
                     "Go on with the sweep in the folder: points that are there stay");
    options.add(
        "--shard", shard_, "I/N",
        "Run part I of N, I from 0, of the points (default: as Slurm's tasks are numbered, else all)");
    options.add_flag("--emit-sbatch", emits_sbatch_,
                     "Print a job script for Slurm that runs this sweep, and end");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    config::ParsedFiles parsed;
    GOODPUT_TRY(config::Library library, config_library(context));
    library.parsed = &parsed;
    GOODPUT_TRY(const Shard shard, choose_shard(shard_, context));
    GOODPUT_TRY(const SweepRequest request, make_sweep_request(options_, library, context));
    for (const std::string& note : request.notes) context.note(note);
    PointRunner runner(request, library);
    GOODPUT_TRY(const std::uint64_t point, check_sweep(request, runner));
    if (emits_sbatch_) return emit_sbatch(request, context);
    const SweepManifest manifest = make_sweep_manifest(request, point, runner);
    const bool resumes = is_resumed_ || is_requeued(context);
    GOODPUT_TRY(ShardJournal journal,
                ShardJournal::open(out_, manifest, shard, resumes ? Existing::kResume : Existing::kRefuse));
    GOODPUT_TRY(const std::uint64_t points, run_shard(request, library, shard, journal, context));
    GOODPUT_TRY_STATUS(journal.finish());
    return finish(manifest, shard, points, context);
  }

 private:
  // How many points the shard has.
  Result<std::uint64_t> run_shard(const SweepRequest& request, const config::Library& library, Shard shard,
                                  ShardJournal& journal, const CommandContext& context) const {
    std::vector<std::uint64_t> points;
    std::uint64_t done = 0;
    for (std::uint64_t point = 0; point < request.points.size(); ++point) {
      if (shard.count > 1 && request.points.shard(point, shard.count) != shard.index) continue;
      if (journal.done()[point])
        ++done;
      else
        points.push_back(point);
    }
    const bool shows = context.terminal.shows_progress && !context.options.quiet;
    LiveProgress bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever,
                     "sweeping", points.size());
    std::uint64_t ran = 0;
    const auto take = [&](const PointRows& rows) -> Status {
      GOODPUT_TRY_STATUS(journal.append(rows));
      bar.update(++ran);
      return Ok{};
    };
    GOODPUT_TRY_STATUS(
        run_points(request, library, points, static_cast<unsigned>(context.options.jobs), take));
    return done + points.size();
  }

  // Whoever is last merges.
  [[nodiscard]] Result<ExitCode> finish(const SweepManifest& manifest, Shard shard, std::uint64_t points,
                                        const CommandContext& context) const {
    GOODPUT_TRY(const SweepProgress progress, sweep_progress(out_));
    if (progress.complete()) return merge_and_report(out_, context);
    GOODPUT_TRY_STATUS(
        write_json_result(shard_json(out_, manifest, shard, points, progress, context), context));
    context.print(shard_text(shard, points, progress));
    return ExitCode::kOk;
  }

  // The same command line without what only this run of it needs.
  [[nodiscard]] Result<ExitCode> emit_sbatch(const SweepRequest& request,
                                             const CommandContext& context) const {
    SbatchJob job;
    std::error_code failed;
    job.program = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    job.folder = std::filesystem::current_path(failed).string();
    if (job.program.empty() || job.folder.empty())
      return Error{"--emit-sbatch: cannot tell where goodput lies"};
    job.arguments = arguments(context);
    job.tasks = sbatch_tasks(request.points.size());
    context.out << sbatch_script(job);
    return ExitCode::kOk;
  }

  [[nodiscard]] std::vector<std::string> arguments(const CommandContext& context) const {
    std::vector<std::string> all = {"sweep", options_.file, "--out", out_};
    const auto add = [&all](const std::string& option, const std::string& value) {
      if (value.empty()) return;
      all.push_back(option);
      all.push_back(value);
    };
    const auto add_number = [&add](const std::string& option, const std::optional<std::int64_t>& number) {
      if (number) add(option, fmt::format("{}", *number));
    };
    for (const std::string& text : options_.vary) add("--vary", text);
    for (const std::string& text : options_.set) add("--set", text);
    for (const std::string& name : options_.policies) add("--policy", name);
    for (const std::string& command : options_.commands.commands) add("--policy-command", command);
    if (!options_.commands.commands.empty())
      add("--policy-timeout-s", fmt::format("{}", options_.commands.timeout_s));
    add("--design", options_.design);
    add_number("--points", options_.points);
    add_number("--trials", options_.trials);
    add("--until", options_.until);
    add_number("--most-trials", options_.most_trials);
    add("--seed", fmt::format("{}", context.options.seed));
    for (const std::string& folder : context.options.configs) add("--configs", folder);
    if (is_resumed_) all.emplace_back("--resume");
    if (context.options.quiet) all.emplace_back("--quiet");
    return all;
  }

  SweepOptions options_;
  std::string out_;
  std::string shard_;
  bool is_resumed_ = false;
  bool emits_sbatch_ = false;
};

}  // namespace

CommandInfo command_sweep() {
  return {
      .name = "sweep",
      .summary = "a scenario with values varied: every combination run, results as CSV, SQLite and Parquet",
      .example =
          "goodput sweep controlled-5min-gpt-s --vary /failures/every_s=300,600,1200 --out sweep\n"
          "goodput sweep job.json --vary spares=0..8 --until 'cost±0.2%' --out sweep",
      .make = make_command<SweepCommand>};
}

}  // namespace goodput
