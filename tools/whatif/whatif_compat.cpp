#include "tools/whatif/whatif_compat.h"

#include "sim/base/json.h"
#include "tools/cli/json_result.h"
#include "tools/trace/job_json.h"

namespace goodput {
namespace {

OrderedJson by_step(const std::vector<std::int64_t>& steps, const std::vector<double>& values) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t i = 0; i < steps.size(); ++i) append_member(object, std::to_string(steps[i]), values[i]);
  return object;
}

OrderedJson by_label(const std::vector<std::string>& labels, const std::vector<double>& values) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t i = 0; i < labels.size(); ++i) append_member(object, labels[i], values[i]);
  return object;
}

OrderedJson by_step_and_label(const std::vector<std::int64_t>& steps, const Attribution& attribution) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    append_member(object, std::to_string(steps[i]), by_label(attribution.labels, attribution.per_step[i]));
  }
  return object;
}

void add_family(OrderedJson& result, const std::string& name, const std::vector<std::int64_t>& steps,
                const Family* family) {
  struct Grouping {
    const char* name;
    Attribution Family::*attribution;
  };
  for (const auto& [grouping, attribution] :
       {Grouping{"dp_rank", &Family::by_dp_rank}, Grouping{"stage", &Family::by_stage},
        Grouping{"optype", &Family::by_optype}}) {
    const std::string key = name + "_decompose_by_" + grouping;
    if (family == nullptr) {
      result[key] = nullptr;
      result[key + "_per_step"] = nullptr;
      continue;
    }
    const Attribution& shares = family->*attribution;
    result[key] = by_label(shares.labels, shares.slowdown);
    result[key + "_per_step"] = by_step_and_label(steps, shares);
  }
}

OrderedJson share_json(const Share& share, const char* name) {
  return {{"trem", share.without_s},           {"tadd", share.alone_s},
          {"tori", share.recorded_s},          {"tideal", share.ideal_s},
          {"rem", or_null(share.recovered())}, {"add", or_null(share.caused())},
          {name, or_null(share.recovered())}};
}

}  // namespace

std::string compat_json(const WhatIf& result, const JobMetadata& job, double decompose_threshold) {
  const bool blocking = result.slowdown >= decompose_threshold;
  OrderedJson json;
  json["job_meta"] = job_json(job);
  json["step_t_base"] = by_step(result.steps, result.base_s);
  json["step_t_nodelay"] = by_step(result.steps, result.nodelay.span_s);
  json["step_t_noblk"] = by_step(result.steps, std::vector<double>(result.steps.size(), result.ideal_span_s));
  json["launch_slowdown"] = result.launch_slowdown;
  json["blocking_slowdown"] = result.slowdown;
  json["blocking_step_slowdown"] = by_step(result.steps, result.step_slowdown);
  json["launch_step_slowdown"] = by_step(result.steps, result.launch_step_slowdown);
  add_family(json, "blocking", result.steps, blocking ? &result.blocking : nullptr);
  add_family(json, "launch", result.steps, result.launch ? &*result.launch : nullptr);
  json["mw"] = blocking ? share_json(result.slowest_workers_share, "Mw") : OrderedJson(nullptr);
  json["ms"] = share_json(result.last_stage_share, "Ms");
  return json.dump(2) + '\n';
}

}  // namespace goodput
