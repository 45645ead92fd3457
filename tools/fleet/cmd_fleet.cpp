// `goodput fleet DB|RESULT...`: what stragglers cost many jobs, and why.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/tier.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "tools/cli/named_choice.h"
#include "tools/cli/output_file.h"
#include "tools/fleet/fleet_inputs.h"
#include "tools/fleet/fleet_report.h"
#include "tools/fleet/fleet_study.h"

namespace goodput {
namespace {

// Of what was analysed and of the options that move a number.
std::uint64_t config_hash(const std::vector<FleetJob>& jobs, const FleetStudyOptions& options) {
  Hash hash;
  for (const FleetJob& job : jobs) {
    hash.add(job.rows);
    hash.add(job.slowdown);
    hash.add(job.gpus.value_or(-1));
    hash.add(job.gpu_hours.value_or(-1));
    hash.add(job.restarts.value_or(-1));
  }
  hash.add(options.filters.most_restarts);
  hash.add(options.filters.least_steps);
  hash.add(options.filters.most_discrepancy);
  hash.add(static_cast<int>(options.weight));
  return hash.value();
}

// Absent of no jobs.
std::optional<std::string> lowest_tier(const std::vector<FleetJob>& jobs) {
  if (jobs.empty()) return std::nullopt;
  Tier tier = Tier::kMeasured;
  for (const FleetJob& job : jobs) tier = lowest(tier, job.tier);
  return std::string(to_string(tier));
}

using FileId = std::pair<dev_t, ino_t>;

std::optional<FileId> id_of(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return std::nullopt;
  return FileId{file.st_dev, file.st_ino};
}

// The outputs that are one of `files`. To compare each with each takes seconds, of 10,000 files and twelve
// outputs.
std::vector<OutputPath> those_among(const std::vector<std::string>& files,
                                    const std::vector<OutputPath>& outputs) {
  std::set<FileId> ids;
  for (const std::string& file : files) {
    if (const auto id = id_of(file)) ids.insert(*id);
  }
  std::vector<OutputPath> among;
  for (const OutputPath& output : outputs) {
    if (const auto id = id_of(output.path); id && ids.contains(*id)) among.push_back(output);
  }
  return among;
}

class FleetCommand final : public Command {
 public:
  void configure(Options& options) override {
    const FleetFilters usual;
    options
        .add("jobs", inputs_.paths, "DB|RESULT...",
             "Results of 'goodput whatif --json', monitor databases, or folders of these")
        .input()
        .required();
    options
        .add("--job-info,--about", inputs_.about, "FILE.csv",
             "CSV table with more data about the jobs: column job, and one or more of gpus, gpu_hours, "
             "restarts")
        .input();
    options
        .add("--weight", weight_, "WHAT",
             "How jobs are weighted: job (all jobs count the same) or gpu-hours (default job)")
        .one_of(kFleetWeights);
    options.add("--max-restarts", most_restarts_, "N",
                fmt::format("Leave out jobs with more than N restarts (default {})", usual.most_restarts));
    options.add(
        "--min-steps", least_steps_, "N",
        fmt::format("Leave out jobs with fewer than N analyzed steps (default {})", usual.least_steps));
    options.add("--max-discrepancy", filters_.most_discrepancy, "X",
                fmt::format("Leave out jobs with a replay error of X or more (default {:g})",
                            usual.most_discrepancy));
    options
        .add("--tables", tables_, "DIR",
             "Write tables of jobs, distributions, op types, job sizes and hosts as CSV files")
        .folder();
    options
        .add("--figures", figures_, "DIR",
             "Draw charts of distributions, op types, job sizes and hosts as SVG files")
        .folder();
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY_STATUS(check_options());
    GOODPUT_TRY_STATUS(check_files(context));
    GOODPUT_TRY(const FleetReading reading, read_fleet(inputs_, context));
    for (const std::string& note : reading.notes) context.note(note);
    FleetStudyOptions options{filters_, FleetWeight::kJob, context.options.seed};
    GOODPUT_TRY(options.weight, choose<FleetWeight>("weight", "weight", weight_, kFleetWeights));
    const FleetStudy study = study_fleet(reading.jobs, options);
    const FleetReport report{reading, study, options};
    if (!tables_.empty()) GOODPUT_TRY_STATUS(write_fleet_tables(report, tables_));
    if (!figures_.empty()) GOODPUT_TRY_STATUS(write_fleet_figures(report, figures_));
    OrderedJson json = begin_json_result("fleet", context,
                                         {config_hash(reading.jobs, options), {}, lowest_tier(reading.jobs)});
    add_fleet_json(report, json);
    GOODPUT_TRY_STATUS(write_json_result(json, context));
    context.print(fleet_text(report));
    return ExitCode::kOk;
  }

 private:
  [[nodiscard]] Status check_options() {
    if (most_restarts_ < 0) return Error{"--max-restarts must be a whole number of 0 or more"};
    if (least_steps_ < 1) return Error{"--min-steps must be a whole number of 1 or more"};
    if (!(filters_.most_discrepancy > 0 && std::isfinite(filters_.most_discrepancy)))
      return Error{"--max-discrepancy must be a number above 0, for example 0.05"};
    filters_.most_restarts = most_restarts_;
    filters_.least_steps = least_steps_;
    return Ok{};
  }

  // No output may be a file that is read.
  [[nodiscard]] Status check_files(const CommandContext& context) const {
    GOODPUT_TRY(std::vector<std::string> files, fleet_files(inputs_.paths));
    if (!inputs_.about.empty()) files.push_back(inputs_.about);
    const std::vector<OutputPath> outputs = folder_outputs();
    GOODPUT_TRY_STATUS(check_file_roles({}, outputs, context));
    return check_file_roles(files, those_among(files, outputs), context);
  }

  [[nodiscard]] std::vector<OutputPath> folder_outputs() const {
    std::vector<OutputPath> outputs;
    if (!tables_.empty()) {
      for (std::string& file : fleet_table_files(tables_)) outputs.push_back({"--tables", std::move(file)});
    }
    if (!figures_.empty()) {
      for (std::string& file : fleet_figure_files(figures_))
        outputs.push_back({"--figures", std::move(file)});
    }
    return outputs;
  }

  FleetInputs inputs_;
  FleetFilters filters_;
  std::int64_t most_restarts_ = filters_.most_restarts;
  std::int64_t least_steps_ = filters_.least_steps;
  std::string weight_ = std::string(kFleetWeights[0]);
  std::string tables_;
  std::string figures_;
};

}  // namespace

CommandInfo command_fleet() {
  return {.name = "fleet",
          .summary = "Analyze what stragglers cost many jobs, and why, as in the what-if paper",
          .example =
              "goodput fleet results/ monitor.sqlite --figures pictures\n"
              "goodput fleet results/*.json --job-info jobs.csv --weight gpu-hours --json fleet.json",
          .make = make_command<FleetCommand>};
}

}  // namespace goodput
