#include <fmt/format.h>

#include <algorithm>

#include "tools/cli/text_table.h"
#include "tools/fleet/fleet_report.h"

namespace goodput {
namespace {

constexpr std::size_t kMostHostsShown = 10;
constexpr std::size_t kMostOptypesShown = 6;

std::string share_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string count_text(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string head_text(const FleetReport& report) {
  const FleetStudy& study = report.study;
  std::string text = fmt::format("{} from {}", count_text(study.jobs_read, "job"),
                                 fmt::format("{} of whatif", count_text(report.reading.results, "result")));
  if (report.reading.databases > 0)
    text += fmt::format(" and {}", count_text(report.reading.databases, "monitor database"));
  text += fmt::format("; {} studied", study.fleet.studied.size());
  if (study.gpu_hours) text += fmt::format(", {:.4g} GPU-hours", *study.gpu_hours);
  return text + fmt::format("; weighted by {}\n", kFleetWeights[static_cast<std::size_t>(study.weight)]);
}

std::string filters_text(const FleetStudy& study) {
  std::vector<TextRow> rows = {{"left out", "jobs", "of", "share", "GPU-hours", "paper"}};
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
      text += fmt::format("  ({}: not known of {}, which stay)\n", filter.key,
                          count_text(filter.unknown_jobs, "job"));
  }
  return text;
}

std::string figures_text(const FleetStudy& study) {
  std::vector<TextRow> rows = {{"figure", "here", "95 %", "paper", "over"}};
  for (const FleetFigure& figure : study.figures) {
    std::string here = "-";
    std::string interval = "-";
    if (figure.value) {
      here = figure_value(figure.unit, figure.value->mean);
      if (const auto& bounds = figure.value->interval)
        interval = fmt::format("{} - {}", figure_value(figure.unit, (*bounds)[0]),
                               figure_value(figure.unit, (*bounds)[1]));
    }
    rows.push_back({std::string(figure.what), here, interval,
                    figure.paper ? figure_value(figure.unit, *figure.paper) : "-",
                    std::to_string(figure.jobs)});
  }
  std::string text = aligned(rows);
  // Denominators in words: one a line of the table, in its order.
  std::vector<std::string_view> said;
  std::size_t line_end = text.find('\n');
  for (const FleetFigure& figure : study.figures) {
    line_end = text.find('\n', line_end + 1);
    text.insert(line_end, fmt::format(" {}", figure.over));
    line_end += figure.over.size() + 1;
  }
  return text;
}

std::string breakdown_text(const FleetStudy& study) {
  std::vector<TextRow> optypes = {{"op type", "wastes alone"}};
  for (std::size_t i = 0; i < std::min(kMostOptypesShown, study.optypes.size()); ++i)
    optypes.push_back({study.optypes[i].optype, fmt::format("{:.2f} %", 100 * study.optypes[i].waste)});
  std::vector<TextRow> sizes = {{"GPUs", "jobs", "mean S", "S >= 1.1"}};
  for (const SizeClass& size : study.sizes) {
    sizes.push_back({fmt::format("{} - {}", size.least_gpus, size.most_gpus), std::to_string(size.jobs),
                     fmt::format("{:.3f}", size.mean_slowdown), share_text(size.slow_share)});
  }
  std::vector<TextRow> causes = {{"likely cause", "jobs", "mean S", "mean gain"}};
  for (const CauseRecord& cause : study.causes) {
    causes.push_back({cause.cause, std::to_string(cause.jobs), fmt::format("{:.3f}", cause.mean_slowdown),
                      cause.mean_gain ? fmt::format("{:.3f}x", *cause.mean_gain) : "-"});
  }
  std::string text;
  if (optypes.size() > 1) text += "\n" + aligned(optypes);
  if (causes.size() > 1) text += "\n" + aligned(causes);
  if (sizes.size() > 1) text += "\n" + aligned(sizes);
  if (study.size_correlation)
    text += fmt::format("rank correlation of S and GPUs: {:.2f} (the paper: none that is positive)\n",
                        *study.size_correlation);
  return text;
}

std::string hosts_text(const FleetStudy& study) {
  if (study.jobs_with_hosts == 0) return "\nHosts: no job names any\n";
  const auto several = std::count_if(study.hosts.begin(), study.hosts.end(),
                                     [](const HostRecord& host) { return host.slow_in > 1; });
  std::string text = fmt::format("\nHosts of {}: {} slow in one or more, {} in several\n",
                                 count_text(study.jobs_with_hosts, "job"), study.hosts.size(), several);
  std::vector<TextRow> rows = {{"host", "slow in", "ran in", "mean S alone", "worst"}};
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
  std::string text = head_text(report) + "\n" + filters_text(study) + "\n" + figures_text(study);
  return text + breakdown_text(study) + hosts_text(study);
}

}  // namespace goodput
