// `goodput calibration info FILE`, `compare A B` and `merge A B --out FILE`.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/cost/calibration.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/config/library.h"
#include "tools/calibration/calibration_info.h"
#include "tools/calibration/compare_calibrations.h"
#include "tools/calibration/merge_calibrations.h"
#include "tools/calibration/plan_gaps.h"
#include "tools/calibration/table_text.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/key_notes.h"
#include "tools/cli/output_file.h"

namespace goodput {
namespace {

// ---- A calibration that a command was told of.

struct CalibrationInput {
  std::string path;
  Calibration calibration;

  // Of what it says, however it is laid out.
  [[nodiscard]] std::uint64_t hash() const {
    Calibration copy = calibration;
    Hash hash;
    hash.add(config::write(config_fields(copy)).dump());
    return hash.value();
  }
};

// By path or by a name that `goodput list calibrations` prints.
Result<CalibrationInput> read_calibration_input(const std::string& argument, const config::Library& library,
                                                const CommandContext& context) {
  GOODPUT_TRY(std::string path, config_file(argument, kCalibrationFiles, library, context));
  GOODPUT_TRY(Calibration calibration, read_calibration(path, library));
  return CalibrationInput{std::move(path), std::move(calibration)};
}

// ---- info

struct CalibrationInfoOptions {
  std::string file;
  std::string plan;
};

struct PlanOfInfo {
  std::string file;
  std::vector<std::string> sources;
  PlanGaps gaps;
  std::uint64_t hash = 0;
};

Result<PlanOfInfo> read_plan(const CalibrationInfoOptions& options, const CalibrationInput& input,
                             const config::Library& library, const CommandContext& context) {
  GOODPUT_TRY(const std::string file, config_file(options.plan, kPlanFiles, library, context));
  GOODPUT_TRY(TrainingPlan plan, read_training_plan(file, library));
  note_shadowed(plan.sources, context);
  for (const std::string& line : key_note_lines(plan.unused, plan.file)) context.note(line);
  Result<PlanGaps> gaps = find_plan_gaps(plan, input.calibration, context.options.seed,
                                         static_cast<unsigned>(context.options.jobs));
  if (!gaps) return gaps.error().in_file(input.path);
  Hash hash;
  hash.add(config::write(config_fields(plan)).dump());
  return PlanOfInfo{file, files_of(plan.sources), *std::move(gaps), hash.value()};
}

Result<ExitCode> run_calibration_info(const CalibrationInfoOptions& options, const CommandContext& context) {
  GOODPUT_TRY(const config::Library library, config_library(context));
  GOODPUT_TRY(const CalibrationInput input, read_calibration_input(options.file, library, context));
  std::optional<PlanOfInfo> plan;
  if (!options.plan.empty()) {
    GOODPUT_TRY(plan, read_plan(options, input, library, context));
  }
  Provenance provenance;
  provenance.calibration = input.path;
  provenance.lowest_tier = to_string(lowest_tier_of(input.calibration));
  if (plan) provenance.config_files = plan->sources;
  provenance.config_files.push_back(input.path);
  GOODPUT_TRY_STATUS(check_file_roles(provenance.config_files, {}, context));
  std::string text = calibration_info_text(input.calibration, input.path);
  if (plan) text += "\n" + plan_gaps_text(plan->gaps, options.plan);
  context.print(text);
  if (!context.options.wants_result()) return ExitCode::kOk;
  Hash hash;
  hash.add(input.hash());
  hash.add(plan ? plan->hash : 0);
  provenance.config_hash = hash.value();
  OrderedJson json = begin_json_result("calibration_info", context, provenance);
  add_calibration_info_json(input.calibration, json);
  json["plan"] = plan ? plan_gaps_json(plan->gaps, plan->file) : OrderedJson(nullptr);
  GOODPUT_TRY_STATUS(write_json_result(json, context));
  return ExitCode::kOk;
}

// ---- compare and merge

struct CalibrationPair {
  CalibrationInput first, second;

