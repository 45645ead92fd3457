#include "tools/monitor_pages/api_json.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "sim/analysis/verdict_json.h"
#include "sim/base/json.h"
#include "tools/cli/json_result.h"
#include "tools/monitor_pages/page_route.h"

namespace goodput {
namespace {

// JSON has no word for what is no number.
OrderedJson number(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson number_or_null(const std::optional<double>& value) {
  return value ? number(*value) : OrderedJson(nullptr);
}

// A moment: 0 means that nobody knows.
OrderedJson moment(double unix_s) {
  return unix_s > 0 ? number(unix_s) : OrderedJson(nullptr);
}

OrderedJson step_id(StepId id) {
  return {{"run", id.run}, {"step", id.step}};
}

std::string worker_key(std::int32_t dp_rank, std::int32_t stage) {
  return fmt::format("{}:{}", dp_rank, stage);
}

// {"dp:stage": number}
OrderedJson by_worker(std::span<const double> values, std::int32_t pp_size) {
  OrderedJson object = OrderedJson::object();
  const auto stages = static_cast<std::size_t>(pp_size);
  for (std::size_t worker = 0; worker < values.size(); ++worker) {
    append_member(
        object,
        worker_key(static_cast<std::int32_t>(worker / stages), static_cast<std::int32_t>(worker % stages)),
        number(values[worker]));
  }
  return object;
}

// {"0": number}
OrderedJson by_index(std::span<const double> values) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t i = 0; i < values.size(); ++i)
    append_member(object, fmt::format("{}", i), number(values[i]));
  return object;
}

OrderedJson cause_json(const StepCause& cause, std::int32_t pp_size) {
  OrderedJson workers = OrderedJson::array();
  for (const std::size_t worker : cause.workers) {
    const auto stages = static_cast<std::size_t>(pp_size);
    workers.push_back(
        worker_key(static_cast<std::int32_t>(worker / stages), static_cast<std::int32_t>(worker % stages)));
  }
  return {{"cause", cause.name},
          {"likely", cause.is_likely},
          {"gain", number_or_null(cause.gain)},
          {"workers", workers},
          {"stage", cause.stage ? OrderedJson(*cause.stage) : OrderedJson(nullptr)},
          {"fix", cause.fix},
          {"evidence", cause.evidence},
          {"next_check", cause.next_check}};
}

OrderedJson layout_json(const JobLayout& layout) {
  return {{"dp_size", layout.dp_size}, {"pp_size", layout.pp_size}, {"vpp_size", layout.vpp_size},
          {"gpus", layout.gpus()},     {"ranks", layout.ranks},     {"hosts", layout.hosts}};
}

OrderedJson status_json(const JobStatus& status) {
  return {{"lag_s", number_or_null(status.lag_s)}, {"last_row_s", moment(status.last_row_s)},
          {"unread_bytes", status.unread_bytes},   {"bad_lines", status.bad_lines},
          {"last_bad_line", status.last_bad_line}, {"late_rows", status.late_rows},
          {"open_steps", status.open_steps},       {"behind", status.is_behind}};
}

void append_analysis(const StepResult& step, OrderedJson& json) {
  const std::int32_t stages = step.layout.pp_size;
  json["slowdown_by_worker"] = by_worker(step.worker_slowdown, stages);
  json["pace_by_worker"] = by_worker(step.worker_pace, stages);
  json["slowdown_by_stage"] = by_index(step.by_stage);
  json["slowdown_by_dp_rank"] = by_index(step.by_dp_rank);
  OrderedJson by_optype = OrderedJson::object();
  for (const LabelledSlowdown& entry : step.by_optype)
    append_member(by_optype, entry.label, number(entry.slowdown));
  json["slowdown_by_optype"] = std::move(by_optype);
  json["m_w"] = number_or_null(step.m_w);
  json["m_s"] = number_or_null(step.m_s);
  json["forward_backward_correlation"] = number_or_null(step.correlation);
  json["verdict"] = verdict_json(step.verdict);
  json["causes"] = OrderedJson::array();
  for (const StepCause& cause : step.causes) json["causes"].push_back(cause_json(cause, stages));
}

}  // namespace

OrderedJson json_of(const WorkerPlace& worker) {
  return {{"dp_rank", worker.dp_rank},
          {"stage", worker.stage},
          {"rank", worker.rank >= 0 ? OrderedJson(worker.rank) : OrderedJson(nullptr)},
          {"host", worker.host.empty() ? OrderedJson(nullptr) : OrderedJson(worker.host)}};
}

OrderedJson json_of(const StepTotals& step) {
  OrderedJson json = step_id(step.id);
  json["status"] = kStepStatuses[static_cast<std::size_t>(step.status)];
  json["began_s"] = moment(step.began_s);
  json["received_s"] = moment(step.received_s);
  json["finished_s"] = moment(step.finished_s);
  json["ops"] = step.ops;
  if (step.status != StepStatus::kAnalysed) return json;
  json["slowdown"] = number(step.slowdown);
  json["waste"] = number(step.waste());
  json["recorded_s"] = number(step.recorded_s);
  json["replayed_s"] = number(step.replayed_s);
  json["ideal_s"] = number(step.ideal_s);
  json["launch_slowdown"] = number(step.launch_slowdown);
  json["discrepancy"] = number(step.discrepancy);
  json["worst_slowdown"] = number(step.worst_slowdown);
  json["worst_worker"] = step.worst_worker;
  json["shape"] = kSlowdownShapes[static_cast<std::size_t>(step.shape)];
  json["cause"] = step.cause.empty() ? OrderedJson(nullptr) : OrderedJson(step.cause);
  json["gain"] = step.cause.empty() ? OrderedJson(nullptr) : number(step.gain);
  return json;
}

