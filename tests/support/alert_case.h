// An alert with everything in it.
#pragma once

#include "sim/live/alert.h"

namespace goodput {

inline Alert full_alert() {
  Alert alert;
  alert.id = 12;
  alert.job = "llama";
  alert.rule = "straggling";
  alert.severity = AlertSeverity::kError;
  alert.opened_at = {1, 340};
  alert.opened_s = 1714564800.25;  // 2024-05-01T12:00:00.250Z
  alert.slowdown = 1.25;
  alert.cause = "worker-fault";
  alert.worker = WorkerPlace{1, 2, 48, "n3"};
  alert.worker_slowdown = 1.5;
  alert.cost_s_per_step = 2.5;
  alert.usd_per_day = 1228.8;
  alert.summary = "S is 1.25";
  alert.next_check = "clocks & <fans>";
  alert.fix = {"worker=1:2"};
  alert.page = "http://here/jobs/llama";
  return alert;
}

inline Alert closed(Alert alert) {
  alert.closed_at = StepId{1, 400};
  alert.closed_s = alert.opened_s + 600;
  return alert;
}

}  // namespace goodput
