// `goodput whatif TRACE...`: straggler analysis of a recorded training job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "models/analysis/analyze.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/causes/fix.h"
#include "sim/whatif/whatif.h"
#include "tools/chart/heatmap.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "tools/cli/named_choice.h"
#include "tools/cli/output_file.h"
#include "tools/trace/read_trace.h"
#include "tools/whatif/whatif_by_step.h"
#include "tools/whatif/whatif_compat.h"
#include "tools/whatif/whatif_report.h"
#include "tools/whatif/whatif_workers.h"
#include "traces/op/op_trace_format.h"
#include "traces/op/worker_table.h"
#include "traces/timeline/step_timeline.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 2> kCauses = {"likely", "all"};
constexpr std::array<std::string_view, 2> kHeatmapAxes = {"dp-down", "dp-across"};  // of the enum

struct OutputPaths {
  std::string compat_json;
  std::string timeline;
  std::string ideal_timeline;
  std::string heatmap;
  std::string heatmap_step;
  std::string per_step_table;
};

Status write_timelines(const OutputPaths& paths, const ArrangedJob& job) {
  if (!paths.timeline.empty()) {
    GOODPUT_TRY_STATUS(write_file_atomically(paths.timeline, [&](const std::string& temporary) {
      return write_recorded_timeline(job.recording, job.graph, temporary, paths.timeline);
    }));
  }
  if (!paths.ideal_timeline.empty()) {
    const WhatIfEngine::OpTimes times = WhatIfEngine(job.graph, job.recording, {}).ideal_times();
    GOODPUT_TRY_STATUS(write_file_atomically(paths.ideal_timeline, [&](const std::string& temporary) {
      return write_ideal_timeline(job.recording, job.graph, times.start_s, times.end_s, temporary,
                                  paths.ideal_timeline);
    }));
  }
  return Ok{};
}

class WhatIfCommand final : public Command {
 public:
  void configure(Options& options) override {
    add_inputs(options);
    add_questions(options);
    add_outputs(options);
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY_STATUS(expand_folders(load_.files));
    GOODPUT_TRY_STATUS(check_options(context));
    GOODPUT_TRY_STATUS(choose_alignment());
    GOODPUT_TRY(const ArrangedJob job, load_job(load_, context));
    const bool by_step =
        context.options.wants_result() || !paths_.per_step_table.empty() || !paths_.heatmap_step.empty();
    const WhatIfOptions options{threshold_, static_cast<unsigned>(context.options.jobs), by_step};
    Result<Analysis> analyzed = analyze(job, {options, fix_, keep_});
    if (!analyzed) return std::move(analyzed).error();
    const Analysis& analysis = *analyzed;
    for (std::size_t i = job.trace.notes.size(); i < analysis.trace.notes.size(); ++i)
      context.note(analysis.trace.notes[i]);
    GOODPUT_TRY_STATUS(write_by_step(analysis));
    GOODPUT_TRY_STATUS(write_timelines(paths_, job));
    GOODPUT_TRY_STATUS(write_files(analysis, context));
    GOODPUT_TRY_STATUS(write_json(job.recording, analysis, context));
    if (paths_.compat_json != "-") context.print(whatif_text(analysis, {context.terminal, causes_ == "all"}));
    return ExitCode::kOk;
  }

 private:
  void add_inputs(Options& options) {
    options
        .add("trace", load_.files.paths, "TRACE...",
             "Trace files of one job (one per host, or one for all), or their folder")
        .input()
        .required();
    options
        .add("--meta", load_.files.metadata_path, "FILE",
             "Job metadata, YAML or JSON (default: meta.yaml in the trace folder, or else inferred from the "
             "trace)")
        .input();
    options
        .add("--format", load_.files.format, "NAME",
             "Format of the traces (default: detected from the content; see 'goodput list formats')")
        .one_of(names_of(op_trace_formats()));
    options.add("--steps", load_.steps, "LIST", "Analyze only these steps, for example 12,20-23");
    add_cleaning_options(options, load_.files);
    add_kineto_options(options, load_.files);
    options
        .add("--align-clocks", align_clocks_, "auto|on|off",
             "Correct clock offsets between workers; auto: only if an offset exceeds 5 ms (default auto; "
             "with --compat-json: off)")
        .one_of(kClockAlignments);
  }

