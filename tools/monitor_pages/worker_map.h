// The map of a step's workers, as pages show it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/live/step_result.h"
#include "tools/monitor_pages/shown_job.h"

namespace goodput {

// Slowdowns of the workers of some step, as far as they are kept.
struct ShownMap {
  StepId id;  // the step whose map it is: not always the one that was asked for
  JobLayout layout;
  std::vector<double> slowdown;  // by worker
};

// Of this step, or else of the latest one before it that has a map. Absent: there is none.
[[nodiscard]] Result<std::optional<ShownMap>> find_map(PageContext& context, std::string_view job,
                                                       const StepResult& step);

// What the maps of the window look like together: one step cannot tell a slow host from long sequences. Of
// the steps that have a map and the sizes of the latest; none has one: what the latest step looks like.
// REQUIRES: job.latest().
[[nodiscard]] Result<SlowdownShape> window_shape(PageContext& context, const ShownJob& job);

// The picture in a box that scrolls, and below it the workers that cost most as a table with links.
[[nodiscard]] std::string map_html(PageContext& context, std::string_view job, const ShownMap& map);

// The slowdown of a worker over time, in those runs of the job that had the sizes of `layout`: in others a
// worker of the same number is another one.
[[nodiscard]] Result<std::vector<WorkerPoint>> read_history(PageContext& context, std::string_view job,
                                                            const JobLayout& layout, std::size_t worker,
                                                            const StepQuery& query);

// The workers with the largest slowdowns, of equals the first; what is not known is left out.
[[nodiscard]] std::vector<std::size_t> slowest_workers(const std::vector<double>& slowdown, std::size_t most);

}  // namespace goodput
