#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/index.h"
#include "sim/base/text.h"
#include "tools/cli/duration_text.h"
#include "tools/cli/text_table.h"
#include "tools/failures/imported_failures.h"

namespace goodput {
namespace {

constexpr std::size_t kShownCauses = 10;
constexpr std::size_t kShownNodes = 10;

std::string interval_text(const EventRate& rate) {
  return fmt::format("95 % interval {:.3g} to {:.3g}", rate.low, rate.high);
}

std::string counted_text(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string repair_clause(const ImportedFailures& failures) {
  const PresetRepair repair = preset_repair(failures);
  if (failures.stated_repair_s)
    return fmt::format("You state a mean repair time of {}.", duration_text(repair.mean_s));
  if (repair.is_assumed)
    return fmt::format("Repair times are unknown; the preset assumes {}.", duration_text(repair.mean_s));
  const RepairEstimate& repairs = failures.estimate.repairs;
  if (repairs.is_coarse || !repairs.median_s)
    return fmt::format("A repair takes {} on average.", duration_text(repair.mean_s));
  return fmt::format("Half of all repairs take less than {}.", duration_text(*repairs.median_s));
}

// How often any node of the cluster fails.
std::string one_every(const ImportedFailures& failures, const EventRate& rate) {
  const double days = kNodeDaysOfRate / rate.value / failures.history.cluster_nodes;
  return fmt::format("one of {} nodes every {}", failures.history.cluster_nodes,
                     duration_text(days * kSecondsPerDay));
}

std::string answer(const ImportedFailures& failures) {
  const EventRate& rate = preset_rate(failures);
  if (failures.is_of_jobs()) {
    return fmt::format("Jobs lost a node {:.3g} times per 1000 node-days ({}). {}", rate.value,
                       interval_text(rate), repair_clause(failures));
  }
  if (!failures.nodes_known) {
    return fmt::format(
        "Nodes fail at most {:.3g} times per 1000 node-days ({}): only the {} in the log {}, and nodes that "
        "never failed are not counted. {}",
        rate.value, interval_text(rate), counted_text(failures.history.cluster_nodes, "node"),
        failures.history.cluster_nodes == 1 ? "counts" : "count", repair_clause(failures));
  }
  return fmt::format("Nodes fail {:.3g} times per 1000 node-days ({}), {}. {}", rate.value,
                     interval_text(rate), one_every(failures, rate), repair_clause(failures));
}

class Lines {
 public:
  void add(std::string_view label, const std::string& text) {
    text_ += fmt::format("{:<14}{}\n", label, text);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_observation(const ImportedFailures& failures, Lines& lines) {
  const FaultHistory& history = failures.history;
  const std::string zone = failures.log.has_dates ? " UTC" : "";
  lines.add("Observed", fmt::format("{} to {}{} ({})", moment_text(failures, history.from),
                                    moment_text(failures, history.to), zone,
                                    duration_text(to_seconds(history.to - history.from))));
  if (failures.is_of_jobs()) return;
  std::string faults = fmt::format("{} in {:.1f} node-days that nodes were up", failures.estimate.faults,
                                   failures.estimate.node_days);
  if (history.begins_with_fault) faults += "; the first one only opens the observation and is not counted";
  if (history.merged > 0)
    faults +=
        fmt::format("; {} merged into a fault of the same node that {}", counted_text(history.merged, "row"),
                    history.merged == 1 ? "it overlaps" : "they overlap");
  if (history.outside > 0) faults += fmt::format("; outside of the observation: {}", history.outside);
  lines.add("Faults", faults);
  if (failures.estimate.others.events > 0 && !failures.estimate.bad_nodes.empty()) {
    const EventRate& others = failures.estimate.others;
    lines.add("", fmt::format("without bad nodes {:.3g} per 1000 node-days ({})", others.value,
                              interval_text(others)));
  }
  if (!failures.estimate.bursts.found.bursts.empty()) {
    const EventRate& all = failures.estimate.all;
    lines.add("", fmt::format("with bursts {:.3g} per 1000 node-days ({})", all.value, interval_text(all)));
  }
}

void add_jobs_line(const ImportedFailures& failures, Lines& lines) {
  const LostJobs& jobs = *failures.jobs;
  std::string text = fmt::format("{} lost a node in {:.1f} node-days that jobs held",
                                 counted_text(jobs.lost, "job"), jobs.node_days);
  if (!failures.is_of_jobs())
    text += fmt::format(": {:.3g} per 1000 node-days ({})", jobs.rate.value, interval_text(jobs.rate));
  if (failures.is_of_jobs() && failures.history.merged > 0)
    text += fmt::format("; repeated in other lists: {}", counted_text(failures.history.merged, "job"));
  if (jobs.failed > 0 && !failures.counts_failed)
    text +=
        fmt::format("; not counted: {} in state FAILED (--count-failed)", counted_text(jobs.failed, "job"));
  lines.add("Jobs", text);
  if (!failures.is_of_jobs()) return;
  std::vector<std::string> names;
  for (const std::string& node : failures.history.nodes) names.push_back(on_one_line(node));
  if (names.size() > kShownNodes) names.resize(kShownNodes);
  const std::size_t more = failures.history.nodes.size() - names.size();
  if (!names.empty())
    lines.add("Lost nodes",
              fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
  if (jobs.unnamed > 0)
    lines.add("", fmt::format("the lost node is unknown for {}: the next job does not lack exactly one node",
                              counted_text(jobs.unnamed, "job")));
}

void add_repairs(const ImportedFailures& failures, Lines& lines) {
  const RepairEstimate& repairs = failures.estimate.repairs;
  if (repairs.complete == 0) return;
  std::string text = fmt::format("{}: ", counted_text(repairs.complete, "repair"));
  if (repairs.median_s) text += fmt::format("median {}, ", duration_text(*repairs.median_s));
  text += fmt::format("mean {}", duration_text(*repairs.mean_s));
  if (repairs.open > 0) text += fmt::format("; still down at the end: {}", repairs.open);
  if (repairs.unknown > 0) text += fmt::format("; end not recorded: {}", repairs.unknown);
  lines.add("Repair times", text);
  if (repairs.is_coarse) {
    return lines.add(
        "",
        "the times of the log are too coarse to show a distribution: the preset takes the exponential one");
  }
  if (repairs.complete < kRepairsForLaw) {
    return lines.add("", fmt::format("fewer than {} repairs do not show a distribution: the preset takes the "
                                     "exponential one",
                                     kRepairsForLaw));
  }
  if (repairs.fits.size() < 2) return;
  const RepairFit& best = repairs.fits.front();
  const std::string shape = best.law == RepairLaw::kWeibull     ? fmt::format(" (shape {:.2f})", best.shape)
                            : best.law == RepairLaw::kLognormal ? fmt::format(" (sigma {:.2f})", best.shape)
                                                                : "";
  const RepairFit& next = repairs.fits[1];
  lines.add("", fmt::format("{} fits best{}, {} better than {} (BIC differs by {:.1f})", to_string(best.law),
                            shape, how_clear(repairs.fits), to_string(next.law), next.bic - best.bic));
}

void add_bursts(const ImportedFailures& failures, Lines& lines) {
  const BurstEstimate& bursts = failures.estimate.bursts;
  const auto count = static_cast<std::int64_t>(bursts.found.bursts.size());
  const std::string window = fmt::format("{:.0f} s", to_seconds(bursts.found.window));
  if (count == 0) {
    return lines.add("Bursts", fmt::format("none (a burst would be {} or more nodes within {})",
                                           bursts.found.least_nodes, window));
  }
  std::string text = fmt::format("{}, of {:.1f} nodes on average: {:.3g} per 1000 node-days",
                                 counted_text(count, "burst"), bursts.mean_nodes, bursts.per_1000_node_days);
  if (bursts.outage_s)
    text += fmt::format("; nodes were down for {} (median)", duration_text(*bursts.outage_s));
  lines.add("Bursts", text);
  const FaultBurst& largest = *std::max_element(
      bursts.found.bursts.begin(), bursts.found.bursts.end(),
      [](const FaultBurst& a, const FaultBurst& b) { return a.faults.size() < b.faults.size(); });
  lines.add("", fmt::format("the largest: {} nodes at {}", largest.faults.size(),
                            moment_text(failures, largest.begin)));
}

void add_bad_nodes(const ImportedFailures& failures, Lines& lines) {
  const std::vector<BadNode>& bad = failures.estimate.bad_nodes;
  if (bad.empty() && failures.is_of_jobs()) return;
  if (bad.empty()) return lines.add("Bad nodes", "none: no node fails far more often than the others");
  for (std::size_t i = 0; i < std::min(bad.size(), kShownNodes); ++i) {
    lines.add(i == 0 ? "Bad nodes" : "",
              fmt::format("{} failed {} times, {}", on_one_line(failures.history.nodes[index(bad[i].node)]),
                          bad[i].faults,
                          bad[i].ratio > 0 ? fmt::format("{:.1f}x as often as the other nodes", bad[i].ratio)
                                           : "and no other node failed"));
  }
  if (bad.size() > kShownNodes)
    lines.add("", fmt::format("and {} more (see --json)", bad.size() - kShownNodes));
}

std::string unused_text(const ImportedFailures& failures) {
  constexpr std::size_t kShownColumns = 12;
  std::vector<std::string> names;
  for (const std::string& name : failures.log.unused_columns) {
    if (names.size() < kShownColumns) names.push_back(on_one_line(name));
  }
  if (names.empty()) return "";
  const bool has_more = names.size() < failures.log.unused_columns.size();
  return fmt::format("; not used: {}{}", fmt::join(names, ", "), has_more ? ", ..." : "");
}

std::string causes_table(const ImportedFailures& failures) {
  const std::vector<CauseCount>& causes = failures.estimate.causes;
  if (failures.history.causes.empty() || failures.is_of_jobs()) return "";
  std::vector<TextRow> rows = {{"Cause", "faults", "share", "median repair"}};
  std::int64_t total = 0;
  for (const CauseCount& cause : causes) total += cause.faults;
  for (std::size_t i = 0; i < std::min(causes.size(), kShownCauses); ++i) {
    const CauseCount& cause = causes[i];
    rows.push_back(
        {cause.cause < 0 ? "(not stated)" : on_one_line(failures.history.causes[index(cause.cause)]),
         std::to_string(cause.faults),
         fmt::format("{:.1f} %", 100.0 * static_cast<double>(cause.faults) / static_cast<double>(total)),
         cause.median_repair_s ? duration_text(*cause.median_repair_s) : "unknown"});
  }
  std::string text = "\n" + aligned(rows);
  if (causes.size() > kShownCauses)
    text += fmt::format("and {} more causes (see --json)\n", causes.size() - kShownCauses);
  return text;
}

void add_observation_warning(const ImportedFailures& failures, std::vector<std::string>& lines) {
  if (failures.from_given && failures.to_given) return;
  if (failures.to_given) {
    lines.emplace_back(
        "--from is not given: the observation begins with the first fault, which is not counted");
  } else if (failures.from_given) {
    lines.emplace_back(
        "--to is not given: the observation ends with the last row; if you observed the nodes for "
        "longer, the rate is too high");
  } else {
    const double percent = 100 / std::max(1.0, static_cast<double>(failures.estimate.faults));
    lines.push_back(
        fmt::format("--from and --to are not given: the observation is taken to run from the first to the "
                    "last row, which overstates the rate by {}; state when you began and stopped to observe",
                    percent < 1 ? "less than 1 %" : fmt::format("about {:.0f} %", percent)));
  }
}

// Faults without an end that come soon after another one of their node.
std::int64_t soon_repeated(const FaultHistory& history) {
  constexpr SimDuration kSoon = std::chrono::hours{1};
  std::vector<std::optional<SimTime>> last(history.nodes.size());
  std::int64_t repeats = 0;
  for (const NodeFault& fault : history.faults) {
    if (fault.node == kUnnamedNode || !history.has_repairs) continue;
    std::optional<SimTime>& before = last[index(fault.node)];
    if (before && fault.how == NodeFault::End::kUnknown && fault.begin < *before + kSoon) ++repeats;
    before = fault.begin;
  }
  return repeats;
}

}  // namespace

std::string failure_report(const ImportedFailures& failures) {
  Lines lines;
  add_observation(failures, lines);
  if (failures.jobs) add_jobs_line(failures, lines);
  add_repairs(failures, lines);
  if (!failures.is_of_jobs()) add_bursts(failures, lines);
  add_bad_nodes(failures, lines);
  if (!failures.log.columns.empty())
    lines.add("Columns", fmt::format("{}{}", fmt::join(failures.log.columns, ", "), unused_text(failures)));
  std::vector<std::string> left_out;
  for (const auto& [why, rows] : failures.log.left_out) left_out.push_back(fmt::format("{} ({})", why, rows));
  if (!left_out.empty()) lines.add("Left out", fmt::format("rows: {}", fmt::join(left_out, ", ")));
  return answer(failures) + "\n\n" + lines.take() + causes_table(failures);
}

std::vector<std::string> failure_warnings(const ImportedFailures& failures) {
  std::vector<std::string> lines;
  if (failures.is_of_jobs()) {
    if (!failures.stated_repair_s) {
      lines.push_back(
          "sacct does not list repair times; add the output of `sacctmgr list event`, or give --repair-time");
    }
  } else if (!failures.nodes_known) {
    lines.push_back(fmt::format(
        "--nodes is not given: the rate counts only the {} in the log and is too high if others never failed",
        counted_text(failures.history.cluster_nodes, "node")));
  }
  if (!failures.is_of_jobs()) add_observation_warning(failures, lines);
  if (!failures.is_of_jobs() && failures.estimate.repairs.complete == 0 && !failures.stated_repair_s) {
    lines.push_back(fmt::format("the log does not say when nodes were repaired{}; give --repair-time",
                                failures.log.unused_columns.empty()
                                    ? ""
                                    : ", or in which column (not used: " +
                                          fmt::format("{}", fmt::join(failures.log.unused_columns, ", ")) +
                                          "; --column end=NAME)"));
  }
  if (const std::int64_t repeats = soon_repeated(failures.history); repeats > 0) {
    lines.push_back(
        fmt::format("{} without an end, less than an hour after another one of the same node, may be "
                    "repeated reports of it; remove repeats from the log",
                    repeats == 1 ? "1 fault" : fmt::format("{} faults", repeats)));
  }
  if (failures.estimate.repairs.unknown > 0 && failures.estimate.repairs.complete > 0) {
    lines.push_back(
        fmt::format("faults whose end is not recorded: {}; their nodes are taken to be down for the median "
                    "repair time; if a node never came back, give the end of the observation as its end",
                    failures.estimate.repairs.unknown));
  }
  return lines;
}

}  // namespace goodput
