// What pages are told besides what is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace goodput {

struct MonitorPageOptions {
  std::string store_path;                    // of the monitor's database
  std::optional<double> gpu_hour_usd;        // what a GPU costs an hour
  std::int32_t window = 20;                  // analysed steps that causes and waste are averaged over
  bool takes_pushes = false;                 // rows come by POST too
  double silent_after_s = 120;               // without a row, a job counts as silent (or five of its steps)
  double stalled_after_s = 60;               // without a beat, the monitor's loop counts as standing still
  std::int64_t most_timeline_ops = 400'000;  // of a step whose timeline or rows are made for a browser
};

}  // namespace goodput
