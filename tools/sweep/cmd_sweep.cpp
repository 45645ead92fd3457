// `goodput sweep`: a scenario with some of its values varied, every combination run, and all results in a
// folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/scenario/scenario.h"
#include "sim/base/errors.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/parallel.h"
#include "sim/base/registry.h"
#include "sim/config/json_file.h"
#include "sim/config/library.h"
#include "tools/cli/command.h"
#include "tools/cli/command_line.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/live_progress.h"
#include "tools/sweep/point_runner.h"
#include "tools/sweep/sbatch_script.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/store/sweep_folder.h"
#include "tools/sweep/sweep_report.h"
#include "tools/sweep/sweep_request.h"
#include "tools/sweep/sweep_shard.h"

namespace goodput {
namespace {

// ---- What of a sweep can be known before anything runs.

constexpr std::uint64_t kMostTried = 10'000;  // points, before all are given up

// What most points that cannot be read say: each its own value of what is out of range, all the same of a
// pointer that is none.
struct CommonError {
  std::map<std::string, std::uint64_t> counts{};
  std::optional<Error> error{};
  std::uint64_t most = 0;

  void add(const Error& other) {
    const std::uint64_t count = ++counts[other.message()];
    if (count > most) {
      most = count;
      error = other;
    }
  }
};

bool says_number_of_nodes(const FailureConfig& failures) {
  const Json text = Json::parse(failures.text());
  return text.contains("nodes") && text["nodes"].is_number() && text["nodes"] != 0;
}

// Whoever says which nodes there are has to leave their number to the job.
Status check_spares(const Scenario& scenario) {
  const auto refuse = [&scenario](const std::string& pointer, std::string_view why) {
    return Error{
        fmt::format("{}, so spares would have no effect; vary a value of the scenario instead of spares",
                    why),
        {.file = scenario.file, .pointer = pointer}};
  };
  if (!scenario.pools.empty()) return refuse("/pools", "fix the number of nodes");
  for (const auto& failures : all_failures(scenario)) {
    const FailureSetup& setup = failures.config->setup();
    if (setup.nodes_acted_on()) continue;
    const std::optional<FailureFile> file = setup.file();
    if (file && file->content == FailureFile::Content::kRecording)
      return refuse(failures.pointer, "is a recording, which fixes the number of nodes");
    if (says_number_of_nodes(*failures.config)) {
      return Error{
          "fixes the number of nodes, so spares would have no effect; remove it to use the job's number of "
          "nodes",
          {.file = scenario.file, .pointer = failures.pointer + "/nodes"}};
    }
  }
  return Ok{};
}

Status check_rule(const SweepRequest& request, const Scenario& scenario) {
  const auto& rule = request.sweep.until;
  if (!rule || rule->policies().empty()) return Ok{};
  const auto found = find_rule_policies(rule->policies(), scenario.policies);
  if (found) return Ok{};
  return Error{"--until " + found.error().what};
}

// Fails on a value that its key never takes, whatever the others are: -1 for steps. What only some
// combinations cannot have is left to the points that have it.
Status check_each_value(const SweepRequest& request, PointRunner& runner) {
  const std::vector<std::uint64_t> points = request.points.covering();
  const std::uint64_t stride = 1 + (points.size() - 1) / kMostTried;
  const std::vector<std::string>& varied = request.points.parameters();
  for (std::uint64_t i = 0; i < points.size(); i += stride) {
    const Result<Scenario> scenario = runner.scenario(points[i]);
    if (scenario || scenario.error().option != "vary") continue;
    const std::string& pointer = scenario.error().where.pointer;  // from the file that has the key
    const bool is_varied =
        std::any_of(varied.begin(), varied.end(), [&pointer](const std::string& parameter) {
          return parameter.starts_with('/') && parameter.ends_with(pointer);
        });
    if (is_varied && !pointer.empty()) return scenario.error();
  }
  return Ok{};
}

// Fails where no point can be read, above all for a pointer that there is not; where spares would be none,
// because the failures say themselves how many nodes there are; and where the policies of a stopping rule do
// not run. The result is the first point that can be read.
Result<std::uint64_t> check_sweep(const SweepRequest& request, PointRunner& runner) {
  CommonError common;
  const std::uint64_t points = request.points.size();
  const std::uint64_t stride = 1 + (points - 1) / kMostTried;
  for (std::uint64_t point = 0; point < points; point += stride) {
    const Result<Scenario> scenario = runner.scenario(point);
    if (!scenario) {
      common.add(scenario.error());
      continue;
    }
    if (request.points.has_spares()) GOODPUT_TRY_STATUS(check_spares(*scenario));
    GOODPUT_TRY_STATUS(check_rule(request, *scenario));
    return point;
  }
  return *common.error;
}

// What the folder of the sweep says of it. `point`: one that can be read.
SweepManifest make_sweep_manifest(const SweepRequest& request, std::uint64_t point, PointRunner& runner) {
  SweepManifest manifest;
  manifest.version = program_version();
  manifest.seed = request.seed;
  manifest.scenario = request.file;
  manifest.parameters = request.points.parameters();
  Hash hash;
  for (const std::string& parameter : manifest.parameters) hash.add(parameter);
  for (std::uint64_t i = 0; i < request.points.size(); ++i) {
    manifest.values.push_back(request.points.values(i));
    for (const std::string& value : manifest.values.back()) hash.add(value);
  }
  SweepConfig echoed = request.sweep;
  echoed.scenario = request.scenario;
  echoed.set = request.set;
  const OrderedJson json = config::write(config_fields(echoed));
  manifest.request = json.dump();
  // Where the scenario lies moves no number, what is in it does.
  echoed.scenario.clear();
  hash.add(config::write(config_fields(echoed)).dump());
  hash.add(request.seed);
  const Result<Scenario> scenario = runner.scenario(point);
  GOODPUT_CHECK(scenario, "a sweep point cannot be read any more");
  const Result<std::string> config = runner.config_hash(*scenario);
  hash.add(config ? *config : config.error().message(flag_of));
  manifest.grid_hash = fmt::format("{:016x}", hash.value());
  return manifest;
}

// ---- Runs points of a sweep on all threads.

// Runs each point on one thread and passes it to `take` when it is finished: one at a time, in any order.
// Returns the first error of `take`.
Status run_points(const SweepRequest& request, const config::Library& library,
                  std::span<const std::uint64_t> points, unsigned jobs,
                  const std::function<Status(const PointRows&)>& take) {
  std::mutex one_at_a_time;
  std::vector<std::unique_ptr<PointRunner>> idle;  // with what they know of the points before
  std::optional<Error> failed;
  parallel_pieces(jobs, points.size(), 1, [&](std::size_t at, std::size_t) {
    std::unique_ptr<PointRunner> runner;
    {
      const std::scoped_lock lock(one_at_a_time);
      if (failed) return;
      if (!idle.empty()) {
        runner = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!runner) runner = std::make_unique<PointRunner>(request, library);
    const PointRows rows = runner->run(points[at]);
    const std::scoped_lock lock(one_at_a_time);
    idle.push_back(std::move(runner));
    if (failed) return;
    if (Status taken = take(rows); !taken) failed = std::move(taken).error();
  });
  if (failed) return *std::move(failed);
  return Ok{};
}

// ---- The command.

class SweepCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("sweep", options_.file, "SWEEP|SCENARIO",
             "Sweep (a name from 'goodput list sweeps', or a file), or a scenario to use with --vary")
        .listed("sweeps")
        .required();
    options
        .add("--vary", options_.vary, "POINTER=VALUES",
             "What to vary, for example /failures/mtbf_hours=10,100 or spares=0..8. Values: a list such as "
             "[4,8], 0..8, 0..64:8 (steps of 8) or 600..86400/7:log (7 values, logarithmic). To vary several "
             "values together: /nodes,/plan/parallel/dp=[136,16],[144,17]. Repeatable: all combinations are "
             "run")
        .one_value_each();
    options.add("--out", out_, "DIR", "Folder for the results").folder().required();
    options
        .add("--set", options_.set, "POINTER=VALUE",
             "Change a value of the scenario at all points; repeatable, applied in order")
        .one_value_each();
    options
        .add("--policy", options_.policies, "NAME",
             "Run only this policy of the scenario; repeatable (default: all)")
        .one_value_each();
    options_.commands.configure(options);
    options
        .add("--design", options_.design, "NAME",
             fmt::format("How points are chosen: {} (default: the design in the sweep file, or else grid)",
                         fmt::join(kSweepDesignNames, ", ")))
        .one_of(kSweepDesignNames);
    options.add("--points", options_.points, "N", "Number of points of a latin design");
    options.add("--trials", options_.trials, "N",
                "Number of trials per policy and point; with --until, the initial number (default: the "
                "number in the scenario)");
    options.add("--until", options_.until, "METRIC±X%",
                "Run more trials until the 95 % interval of a metric is this narrow: cost±0.2%, or "
                "cost:A/B±0.2% for the ratio of policies A and B");
    options.add("--max-trials,--most-trials", options_.max_trials, "N",
                "Maximum number of trials with --until (default 10000)");
    options.add_flag("--resume", is_resumed_, "Continue the sweep in the folder; finished points are kept");
    options.add("--shard", shard_, "I/N",
                "Run part I of N of the points, counted from 0 (default: the part of this Slurm task, or "
                "else all points)");
    options.add_flag("--emit-sbatch", emits_sbatch_,
                     "Print a Slurm job script that runs this sweep, and exit");
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
    GOODPUT_TRY_STATUS(check_each_value(request, runner));
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
      return Error{"--emit-sbatch: cannot determine the path of goodput or the current folder"};
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
    add_number("--max-trials", options_.max_trials);
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
      .summary = "Run a scenario with every combination of varied values; results as CSV, SQLite and Parquet",
      .example =
          "goodput sweep controlled-5min-gpt-s --vary /failures/every_s=300,600,1200 --out sweep\n"
          "goodput sweep job.json --vary spares=0..8 --until 'cost±0.2%' --out sweep",
      .make = make_command<SweepCommand>};
}

}  // namespace goodput
