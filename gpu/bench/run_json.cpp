#include "gpu/bench/json.h"
#include "gpu/bench/run_report.h"

namespace goodput::gpu::bench {
namespace {

void write(const SmClock& sm_mhz, JsonWriter& json) {
  json.key("sm_mhz");
  json.begin_object();
  json.member("before", sm_mhz.before);
  json.member("after", sm_mhz.after);
  json.end_object();
}

void write(const SampledTimes& times, JsonWriter& json) {
  json.member("median_us", times.us.median);
  json.member("p05_us", times.us.p05);
  json.member("p95_us", times.us.p95);
  json.member("min_us", times.us.min);
  json.member("mean_us", times.us.mean);
  json.member("n", static_cast<std::int64_t>(times.us.count));
  json.member("cv", times.us.cv);
  json.member("stopped", name_of(times.stop));
  json.key("warm_up");
  json.begin_object();
  json.member("device_ms", times.warm_up.device_ms);
  json.member("ended", name_of(times.warm_up.end));
  json.end_object();
  write(times.sm_mhz, json);
  json.member("steady_clock", times.steady_clock);
}

void write(const Measurement& time, const std::optional<double>& graph_share, JsonWriter& json) {
  write(time.events, json);
  json.member("l2", name_of(time.cache));
  json.member("input_sets", time.sets);
  if (!time.graph) return;
  json.key("graph");
  json.begin_object();
  write(time.graph->times, json);
  json.member("runs_in_graph", time.graph->runs);
  if (graph_share) json.member("share_of_ceiling", *graph_share);
  json.end_object();
}

void write_again(const CopyRate& again, Tier tier, JsonWriter& json) {
  json.begin_object();
  if (tier == Tier::kMeasured) json.member("gb_per_s", again.gb_per_s);
  json.member("median_us", again.time.events.us.median);
  write(again.time.events.sm_mhz, json);
  json.member("nwrong", again.nwrong);
  json.end_object();
}

void write(const CopyRate& rate, Tier tier, JsonWriter& json) {
  json.begin_object();
  json.member("kernel", rate.kernel);
  if (tier == Tier::kMeasured) json.member("gb_per_s", rate.gb_per_s);
  write(rate.time, {}, json);
  json.member("nwrong", rate.nwrong);
  json.end_object();
}

void write_flow(const CopyFlow& flow, JsonWriter& json) {
  json.member("reads", flow.reads);
  json.member("writes", flow.writes);
}

void write(const CopyCeiling& ceiling, Tier tier, JsonWriter& json) {
  const bool emulated = tier == Tier::kEmulated;
  const CopyRate* const best = emulated ? nullptr : ceiling.best();
  json.begin_object();
  write_flow(ceiling.flow, json);
  json.member("tier", name_of(tier));
  json.member("moved_bytes", ceiling.moved_bytes());
  json.member("gb_per_s", best == nullptr ? std::nullopt : std::optional<double>(best->gb_per_s));
  json.member("kernel", best == nullptr ? std::nullopt : std::optional<std::string>(best->kernel));
  json.key("again");
  ceiling.again ? write_again(*ceiling.again, tier, json) : json.value(std::optional<double>());
  json.member("drift", emulated ? std::nullopt : ceiling.drift());
  json.key("tried");
  json.begin_array();
  for (const CopyRate& rate : ceiling.tried) write(rate, tier, json);
  json.end_array();
  json.end_object();
}

void write_result(const RunReport& report, const PointOutcome& outcome, JsonWriter& json) {
  const PointResult& result = *outcome.result;
  const PointVerdict verdict = judge(report, outcome);
  json.member("bytes", result.bytes);
  write(result.time, verdict.graph_share, json);
  if (verdict.events) {
    json.member("floor_us", verdict.events->floor_us);
    json.member("share_of_ceiling", verdict.events->share);
  }
  if (!verdict.target.empty() && report.tier == Tier::kMeasured) json.member("target", verdict.target);
  json.member("nwrong", result.check.nwrong);
  json.member("compared", result.check.compared);
  json.member("checked_items", result.check.items);
  json.member("items", result.check.of);
}

void write(const RunReport& report, const PointOutcome& outcome, JsonWriter& json) {
  const PointGoal& goal = outcome.point.goal;
  json.begin_object();
  json.member("op", outcome.point.name.op);
  json.member("shape", outcome.point.name.shape);
  json.member("path", outcome.point.name.path);
  if (!outcome.result) {
    json.member("skipped", outcome.reason);
    json.end_object();
    return;
  }
  json.member("tier", name_of(report.tier));
  if (goal.ceiling) {
    json.key("ceiling");
    json.begin_object();
    write_flow(*goal.ceiling, json);
    json.end_object();
  }
  if (goal.us) json.member("target_us", *goal.us);
  if (goal.share) json.member("target_share", *goal.share);
  write_result(report, outcome, json);
  json.end_object();
}

void write(const char* name, const std::vector<std::string>& texts, JsonWriter& json) {
  json.key(name);
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

}  // namespace

std::string json_of(const RunReport& report) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "goodput.dispatch_bench/2");
  json.member("tier", name_of(report.tier));
  json.member("ended", name_of(report.ended));
  json.key("machine");
  write(report.machine, json);
  json.key("run");
  json.begin_object();
  json.member("date", report.date);
  write("argv", report.arguments, json);
  json.end_object();
  json.member("method", report.method);
  write("notes", report.notes, json);
  json.key("ceilings");
  json.begin_array();
  for (const CopyCeiling& ceiling : report.ceilings) write(ceiling, report.tier, json);
  json.end_array();
  json.key("points");
  json.begin_array();
  for (const PointOutcome& outcome : report.points) write(report, outcome, json);
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace goodput::gpu::bench
