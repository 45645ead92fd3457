// `goodput synth`: a trace of a job that never ran, with known stragglers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/fleet/fleet_mixture.h"
#include "models/plan/synth_plan.h"
#include "models/synth/synthetic_trace.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"
#include "sim/base/tier.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/key_notes.h"
#include "tools/cli/output_file.h"
#include "tools/plan_step/plan_provenance.h"
#include "tools/synth/fleet_result.h"
#include "tools/trace/job_json.h"
#include "tools/trace/write_trace.h"
#include "traces/op/job_metadata_file.h"

namespace goodput {
namespace {

// ---- What `goodput synth` says about the trace it wrote: the ground truth.

struct SynthResult {
  const SynthPlan& plan;
  const SyntheticStep& step;
  const SyntheticTrace& trace;
  std::string path;
  std::string format;
};

std::size_t index_of_largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

std::string worker_key(const SyntheticStep& step, std::size_t worker) {
  const auto stages = static_cast<std::size_t>(step.pp);
  return fmt::format("{}:{}", worker / stages, worker % stages);
}

OrderedJson injected_json(const SynthResult& result) {
  OrderedJson list = OrderedJson::array();
  for (std::size_t i = 0; i < result.trace.stragglers.size(); ++i) {
    Straggler straggler = result.trace.stragglers[i];
    OrderedJson injected = config::write(config_fields(straggler));
    injected["description"] = describe(straggler);
    injected["cost"] = result.trace.truth.cost[i];
    list.push_back(std::move(injected));
  }
  return list;
}

OrderedJson truth_json(const SynthResult& result) {
  const SyntheticTruth& truth = result.trace.truth;
  const std::size_t worker = index_of_largest(truth.worker_slowdown);
  const std::size_t stage = index_of_largest(truth.stage_slowdown);
  OrderedJson json = {
      {"slowdown", truth.slowdown},
      {"launch_slowdown", truth.launch_slowdown},
      {"recorded_step_s", truth.recorded_s},
      {"replayed_step_s", truth.replayed_s},
      {"ideal_step_s", truth.ideal_s},
      {"clean_step_s", truth.clean_s},
      {"worst_worker",
       {{"worker", worker_key(result.step, worker)}, {"slowdown", truth.worker_slowdown[worker]}}},
      {"worst_stage", {{"stage", stage}, {"slowdown", truth.stage_slowdown[stage]}}},
      {"slowdown_by_worker", OrderedJson::object()},
      {"slowdown_by_stage", OrderedJson::object()}};
  for (std::size_t i = 0; i < truth.worker_slowdown.size(); ++i) {
    append_member(json["slowdown_by_worker"], worker_key(result.step, i), truth.worker_slowdown[i]);
  }
  for (std::size_t i = 0; i < truth.stage_slowdown.size(); ++i) {
    append_member(json["slowdown_by_stage"], std::to_string(i), truth.stage_slowdown[i]);
  }
  return json;
}

JobMetadata metadata(const SynthResult& result) {
  const ParallelPlan& parallel = result.plan.plan.parallel;
  JobMetadata job;
  job.trial_name = file_stem(result.path);
  job.dp_size = parallel.dp;
  job.dsp_size = parallel.cp;
  job.pp_size = parallel.pp;
  job.tp_size = parallel.tp;
  job.vpp_size = parallel.vpp;
  job.world_size = parallel.gpus();
  return job;
}

std::string synth_text(const SynthResult& result) {
  const SyntheticTruth& truth = result.trace.truth;
  const std::size_t worker = index_of_largest(truth.worker_slowdown);
  const std::size_t stage = index_of_largest(truth.stage_slowdown);
  std::string text =
      fmt::format("Wrote {}: {} ops as {}, {} steps of DP {} x PP {}{}\n\n", result.path,
                  result.trace.rows.size(), result.format, result.plan.synth.trace.steps, result.step.dp,
                  result.step.pp, result.step.vpp > 1 ? fmt::format(" x VPP {}", result.step.vpp) : "");
  text += fmt::format("  mean step   {:>9.3f} s as recorded\n", truth.recorded_s);
  text += fmt::format("              {:>9.3f} s without launch delays\n", truth.replayed_s);
  text += fmt::format("              {:>9.3f} s if every op took the mean or median time of its type\n",
                      truth.ideal_s);
  text += fmt::format("              {:>9.3f} s without the stragglers\n", truth.clean_s);
  text += fmt::format("  true S      {:>9.4f} (slowdown from stragglers); {:.4f} from launch delays\n",
                      truth.slowdown, truth.launch_slowdown);
  text += fmt::format("  worst alone {:>9.4f} from worker {} (dp:stage); {:.4f} from stage {}\n",
                      truth.worker_slowdown[worker], worker_key(result.step, worker),
                      truth.stage_slowdown[stage], stage);
  for (std::size_t i = 0; i < result.trace.stragglers.size(); ++i) {
    const Straggler& straggler = result.trace.stragglers[i];
    text += fmt::format("{}  {:<18} costs {:>5.1f} % of a step: {}\n", i == 0 ? "\nInjected\n" : "",
                        kind_of(straggler), 100 * truth.cost[i], describe(straggler));
  }
  return text;
}

// Adds the members of goodput.synth-truth/1 (docs/formats/synth-truth.md).
void add_synth_json(const SynthResult& result, OrderedJson& json) {
  SynthPlan plan = result.plan;
  json["trace"] = {{"path", result.path}, {"format", result.format}, {"ops", result.trace.rows.size()}};
  json["steps"] = result.plan.synth.trace.steps;
  json["jitter"] = result.plan.synth.trace.jitter;
  json["job"] = job_json(metadata(result));
  json["truth"] = truth_json(result);
  json["injected"] = injected_json(result);
  json["plan"] = config::write(config_fields(plan));
}

// Job metadata as whatif's --meta reads it.
std::string job_metadata_yaml(const SynthResult& result) {
  const JobMetadata job = metadata(result);
  return fmt::format(
      "trial_name: \"{}\"\nrun_id: {}\ndp_size: {}\ndsp_size: {}\npp_size: {}\ntp_size: {}\nvpp_size: {}\n"
      "world_size: {}\n",
      job.trial_name, job.run_id, job.dp_size, job.dsp_size, job.pp_size, job.tp_size, job.vpp_size,
      job.world_size);
}

// ---- The command.

constexpr const char* kPaperFleet = "paper";
constexpr std::int64_t kMostFleetJobs = 100'000;

std::uint64_t config_hash(FleetMixture mixture) {
  Hash hash;
  hash.add(config::write(config_fields(mixture)).dump());
  return hash.value();
}

class SynthCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("plan", plan_path_, "PLAN",
             "Plan: a name from 'goodput list plans', or a file, which may contain the keys \"stragglers\" "
             "and \"trace\"; leave PLAN out with --fleet")
        .listed("plans");
    options
        .add("--out", out_path_, "TRACE",
             "Trace to write; its extension sets the format. With --fleet, the new folder to write")
        .output()
        .required();
    options.add("--to", format_, "NAME", "Format of the trace (see 'goodput list formats')")
        .one_of(names_of(op_trace_formats()));
    options.add("--truth", truth_path_, "FILE", "Write the ground truth as JSON (default: TRACE.truth.json)")
        .output();
    options
        .add("--meta-out", metadata_path_, "FILE", "Write job metadata as YAML, for 'goodput whatif --meta'")
        .output();
    options
        .add("--stragglers", stragglers_path_, "FILE.json",
             "Take \"stragglers\" and \"trace\" from this file instead of the plan")
        .input();
    options.add("--steps", steps_, "N", "Number of training steps (default: as in the plan, or 10)");
    options.add("--fleet", fleet_, "N",
                "Generate N analyzed jobs instead of a trace: results as 'goodput whatif --json' writes "
                "them, for 'goodput fleet'");
    options
        .add("--mixture", mixture_path_, "FLEET",
             "Mixture of jobs in the fleet: a name from 'goodput list fleets', or a file (default: the fleet "
             "'paper')")
        .listed("fleets");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    if (fleet_) return run_fleet(context);
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
    context.print(synth_text(result) + "\nGround truth: " + truth_path_ + '\n');
    return ExitCode::kOk;
  }

