// `goodput simulate`: how far a job gets under failures, by recovery policy, and where its time goes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/scenario/observations.h"
#include "models/scenario/scenario.h"
#include "models/scenario/simulation.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/live_progress.h"
#include "tools/cli/output_file.h"
#include "tools/plan_step/plan_provenance.h"
#include "tools/simulate/job_timeline.h"
#include "tools/simulate/policy_commands.h"
#include "tools/simulate/recorded_run.h"
#include "tools/simulate/scenario_inputs.h"
#include "tools/simulate/scenario_options.h"
#include "tools/simulate/simulate_report.h"
#include "tools/simulate/throughput.h"
#include "tools/simulate/trial_rows.h"
#include "traces/io/byte_sink.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostTrials = 10'000'000;

// Two policies, and by what.
struct Compared {
  std::string a;
  std::string b;
  TrialMetric metric;
};

Scenario without_refused(Scenario scenario, const Simulation& simulation) {
  std::erase_if(scenario.policies, [&](const ScenarioPolicy& policy) {
    return std::any_of(simulation.policies.begin(), simulation.policies.end(),
                       [&](const PolicyOutcome& outcome) {
                         return outcome.name == policy.name && !outcome.refused.empty();
                       });
  });
  return scenario;
}

class SimulateCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("scenario", scenario_path_, "SCENARIO",
             "Scenario: a name from 'goodput list scenarios', or a file")
        .listed("scenarios")
        .required();
    options
        .add("--policy", policies_, "NAME", "Run only this policy of the scenario; repeatable (default: all)")
        .one_value_each();
    commands_.configure(options);
    options.add(
        "--trials", trials_, "N",
        "Number of trials per policy, each with different failures (default: the number in the scenario)");
    options.add("--first-trial", first_trial_, "K",
                "Index of the first trial (default 0); the result of a trial depends only on its index");
    options
        .add(
            "--set", changes_, "POINTER=VALUE",
            "Change a value of the scenario, for example /failures/every_s=600; repeatable, applied in order")
        .one_value_each();
    options.add("--compare", compared_, "A,B",
                "Report which of two policies is better on the same failures, or how many more trials are "
                "needed to decide");
    options.add("--metric", metric_, "NAME",
                fmt::format("Metric for --compare (default samples_per_hour): {}",
                            fmt::join(names_of(kTrialMetrics), ", ")));
    options
        .add("--timeline", timeline_path_, "FILE.json.gz",
             "Write the first trial of every policy as a Chrome trace for Perfetto")
        .output();
    options
        .add("--throughput", throughput_path_, "FILE.csv|svg",
             "Write the samples trained over time in the first trial, as a table or a chart")
        .output();
    options
        .add("--trials-csv", trials_csv_path_, "FILE.csv",
             "Write one row per policy and trial; - for stdout, which then gets no other output")
        .output();
    options.add_flag("--json-trials", has_json_trials_, "Add the result of every trial to --json");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY_STATUS(check_options(context));
    GOODPUT_TRY(Scenario scenario, read(context));
    GOODPUT_TRY(const std::optional<Compared> compared, this->compared(scenario));
    GOODPUT_TRY(const ScenarioInputs inputs, read_scenario_inputs(scenario, context.options.seed));
    note_sources(scenario, inputs.view().failures);
    GOODPUT_TRY_STATUS(check_files(scenario, inputs, context));
    for (const std::string& note : inputs.notes()) context.note(note);
    Observations observations = observations_of(scenario, inputs.view().failures, scenario.trials);
    scenario.trials = observations.trials;
    GOODPUT_TRY(Simulation simulation, simulate_trials(scenario, inputs, context));
    if (observations.is_one_run()) drop_intervals(simulation);
    GOODPUT_TRY(const Scenario echoed, resolved(scenario));
    GOODPUT_TRY(std::optional<PolicyComparison> comparison, compare(simulation, compared));
    GOODPUT_TRY(const std::vector<RecordedRun> recorded,
                record_trials(without_refused(scenario, simulation), inputs, context));
    const SimulateReport report{
        scenario, echoed, inputs, simulation, std::move(comparison), &recorded, std::move(observations)};
    GOODPUT_TRY_STATUS(write_recorded(recorded, scenario, inputs));
    if (!trials_csv_path_.empty()) GOODPUT_TRY_STATUS(write_trials(simulation, context));
    if (context.options.wants_result()) GOODPUT_TRY_STATUS(write_json(report, context));
    if (trials_csv_path_ != "-") context.print(simulate_text(report));
    return ExitCode::kOk;
  }

 private:
  [[nodiscard]] Status check_options(const CommandContext& context) const {
    if (first_trial_ < 0 || first_trial_ > kMostTrials)
      return Error{fmt::format("--first-trial must be a whole number from 0 to {}, not {}", kMostTrials,
                               first_trial_)};
    if (!metric_.empty() && compared_.empty())
      return Error{"--metric applies only to --compare; add --compare A,B"};
    return check_output_options(context);
  }
  [[nodiscard]] Status check_output_options(const CommandContext& context) const {
    if (has_json_trials_ && context.options.json_path.empty())
      return Error{"--json-trials applies only to --json; add --json FILE"};
    if (timeline_path_ == "-") return Error{"--timeline must be a file, not stdout"};
    if (throughput_path_.empty() || throughput_path_.ends_with(".csv") || throughput_path_.ends_with(".svg"))
      return Ok{};
    return Error{
        fmt::format("--throughput {}: the name must end in .csv or .svg", on_one_line(throughput_path_))};
  }

  // The scenario as the options have it.
  [[nodiscard]] Result<Scenario> read(const CommandContext& context) const {
    GOODPUT_TRY(const std::vector<config::Change> changes, parse_changes(changes_));
    GOODPUT_TRY(const config::Library library, config_library(context));
    GOODPUT_TRY(const std::string file, config_file(scenario_path_, kScenarioFiles, library, context));
    GOODPUT_TRY(const std::vector<PolicyCommand> commands, commands_.read());
    GOODPUT_TRY(Scenario scenario, read_scenario(file, changes, library, commands));
    GOODPUT_TRY_STATUS(select_policies(policies_, scenario));
    if (!trials_) return scenario;
    if (*trials_ < 1 || *trials_ > kMostTrials)
      return Error{
          fmt::format("--trials must be a whole number from 1 to {}, not {}", kMostTrials, *trials_)};
    scenario.trials = *trials_;
    return scenario;
  }

  // The two names of --compare, which may have commas themselves.
  [[nodiscard]] Result<std::pair<std::string, std::string>> compared_policies(
      const Scenario& scenario) const {
    const auto has = [&](const std::string& name) {
      return std::any_of(scenario.policies.begin(), scenario.policies.end(),
                         [&](const ScenarioPolicy& policy) { return policy.name == name; });
    };
    for (auto comma = compared_.find(','); comma != std::string::npos;
         comma = compared_.find(',', comma + 1)) {
      const std::string a = compared_.substr(0, comma);
      const std::string b = compared_.substr(comma + 1);
      if (has(a) && has(b) && a != b) return std::pair{a, b};
    }
    std::vector<std::string_view> names;
    for (const ScenarioPolicy& policy : scenario.policies) names.push_back(policy.name);
    return Error{fmt::format(
        "--compare {}: must be two different policies, separated by a comma; the policies of this run are {}",
        on_one_line(compared_), fmt::join(names, ", "))};
  }
  [[nodiscard]] Result<TrialMetric> compared_metric() const {
    if (metric_.empty()) return TrialMetric::kSamplesPerHour;
    Result<TrialMetric> metric = find_trial_metric(metric_);
    if (!metric) return Error{"--metric: " + metric.error().what};
    return metric;
  }
  // What --compare asks for, before anything is run for it; nothing: nobody asks.
  [[nodiscard]] Result<std::optional<Compared>> compared(const Scenario& scenario) const {
    if (compared_.empty()) return std::optional<Compared>{};
    GOODPUT_TRY(auto names, compared_policies(scenario));
    GOODPUT_TRY(const TrialMetric metric, compared_metric());
    return std::optional(Compared{std::move(names.first), std::move(names.second), metric});
  }
  static Result<std::optional<PolicyComparison>> compare(const Simulation& simulation,
                                                         const std::optional<Compared>& compared) {
    if (!compared) return std::optional<PolicyComparison>{};
    GOODPUT_TRY(PolicyComparison comparison,
                compare_policies(simulation, compared->a, compared->b, compared->metric));
    return std::optional(std::move(comparison));
  }

  // Says what was read in place of something else; no output may be a file that anything was read from.
  [[nodiscard]] Status check_files(const Scenario& scenario, const ScenarioInputs& inputs,
                                   const CommandContext& context) const {
    GOODPUT_TRY(const std::vector<config::Source> sources, scenario_sources(scenario, inputs));
    note_shadowed(sources, context);
    std::vector<std::string> files = files_of(sources);
    for (const ScenarioFile& file : inputs.files) files.push_back(file.used);
    return check_file_roles(files,
                            {{"--timeline", timeline_path_},
                             {"--throughput", throughput_path_},
                             {"--trials-csv", trials_csv_path_}},
                            context);
  }

  [[nodiscard]] std::uint64_t first_trial() const { return static_cast<std::uint64_t>(first_trial_); }
  [[nodiscard]] Result<Simulation> simulate_trials(const Scenario& scenario, const ScenarioInputs& inputs,
                                                   const CommandContext& context) const {
    const bool shows = context.terminal.shows_progress && !context.options.quiet;
    LiveProgress bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever,
                     "simulating", static_cast<std::uint64_t>(scenario.trials) * scenario.policies.size());
    SimulationOptions options;
    options.seed = context.options.seed;
    options.trials = scenario.trials;
    options.first_trial = first_trial();
    options.jobs = static_cast<unsigned>(context.options.jobs);
    options.progress = [&bar](std::uint64_t done) { bar.update(done); };
    return simulate(scenario, inputs.view(), options);
  }

  // A run more of every policy, where something shows it.
  [[nodiscard]] Result<std::vector<RecordedRun>> record_trials(const Scenario& scenario,
                                                               const ScenarioInputs& inputs,
                                                               const CommandContext& context) const {
    if (timeline_path_.empty() && throughput_path_.empty() && !context.options.wants_result())
      return std::vector<RecordedRun>{};
    return record_runs(scenario, inputs.view(), context.options.seed, first_trial());
  }

  [[nodiscard]] Status write_recorded(const std::vector<RecordedRun>& runs, const Scenario& scenario,
                                      const ScenarioInputs& inputs) const {
    if (!timeline_path_.empty()) {
      const auto name = [&inputs](NodeId node) { return inputs.node_name(node); };
      GOODPUT_TRY_STATUS(write_file_atomically(timeline_path_, [&](const std::string& temporary) {
        return write_job_timeline(runs, name, temporary, timeline_path_);
      }));
    }
    if (throughput_path_.empty()) return Ok{};
    const std::string title = fmt::format("{} on {} nodes", scenario.plan.model.name, scenario.most_nodes());
    return write_text_atomically(throughput_path_, throughput_path_.ends_with(".csv")
                                                       ? throughput_csv(runs)
                                                       : throughput_svg(runs, title));
  }

  [[nodiscard]] Status write_trials(const Simulation& simulation, const CommandContext& context) const {
    const std::uint64_t seed = context.options.seed;
    if (trials_csv_path_ == "-") {
      return write_trials_csv(simulation, seed, first_trial(), [&context](std::string_view text) -> Status {
        context.out << text;
        return Ok{};
      });
    }
    return write_file_atomically(trials_csv_path_, [&](const std::string& temporary) -> Status {
      GOODPUT_TRY(ByteSink sink, ByteSink::open(temporary, trials_csv_path_));
      GOODPUT_TRY_STATUS(write_trials_csv(simulation, seed, first_trial(),
                                          [&sink](std::string_view text) { return sink.write(text); }));
      return sink.close();
    });
  }

  [[nodiscard]] Status write_json(const SimulateReport& report, const CommandContext& context) const {
    GOODPUT_TRY(Provenance provenance, scenario_provenance(report.scenario, report.inputs));
    provenance.lowest_tier = to_string(report.simulation.lowest_tier);
    OrderedJson json = begin_json_result("simulate", context, provenance);
    add_simulate_json(report, json);
    if (has_json_trials_ && first_trial_ > 0) json["first_trial"] = first_trial_;
    if (has_json_trials_) json["trials_by_policy"] = trials_json(report.simulation);
    return write_json_result(json, context);
  }

  std::string scenario_path_;
  std::vector<std::string> policies_;
  PolicyCommandOptions commands_;
  std::optional<std::int64_t> trials_;
  std::int64_t first_trial_ = 0;
  std::vector<std::string> changes_;
  std::string compared_;
  std::string metric_;
  std::string timeline_path_;
  std::string throughput_path_;
  std::string trials_csv_path_;
  bool has_json_trials_ = false;
};

}  // namespace

CommandInfo command_simulate() {
  return {.name = "simulate",
          .summary = "Simulate a training job whose nodes fail, and compare recovery policies",
          .example =
              "goodput simulate controlled-5min-gpt-s\n"
              "goodput simulate spot-p3-gpt-l --policy lazarus --trials 100 --set "
              "/failures/to_s=2400",
          .make = make_command<SimulateCommand>};
}

}  // namespace goodput
