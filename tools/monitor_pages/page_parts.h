// Parts that several pages of a monitor have: causes, slowdowns by stage and op type, S over time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/monitor_pages/shown_job.h"

namespace goodput {

// Causes over the window of a job.
[[nodiscard]] std::string window_causes_html(const ShownJob& job);
// Causes of one step.
[[nodiscard]] std::string step_causes_html(std::string_view job, const StepResult& step);

// Slowdowns that stages and op types alone cause, side by side.
[[nodiscard]] std::string parts_html(std::span<const double> by_stage,
                                     std::span<const LabelledSlowdown> by_optype);

// What the shape of a map means, for people.
[[nodiscard]] std::string_view shape_text(SlowdownShape shape);
[[nodiscard]] std::string_view condition_text(JobCondition condition);

}  // namespace goodput