 private:
  [[nodiscard]] Result<ExitCode> run_fleet(const CommandContext& context) const {
    GOODPUT_TRY_STATUS(check_fleet_options(context));
    GOODPUT_TRY(const config::Library library, config_library(context));
    const std::string name = mixture_path_.empty() ? kPaperFleet : mixture_path_;
    GOODPUT_TRY(const std::string file, config_file(name, kFleetFiles, library, context));
    GOODPUT_TRY(const FleetMixture mixture, read_fleet_mixture(file, library));
    for (const std::string& line : key_note_lines(mixture.notes, file)) context.note(line);
    GOODPUT_TRY(const std::vector<FleetTruth> jobs,
                write_fleet(mixture, static_cast<std::size_t>(*fleet_), out_path_, context));
    Provenance provenance;
    provenance.config_hash = config_hash(mixture);
    provenance.lowest_tier = to_string(Tier::kAssumed);
    provenance.config_files = {file};
    OrderedJson json = begin_json_result("synth-fleet", context, provenance);
    add_fleet_synth_json(jobs, mixture, json);
    GOODPUT_TRY_STATUS(write_text_atomically(out_path_ + "/truth.json", json.dump(2) + '\n'));
    GOODPUT_TRY_STATUS(write_json_result(json, context));
    context.print(fleet_synth_text(jobs, mixture, out_path_));
    return ExitCode::kOk;
  }

