#include "tools/monitor/monitor_settings.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "sim/base/text.h"
#include "sim/config/quantities.h"
#include "tools/alerting/alerting_config.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/trace/read_trace.h"
#include "tools/web/origin.h"
#include "tools/web/push_intake.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostWindow = 1000;
constexpr double kMostGraceS = 86'400;

Error of(std::string what, std::string option) {
  return Error{std::move(what), {}, std::move(option)};
}

Result<std::string> canonical_folder(const std::string& folder) {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::canonical(folder, failed);
  if (failed) return Error{fmt::format("cannot be watched: {}", failed.message()), {.file = folder}};
  if (!std::filesystem::is_directory(path, failed))
    return Error{"is not a folder; give the folder that contains the job's logs", {.file = folder}};
  return path.string();
}

Result<WatchedJob> job_of_folder(const std::string& folder) {
  GOODPUT_TRY(std::string path, canonical_folder(folder));
  std::string name = std::filesystem::path(path).filename().string();
  if (name.empty())
    return Error{"has no folder name to use as the job name; use --job NAME=DIR", {.file = folder}};
  if (!has_job_page(name)) {
    return Error{fmt::format("the folder name {} cannot be used in a web address; use --job NAME=DIR",
                             in_quotes(name)),
                 {.file = folder}};
  }
  return WatchedJob{std::move(name), std::move(path)};
}

Result<WatchedJob> job_of_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return of(fmt::format("must be NAME=DIR, not {}", in_quotes(text)), "job");
  std::string name = text.substr(0, equals);
  if (const std::string fault = fault_of_name(name); !fault.empty())
    return of(fmt::format("{} {}", in_quotes(name), fault), "job");
  if (!has_job_page(name)) {
    return of(
        fmt::format("{} cannot be used in a web address; use letters, digits, - and _", in_quotes(name)),
        "job");
  }
  GOODPUT_TRY(std::string path, canonical_folder(text.substr(equals + 1)));
  return WatchedJob{std::move(name), std::move(path)};
}

bool contains(const std::string& outer, const std::string& inner) {
  return inner == outer || (inner.starts_with(outer) && inner[outer.size()] == '/');
}

Status check_jobs(const std::vector<WatchedJob>& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (jobs[k].name == jobs[i].name) {
        return of(fmt::format("{} and {} are both named {}; give one of them another name with {} NAME=DIR",
                              jobs[k].folder, jobs[i].folder, in_quotes(jobs[i].name), kOption),
                  "job");
      }
      const bool overlap =
          contains(jobs[k].folder, jobs[i].folder) || contains(jobs[i].folder, jobs[k].folder);
      if (overlap) {
        return Error{
            fmt::format(
                "overlaps with {} (the same folder, or one contains the other); give each job its own folder",
                jobs[k].folder),
            {.file = jobs[i].folder}};
      }
    }
  }
  return Ok{};
}

Status check_numbers(const MonitorArguments& arguments) {
  if (arguments.port < 0 || arguments.port > 65'535)
    return of(fmt::format("must be 1 to 65535, or 0 for any free port, not {}", arguments.port), "port");
  if (arguments.every < 1) return of(fmt::format("must be 1 or more, not {}", arguments.every), "every");
  if (arguments.window < 1 || arguments.window > kMostWindow)
    return of(fmt::format("must be 1 to {}, not {}", kMostWindow, arguments.window), "window");
  if (!(arguments.grace_s >= 0 && arguments.grace_s <= kMostGraceS))
    return of(fmt::format("must be 0 to {} seconds, not {}", kMostGraceS, arguments.grace_s), "grace");
  if (arguments.gpu_hour_usd && !(*arguments.gpu_hour_usd >= 0 && std::isfinite(*arguments.gpu_hour_usd)))
    return of("must be a price in US dollars, 0 or more", "gpu_hour_usd");
  return Ok{};
}

Status check_pages(const MonitorArguments& arguments) {
  const std::string& url = arguments.url;
  const std::string fault = url.empty() ? std::string() : fault_of_url(url);
  if (!fault.empty()) return of(fmt::format("{}: {}", in_quotes(url), fault), "url");
  if (!url.empty() && !origin_of(url)) {
    return of(fmt::format("{}: the host must be a name or an IP address, and the port must be 1 to 65535",
                          in_quotes(url)),
              "url");
  }
  if (!arguments.no_pages) return Ok{};
  if (arguments.takes_pushes)
    return of(
        fmt::format("{} needs the web server, which --no-pages turns off; leave one of them out", kOption),
        "push");
  return Ok{};
}

}  // namespace

