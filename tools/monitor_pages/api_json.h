// What is known of jobs, steps and alerts as JSON (docs/formats/monitor-api.md).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/base/json_fwd.h"
#include "tools/monitor_pages/shown_job.h"

namespace goodput {

[[nodiscard]] OrderedJson json_of(const ShownJob& job);
[[nodiscard]] OrderedJson json_of(const StepTotals& step);
[[nodiscard]] OrderedJson json_of(const StepResult& step);
[[nodiscard]] OrderedJson json_of(const WorkerMap& map);
[[nodiscard]] OrderedJson json_of(const WorkerPoint& point);
[[nodiscard]] OrderedJson json_of(const Alert& alert);
[[nodiscard]] OrderedJson json_of(const WorkerPlace& worker);
[[nodiscard]] OrderedJson causes_json(const ShownJob& job);

}  // namespace goodput
