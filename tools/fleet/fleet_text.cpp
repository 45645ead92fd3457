#include <fmt/format.h>

#include <algorithm>

#include "sim/causes/cause_names.h"
#include "tools/cli/text_table.h"
#include "tools/fleet/fleet_report.h"

namespace goodput {
namespace {

constexpr std::size_t kMostHostsShown = 10;
constexpr std::size_t kMostJobsShown = 5;
constexpr std::size_t kMostOptypesShown = 6;

std::string share_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string count_text(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string head_text(const FleetReport& report) {
  const FleetStudy& study = report.study;
  std::string text = fleet_headline(study) + "\n\n";
  text += fmt::format("{} of {} studied ({}", study.fleet.studied.size(), count_text(study.jobs_read, "job"),
                      count_text(report.reading.results, "whatif result"));
  if (report.reading.databases > 0)
    text += fmt::format(", {}", count_text(report.reading.databases, "monitor database"));
  return text + (study.weight == FleetWeight::kJob ? "); all jobs have the same weight\n"
                                                   : "); jobs are weighted by GPU-hours\n");
}

std::string filters_text(const FleetStudy& study) {
  std::vector<TextRow> rows = {{"left out", "jobs", "of", "share of jobs", "share of GPU-hours", "paper"}};
  for (const FilterCount& filter : study.fleet.filters) {
    const auto share = [](double part, double whole) {
      return whole > 0 ? share_text(part / whole) : std::string("-");
    };
    std::string paper = "-";
    if (filter.paper_jobs) paper = share_text(*filter.paper_jobs);
    if (filter.paper_gpu_hours) paper += fmt::format(" ({})", share_text(*filter.paper_gpu_hours));
    rows.push_back({filter.why, std::to_string(filter.jobs), std::to_string(filter.of_jobs),
                    share(static_cast<double>(filter.jobs), static_cast<double>(filter.of_jobs)),
                    share(filter.gpu_hours, filter.of_gpu_hours), paper});
  }
  std::string text = aligned(rows);
  for (const FilterCount& filter : study.fleet.filters) {
    if (filter.unknown_jobs > 0)
      text += fmt::format("  (kept, because {} is unknown: {})\n", filter.key,
                          count_text(filter.unknown_jobs, "job"));
  }
  const std::string kept = kept_text(study.fleet.kept);
  return kept.empty() ? text : text + kept + '\n';
}

std::string figures_text(const FleetStudy& study) {
  std::vector<TextRow> rows = {{"result", "here", "95 % interval", "paper", "jobs"}};
  for (const FleetFigure& figure : study.figures) {
    std::string here = "-";
    std::string interval = "-";
    if (figure.value) {
      here = figure_value(figure.unit, figure.value->mean);
      if (const auto& bounds = figure.value->interval)
        interval = fmt::format("{} to {}", figure_value(figure.unit, (*bounds)[0]),
                               figure_value(figure.unit, (*bounds)[1]));
    }
    rows.push_back({std::string(figure.what), here, interval,
                    figure.paper ? figure_value(figure.unit, *figure.paper) : "-",
                    std::to_string(figure.jobs)});
  }
  std::string text = aligned(rows);
  // What the jobs of each line are, in words.
  std::size_t line_end = text.find('\n');
  for (const FleetFigure& figure : study.figures) {
    line_end = text.find('\n', line_end + 1);
    text.insert(line_end, fmt::format(" {}", figure.over));
    line_end += figure.over.size() + 1;
  }
  return text;
}

std::string costly_jobs_text(const FleetStudy& study) {
  std::vector<TextRow> rows = {{"job", "S", "waste", "wasted GPU-hours", "GPUs"}};
  for (std::size_t i = 0; i < std::min(kMostJobsShown, study.by_cost.size()); ++i) {
    const FleetJob& job = *study.by_cost[i];
    if (job.waste() <= 0) break;
    rows.push_back({job.name, fmt::format("{:.3f}", job.slowdown), share_text(job.waste()),
                    job.gpu_hours ? gpu_hours_text(*job.gpu_hours * job.waste()) : "-",
                    job.gpus ? std::to_string(*job.gpus) : "-"});
  }
  return rows.size() > 1 ? "\n" + aligned(rows) : "";
}

std::string causes_text(const FleetStudy& study) {
  std::vector<TextRow> causes = {
      {"likely cause", "jobs", "mean S", "mean gain", "GPU-hours saved", "share saved"}};
  for (const CauseRecord& cause : study.causes) {
    causes.push_back({std::string(plain_cause_name(cause.cause)), std::to_string(cause.jobs),
                      fmt::format("{:.3f}", cause.mean_slowdown),
                      cause.mean_gain ? fmt::format("{:.3f}x", *cause.mean_gain) : "-",
                      cause.saved_gpu_hours ? gpu_hours_text(*cause.saved_gpu_hours) : "-",
                      share_text(cause.saved_share)});
  }
  if (causes.size() == 1) return "";
  return "\n" + aligned(causes) + "(a job can have several causes, so the rows do not add up)\n";
}

std::string breakdown_text(const FleetStudy& study) {
  std::vector<TextRow> optypes = {{"op type", "waste alone"}};
  for (std::size_t i = 0; i < std::min(kMostOptypesShown, study.optypes.size()); ++i)
    optypes.push_back({study.optypes[i].optype, fmt::format("{:.2f} %", 100 * study.optypes[i].waste)});
  std::vector<TextRow> sizes = {{"GPUs", "jobs", "mean S", "S >= 1.1"}};
  for (const SizeClass& size : study.sizes) {
    sizes.push_back({fmt::format("{} - {}", size.least_gpus, size.most_gpus), std::to_string(size.jobs),
                     fmt::format("{:.3f}", size.mean_slowdown), share_text(size.slow_share)});
  }
  std::string text;
  if (optypes.size() > 1) text += "\n" + aligned(optypes);
  if (sizes.size() > 1) text += "\n" + aligned(sizes);
  if (study.size_correlation)
    text += fmt::format("rank correlation of S and number of GPUs: {:.2f} (paper: not positive)\n",
                        *study.size_correlation);
  return text;
}

std::string hosts_text(const FleetStudy& study) {
  if (study.jobs_with_hosts == 0) return "\nNo job has host names.\n";
  if (study.hosts.empty())
    return fmt::format("\nNo host was slow; {} had host names.\n", count_text(study.jobs_with_hosts, "job"));
  const auto several = std::count_if(study.hosts.begin(), study.hosts.end(),
                                     [](const HostRecord& host) { return host.slow_in > 1; });
  std::string text =
      fmt::format("\n{} slow in at least one job, {} in several, among the hosts of {}\n",
                  count_text(study.hosts.size(), "host"), several, count_text(study.jobs_with_hosts, "job"));
  std::vector<TextRow> rows = {{"host", "slow in (jobs)", "ran in (jobs)", "mean S alone", "max S alone"}};
  for (std::size_t i = 0; i < std::min(kMostHostsShown, study.hosts.size()); ++i) {
    const HostRecord& host = study.hosts[i];
    rows.push_back({host.host, std::to_string(host.slow_in), std::to_string(host.ran_in),
                    fmt::format("{:.3f}", host.mean_slowdown), fmt::format("{:.3f}", host.worst_slowdown)});
  }
  return rows.size() > 1 ? text + aligned(rows) : text;
}

}  // namespace

std::string figure_value(FigureUnit unit, double value) {
  return unit == FigureUnit::kShare ? share_text(value) : fmt::format("{:.3f}", value);
}

std::string fleet_text(const FleetReport& report) {
  const FleetStudy& study = report.study;
  return head_text(report) + costly_jobs_text(study) + causes_text(study) + breakdown_text(study) +
         hosts_text(study) + "\n" + figures_text(study) + "\n" + filters_text(study);
}

}  // namespace goodput
