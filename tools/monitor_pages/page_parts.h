// Parts that several pages of a monitor have: alerts, causes, slowdowns by stage and op type, S over time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/live/alert.h"
#include "tools/monitor_pages/shown_job.h"

namespace goodput {

// What somebody on call wants to know of an alert: which machine, since when, what it costs, what to check
// next. `heading` is 2 to 6.
[[nodiscard]] std::string alert_card_html(const PageContext& context, const Alert& alert, int heading);
// Many of them as a table; empty: an empty text.
[[nodiscard]] std::string alert_table_html(const PageContext& context, std::string_view caption,
                                           std::span<const Alert> alerts);
// Seconds a step and, where the price is known, dollars a day.
[[nodiscard]] std::string cost_text(double lost_s_per_step, std::optional<double> usd_per_day);

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
