#include "gpu/bench/run_report.h"

#include <algorithm>
#include <cstdio>

#include "gpu/bench/judgement.h"

namespace goodput::gpu::bench {
namespace {

using Cells = std::vector<std::string>;

// Columns as wide as their widest cell; the first four to the left, numbers to the right.
std::string aligned(const std::vector<Cells>& rows) {
  constexpr std::size_t kTextColumns = 4;
  std::vector<std::size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i < kTextColumns ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string megabytes(std::int64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(bytes) / 1e6);
  return text;
}

std::string rate_text(double gb_per_s) {
  char text[64];
  std::snprintf(text, sizeof text, "%.0f", gb_per_s);
  return text;
}

std::string ceilings_table(const std::vector<CopyCeiling>& ceilings) {
  std::vector<Cells> rows{
      {"copy ceiling", "kernel", "", "L2", "MB", "median us", "p05", "p95", "GB/s", "nwrong"}};
  for (const CopyCeiling& ceiling : ceilings) {
    for (const CopyRate& rate : ceiling.tried) {
      const Statistics& us = rate.time.events.us;
      rows.push_back({name_of(ceiling.flow),
                      rate.kernel + (&rate == ceiling.best() && !kEmulated ? "  <- ceiling" : ""), "",
                      name_of(rate.time.cache), megabytes(ceiling.moved_bytes()), us_text(us.median),
                      us_text(us.p05), us_text(us.p95), kEmulated ? "-" : rate_text(rate.gb_per_s),
                      std::to_string(rate.nwrong)});
    }
  }
  return aligned(rows);
}

std::optional<AgainstFloor> floor_of(const RunReport& report, const PointOutcome& outcome) {
  if (!outcome.point.goal.ceiling || !outcome.result) return std::nullopt;
  return judge_floor(outcome.result->bytes, report.ceiling_gb_per_s(*outcome.point.goal.ceiling),
                     outcome.result->time.events.us.median);
}

std::optional<double> graph_median(const Measurement& time) {
  return time.graph ? std::optional<double>(time.graph->times.us.median) : std::nullopt;
}

// Targets are those of an H200, and emulated times are held against nothing: "-" then.
std::string target_verdict(const RunReport& report, const PointOutcome& outcome) {
  if (kEmulated || report.machine.gpu.find("H200") == std::string::npos) return "-";
  const Measurement& time = outcome.result->time;
  return meets_target(*outcome.point.goal.us, graph_median(time), time.events.us.median) ? "met" : "missed";
}

Cells goal_cells(const RunReport& report, const PointOutcome& outcome) {
  if (outcome.point.goal.us) {
    return {"<= " + us_text(*outcome.point.goal.us), target_verdict(report, outcome)};
  }
  const std::optional<AgainstFloor> floor = floor_of(report, outcome);
  if (!floor || kEmulated) return {"-", "-"};
  return {us_text(floor->floor_us), percent_text(floor->share)};
}

std::string checked_text(const Check& check) {
  if (check.compared == 0) return "nothing";
  return check.items == check.of ? "all" : std::to_string(check.items) + " of " + std::to_string(check.of);
}

std::string points_table(const RunReport& report) {
  std::vector<Cells> rows{{"op", "shape", "path", "L2", "MB", "floor us", "median us", "p05", "p95", "n",
                           "graph us", "share", "nwrong", "checked"}};
  for (const PointOutcome& outcome : report.points) {
    const PointName& name = outcome.point.name;
    if (!outcome.result) {
      rows.push_back({name.op, name.shape, name.path, "-", outcome.reason});
      continue;
    }
    const PointResult& result = *outcome.result;
    const Statistics& us = result.time.events.us;
    const Cells goal = goal_cells(report, outcome);
    rows.push_back({name.op, name.shape, name.path, name_of(result.time.cache), megabytes(result.bytes),
                    goal[0], us_text(us.median), us_text(us.p05), us_text(us.p95), std::to_string(us.count),
                    result.time.graph ? us_text(result.time.graph->times.us.median) : "-", goal[1],
                    std::to_string(result.check.nwrong), checked_text(result.check)});
  }
  return aligned(rows);
}

void write(const Statistics& us, JsonWriter& json) {
  json.member("median_us", us.median);
  json.member("p05_us", us.p05);
  json.member("p95_us", us.p95);
  json.member("min_us", us.min);
  json.member("mean_us", us.mean);
  json.member("n", static_cast<std::int64_t>(us.count));
  json.member("cv", us.cv);
}

void write(const Measurement& time, JsonWriter& json) {
  write(time.events.us, json);
  json.member("stopped", name_of(time.events.stop));
  json.member("l2", name_of(time.cache));
  json.member("input_sets", time.sets);
  if (!time.graph) return;
  json.key("graph");
  json.begin_object();
  write(time.graph->times.us, json);
  json.member("stopped", name_of(time.graph->times.stop));
  json.member("runs_in_graph", time.graph->runs);
  json.end_object();
}

const char* tier() {
  return kEmulated ? "emulated" : "measured";
}

void write(const CopyCeiling& ceiling, JsonWriter& json) {
  const CopyRate* const best = kEmulated ? nullptr : ceiling.best();
  json.begin_object();
  json.member("reads", ceiling.flow.reads);
  json.member("writes", ceiling.flow.writes);
  json.member("tier", tier());
  json.member("moved_bytes", ceiling.moved_bytes());
  json.member("gb_per_s", best == nullptr ? std::nullopt : std::optional<double>(best->gb_per_s));
  json.member("kernel", best == nullptr ? std::nullopt : std::optional<std::string>(best->kernel));
  json.key("tried");
  json.begin_array();
  for (const CopyRate& rate : ceiling.tried) {
    json.begin_object();
    json.member("kernel", rate.kernel);
    if (!kEmulated) json.member("gb_per_s", rate.gb_per_s);
    write(rate.time, json);
    json.member("nwrong", rate.nwrong);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_result(const RunReport& report, const PointOutcome& outcome, JsonWriter& json) {
  const PointResult& result = *outcome.result;
  json.member("bytes", result.bytes);
  write(result.time, json);
  json.member("nwrong", result.check.nwrong);
  json.member("compared", result.check.compared);
  json.member("checked_items", result.check.items);
  json.member("items", result.check.of);
  if (kEmulated) return;
  if (const std::optional<AgainstFloor> floor = floor_of(report, outcome)) {
    json.member("floor_us", floor->floor_us);
    json.member("share_of_ceiling", floor->share);
  }
  if (outcome.point.goal.us) json.member("target", target_verdict(report, outcome));
}

void write(const RunReport& report, const PointOutcome& outcome, JsonWriter& json) {
  json.begin_object();
  json.member("op", outcome.point.name.op);
  json.member("shape", outcome.point.name.shape);
  json.member("path", outcome.point.name.path);
  if (outcome.result) json.member("tier", tier());
  if (outcome.point.goal.ceiling) {
    json.key("ceiling");
    json.begin_object();
    json.member("reads", outcome.point.goal.ceiling->reads);
    json.member("writes", outcome.point.goal.ceiling->writes);
    json.end_object();
  }
  if (outcome.point.goal.us) json.member("target_us", *outcome.point.goal.us);
  if (outcome.result) {
    write_result(report, outcome, json);
  } else {
    json.member("skipped", outcome.reason);
  }
  json.end_object();
}

void write(const char* name, const std::vector<std::string>& texts, JsonWriter& json) {
  json.key(name);
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

}  // namespace

std::optional<double> RunReport::ceiling_gb_per_s(const CopyFlow& flow) const {
  for (const CopyCeiling& ceiling : ceilings) {
    const CopyRate* const best = ceiling.best();
    if (ceiling.flow == flow && best != nullptr) return best->gb_per_s;
  }
  return std::nullopt;
}

bool RunReport::has_wrong() const {
  return std::any_of(ceilings.begin(), ceilings.end(),
                     [](const CopyCeiling& ceiling) { return ceiling.nwrong() != 0; }) ||
         std::any_of(points.begin(), points.end(), [](const PointOutcome& outcome) {
           if (!outcome.result) return outcome.reason != "deadline";
           return outcome.result->check.nwrong != 0 || outcome.result->check.compared == 0;
         });
}

bool RunReport::has_result() const {
  return std::any_of(points.begin(), points.end(),
                     [](const PointOutcome& outcome) { return outcome.result.has_value(); });
}

std::string table_of(const RunReport& report) {
  std::string text = "dispatch_bench " + report.date + "\n" + text_of(report.machine) + "\n";
  for (const std::string& note : report.notes) text += note + "\n";
  text += "method: " + report.method + "\n";
  if (!report.ceilings.empty()) text += "\n" + ceilings_table(report.ceilings);
  return text + "\n" + points_table(report);
}

std::string json_of(const RunReport& report) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "goodput.dispatch_bench/1");
  json.member("tier", tier());
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
  for (const CopyCeiling& ceiling : report.ceilings) write(ceiling, json);
  json.end_array();
  json.key("points");
  json.begin_array();
  for (const PointOutcome& outcome : report.points) write(report, outcome, json);
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace goodput::gpu::bench