OrderedJson json_of(const StepResult& step) {
  OrderedJson json = json_of(step.totals);
  json["layout"] = layout_json(step.layout);
  if (step.totals.status == StepStatus::kAnalysed) append_analysis(step, json);
  json["problem"] = step.problem.empty() ? OrderedJson(nullptr) : OrderedJson(step.problem);
  json["missing"] = OrderedJson::array();
  for (const WorkerPlace& worker : step.missing) json["missing"].push_back(json_of(worker));
  json["notes"] = step.notes;
  return json;
}

OrderedJson json_of(const WorkerMap& map) {
  OrderedJson json = step_id(map.id);
  json["dp_size"] = map.dp_size;
  json["pp_size"] = map.pp_size;
  json["slowdown_by_worker"] = by_worker(map.slowdown, map.pp_size);
  return json;
}

OrderedJson json_of(const WorkerPoint& point) {
  OrderedJson json = step_id(point.id);
  json["began_s"] = moment(point.began_s);
  json["slowdown"] = number(point.slowdown);
  return json;
}

OrderedJson json_of(const ShownJob& job) {
  const JobInfo& info = job.info;
  OrderedJson json = {
      {"name", info.name},
      {"state", kJobConditions[static_cast<std::size_t>(job.condition)]},
      {"runs", info.runs},
      {"steps",
       {{"analysed", info.analysed},
        {"incomplete", info.incomplete},
        {"refused", info.refused},
        {"skipped", info.skipped}}},
      {"open_alerts", info.open_alerts},
      {"latest", info.latest ? json_of(*info.latest) : OrderedJson(nullptr)},
      {"latest_analysed", info.latest_analysed ? json_of(*info.latest_analysed) : OrderedJson(nullptr)}};
  OrderedJson window = {{"steps", job.window.size()}};
  if (!job.window.empty()) {
    window["slowdown"] = number(job.slowdown);
    window["waste"] = number(job.waste);
    window["lost_s_per_step"] = number(job.lost_s);
    window["lost_gpu_hours_per_day"] = number(job.gpu_hours_per_day);
    window["lost_usd_per_day"] = number_or_null(job.usd_per_day);
  }
  json["window"] = std::move(window);
  json["gpus"] = job.latest() == nullptr ? OrderedJson(nullptr) : OrderedJson(job.latest()->gpus);
  json["worst_worker"] = job.latest() == nullptr ? OrderedJson(nullptr) : json_of(job.latest()->worst);
  json["intake"] = job.status ? status_json(*job.status) : OrderedJson(nullptr);
  return json;
}

OrderedJson causes_json(const ShownJob& job) {
  OrderedJson causes = OrderedJson::array();
  for (const WindowCause& cause : causes_of(job)) {
    OrderedJson about = OrderedJson::array();
    for (const WorkerPlace& worker : cause.suspects) about.push_back(json_of(worker));
    causes.push_back({{"cause", cause.name},
                      {"likely_in", cause.likely_in},
                      {"of", cause.of},
                      {"gain", number_or_null(cause.gain)},
                      {"workers", about},
                      {"stage", cause.latest.stage ? OrderedJson(*cause.latest.stage) : OrderedJson(nullptr)},
                      {"fix", cause.latest.fix},
                      {"evidence", cause.latest.evidence},
                      {"next_check", cause.latest.next_check},
                      {"latest", step_id(cause.latest_step)}});
  }
  return causes;
}

OrderedJson json_of(const Alert& alert) {
  return {{"id", alert.id},
          {"job", alert.job},
          {"rule", alert.rule},
          {"open", alert.is_open()},
          {"opened_at", step_id(alert.opened_at)},
          {"opened_s", moment(alert.opened_s)},
          {"closed_at", alert.closed_at ? step_id(*alert.closed_at) : OrderedJson(nullptr)},
          {"closed_s", number_or_null(alert.closed_s)},
          {"slowdown", number(alert.slowdown)},
          {"cause", alert.cause.empty() ? OrderedJson(nullptr) : OrderedJson(alert.cause)},
          {"worker", alert.worker ? json_of(*alert.worker) : OrderedJson(nullptr)},
          {"worker_slowdown", alert.worker ? number(alert.worker_slowdown) : OrderedJson(nullptr)},
          {"cost_s_per_step", number(alert.cost_s_per_step)},
          {"usd_per_day", number_or_null(alert.usd_per_day)},
          {"summary", alert.summary},
          {"next_check", alert.next_check},
          {"fix", alert.fix},
          {"verdict", verdict_json(alert.verdict)},
          {"page", alert_link(alert.id)}};
}

}  // namespace goodput
