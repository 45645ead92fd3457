#include "tools/synth/synth_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/json.h"
#include "tools/cli/json_result.h"
#include "tools/trace/job_json.h"
#include "traces/op/job_metadata_file.h"

namespace goodput {
namespace {

std::size_t index_of_largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

std::string worker_key(const SyntheticStep& step, std::size_t worker) {
  const auto stages = static_cast<std::size_t>(step.pp);
  return fmt::format("{}:{}", worker / stages, worker % stages);
}

OrderedJson injected_json(const SynthResult& result) {
  OrderedJson list = OrderedJson::array();
  for (std::size_t i = 0; i < result.plan.synth.stragglers.size(); ++i) {
    Straggler straggler = result.plan.synth.stragglers[i];
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

}  // namespace

std::string synth_text(const SynthResult& result) {
  const SyntheticTruth& truth = result.trace.truth;
  const std::size_t worker = index_of_largest(truth.worker_slowdown);
  const std::size_t stage = index_of_largest(truth.stage_slowdown);
  std::string text =
      fmt::format("{}: {} ops as {}, {} steps of DP {} x PP {}{}\n\n", result.path, result.trace.rows.size(),
                  result.format, result.plan.synth.trace.steps, result.step.dp, result.step.pp,
                  result.step.vpp > 1 ? fmt::format(" x VPP {}", result.step.vpp) : "");
  text += fmt::format("  mean step   {:>9.3f} s as recorded\n", truth.recorded_s);
  text += fmt::format("              {:>9.3f} s without launch delays\n", truth.replayed_s);
  text += fmt::format("              {:>9.3f} s if every op took what its type takes in the mean or median\n",
                      truth.ideal_s);
  text += fmt::format("              {:>9.3f} s without the stragglers\n", truth.clean_s);
  text +=
      fmt::format("  true S      {:>9.4f}; late launches {:.4f}\n", truth.slowdown, truth.launch_slowdown);
  text += fmt::format("  worst alone {:>9.4f} worker dp:stage {}; {:.4f} stage {}\n",
                      truth.worker_slowdown[worker], worker_key(result.step, worker),
                      truth.stage_slowdown[stage], stage);
  for (std::size_t i = 0; i < result.plan.synth.stragglers.size(); ++i) {
    const Straggler& straggler = result.plan.synth.stragglers[i];
    text += fmt::format("{}  {:<18} costs {:>5.1f} % of a step: {}\n", i == 0 ? "\nInjected\n" : "",
                        kind_of(straggler), 100 * truth.cost[i], describe(straggler));
  }
  return text;
}

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

std::string job_metadata_yaml(const SynthResult& result) {
  const JobMetadata job = metadata(result);
  return fmt::format(
      "trial_name: \"{}\"\nrun_id: {}\ndp_size: {}\ndsp_size: {}\npp_size: {}\ntp_size: {}\nvpp_size: {}\n"
      "world_size: {}\n",
      job.trial_name, job.run_id, job.dp_size, job.dsp_size, job.pp_size, job.tp_size, job.vpp_size,
      job.world_size);
}

}  // namespace goodput
