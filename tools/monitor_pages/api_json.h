// What is known of jobs, steps and alerts as JSON (docs/formats/monitor-api.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "tools/monitor_pages/shown_job.h"

namespace goodput {

[[nodiscard]] nlohmann::ordered_json json_of(const ShownJob& job);
[[nodiscard]] nlohmann::ordered_json json_of(const StepTotals& step);
[[nodiscard]] nlohmann::ordered_json json_of(const StepResult& step);
[[nodiscard]] nlohmann::ordered_json json_of(const WorkerMap& map);
[[nodiscard]] nlohmann::ordered_json json_of(const WorkerPoint& point);
[[nodiscard]] nlohmann::ordered_json json_of(const Alert& alert);
[[nodiscard]] nlohmann::ordered_json json_of(const WorkerPlace& worker);
[[nodiscard]] nlohmann::ordered_json causes_json(const ShownJob& job);

}  // namespace goodput
