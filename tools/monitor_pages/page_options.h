// What pages are told besides what is stored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/base/errors.h"
#include "sim/live/incident.h"
#include "tools/monitor_store/incident_action.h"

namespace goodput {

struct MonitorPageOptions {
  // Performs what a person does to an incident: the incident after it, or nothing if no such incident is
  // open. Fails while the monitor starts or shuts down. Empty: nobody may do anything, because the monitor
  // has no token. Called on the threads of the server.
  using Act = std::function<Result<std::optional<Incident>>(const IncidentAction& action)>;

  std::string store_path;              // of the monitor's database
  std::optional<double> gpu_hour_usd;  // what a GPU costs an hour
  std::int32_t window = 20;            // analysed steps that causes and waste are averaged over
  bool takes_pushes = false;           // rows come by POST too
  double silent_after_s = 120;         // without a row, a job counts as silent (or five of its steps)
  double stalled_after_s = 60;         // without a beat, the monitor's loop counts as standing still
  Act act{};
  std::int64_t most_timeline_ops = 400'000;  // of a step whose timeline or rows are made for a browser
};

}  // namespace goodput
