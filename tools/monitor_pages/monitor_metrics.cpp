#include "tools/monitor_pages/monitor_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/append.h"
#include "tools/cli/json_result.h"
#include "tools/monitor_pages/markup.h"

namespace goodput {
namespace {

using MetricLabels = std::vector<std::pair<std::string_view, std::string>>;

// Backslashes, quotes and line feeds are written with a backslash; what is no UTF-8 is replaced before.
std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : visible_text(text)) {
    if (c == '\\' || c == '"') value += '\\';
    value += c;
  }
  return value;
}

class MetricsText {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    append(text_, "# HELP goodput_monitor_{0} {1}\n# TYPE goodput_monitor_{0} {2}\n", name, help, type);
  }

  // Of the family named last. What is no number is left out.
  void sample(double value, const MetricLabels& labels = {}) {
    if (!std::isfinite(value)) return;
    append(text_, "goodput_monitor_{}", name_);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      append(text_, "{}{}=\"{}\"", i == 0 ? '{' : ',', labels[i].first, label_value(labels[i].second));
    }
    append(text_, "{} {}\n", labels.empty() ? "" : "}", value);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

// One number a job, of those jobs that have it.
struct JobMetric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::optional<double> (*value)(const ShownJob& job);
};

std::optional<double> of_latest(const ShownJob& job, double (*value)(const StepDigest& step)) {
  if (job.latest() == nullptr) return std::nullopt;
  return value(*job.latest());
}

std::optional<double> of_status(const ShownJob& job, double (*value)(const JobStatus& status)) {
  if (!job.status) return std::nullopt;
  return value(*job.status);
}

constexpr JobMetric kJobMetrics[] = {
    {"job_slowdown_ratio", "gauge",
     "Slowdown S of the latest analyzed step: step time divided by step time without stragglers.",
     [](const ShownJob& job) {
       return of_latest(job, [](const StepDigest& s) { return s.totals.slowdown; });
     }},
    {"job_waste_ratio", "gauge",
     "Share of the time of the latest analyzed step that was lost to stragglers: 1 - 1/S.",
     [](const ShownJob& job) {
       return of_latest(job, [](const StepDigest& s) { return s.totals.waste(); });
     }},
    {"job_window_slowdown_ratio", "gauge", "Mean S of the last analyzed steps (--window).",
     [](const ShownJob& job) { return job.window.empty() ? std::nullopt : std::optional(job.slowdown); }},
    {"job_window_waste_ratio", "gauge",
     "Mean share of time lost to stragglers in the last analyzed steps (--window).",
     [](const ShownJob& job) { return job.window.empty() ? std::nullopt : std::optional(job.waste); }},
    {"job_launch_slowdown_ratio", "gauge",
     "Slowdown of the latest analyzed step by late launches: recorded time divided by replayed time.",
     [](const ShownJob& job) {
       return of_latest(job, [](const StepDigest& s) { return s.totals.launch_slowdown; });
     }},
    {"job_step_seconds", "gauge", "Time that the latest analyzed step took.",
     [](const ShownJob& job) {
       return of_latest(job, [](const StepDigest& s) { return s.totals.recorded_s; });
     }},
    {"job_ideal_step_seconds", "gauge",
     "Time that the latest analyzed step would have taken without stragglers.",
     [](const ShownJob& job) {
       return of_latest(job, [](const StepDigest& s) { return s.totals.ideal_s; });
     }},
    {"job_latest_step", "gauge", "Number of the latest analyzed step.",
     [](const ShownJob& job) {
       return of_latest(job, [](const StepDigest& s) { return static_cast<double>(s.totals.id.step); });
     }},
    {"job_runs", "gauge",
     "Number of runs of the job so far; a new run begins when the step number goes back.",
     [](const ShownJob& job) { return std::optional(static_cast<double>(job.info.runs)); }},
    {"job_gpus", "gauge", "Number of GPUs of the job.",
     [](const ShownJob& job) {
       return of_latest(job, [](const StepDigest& s) { return static_cast<double>(s.gpus); });
     }},
    {"job_lost_gpu_hours_per_day", "gauge",
     "GPU-hours lost per day at the mean waste of the last analyzed steps (--window).",
     [](const ShownJob& job) {
       return job.window.empty() ? std::nullopt : std::optional(job.gpu_hours_per_day);
     }},
    {"job_lost_usd_per_day", "gauge",
     "US dollars lost per day at the mean waste of the last analyzed steps, if --gpu-hour-usd is given.",
     [](const ShownJob& job) { return job.usd_per_day; }},
    {"job_open_incidents", "gauge", "Number of open incidents of the job, including muted ones.",
     [](const ShownJob& job) { return std::optional(static_cast<double>(job.info.open_incidents)); }},
    {"job_worst_worker_slowdown_ratio", "gauge",
     "Slowdown that the worst worker of the latest analyzed step alone causes.",
     [](const ShownJob& job) {
       return of_latest(job, [](const StepDigest& s) { return s.totals.worst_slowdown; });
     }},
    {"job_lag_seconds", "gauge", "Time from the last row of the latest step to its result.",
     [](const ShownJob& job) { return job.status ? job.status->lag_s : std::nullopt; }},
    // 0 would say that a job which is new, or was found after a restart, has been silent since 1970.
    {"job_last_row_timestamp_seconds", "gauge", "Unix time when the last row was read.",
     [](const ShownJob& job) {
       const bool is_known = job.status && job.status->last_row_s > 0;
       return is_known ? std::optional(job.status->last_row_s) : std::nullopt;
     }},
    {"job_unread_bytes", "gauge", "Number of bytes in the watched files that have not been read yet.",
     [](const ShownJob& job) {
       return of_status(job, [](const JobStatus& s) { return static_cast<double>(s.unread_bytes); });
     }},
    {"job_bad_lines_total", "counter",
     "Number of lines that could not be read as rows, since the monitor started.",
     [](const ShownJob& job) {
       return of_status(job, [](const JobStatus& s) { return static_cast<double>(s.bad_lines); });
     }},
    {"job_late_rows_total", "counter",
     "Number of rows that arrived after their step was finished, since the monitor started.",
     [](const ShownJob& job) {
       return of_status(job, [](const JobStatus& s) { return static_cast<double>(s.late_rows); });
     }},
    {"job_open_steps", "gauge", "Number of steps of which some but not all rows have arrived.",
     [](const ShownJob& job) {
       return of_status(job, [](const JobStatus& s) { return static_cast<double>(s.open_steps); });
     }},
    {"job_behind", "gauge", "1 while steps are skipped to keep up, else 0.",
     [](const ShownJob& job) {
       return of_status(job, [](const JobStatus& s) { return s.is_behind ? 1.0 : 0.0; });
     }},
};

