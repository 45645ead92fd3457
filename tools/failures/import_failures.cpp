#include "tools/failures/import_failures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/index.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"
#include "sim/config/quantities.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"
#include "tools/failures/imported_failures.h"
#include "traces/faults/fault_reader.h"
#include "traces/faults/job_faults.h"
#include "traces/faults/letter_case.h"
#include "traces/faults/log_time.h"

namespace goodput {
namespace {

Result<FaultLogOptions> log_options(const ImportFailuresOptions& options) {
  FaultLogOptions result;
  for (const std::string& text : options.columns) {
    const std::size_t equals = text.find('=');
    const std::string role = text.substr(0, equals);
    const bool is_role =
        std::find(std::begin(kFaultRoles), std::end(kFaultRoles), role) != std::end(kFaultRoles);
    if (equals == std::string::npos || !is_role) {
      return Error{fmt::format("--column {}: must be ROLE=NAME with ROLE one of {}", text,
                               fmt::join(kFaultRoles, ", "))};
    }
    result.columns.insert_or_assign(role, text.substr(equals + 1));
  }
  return result;
}

Result<std::optional<SimTime>> moment_of(std::string_view option, const std::string& text,
                                         const FailureLog& log) {
  if (text.empty()) return std::optional<SimTime>{};
  const auto time = parse_log_time(text, std::chrono::seconds{1}, fmt::format("--{}", option));
  if (!time) return time.error();
  if (time->is_date() != log.has_dates) {
    return Error{fmt::format("--{} {}: the log {}; give the same form of time", option, text,
                             log.has_dates ? "has dates" : "counts from the start of the recording")};
  }
  return std::optional(time->time);
}

Result<HistoryOptions> history_options(const ImportFailuresOptions& options, const FailureLog& log) {
  HistoryOptions result;
  GOODPUT_TRY(result.from, moment_of("from", options.from, log));
  GOODPUT_TRY(result.to, moment_of("to", options.to, log));
  if (!options.nodes) return result;
  if (*options.nodes < 1 || *options.nodes > 1'000'000)
    return Error{fmt::format("must be 1 to 1000000, not {}", *options.nodes), {}, "nodes"};
  result.nodes = static_cast<NodeId>(*options.nodes);
  return result;
}

// A duration above 0. None: the option was not given.
Result<std::optional<SimDuration>> duration_of(std::string_view option, const std::string& text) {
  if (text.empty()) return std::optional<SimDuration>{};
  const auto duration = parse_duration(text);
  if (!duration || *duration <= SimDuration{})
    return Error{fmt::format("--{} {}: must be a duration above 0, for example 10min or 3600", option, text)};
  return std::optional(*duration);
}

// Removes faults whose cause the user does not want to count.
Status ignore_causes(const std::vector<std::string>& ignored, FailureLog& log) {
  for (const std::string& name : ignored) {
    const auto& causes = log.faults.causes;
    const auto is_it = [&](std::int32_t cause) {
      return cause >= 0 && equals_in_any_case(causes[index(cause)], name);
    };
    const auto removed =
        std::erase_if(log.faults.faults, [&](const LoggedFault& fault) { return is_it(fault.cause); });
    if (removed == 0) {
      const std::vector<std::string_view> known(causes.begin(), causes.end());
      return Error{fmt::format("--ignore-cause {}: no fault has this cause{}", in_quotes(name),
                               did_you_mean(name, known))};
    }
    log.left_out[fmt::format("cause {}", on_one_line(name))] += static_cast<std::int64_t>(removed);
  }
  return Ok{};
}

LostJobs lost_jobs(const JobFaults& found) {
  const double node_days = node_seconds(found.history.up_time) / kSecondsPerDay;
  const auto lost = static_cast<std::int64_t>(found.history.faults.size());
  return {.node_days = node_days,
          .lost = lost,
          .failed = found.failed_jobs,
          .unnamed = found.unnamed,
          .rate = event_rate(static_cast<double>(lost), node_days, kNodeDaysOfRate)};
}

// Times in another unit than seconds make a log look short.
Status check_length(const ImportedFailures& failures, const std::string& name) {
  constexpr SimDuration kShortest = std::chrono::hours{1};
  const SimDuration length = failures.history.to - failures.history.from;
  if (length >= kShortest || (failures.from_given && failures.to_given)) return Ok{};
  return Error{
      fmt::format(
          "covers only {:.6g} s; if its times are not in seconds, give their column a name with the "
          "unit, for example time_days; if they are, state how long you observed the nodes with --from "
          "and --to",
          to_seconds(length)),
      {.file = name}};
}

Result<ImportedFailures> import_failures(const ImportFailuresOptions& options) {
  ImportedFailures result{.files = options.files};
  GOODPUT_TRY(const FaultLogOptions columns, log_options(options));
  for (const std::string& file : options.files)
    GOODPUT_TRY_STATUS(read_failure_log(file, columns, result.log));
  GOODPUT_TRY_STATUS(ignore_causes(options.ignored_causes, result.log));
  GOODPUT_TRY(HistoryOptions history, history_options(options, result.log));
  GOODPUT_TRY(const auto window, duration_of("burst-window", options.burst_window));
  GOODPUT_TRY(const auto repair, duration_of("repair-time", options.repair_time));
  if (repair) result.stated_repair_s = to_seconds(*repair);
  result.from_given = history.from.has_value();
  result.to_given = history.to.has_value();
  result.counts_failed = options.counts_failed;
  const std::string& name = options.files.front();
  const bool has_faults = !result.log.faults.faults.empty();
  result.nodes_known = history.nodes > 0 || result.log.faults.cluster_nodes > 0;
  if (!result.log.jobs.empty()) {
    const auto found = job_faults(result.log, {.history = history, .counts_failed = options.counts_failed});
    if (!found) return found.error().in_file(name);
    result.jobs = lost_jobs(*found);
    if (!has_faults) result.history = found->history;
    if (history.nodes == 0 && has_faults)
      result.log.faults.cluster_nodes =
          std::max(result.log.faults.cluster_nodes, found->history.cluster_nodes);
  } else if (options.counts_failed) {
    return Error{"--count-failed: no file lists jobs; leave the option out"};
  }
  if (has_faults || result.log.jobs.empty()) {
    auto made = fault_history(result.log, history);
    if (!made) return made.error().in_file(name);
    result.history = *std::move(made);
    GOODPUT_TRY_STATUS(check_length(result, name));
  }
  result.estimate = estimate_failures(result.history, {.burst_window = window});
  if (preset_rate(result).events > 0) return result;
  if (result.is_of_jobs()) {
    return Error{
        fmt::format(
            "no job lost a node (state NODE_FAIL) in {:.1f} node-days, so the rate is only known to be "
            "below {:.3g} per 1000 node-days; give a longer list of jobs{}",
            result.jobs->node_days, result.jobs->rate.high,
            result.jobs->failed > 0 && !options.counts_failed
                ? fmt::format(", or count its jobs in state FAILED ({}) with --count-failed",
                              result.jobs->failed)
                : ""),
        {.file = name}};
  }
  return Error{
      "has too few faults for a rate: the first one only opens the observation; state how long you observed "
      "the nodes with --from and --to",
      {.file = name}};
}

Status write_results(const ImportFailuresOptions& options, const ImportedFailures& failures,
                     const CommandContext& context) {
  const std::string text = failure_preset_json(failures).dump(2) + "\n";
  if (options.out != "-") GOODPUT_TRY_STATUS(write_text_atomically(options.out, text));
  if (context.options.wants_result()) {
    Hash hash;
    hash.add(text);
    Provenance provenance;
    provenance.config_hash = hash.value();
    provenance.config_files = options.files;
    provenance.lowest_tier = preset_repair(failures).is_assumed ? "assumed" : "measured";
    OrderedJson json = begin_json_result("import-failures", context, provenance);
    add_failures_json(failures, json);
    GOODPUT_TRY_STATUS(write_json_result(json, context));
  }
  if (options.out == "-") {
    context.out << text;
    return Ok{};
  }
  context.print(
      failure_report(failures) +
      fmt::format("\nWrote {}: a failure preset; next: goodput plan --failures {} ..., or in a scenario "
                  "\"failures\": {{\"preset\": \"{}\", \"nodes\": N}}\n",
                  options.out, options.out, options.out));
  return Ok{};
}

}  // namespace

void add_import_failures_options(Options& failures, ImportFailuresOptions& options) {
  failures
      .add("file", options.files, "FILE",
           "Failure log: CSV or JSON with a node, a start, and an end or a down time per fault; output of "
           "sacctmgr list event or sacct; several files make one log")
      .required()
      .input();
  failures.add("--out", options.out, "FILE", "Write the failure preset to this file; - writes it to stdout")
      .required()
      .output();
  failures.add("--nodes", options.nodes, "N",
               "Number of nodes of the cluster, with those that never failed (default: those in the log)");
  failures.add("--from", options.from, "TIME",
               "Start of the observation, for example 2026-10-01 (default: the first row)");
  failures.add("--to", options.to, "TIME", "End of the observation (default: the last row)");
  failures.add_flag("--count-failed", options.counts_failed,
                    "In a list of jobs, also count jobs in state FAILED as having lost a node");
  failures.add("--burst-window", options.burst_window, "DURATION",
               "Time within which several nodes fail together (default: 5min, 1min and 10s are tried)");
  failures.add("--repair-time", options.repair_time, "DURATION",
               "Mean repair time, in place of the one in the log");
  failures
      .add("--column", options.columns, "ROLE=NAME",
           "Column that is the node, start, end, duration or cause, for example start=Down Since; repeatable")
      .one_value_each();
  failures
      .add("--ignore-cause", options.ignored_causes, "CAUSE",
           "Leave out faults with this cause, for example planned maintenance; repeatable")
      .one_value_each();
}

Result<ExitCode> run_import_failures(const ImportFailuresOptions& options, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_file_roles(options.files, {{"--out", options.out}}, context));
  GOODPUT_TRY(const ImportedFailures failures, import_failures(options));
  for (const std::string& line : failure_warnings(failures)) context.note(line);
  GOODPUT_TRY_STATUS(write_results(options, failures, context));
  return ExitCode::kOk;
}

}  // namespace goodput
