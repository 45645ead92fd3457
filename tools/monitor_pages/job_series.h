// S of a job over time with its alerts, as a section of its page.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/monitor_pages/shown_job.h"

namespace goodput {

// The last `steps` steps: the picture, links to shorter and longer spans, and the newest steps as a table.
[[nodiscard]] Result<std::string> job_series_html(PageContext& context, const ShownJob& job,
                                                  std::span<const Alert> alerts, std::size_t steps);

inline constexpr std::size_t kUsualSpan = 300;
// One of the spans that there are: what is asked for, or kUsualSpan.
[[nodiscard]] std::size_t span_of(std::string_view asked);

}  // namespace goodput
