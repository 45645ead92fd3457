#include "gpu/bench/run_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace goodput::gpu::bench {
namespace {

using Cells = std::vector<std::string>;

enum class Side { kLeft, kRight };

struct Column {
  const char* name;
  std::size_t width;  // the least
  Side side;
};

constexpr Column kNameColumns[] = {
    {"op", 0, Side::kLeft}, {"shape", 0, Side::kLeft}, {"path", 0, Side::kLeft}};
constexpr Column kResultColumns[] = {{"L2", 6, Side::kLeft},        {"MB", 8, Side::kRight},
                                     {"floor us", 8, Side::kRight}, {"median us", 9, Side::kRight},
                                     {"p05", 7, Side::kRight},      {"p95", 7, Side::kRight},
                                     {"n", 4, Side::kRight},        {"share", 7, Side::kRight},
                                     {"graph us", 8, Side::kRight}, {"graph share", 11, Side::kRight},
                                     {"target", 15, Side::kLeft},   {"SM MHz", 15, Side::kLeft},
                                     {"nwrong", 6, Side::kRight},   {"checked", 7, Side::kLeft}};

std::string padded(const std::string& text, std::size_t width, Side side) {
  const std::string padding(width > text.size() ? width - text.size() : 0, ' ');
  return side == Side::kLeft ? text + padding : padding + text;
}

std::string without_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

// Columns as wide as their widest cell; the first so many to the left, numbers to the right.
std::string aligned(const std::vector<Cells>& rows, std::size_t text_columns) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += (i == 0 ? "" : "  ") + padded(row[i], widths[i], i < text_columns ? Side::kLeft : Side::kRight);
    }
    text += without_end(line);
  }
  return text;
}

std::string megabytes(std::int64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(bytes) / 1e6);
  return text;
}

std::string rounded_text(double value) {
  return std::to_string(std::lround(value));
}

std::string short_text(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string signed_percent(double share) {
  char text[64];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * share);
  return text;
}

std::string target_text(const PointGoal& goal, const std::string& verdict) {
  if (verdict.empty()) return "-";
  const std::string target =
      goal.share ? ">= " + short_text(100 * *goal.share) + " %" : "<= " + short_text(*goal.us) + " us";
  return verdict == "-" ? target : target + " " + verdict;
}

// That of the events; of the replays where only theirs is not steady.
std::string clock_text(const Measurement& time) {
  const bool of_graph = time.events.steady_clock && time.graph && !time.graph->times.steady_clock;
  return of_graph ? "graph " + clock_text(time.graph->times) : clock_text(time.events);
}

std::string checked_text(const Check& check) {
  if (check.compared == 0) return "nothing";
  return check.items == check.of ? "all" : std::to_string(check.items) + " of " + std::to_string(check.of);
}

Cells cells_of(const RunReport& report, const PointOutcome& outcome) {
  const PointResult& result = *outcome.result;
  const PointVerdict verdict = judge(report, outcome);
  const Statistics& us = result.time.events.us;
  return {name_of(result.time.cache),
          megabytes(result.bytes),
          verdict.events ? us_text(verdict.events->floor_us) : "-",
          us_text(us.median),
          us_text(us.p05),
          us_text(us.p95),
          std::to_string(us.count),
          verdict.events ? percent_text(verdict.events->share) : "-",
          result.time.graph ? us_text(result.time.graph->times.us.median) : "-",
          verdict.graph_share ? percent_text(*verdict.graph_share) : "-",
          target_text(outcome.point.goal, verdict.target),
          clock_text(result.time),
          std::to_string(result.check.nwrong),
          checked_text(result.check)};
}

}  // namespace