  void add_questions(Options& options) {
    options.add(
        "--decompose-threshold", threshold_, "X",
        fmt::format("Attribute late launches to op types, stages and ranks only if the launch slowdown is X "
                    "or more; if it is less, --compat-json omits all attributions (default {})",
                    threshold_));
    options
        .add("--causes", causes_, "likely|all",
             "Causes to print; all: also those that were ruled out, with the reason (default likely)")
        .one_of(kCauses);
    options
        .add("--fix", fix_, "SELECTOR",
             fmt::format("Predict the step time if the selected ops were ideal, for example 'stage=3' or "
                         "'worker=2:3&step=10-20', or if a cause were fixed (cause=NAME: {}). Keys: optype, "
                         "stage, dp, worker, step, mb. Repeatable: the ops of all selectors are ideal",
                         fmt::join(remedied_causes(), ", ")))
        .one_value_each();
    options
        .add("--keep", keep_, "SELECTOR",
             "Predict the step time if all ops except the selected ones were ideal; repeatable: the ops of "
             "all selectors stay as recorded")
        .one_value_each();
  }

  void add_outputs(Options& options) {
    options
        .add("--heatmap", paths_.heatmap, "FILE",
             "Draw a heat map of the workers' slowdowns, as .svg or .png")
        .output();
    options
        .add("--heatmap-step", paths_.heatmap_step, "FILE",
             "Draw heat maps of the workers' slowdowns, one per step, as .svg or .png")
        .output();
    options.add("--heatmap-steps", heatmap_steps_, "LIST",
                "Steps to draw with --heatmap-step, for example 12,20-23 (default: all steps, or 40 evenly "
                "spaced ones if there are more)");
    options
        .add("--heatmap-axes", heatmap_axes_, "AXES",
             "dp-down: one row per data-parallel rank, one column per stage (default); dp-across: rows and "
             "columns swapped")
        .one_of(kHeatmapAxes);
    options.add_flag("--per-step", per_step_,
                     "Add every worker's slowdown in every step to the --json result");
    options
        .add("--per-step-table", paths_.per_step_table, "FILE",
             "Write each worker's slowdown in each step as a table (.csv, .csv.gz or .parquet); for large "
             "jobs this is smaller than the output of --per-step")
        .output();
    options
        .add("--timeline", paths_.timeline, "FILE.json.gz",
             "Write the recorded steps as a Chrome trace for Perfetto")
        .output();
    options
        .add("--ideal-timeline", paths_.ideal_timeline, "FILE.json.gz",
             "Write the steps without stragglers as a Chrome trace for Perfetto")
        .output();
    options
        .add("--compat-json", paths_.compat_json, "FILE",
             "Write the result with the JSON keys of the what-if paper's artifact; - for stdout")
        .output();
  }

  // What the reference artifact would answer has the clocks as they are.
  [[nodiscard]] Status choose_alignment() {
    GOODPUT_TRY(load_.clocks,
                choose<ClockAlignment>("align-clocks", "choice", align_clocks_, kClockAlignments));
    if (paths_.compat_json.empty()) return Ok{};
    if (load_.clocks == ClockAlignment::kOn) {
      return Error{
          "--align-clocks on and --compat-json cannot be used together, because --compat-json analyzes the "
          "times as recorded; run them separately"};
    }
    load_.clocks = ClockAlignment::kOff;
    return Ok{};
  }

