#include "tools/simulate/recorded_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/scenario/trial_metrics.h"
#include "sim/base/json.h"
#include "sim/job/recovery_policy.h"
#include "tools/chart/thinned_line.h"
#include "tools/simulate/throughput.h"

namespace goodput {
namespace {

// More than a chart shows, and half the text of the double.
double six_digits(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

OrderedJson thinned_line_json(const std::vector<LinePoint>& line, std::size_t most) {
  const ThinnedLine thin = thinned(line, most);
  OrderedJson times = OrderedJson::array();
  OrderedJson values = OrderedJson::array();
  for (const LinePoint& point : thin.points) {
    times.push_back(six_digits(point.x));
    values.push_back(six_digits(point.y));
  }
  return {{"t_s", std::move(times)},
          {"value", std::move(values)},
          {"of", thin.of},
          {"within", six_digits(thin.within)}};
}

// Rises while the job trains; what is lost is lost at once.
std::vector<LinePoint> samples_line(const std::vector<ThroughputPoint>& points) {
  std::vector<LinePoint> line;
  double due = 0;  // at the next point if nothing is lost
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double now = to_seconds(points[i].time);
    if (points[i].samples < due - 0.5) line.push_back({now, due});
    line.push_back({now, points[i].samples});
    if (i + 1 < points.size())
      due = points[i].samples + points[i].samples_per_s * (to_seconds(points[i + 1].time) - now);
  }
  return line;
}

// Of what stays as it is until the next point.
std::vector<LinePoint> nodes_line(const std::vector<ThroughputPoint>& points,
                                  std::int32_t ThroughputPoint::*nodes) {
  std::vector<LinePoint> line;
  for (const ThroughputPoint& point : points) {
    const double now = to_seconds(point.time);
    const double value = point.*nodes;
    const bool is_end = &point == &points.back();
    if (!line.empty() && (is_end || line.back().y != value)) line.push_back({now, line.back().y});
    if (!is_end && (line.empty() || line.back().y != value)) line.push_back({now, value});
  }
  return line;
}

struct TrialEvent {
  SimTime time{};
  std::string kind{};
  std::int64_t nodes = 0;
  std::int64_t steps_lost = 0;
};

std::string event_kind(const JobInstant& instant) {
  switch (instant.kind) {
    case JobInstant::Kind::kLost:
      return "loss";
    case JobInstant::Kind::kJoined:
      return "join";
    case JobInstant::Kind::kSpeed:
      return "speed";
    case JobInstant::Kind::kCourse:
      return instant.cause == Cause::kNone
                 ? instant.text
                 : std::string(kCauseNames[static_cast<std::size_t>(instant.cause)]);
    case JobInstant::Kind::kEnd:
      break;
  }
  return {};
}

// Nodes that go, come or change their pace at one moment are one event.
std::vector<TrialEvent> events_of(const JobLog& log) {
  std::vector<TrialEvent> events;
  for (const JobInstant& instant : log.instants) {
    if (instant.kind == JobInstant::Kind::kEnd) continue;
    const bool is_of_job = instant.kind == JobInstant::Kind::kCourse;
    std::string kind = event_kind(instant);
    if (is_of_job || events.empty() || events.back().time != instant.time || events.back().kind != kind)
      events.push_back({instant.time, std::move(kind)});
    events.back().nodes += is_of_job ? 0 : 1;
    events.back().steps_lost += instant.lost_steps;
  }
  return events;
}

OrderedJson event_json(const TrialEvent& event) {
  OrderedJson json = {{"t_s", six_digits(to_seconds(event.time))}, {"kind", event.kind}};
  if (event.nodes > 0) json["nodes"] = event.nodes;
  if (event.steps_lost > 0) json["steps_lost"] = event.steps_lost;
  return json;
}

// Of too many every second, third ... of the whole run.
void add_events(const JobLog& log, std::size_t most, OrderedJson& json) {
  const std::vector<TrialEvent> events = events_of(log);
  const std::size_t each = std::max<std::size_t>(1, (events.size() + most - 1) / most);
  json["events"] = OrderedJson::array();
  for (std::size_t i = 0; i < events.size(); i += each) json["events"].push_back(event_json(events[i]));
  json["events_left_out"] = events.size() - json["events"].size();
}

OrderedJson stop_json(const JobLog& log) {
  for (const JobInstant& instant : log.instants) {
    if (instant.kind == JobInstant::Kind::kEnd && !instant.text.empty()) return instant.text;
  }
  return nullptr;
}

std::vector<double> sorted_values(std::span<const TrialSummary> trials, TrialMetric metric) {
  std::vector<double> values;
  for (const TrialSummary& trial : trials) {
    if (const std::optional<double> value = value_of(metric, trial)) values.push_back(*value);
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

OrderedJson recorded_trial_json(const RecordedRun& run, std::size_t most_points, std::size_t most_events) {
  const std::vector<ThroughputPoint> points = throughput_of(run);
  OrderedJson json = {
      {"end_s", to_seconds(run.end)},
      {"stopped", stop_json(run.log)},
      {"samples", thinned_line_json(samples_line(points), most_points)},
      {"nodes_held", thinned_line_json(nodes_line(points, &ThroughputPoint::nodes_held), most_points)},
      {"nodes_used", thinned_line_json(nodes_line(points, &ThroughputPoint::nodes_used), most_points)}};
  add_events(run.log, most_events, json);
  return json;
}

OrderedJson distribution_json(std::span<const TrialSummary> trials, std::size_t most) {
  TrialMetric metric = TrialMetric::kJct;
  std::vector<double> values = sorted_values(trials, metric);
  if (values.empty()) {
    metric = TrialMetric::kSamples;
    values = sorted_values(trials, metric);
  }
  OrderedJson value = OrderedJson::array();
  OrderedJson share = OrderedJson::array();
  const std::size_t count = std::min(most, values.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (values.size() - 1) / (count - 1);
    value.push_back(six_digits(values[at]));
    share.push_back(six_digits(static_cast<double>(at + 1) / static_cast<double>(trials.size())));
  }
  return {{"metric", info(metric).name},
          {"trials", trials.size()},
          {"with_value", values.size()},
          {"value", std::move(value)},
          {"share", std::move(share)}};
}

}  // namespace goodput