  [[nodiscard]] Status check_fleet_options(const CommandContext& context) const {
    if (*fleet_ < 1 || *fleet_ > kMostFleetJobs)
      return Error{
          fmt::format("--fleet must be a whole number from 1 to {}, not {}", kMostFleetJobs, *fleet_)};
    if (!plan_path_.empty()) {
      return Error{fmt::format("{} is a plan, which --fleet does not use; leave one of them out",
                               in_quotes(plan_path_))};
    }
    const std::pair<std::string_view, bool> others[] = {{"--to", !format_.empty()},
                                                        {"--truth", !truth_path_.empty()},
                                                        {"--meta-out", !metadata_path_.empty()},
                                                        {"--stragglers", !stragglers_path_.empty()},
                                                        {"--steps", steps_.has_value()}};
    for (const auto& [option, is_given] : others) {
      if (is_given)
        return Error{fmt::format("{} applies to a single trace; leave it out with --fleet", option)};
    }
    if (out_path_ == "-") return Error{"--out must be a folder, not stdout"};
    return check_file_roles({}, {}, context);
  }

  [[nodiscard]] Status check_options() const {
    if (plan_path_.empty())
      return Error{"PLAN is missing; name a plan, or generate a fleet of jobs with --fleet N --out DIR"};
    if (!mixture_path_.empty()) return Error{"--mixture applies only to a fleet; add --fleet N"};
    for (const OutputPath& file : {OutputPath{"--out", out_path_}, OutputPath{"--truth", truth_path_},
                                   OutputPath{"--meta-out", metadata_path_}}) {
      if (file.path == "-") return Error{fmt::format("{} must be a file, not stdout", file.option)};
    }
    if (steps_ && (*steps_ < 1 || *steps_ > 1'000'000)) {
      return Error{fmt::format("--steps must be a whole number from 1 to 1000000, not {}", *steps_)};
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
          "overlap_p2p is ignored, because in NDTimeline traces a receive waits for the previous pass");
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
    GOODPUT_TRY(const OrderedJson json, json_of(result, context));
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

  [[nodiscard]] static Result<OrderedJson> json_of(const SynthResult& result, const CommandContext& context) {
    GOODPUT_TRY(const Provenance provenance,
                plan_provenance(result.plan, Granularity::kOps, result.step.tier));
    OrderedJson json = begin_json_result("synth-truth", context, provenance);
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
  std::optional<std::int64_t> fleet_;
  std::string mixture_path_;
};

}  // namespace

CommandInfo command_synth() {
  return {
      .name = "synth",
      .summary = "Generate a synthetic trace with known stragglers, and its ground truth",
      .example =
          "goodput synth llama3-70b-h100 --out trace.parquet --steps 20 --seed 1\n"
          "goodput whatif trace.parquet\n"
          "goodput synth --fleet 300 --out fleet && goodput fleet fleet/results --job-info fleet/jobs.csv",
      .make = make_command<SynthCommand>};
}

}  // namespace goodput
