// What the command line tells a monitor, declared and checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"
#include "tools/monitor/monitor_loop.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/web/access.h"

namespace goodput {

// As on the command line.
struct MonitorArguments {
  std::vector<std::string> folders;
  std::vector<std::string> jobs;  // NAME=DIR
  std::string store = "goodput-monitor.sqlite";
  std::string rules;
  std::string alert_exec;
  std::string keep = "30d";
  std::string metadata_path;
  std::string time_unit;
  std::string address = "127.0.0.1";
  std::string token_file;
  std::string url;  // by which others reach the pages
  std::int64_t port = 8646;
  std::int64_t every = 1;
  std::int64_t window = 20;
  double grace_s = 30;
  std::optional<double> gpu_hour_usd;
  bool is_once = false;
  bool no_pages = false;
  bool takes_pushes = false;
  bool behind_proxy = false;
  bool polls = false;
};

void add_monitor_options(Options& options, MonitorArguments& arguments);

// Checked, in the types of those who need them.
struct MonitorSettings {
  std::vector<WatchedJob> jobs;
  StoreOptions store;
  std::string rules;  // a name or file; empty: the default
  AccessOptions access;
  double seconds_per_unit = 1;
  StepIntakeOptions steps;
};
[[nodiscard]] Result<MonitorSettings> check_monitor_arguments(const MonitorArguments& arguments);

}  // namespace goodput