  [[nodiscard]] Provenance provenance() const {
    Hash hash;
    hash.add(first.hash());
    hash.add(second.hash());
    Provenance provenance;
    provenance.config_hash = hash.value();
    provenance.lowest_tier =
        to_string(lowest(lowest_tier_of(first.calibration), lowest_tier_of(second.calibration)));
    provenance.config_files = {first.path, second.path};
    return provenance;
  }
};

struct CalibrationPairOptions {
  std::string first, second;
  std::string tolerance = "5%";
  std::string out;
};

Result<CalibrationPair> read_pair(const CalibrationPairOptions& options, const CommandContext& context) {
  GOODPUT_TRY(const config::Library library, config_library(context));
  GOODPUT_TRY(CalibrationInput first, read_calibration_input(options.first, library, context));
  GOODPUT_TRY(CalibrationInput second, read_calibration_input(options.second, library, context));
  return CalibrationPair{std::move(first), std::move(second)};
}

Result<ExitCode> run_calibration_compare(const CalibrationPairOptions& options,
                                         const CommandContext& context) {
  Result<double> tolerance = parse_ratio_tolerance(options.tolerance);
  if (!tolerance) return tolerance.error().of_option("tolerance");
  GOODPUT_TRY(const CalibrationPair pair, read_pair(options, context));
  GOODPUT_TRY_STATUS(check_file_roles({pair.first.path, pair.second.path}, {}, context));
  const auto compared = compare_calibrations(pair.first.calibration, pair.second.calibration, *tolerance);
  if (!compared)
    return Error{fmt::format("shares no point (same table and size) with {}; there is nothing to compare",
                             pair.first.path),
                 {.file = pair.second.path}};
  const ComparedNames names{pair.first.path, pair.second.path};
  context.print(comparison_text(*compared, names));
  const ExitCode code = compared->beyond > 0 ? ExitCode::kRegression : ExitCode::kOk;
  if (!context.options.wants_result()) return code;
  OrderedJson json = begin_json_result("calibration_compare", context, pair.provenance());
  add_comparison_json(*compared, json);
  GOODPUT_TRY_STATUS(write_json_result(json, context));
  return code;
}

Status write_merged(const MergedCalibration& merged, const CalibrationPairOptions& options,
                    const CommandContext& context) {
  const std::string text = calibration_file_text(merged.calibration);
  if (options.out == "-") {
    context.out << text;
    return Ok{};
  }
  GOODPUT_TRY_STATUS(write_text_atomically(options.out, text));
  const std::size_t tables = merged.calibration.ops.size();
  const MergedCounts& more = merged.from_second;
  context.print(fmt::format(
      "Wrote {} with {}: {} from {} and {} from {}. Tables in both files, taken from the first: {}\n",
      options.out, counted(tables, "table"), tables - more.tables, options.first, more.tables, options.second,
      more.known));
  return Ok{};
}

Result<ExitCode> run_calibration_merge(const CalibrationPairOptions& options, const CommandContext& context) {
  GOODPUT_TRY(const CalibrationPair pair, read_pair(options, context));
  GOODPUT_TRY_STATUS(
      check_file_roles({pair.first.path, pair.second.path}, {{"--out", options.out}}, context));
  const std::string name = std::filesystem::path(pair.second.path).filename().string();
  const auto merged = merge_calibrations(pair.first.calibration, pair.second.calibration, name);
  if (!merged) return merged.error().in_file(pair.second.path);
  GOODPUT_TRY_STATUS(write_merged(*merged, options, context));
  if (!context.options.wants_result()) return ExitCode::kOk;
  OrderedJson json = begin_json_result("calibration_merge", context, pair.provenance());
  const MergedCounts& more = merged->from_second;
  json["output"] = options.out;
  json["tables"] = merged->calibration.ops.size();
  json["from_second"] = {{"tables", more.tables},
                         {"known", more.known},
                         {"checks", more.checks},
                         {"assumed", more.assumed},
                         {"ceilings", more.ceilings}};
  GOODPUT_TRY_STATUS(write_json_result(json, context));
  return ExitCode::kOk;
}

class CalibrationCommand final : public Command {
 public:
  void configure(Options& options) override {
    info_options_ = options.add_subcommand("info", "Describe a calibration and how smooth its tables are");
    add_file(*info_options_, "file", info_.file, "FILE");
    info_options_
        ->add("--plan", info_.plan, "PLAN",
              "Also list the operations in a step of this plan that have no table in FILE")
        .listed("plans");
    compare_options_ = options.add_subcommand(
        "compare",
        "Compare the times in B with those in A; exit with 3 if any differs by more than --tolerance");
    add_pair(*compare_options_, compare_);
    compare_options_->add("--tolerance", compare_.tolerance, "PERCENT",
                          "Maximum difference between a time in B and the same time in A (default 5%)");
    Options merge = options.add_subcommand(
        "merge", "Write a calibration with all entries of A, plus the entries that only B has");
    add_pair(merge, merge_);
    merge.add("--out", merge_.out, "FILE", "Calibration file to write (- for stdout)").output().required();
  }

  Result<ExitCode> run(const CommandContext& context) override {
    if (info_options_->are_chosen()) return run_calibration_info(info_, context);
    if (compare_options_->are_chosen()) return run_calibration_compare(compare_, context);
    return run_calibration_merge(merge_, context);
  }

 private:
  static void add_file(Options& options, const std::string& name, std::string& file,
                       const std::string& value) {
    options.add(name, file, value, "Calibration: a name from 'goodput list calibrations', or a file")
        .listed("calibrations")
        .required();
  }
  static void add_pair(Options& options, CalibrationPairOptions& pair) {
    add_file(options, "first", pair.first, "A");
    add_file(options, "second", pair.second, "B");
  }

  std::optional<Options> info_options_;
  std::optional<Options> compare_options_;
  CalibrationInfoOptions info_;
  CalibrationPairOptions compare_;
  CalibrationPairOptions merge_;
};

}  // namespace

CommandInfo command_calibration() {
  return {.name = "calibration",
          .summary = "Describe, compare and merge calibration files",
          .example =
              "goodput calibration info h200-public --plan llama3-8b-h100\n"
              "goodput calibration compare before.json after.json --tolerance 5%\n"
              "goodput calibration merge measured.json h200-public --out h200.json",
          .make = make_command<CalibrationCommand>};
}

}  // namespace goodput
