// `goodput synth`: a trace of a job that never ran, with known stragglers.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "models/cost/cost_models.h"
#include "models/synth/synthetic_trace.h"
#include "sim/base/registry.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"
#include "tools/plan/plan_provenance.h"
#include "tools/synth/synth_report.h"
#include "tools/trace/write_trace.h"

namespace goodput {
namespace {

class SynthCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("plan", plan_path_, "PLAN",
             "A plan: a name that goodput list plans prints, or a file, which may have \"stragglers\" and "
             "\"trace\"")
        .listed("plans")
        .required();
    options.add("--out", out_path_, "TRACE", "The trace; format from its extension").output().required();
    options.add("--to", format_, "NAME", "Format of the trace (see goodput list formats)")
        .one_of(names_of(op_trace_formats()));
    options.add("--truth", truth_path_, "FILE", "The ground truth as JSON (default: TRACE.truth.json)")
        .output();
    options.add("--meta-out", metadata_path_, "FILE", "Job metadata as YAML, for whatif --meta").output();
    options
        .add("--stragglers", stragglers_path_, "FILE.json",
             "Take \"stragglers\" and \"trace\" from here, not from the plan")
        .input();
    options.add("--steps", steps_, "N", "Training steps (default: the plan's, or 10)");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    if (truth_path_.empty()) truth_path_ = out_path_ + ".truth.json";
    GOODPUT_TRY_STATUS(check_options());
    GOODPUT_TRY(const OpTraceFormat format, output_format(out_path_, format_));
    GOODPUT_TRY(const SynthPlan plan, read_plan(context));
    GOODPUT_TRY_STATUS(check_files(plan.plan, context));
    GOODPUT_TRY(const std::unique_ptr<CostModel> cost, make_cost_model(cost_inputs(plan.plan)));
    GOODPUT_TRY(const SyntheticStep step, synthetic_step(plan.plan, *cost, context.options.seed));
    const auto& [stragglers, settings] = plan.synth;
    Result<SyntheticTrace> trace = synthesize(step, stragglers, settings, context.options.seed);
    if (!trace) return in_file(trace.error());
    const SynthResult result{plan, step, *trace, out_path_, std::string(format.name)};
    GOODPUT_TRY_STATUS(write_files(result, format, context));
    context.print(synth_text(result) + "\nGround truth in " + truth_path_ + '\n');
    return ExitCode::kOk;
  }

 private:
  [[nodiscard]] Status check_options() const {
    for (const OutputPath& file : {OutputPath{"--out", out_path_}, OutputPath{"--truth", truth_path_},
                                   OutputPath{"--meta-out", metadata_path_}}) {
      if (file.path == "-") return Error{fmt::format("{} wants a file, not stdout", file.option)};
    }
    if (steps_ && (*steps_ < 1 || *steps_ > 1'000'000)) {
      return Error{"--steps wants a whole number from 1 to 1000000"};
    }
    return Ok{};
  }

  // Says what was read in place of something else; no output may be a file that the trace is made from.
  [[nodiscard]] Status check_files(const TrainingPlan& plan, const CommandContext& context) const {
    GOODPUT_TRY(const std::vector<config::Source> sources, plan_sources(plan));
    note_shadowed(sources, context);
    return check_file_roles(files_of(sources),
                            {{"--out", out_path_}, {"--truth", truth_path_}, {"--meta-out", metadata_path_}},
                            context);
  }

  // With the stragglers and settings that the options say.
  [[nodiscard]] Result<SynthPlan> read_plan(const CommandContext& context) const {
    GOODPUT_TRY(const config::Library library, config_library(context));
    GOODPUT_TRY(const std::string file, config_file(plan_path_, kPlanFiles, library, context));
    GOODPUT_TRY(SynthPlan read, read_synth_plan(file, library));
    if (!stragglers_path_.empty()) {
      GOODPUT_TRY(read.synth, config::read<SynthSettings>(stragglers_path_));
      read.plan.sources.push_back({stragglers_path_, {}});
    }
    if (steps_) read.synth.trace.steps = static_cast<std::int32_t>(*steps_);
    TrainingPlan& plan = read.plan;
    plan.parallel = settled(plan.parallel, plan.cluster.gpus_per_node);
    GOODPUT_TRY_STATUS(check_training_plan(plan));
    if (std::exchange(plan.parallel.overlap_p2p, false) && plan.parallel.pp > 1) {
      context.note(
          "in NDTimeline's traces a receive waits for the pass before its own: overlap_p2p is left out");
    }
    return read;
  }

  // A pointer into the stragglers gets the file they stand in.
  [[nodiscard]] Error in_file(const Error& error) const {
    if (error.where.empty()) return error.in_file(plan_path_);
    return error.inside("/stragglers").in_file(stragglers_path_.empty() ? plan_path_ : stragglers_path_);
  }

  // Nothing gets its name before everything was written.
  [[nodiscard]] Status write_files(const SynthResult& result, const OpTraceFormat& format,
                                   const CommandContext& context) const {
    GOODPUT_TRY(const nlohmann::ordered_json json, json_of(result, context));
    const auto write_others = [&]() -> Status {
      if (!metadata_path_.empty()) {
        GOODPUT_TRY_STATUS(write_text_atomically(metadata_path_, job_metadata_yaml(result)));
      }
      return write_json_result(json, context);
    };
    return write_file_atomically(out_path_, [&](const std::string& trace_file) -> Status {
      GOODPUT_TRY_STATUS(format.write(result.trace.rows, trace_file, out_path_));
      return write_file_atomically(truth_path_, [&](const std::string& truth_file) -> Status {
        GOODPUT_TRY_STATUS(write_text_atomically(truth_file, json.dump(2) + '\n'));
        return write_others();
      });
    });
  }

  [[nodiscard]] static Result<nlohmann::ordered_json> json_of(const SynthResult& result,
                                                              const CommandContext& context) {
    GOODPUT_TRY(const Provenance provenance,
                plan_provenance(result.plan, Granularity::kOps, result.step.tier));
    nlohmann::ordered_json json = begin_json_result("synth-truth", context, provenance);
    add_synth_json(result, json);
    return json;
  }

  std::string plan_path_;
  std::string out_path_;
  std::string format_;
  std::string truth_path_;
  std::string metadata_path_;
  std::string stragglers_path_;
  std::optional<std::int64_t> steps_;
};

}  // namespace

CommandInfo command_synth() {
  return {.name = "synth",
          .summary = "a trace of a job that never ran, with known stragglers, and the truth about it",
          .example =
              "goodput synth llama3-70b-h100 --out trace.parquet --steps 20 --seed 1\n"
              "goodput whatif trace.parquet",
          .make = make_command<SynthCommand>};
}

}  // namespace goodput
