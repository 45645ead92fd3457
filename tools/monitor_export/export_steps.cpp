#include "tools/monitor_export/export_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kAllSteps = std::numeric_limits<std::size_t>::max();

// Digits only, and as many.
std::optional<int> parse_digits(std::string_view text, std::size_t count) {
  if (text.size() != count ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return static_cast<int>(*parse_integer(text));
}

// YYYY-MM-DD
std::optional<double> parse_day(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '-');
  if (parts.size() != 3) return std::nullopt;
  const auto year = parse_digits(parts[0], 4);
  const auto month = parse_digits(parts[1], 2);
  const auto day = parse_digits(parts[2], 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) * 86400;
}

// HH:MM or HH:MM:SS
std::optional<double> parse_clock(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  double seconds = 0;
  constexpr std::array kMost = {23, 59, 59};
  constexpr std::array kSeconds = {3600, 60, 1};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = parse_digits(parts[i], 2);
    if (!value || *value > kMost[i]) return std::nullopt;
    seconds += *value * kSeconds[i];
  }
  return seconds;
}

Error no_such_job(const std::vector<JobInfo>& jobs, const MonitorExportOptions& options) {
  std::vector<std::string_view> names;
  for (const JobInfo& job : jobs) names.push_back(job.name);
  return Error{fmt::format("{} has no job {}{}", options.database, in_quotes(options.job),
                           did_you_mean(options.job, names)),
               {},
               "job"};
}

}  // namespace

Result<double> parse_time(std::string_view text) {
  if (const std::optional<double> seconds = parse_number(text)) return *seconds;
  std::string_view rest = text;
  if (rest.ends_with('Z')) rest.remove_suffix(1);
  const std::size_t t = rest.find_first_of("T ");
  const std::optional<double> day = parse_day(rest.substr(0, t));
  const std::optional<double> clock =
      t == std::string_view::npos ? std::optional(0.0) : parse_clock(rest.substr(t + 1));
  if (day && clock && (t != std::string_view::npos || rest.size() == text.size())) return *day + *clock;
  return Error{fmt::format(
      "{} is not a time; use seconds since 1970, or UTC such as 2026-11-24 or 2026-11-24T13:30:00Z",
      in_quotes(text))};
}

double time_of(const StepTotals& totals) {
  return totals.began_s > 0 ? totals.began_s : totals.finished_s;
}

bool StepSelection::has(const StepTotals& totals) const {
  if (run && totals.id.run != *run) return false;
  const double time_s = time_of(totals);
  if (time_s < from_s || time_s > to_s) return false;
  return steps.empty() || std::any_of(steps.begin(), steps.end(), [&](const NumberRange& range) {
           return totals.id.step >= range.first && totals.id.step <= range.last;
         });
}

Result<StepSelection> select_steps(const MonitorExportOptions& options) {
  StepSelection selection;
  if (!options.steps.empty()) {
    auto ranges = parse_number_ranges(options.steps);
    if (!ranges) return std::move(ranges).error().of_option("steps");
    selection.steps = *std::move(ranges);
  }
  if (options.run) {
    if (*options.run < 0 || *options.run > std::numeric_limits<std::int32_t>::max())
      return Error{"must be a run number, 0 or more", {}, "run"};
    selection.run = static_cast<std::int32_t>(*options.run);
  }
  const auto read_bound = [](const std::string& text, const char* option, double& bound) -> Status {
    if (text.empty()) return Ok{};
    const Result<double> time = parse_time(text);
    if (!time) return time.error().of_option(option);
    bound = *time;
    return Ok{};
  };
  GOODPUT_TRY_STATUS(read_bound(options.from, "from", selection.from_s));
  GOODPUT_TRY_STATUS(read_bound(options.to, "to", selection.to_s));
  if (selection.from_s > selection.to_s) return Error{"must not be before --from", {}, "to"};
  return selection;
}

Result<std::vector<ExportedJob>> exported_jobs(MonitorStore& store, const MonitorExportOptions& options) {
  GOODPUT_TRY(const StepSelection selection, select_steps(options));
  GOODPUT_TRY(std::vector<JobInfo> jobs, store.jobs());
  std::vector<ExportedJob> exported;
  std::size_t steps = 0;
  for (JobInfo& info : jobs) {
    if (!options.job.empty() && info.name != options.job) continue;
    ExportedJob& job = exported.emplace_back();
    StepQuery query{.from = {}, .to = {}, .most = kAllSteps};
    if (selection.run) {
      query.from = StepId{*selection.run, std::numeric_limits<std::int64_t>::min()};
      query.to = StepId{*selection.run, std::numeric_limits<std::int64_t>::max()};
    }
    GOODPUT_TRY(job.steps, store.steps(info.name, query));
    std::erase_if(job.steps, [&](const StepTotals& totals) { return !selection.has(totals); });
    steps += job.steps.size();
    job.info = info;
  }
  if (exported.empty() && !options.job.empty()) return no_such_job(jobs, options);
  if (steps == 0)
    return Error{"contains none of the selected steps; choose other steps, runs or times",
                 {.file = options.database}};
  return exported;
}

}  // namespace goodput