  [[nodiscard]] Status check_options(const CommandContext& context) const {
    if (!(threshold_ >= 0 && std::isfinite(threshold_))) {
      return Error{"--decompose-threshold must be a number of 0 or more, for example 1.03"};
    }
    for (const OutputPath& file :
         {OutputPath{"--timeline", paths_.timeline}, OutputPath{"--ideal-timeline", paths_.ideal_timeline}}) {
      if (file.path == "-") return Error{fmt::format("{} must be a file, not stdout", file.option)};
    }
    for (const std::string& path : {paths_.heatmap, paths_.heatmap_step}) {
      if (!path.empty()) GOODPUT_TRY_STATUS(check_heatmap_path(path));
    }
    if (!heatmap_steps_.empty() && paths_.heatmap_step.empty()) {
      return Error{"--heatmap-steps applies only to --heatmap-step; add --heatmap-step FILE.svg"};
    }
    if (!heatmap_axes_.empty() && paths_.heatmap.empty() && paths_.heatmap_step.empty()) {
      return Error{
          "--heatmap-axes applies only to heat maps; add --heatmap FILE.svg or --heatmap-step FILE.svg"};
    }
    if (per_step_ && context.options.json_path.empty()) {
      return Error{
          "--per-step applies only to --json; add --json FILE, or use --per-step-table FILE instead"};
    }
    if (!paths_.per_step_table.empty()) GOODPUT_TRY_STATUS(check_worker_table_path(paths_.per_step_table));
    GOODPUT_TRY_STATUS(axes());
    return check_file_roles(input_files(load_.files),
                            {{"--compat-json", paths_.compat_json},
                             {"--timeline", paths_.timeline},
                             {"--ideal-timeline", paths_.ideal_timeline},
                             {"--heatmap", paths_.heatmap},
                             {"--heatmap-step", paths_.heatmap_step},
                             {"--per-step-table", paths_.per_step_table}},
                            context);
  }

  [[nodiscard]] Result<HeatmapAxes> axes() const {
    const std::string_view name = heatmap_axes_.empty() ? kHeatmapAxes[0] : heatmap_axes_;
    return choose<HeatmapAxes>("heatmap-axes", "heat map axes", name, kHeatmapAxes);
  }

  [[nodiscard]] Status write_by_step(const Analysis& analysis) const {
    if (!paths_.heatmap_step.empty()) {
      GOODPUT_TRY(HeatmapStrip strip, step_heatmaps(analysis, heatmap_steps_));
      GOODPUT_TRY(strip.axes, axes());
      GOODPUT_TRY_STATUS(write_file_atomically(paths_.heatmap_step, [&](const std::string& temporary) {
        return write_heatmap(strip, temporary, paths_.heatmap_step);
      }));
    }
    if (paths_.per_step_table.empty()) return Ok{};
    return write_file_atomically(paths_.per_step_table, [&](const std::string& temporary) {
      return write_slowdowns_by_step(analysis, temporary, paths_.per_step_table);
    });
  }

  [[nodiscard]] Status write_files(const Analysis& analysis, const CommandContext& context) const {
    if (!paths_.heatmap.empty()) {
      Heatmap heatmap = worker_heatmap(analysis);
      GOODPUT_TRY(heatmap.axes, axes());
      GOODPUT_TRY_STATUS(write_file_atomically(paths_.heatmap, [&](const std::string& temporary) {
        return write_heatmap(heatmap, temporary, paths_.heatmap);
      }));
    }
    if (paths_.compat_json.empty()) return Ok{};
    const std::string text = compat_json(analysis.whatif, analysis.job, threshold_);
    if (paths_.compat_json != "-") return write_text_atomically(paths_.compat_json, text);
    context.out << text;
    return Ok{};
  }

  [[nodiscard]] Status write_json(const Recording& recording, const Analysis& analysis,
                                  const CommandContext& context) const {
    if (!context.options.wants_result()) return Ok{};
    OrderedJson json =
        begin_json_result("whatif", context, {config_hash(recording, analysis), {}, "measured"});
    add_whatif_json(analysis, json);
    add_workers_json(analysis, json);
    if (per_step_) add_slowdowns_by_step(analysis, json["per_step"]);
    return write_json_result(json, context);
  }

  LoadOptions load_;
  OutputPaths paths_;
  std::string align_clocks_ = "auto";
  std::string causes_ = "likely";
  std::vector<std::string> fix_;
  std::vector<std::string> keep_;
  std::string heatmap_steps_;
  std::string heatmap_axes_;  // empty: the first of kHeatmapAxes
  bool per_step_ = false;
  double threshold_ = WhatIfOptions{}.decompose_threshold;
};

}  // namespace

CommandInfo command_whatif() {
  return {.name = "whatif",
          .summary = "Analyze what stragglers cost a recorded job, and what causes them",
          .example =
              "goodput whatif trace.parquet --meta meta.yaml\n"
              "goodput whatif logs/pretraining\n"
              "goodput whatif host*.csv.gz --fix 'worker=2:3' --heatmap slow.svg --json result.json",
          .make = make_command<WhatIfCommand>};
}

}  // namespace goodput