void add_monitor(const PageContext& context, std::optional<std::uint64_t> store_bytes, MetricsText& text) {
  const MonitorState& state = context.state;
  text.family("build_info", "gauge", "Always 1; the label is the version of goodput.");
  text.sample(1, {{"version", program_version()}});
  text.family("start_time_seconds", "gauge", "Unix time when the monitor started.");
  text.sample(state.started_s);
  text.family("beat_timestamp_seconds", "gauge", "Unix time when the monitor's main loop last ran.");
  text.sample(state.beat_s);
  text.family("ready", "gauge", "1 if the folders have been read and results can be stored, else 0.");
  text.sample(state.is_ready && state.problem.empty() ? 1 : 0);
  text.family("undelivered_alert_messages", "gauge", "Number of undelivered messages about incidents.");
  text.sample(static_cast<double>(state.undelivered));
  text.family("spooled_bytes", "gauge", "Number of pushed bytes that have not been read yet.");
  text.sample(static_cast<double>(state.spooled_bytes));
  if (!store_bytes) return;
  text.family("store_bytes", "gauge", "Size of the database in bytes.");
  text.sample(static_cast<double>(*store_bytes));
}

void add_steps(std::span<const ShownJob> jobs, MetricsText& text) {
  text.family("job_steps_total", "counter", "Number of steps of the job by status.");
  for (const ShownJob& job : jobs) {
    const std::int64_t counts[] = {job.info.analysed, job.info.incomplete, job.info.refused,
                                   job.info.skipped};
    for (std::size_t i = 0; i < std::size(counts); ++i) {
      text.sample(static_cast<double>(counts[i]),
                  {{"job", job.info.name}, {"status", std::string(kStepStatuses[i])}});
    }
  }
}

// Who and why, as labels of series whose value is 1 or a gain: one series a job.
void add_infos(std::span<const ShownJob> jobs, MetricsText& text) {
  text.family("job_worst_worker_info", "gauge",
              "Always 1; the labels identify the worst worker of the latest analyzed step.");
  for (const ShownJob& job : jobs) {
    if (job.latest() == nullptr) continue;
    const WorkerPlace& worst = job.latest()->worst;
    text.sample(1, {{"job", job.info.name},
                    {"dp_rank", fmt::format("{}", worst.dp_rank)},
                    {"stage", fmt::format("{}", worst.stage)},
                    {"rank", worst.rank < 0 ? "" : fmt::format("{}", worst.rank)},
                    {"host", worst.host}});
  }
  text.family("job_cause_gain_ratio", "gauge",
              "Gain from fixing the likely cause of the latest analyzed step: step time divided by step time "
              "with the fix.");
  for (const ShownJob& job : jobs) {
    if (job.latest() == nullptr || job.latest()->totals.cause.empty()) continue;
    text.sample(job.latest()->totals.gain, {{"job", job.info.name}, {"cause", job.latest()->totals.cause}});
  }
  text.family("job_state", "gauge", "Always 1; the label is the state of the job.");
  for (const ShownJob& job : jobs)
    text.sample(1, {{"job", job.info.name},
                    {"state", std::string(kJobConditions[static_cast<std::size_t>(job.condition)])}});
}

}  // namespace

std::string metrics_text(const PageContext& context, std::span<const ShownJob> jobs,
                         std::optional<std::uint64_t> store_bytes) {
  MetricsText text;
  add_monitor(context, store_bytes, text);
  add_steps(jobs, text);
  for (const JobMetric& metric : kJobMetrics) {
    text.family(metric.name, metric.type, metric.help);
    for (const ShownJob& job : jobs) {
      if (const std::optional<double> value = metric.value(job))
        text.sample(*value, {{"job", job.info.name}});
    }
  }
  add_infos(jobs, text);
  return text.take();
}

}  // namespace goodput
