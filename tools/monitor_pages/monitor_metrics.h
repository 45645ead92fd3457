// What a Prometheus server reads of a monitor (docs/formats/monitor-metrics.md): a series or a few a job,
// none a worker.
#pragma once

#include <span>
#include <string>

#include "tools/monitor_pages/shown_job.h"

namespace goodput {

// Text format 0.0.4.
[[nodiscard]] std::string metrics_text(const PageContext& context, std::span<const ShownJob> jobs,
                                       std::optional<std::uint64_t> store_bytes);

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace goodput
