// `goodput whatif TRACE...`: straggler analysis of a recorded training job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "sim/base/registry.h"
#include "sim/causes/fix.h"
#include "sim/whatif/whatif.h"
#include "tools/chart/heatmap.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "tools/cli/named_choice.h"
#include "tools/cli/output_file.h"
#include "tools/trace/load_recording.h"
#include "tools/whatif/whatif_compat.h"
#include "tools/whatif/whatif_report.h"
#include "traces/op/op_trace_format.h"
#include "traces/timeline/step_timeline.h"

namespace goodput {
namespace {

struct OutputPaths {
  std::string compat_json;
  std::string timeline;
  std::string ideal_timeline;
  std::string heatmap;
};

Status write_timelines(const OutputPaths& paths, const LoadedRecording& loaded, const WhatIfEngine& engine) {
  if (!paths.timeline.empty()) {
    GOODPUT_TRY_STATUS(write_file_atomically(paths.timeline, [&](const std::string& temporary) {
      return write_recorded_timeline(loaded.recording, temporary, paths.timeline);
    }));
  }
  if (!paths.ideal_timeline.empty()) {
    const WhatIfEngine::OpTimes times = engine.ideal_times();
    GOODPUT_TRY_STATUS(write_file_atomically(paths.ideal_timeline, [&](const std::string& temporary) {
      return write_ideal_timeline(loaded.recording, times.start_s, times.end_s, temporary,
                                  paths.ideal_timeline);
    }));
  }
  return Ok{};
}

class WhatIfCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("trace", load_.files.paths, "TRACE...",
             "Trace files of one job (one a host, or one for all); format from content")
        .input()
        .required();
    options
        .add("--meta", load_.files.metadata_path, "FILE",
             "Job metadata, YAML or JSON (default: inferred from the rows)")
        .input();
    options
        .add("--format", load_.files.format, "NAME",
             "Format of the traces (default: from content; see goodput list formats)")
        .one_of(names_of(op_trace_formats()));
    options.add("--steps", load_.steps, "LIST", "Analyse these steps only, for example 12,20-23");
    add_cleaning_options(options, load_.files);
    options
        .add("--align-clocks", align_clocks_, "auto|on|off",
             "Take offsets between the workers' clocks off their times; auto: when one is beyond 5 ms "
             "(default "
             "auto; --compat-json: off)")
        .one_of(kClockAlignments);
    options.add("--decompose-threshold", threshold_, "X",
                fmt::format("Attribute late launches from this launch slowdown on; --compat-json leaves out "
                            "every attribution below it (default {})",
                            threshold_));
    options
        .add("--fix", fix_, "SELECTOR",
             fmt::format(
                 "Predict the step time with these ops ideal, for example 'stage=3' or "
                 "'worker=2:3&step=10-20', or without a cause (cause={}); repeated: all of them. Keys: "
                 "optype, stage, dp, worker, step, mb",
                 fmt::join(remedied_causes(), ", ")))
        .one_value_each();
    options
        .add("--keep", keep_, "SELECTOR",
             "Predict the step time with all ops ideal but these; repeated: any of them")
        .one_value_each();
    options.add("--heatmap", paths_.heatmap, "FILE", "Draw the workers' slowdowns, as .svg or .png").output();
    options
        .add("--timeline", paths_.timeline, "FILE.json.gz",
             "Write the recorded steps as a Chrome trace, for Perfetto")
        .output();
    options
        .add("--ideal-timeline", paths_.ideal_timeline, "FILE.json.gz",
             "The same for the steps without stragglers")
        .output();
    options
        .add("--compat-json", paths_.compat_json, "FILE",
             "Write the result with the reference artifact's keys; - for stdout")
        .output();
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY_STATUS(check_options(context));
    GOODPUT_TRY_STATUS(choose_alignment());
    GOODPUT_TRY(const LoadedRecording loaded, load_recording(load_, context));
    const WhatIfOptions options{threshold_, static_cast<unsigned>(context.options.jobs)};
    const WhatIfEngine engine(loaded.graph, loaded.recording, options);
    Result<WhatIf> analysed = engine.analyse();
    if (!analysed) return std::move(analysed).error().in_file(load_.files.paths.front());
    const WhatIf& result = *analysed;
    const AnalysedJob job{loaded.graph, loaded.recording, result, options.jobs};
    const Patterns patterns = find_patterns(job);
    GOODPUT_TRY(const std::vector<Intervention> interventions, intervene(engine, job, patterns, fix_, keep_));
    const std::vector<RootCause> causes = find_root_causes(job, patterns, threshold_);
    const WhatIfReport report{loaded, result, causes, interventions, threshold_};
    GOODPUT_TRY_STATUS(write_files(report, engine, context));
    GOODPUT_TRY_STATUS(write_json(report, context));
    if (paths_.compat_json != "-") context.print(whatif_text(report, context.terminal));
    return ExitCode::kOk;
  }