std::string clock_text(const SampledTimes& times) {
  const SmClock& mhz = times.sm_mhz;
  if (!mhz.before || !mhz.after) return "-";
  const bool never_steady = times.warm_up.end == WarmUpEnd::kNeverSteady;
  const std::string before = rounded_text(*mhz.before);
  const std::string after = rounded_text(*mhz.after);
  const bool changed = !times.steady_clock && before != after;
  return (never_steady ? "~" : "") + before + (changed ? ">" + after : "");
}

std::string head_text(const RunReport& report) {
  std::string text = "dispatch_bench " + report.date + "\n" + text_of(report.machine) + "\n";
  for (const std::string& note : report.notes) text += note + "\n";
  return text + "method: " + report.method + "\n";
}

std::string ceilings_text(const RunReport& report) {
  if (report.ceilings.empty()) return "";
  const bool emulated = report.tier == Tier::kEmulated;
  std::vector<Cells> rows{
      {"copy ceiling", "kernel", "L2", "SM MHz", "MB", "median us", "p05", "p95", "GB/s", "nwrong"}};
  for (const CopyCeiling& ceiling : report.ceilings) {
    for (const CopyRate& rate : ceiling.tried) {
      const Statistics& us = rate.time.events.us;
      rows.push_back({name_of(ceiling.flow),
                      rate.kernel + (&rate == ceiling.best() && !emulated ? "  <- ceiling" : ""),
                      name_of(rate.time.cache), clock_text(rate.time), megabytes(ceiling.moved_bytes()),
                      us_text(us.median), us_text(us.p05), us_text(us.p95),
                      emulated ? "-" : rounded_text(rate.gb_per_s), std::to_string(rate.nwrong)});
    }
  }
  return aligned(rows, 4);
}

std::string drift_text(const RunReport& report) {
  const bool emulated = report.tier == Tier::kEmulated;
  std::vector<Cells> rows{
      {"copy ceiling", "kernel", "SM MHz", "median us", "GB/s", "at start", "drift", "nwrong"}};
  for (const CopyCeiling& ceiling : report.ceilings) {
    if (!ceiling.again) continue;
    const CopyRate& again = *ceiling.again;
    rows.push_back({name_of(ceiling.flow), again.kernel, clock_text(again.time),
                    us_text(again.time.events.us.median), emulated ? "-" : rounded_text(again.gb_per_s),
                    emulated ? "-" : rounded_text(ceiling.best()->gb_per_s),
                    emulated ? "-" : signed_percent(*ceiling.drift()), std::to_string(again.nwrong)});
  }
  return rows.size() == 1 ? "" : "at the end of the run\n" + aligned(rows, 3);
}

PointTable::PointTable(const std::vector<Point>& points) {
  for (const Column& column : kNameColumns) name_widths_.push_back(std::string(column.name).size());
  for (const Point& point : points) {
    name_widths_[0] = std::max(name_widths_[0], point.name.op.size());
    name_widths_[1] = std::max(name_widths_[1], point.name.shape.size());
    name_widths_[2] = std::max(name_widths_[2], point.name.path.size());
  }
}

std::string PointTable::header() const {
  std::string line = begin_of_row({kNameColumns[0].name, kNameColumns[1].name, kNameColumns[2].name});
  for (const Column& column : kResultColumns) line += "  " + padded(column.name, column.width, column.side);
  return without_end(line);
}

std::string PointTable::begin_of_row(const PointName& name) const {
  return padded(name.op, name_widths_[0], Side::kLeft) + "  " +
         padded(name.shape, name_widths_[1], Side::kLeft) + "  " +
         padded(name.path, name_widths_[2], Side::kLeft);
}

std::string PointTable::rest_of_row(const RunReport& report, const PointOutcome& outcome) const {
  if (!outcome.result) return "  " + outcome.reason + "\n";
  std::string line;
  std::size_t i = 0;
  for (const std::string& cell : cells_of(report, outcome)) {
    line += "  " + padded(cell, kResultColumns[i].width, kResultColumns[i].side);
    ++i;
  }
  return without_end(line);
}

}  // namespace goodput::gpu::bench