void add_monitor_options(Options& options, MonitorArguments& arguments) {
  options
      .add("dir", arguments.folders, "DIR...",
           "Folders to watch, one per job, with raw logs, CSV, Parquet or Chrome JSON")
      .folder();
  options
      .add("--job", arguments.jobs, "NAME=DIR", "Folder to watch under a job name of your choice; repeatable")
      .one_value_each();
  options
      .add("--db", arguments.store, "FILE",
           fmt::format("Database for the results (default {})", arguments.store))
      .output();
  options
      .add("--meta", arguments.metadata_path, "FILE",
           "Job metadata, YAML or JSON: vpp_size, sizes, hosts (default: meta.yaml in the job's folder, if "
           "present)")
      .input();
  options.add_flag("--once", arguments.is_once, "Analyze the existing files and exit; no step is skipped");
  options.add("--every", arguments.every, "N", "Analyze only every N-th step (default 1)");
  options.add(
      "--window", arguments.window, "N",
      fmt::format("Number of recent analyzed steps over which averages and causes are computed (default {})",
                  arguments.window));
  options.add(
      "--grace", arguments.grace_s, "S",
      fmt::format("Report a step as incomplete if no more of its rows arrive for S seconds (default {})",
                  arguments.grace_s));
  options.add("--keep", arguments.keep, "TIME",
              fmt::format("How long to keep the results of steps, such as 90m, 36h or 14d (default {})",
                          arguments.keep));
  options
      .add("--rules", arguments.rules, "RULES",
           "Alert rules and where to send alerts: a name from 'goodput list alert-rules', or a file "
           "(default: the rules named default)")
      .listed("alert-rules");
  options.add("--alert-exec", arguments.alert_exec, "CMD",
              "Command to run when an incident opens, changes or closes; started without a shell");
  options.add("--gpu-hour-usd", arguments.gpu_hour_usd, "P",
              "Price per GPU-hour in US dollars; alerts and web pages then show the cost per day");
  options.add(
      "--port", arguments.port, "P",
      fmt::format("Port for web pages, metrics and the API; 0: any free port (default {})", arguments.port));
  options.add("--address", arguments.address, "A", "IP address to listen on (default 127.0.0.1)");
  options.add("--url", arguments.url, "URL",
              "Public address of the web pages, for example of a proxy; alerts link to it, and requests may "
              "use its host name");
  options.add_flag("--no-pages", arguments.no_pages,
                   "Run without the web server: no web pages, metrics or API");
  options.add_flag("--push", arguments.takes_pushes,
                   "Also accept rows by POST /v1/jobs/NAME/ops; needs --token-file");
  options
      .add("--token-file", arguments.token_file, "FILE",
           "File with an access token that every client must send")
      .input();
  options.add_flag("--behind-proxy", arguments.behind_proxy,
                   "Allow an --address that other machines can reach; use this option only behind a proxy "
                   "that handles TLS");
  options.add_flag("--poll", arguments.polls,
                   "Poll for file changes, as is necessary on network file systems");
  options
      .add("--time-unit", arguments.time_unit, "UNIT",
           "Unit of times in CSV and Parquet: s, ms, us or ns (default s)")
      .one_of(time_unit_names());
}

Result<MonitorSettings> check_monitor_arguments(const MonitorArguments& arguments) {
  GOODPUT_TRY_STATUS(check_numbers(arguments));
  GOODPUT_TRY_STATUS(check_pages(arguments));
  MonitorSettings settings;
  for (const std::string& folder : arguments.folders) {
    GOODPUT_TRY(WatchedJob job, job_of_folder(folder));
    settings.jobs.push_back(std::move(job));
  }
  for (const std::string& text : arguments.jobs) {
    GOODPUT_TRY(WatchedJob job, job_of_option(text));
    settings.jobs.push_back(std::move(job));
  }
  GOODPUT_TRY_STATUS(check_jobs(settings.jobs));
  if (settings.jobs.empty() && !arguments.takes_pushes)
    return Error{"goodput monitor needs the folder of a job's logs, or --push; see goodput monitor --help"};
  const Result<SimDuration> keep = parse_duration(arguments.keep);
  if (!keep) return keep.error().of_option("keep");
  settings.store.keep = std::chrono::duration_cast<std::chrono::seconds>(*keep);
  settings.rules = arguments.rules;
  settings.access = {arguments.address, arguments.token_file, arguments.behind_proxy, arguments.takes_pushes};
  GOODPUT_TRY(settings.seconds_per_unit, seconds_of_time_unit(arguments.time_unit));
  settings.steps.every = arguments.every;
  settings.steps.grace_s = arguments.is_once ? kMostGraceS : arguments.grace_s;
  return settings;
}

}  // namespace goodput