 private:
  // What the reference artifact would answer has the clocks as they are.
  [[nodiscard]] Status choose_alignment() {
    GOODPUT_TRY(load_.clocks,
                choose<ClockAlignment>("align-clocks", "choice", align_clocks_, kClockAlignments));
    if (paths_.compat_json.empty()) return Ok{};
    if (load_.clocks == ClockAlignment::kOn) {
      return Error{
          "--align-clocks on goes with no --compat-json, whose answers are those of the times as recorded; "
          "run "
          "them apart"};
    }
    load_.clocks = ClockAlignment::kOff;
    return Ok{};
  }

  [[nodiscard]] Status check_options(const CommandContext& context) const {
    if (!(threshold_ >= 0 && std::isfinite(threshold_))) {
      return Error{"--decompose-threshold wants a number from 0 on, for example 1.03"};
    }
    for (const OutputPath& file :
         {OutputPath{"--timeline", paths_.timeline}, OutputPath{"--ideal-timeline", paths_.ideal_timeline}}) {
      if (file.path == "-") return Error{fmt::format("{} wants a file, not stdout", file.option)};
    }
    if (!paths_.heatmap.empty()) GOODPUT_TRY_STATUS(check_heatmap_path(paths_.heatmap));
    return check_file_roles(input_files(load_.files), {{"--json", context.options.json_path},
                                                       {"--compat-json", paths_.compat_json},
                                                       {"--timeline", paths_.timeline},
                                                       {"--ideal-timeline", paths_.ideal_timeline},
                                                       {"--heatmap", paths_.heatmap}});
  }

  [[nodiscard]] Status write_files(const WhatIfReport& report, const WhatIfEngine& engine,
                                   const CommandContext& context) const {
    GOODPUT_TRY_STATUS(write_timelines(paths_, report.loaded, engine));
    if (!paths_.heatmap.empty()) {
      GOODPUT_TRY_STATUS(write_file_atomically(paths_.heatmap, [&](const std::string& temporary) {
        return write_heatmap(worker_heatmap(report), temporary, paths_.heatmap);
      }));
    }
    if (paths_.compat_json.empty()) return Ok{};
    const std::string text = compat_json(report.result, report.loaded.job, threshold_);
    if (paths_.compat_json != "-") return write_text_atomically(paths_.compat_json, text);
    context.out << text;
    return Ok{};
  }

  [[nodiscard]] Status write_json(const WhatIfReport& report, const CommandContext& context) const {
    if (context.options.json_path.empty()) return Ok{};
    nlohmann::ordered_json json = begin_json_result("whatif", context, {config_hash(report), {}, "measured"});
    add_whatif_json(report, json);
    return write_json_result(json, context);
  }

  LoadOptions load_;
  OutputPaths paths_;
  std::string align_clocks_ = "auto";
  std::vector<std::string> fix_;
  std::vector<std::string> keep_;
  double threshold_ = WhatIfOptions{}.decompose_threshold;
};

}  // namespace

CommandInfo command_whatif() {
  return {.name = "whatif",
          .summary = "what stragglers cost a recorded job, and whose fault it is",
          .example =
              "goodput whatif trace.parquet --meta meta.yaml\n"
              "goodput whatif host*.csv.gz --fix 'worker=2:3' --heatmap slow.svg --json result.json",
          .make = make_command<WhatIfCommand>};
}

}  // namespace goodput
